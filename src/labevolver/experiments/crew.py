"""Who proposes and who reflects: programs, or a language model in the place of one or both."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from labference.bench.plan import Plan
from labference.records import strict
from labference.records.strict import write_atomically
from labference.truth.identity import FAST, PlanError

from ..agent import METHODS
from ..bank import Bank
from ..model.budget import Budget, Limits
from ..model.port import Mind
from ..model.strategist import LanguageStrategist
from ..operate.context import Operator
from ..operate.language import TWO, LanguageMind, Steps
from ..strategist import Strategist
from .common import Outcome
from .evolve import Setting, trial
from .journal import Eyes
from .options import DEADLINE_S, OUTPUT_TOKENS, REQUESTS

SYMBOLIC, MODEL = "symbolic", "model"
"""Who the Strategist is."""
NO_EYES, DEPTH = "none", "rgb-d"
"""What looks at the bench; `MODEL` is the third."""
BY_RULE = ("memp",)
"""Methods whose memory is made by rule whoever reflects: a recorded procedure is no reflection."""
STAND_IN = "stand-in"
"""Name of the recording that ships with the package: of a scripted stand-in, which is no language model."""
TAPE = Path(__file__).parent / "stand_in.jsonl.xz"
STAND_IN_MODEL = "openai-compatible:scripted-stand-in@http://127.0.0.1:9/v1"
"""Under what name the stand-in was recorded; a recording opens no connection."""
SETTING = "minds.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a command line asks for; an empty `strategist` is the model where there is one."""

    model: str = ""
    strategist: str = ""
    steps: str = TWO
    requests: int = REQUESTS
    output_tokens: int = OUTPUT_TOKENS
    deadline_s: float = DEADLINE_S
    record: Path | None = None
    replay: str = ""
    fidelity: str = FAST
    eyes: str = NO_EYES

    def __post_init__(self) -> None:
        if self.strategist not in ("", SYMBOLIC, MODEL):
            raise PlanError(f"The Strategist is {self.strategist!r}; {SYMBOLIC} or {MODEL} would have worked.")
        if self.steps not in get_args(Steps):
            raise PlanError(f"The Operator answers in {self.steps!r} steps; two or one would have worked.")
        self._looks()
        if self.model or self.replay == STAND_IN:
            return
        if self.strategist == MODEL or self.record:
            option = f"--record {self.record}" if self.record else f"--strategist {MODEL}"
            raise PlanError(f"{option} needs a model; with --model NAME it would have worked.")
        if self.replay:
            raise PlanError(
                f"--replay {self.replay} needs --model with the name that was recorded; --replay {STAND_IN} needs none."
            )

    def _looks(self) -> None:
        if self.eyes not in (NO_EYES, DEPTH, MODEL):
            raise PlanError(f"--eyes {self.eyes!r} is not known; {NO_EYES}, {DEPTH} or {MODEL} would have worked.")
        if self.eyes != NO_EYES and self.fidelity == FAST:
            raise PlanError(f"--eyes {self.eyes} needs cameras; with --fidelity physics it would have worked.")
        if self.eyes == MODEL and not self.model:
            raise PlanError(f"--eyes {MODEL} needs a model; with --model NAME it would have worked.")


@dataclass(frozen=True, slots=True)
class Crew:
    """Operator and Strategist of an experiment; without a mind both are programs."""

    mind: Mind | None = None
    reflects: bool = False
    """Whether the mind is the Strategist, too."""
    steps: Steps = TWO
    limits: Limits = field(default_factory=lambda: Limits(REQUESTS))
    fidelity: str = FAST
    """In which laboratory its trials are run, whatever a plan says."""
    eyes: str = NO_EYES
    """What looks at the bench before a trial: nothing, depth alone, or the mind with depth."""

    def operator(self, method: str) -> Callable[[], Operator] | None:
        """Return what makes the Operator of a method; None for the symbolic one."""
        if self.mind is None:
            return None
        mind = self.mind
        return lambda: LanguageMind(mind, METHODS[method], self.limits, self.steps)

    def strategist(self, method: str) -> Callable[[], Strategist] | None:
        """Return what makes the Strategist of a trial, with a budget of its own; None for the symbolic one."""
        if self.mind is None or not self.reflects or method in BY_RULE:
            return None
        mind = self.mind
        return lambda: LanguageStrategist(mind, Budget(self.limits))

    def detector(self) -> Eyes | None:
        """Return what makes the eyes of a trial; None for none."""
        if self.eyes == DEPTH:
            from ..observe.depth import DepthDetector  # it loads what images need

            return DepthDetector
        if self.eyes == MODEL and self.mind is not None:
            from ..observe.vision import VisionDetector

            mind = self.mind
            return lambda: VisionDetector(mind, self.limits)
        return None

    def trial(self, plan: Plan, index: int, out: Path, bank: Bank | None, setting: Setting) -> Outcome:
        """Run one trial as `evolve.trial` does."""
        method, plan = setting.method, replace(plan, fidelity=self.fidelity)
        operator, strategist = self.operator(method), self.strategist(method)
        return trial(plan, index, out, bank, setting, operator, strategist=strategist, eyes=self.detector())

    def told(self) -> str:
        """Return in a sentence which mind does what."""
        if self.mind is None:
            return "The symbolic mind, which is no language model, proposes and reflects."
        name = self.mind.name + (", which is no language model," if STAND_IN in self.mind.name else "")
        return f"{name} proposes{' and reflects' if self.reflects else '; the symbolic Strategist reflects'}."

    def names(self) -> dict[str, str]:
        """Return who they are, with models and prompts, as a study is begun with."""
        operator, strategist = self.operator("labevolver"), self.strategist("labevolver")
        return {
            "operator": SYMBOLIC if operator is None else operator().name,
            "strategist": SYMBOLIC if strategist is None else strategist().name,
            **({"eyes": self.eyes} if self.eyes != NO_EYES else {}),
        }


@contextmanager
def assembled(asked: Asked, out: Path) -> Iterator[Crew]:
    """Yield the crew of a study in a folder; raises `PlanError` where it was begun with another, and `ModelError`."""
    model = asked.model or (STAND_IN_MODEL if asked.replay == STAND_IN else "")
    if not model:
        crew = Crew(fidelity=asked.fidelity, eyes=asked.eyes)
        declared(out, crew)
        yield crew
        return
    if importlib.util.find_spec("pydantic_ai") is None:
        raise PlanError("A language model needs the extra 'llm': pip install 'labference[llm]' would have worked.")
    from ..model.metered import Patience  # both need the extra llm, which nothing else here does
    from ..model.mind import LanguageModel

    replay = TAPE if asked.replay == STAND_IN else Path(asked.replay) if asked.replay else None
    steps = next(each for each in get_args(Steps) if each == asked.steps)
    patience, most = Patience(asked.deadline_s), asked.output_tokens
    with LanguageModel(model, record=asked.record, replay=replay, patience=patience, output_tokens=most) as mind:
        crew = Crew(mind, asked.strategist != SYMBOLIC, steps, Limits(asked.requests), asked.fidelity, asked.eyes)
        declared(out, crew)
        yield crew


def declared(out: Path, crew: Crew) -> None:
    """Write who runs a study into its folder; raises `PlanError` where it was begun by others."""
    path = out / SETTING
    names = crew.names()
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(path, names)
        return
    begun = strict.read(path)
    for role in {**names, **begun}:
        was, now = begun.get(role, NO_EYES), names.get(role, NO_EYES)
        if was != now:
            raise PlanError(f"{out} was begun with the {role} {was}, not {now}; another --out works.")
