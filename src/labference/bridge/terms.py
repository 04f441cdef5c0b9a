"""What is declared of an agent before an episode begins: who it is, what it is shown, and how much it may use."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, fields

from labference.policies import BUILT_IN
from labference.truth.identity import PlanError
from labference.truth.privilege import reads_the_truth
from labference.wire import Capabilities

from .tools import ARM, CATALOGUE, EYES, LENT

SITES = ("semantic", "decision", "geometry")
"""Interfaces that the tools expose; motion belongs to the agent."""
LENT_SITES = ("semantic", "decision")
"""Those of a bench that lends its hands, which know where everything is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one episode may use; None is without a limit.

    calls        tool calls, those refused included
    tokens       of the agent's model, as far as they are told
    wall_s       wall time since the episode began [s]
    simulated_s  simulated time [s]
    errors       calls with bad arguments; one more is an interface failure

    Whatever else runs out first ends the episode as if the agent had finished.
    """

    calls: int | None = None
    tokens: int | None = None
    wall_s: float | None = None
    simulated_s: float | None = None
    errors: int = 20

    def __post_init__(self) -> None:
        """Refuse limits that leave nothing to use."""
        for entry in fields(self):
            value = object.__getattribute__(self, entry.name)
            if value is not None and not (0 < value < math.inf):
                raise PlanError(f"A limit of {value!r} {entry.name} leaves nothing to use; 1 or more would work.")


@dataclass(frozen=True, slots=True)
class Terms:
    """Declare the agent: its name and version in the records, what it is shown, its tools and its limits.

    cameras   names of the cameras delivered; None for all that the task has
    depth     whether frames carry depth, which geometry queries by pixel and by eye need
    readings  whether the instruments' data ports are delivered; None where the bench lends its hands
    without   tools that are not offered
    vla       policy behind the `vla` tool, as `--policy` names it; without one the tool is not offered
    profile   profile file of that policy
    """

    name: str = "agent"
    version: str = "1"
    cameras: tuple[str, ...] | None = None
    depth: bool = True
    readings: bool | None = None
    without: tuple[str, ...] = ()
    limits: Limits = Limits()
    vla: str = ""
    profile: str = ""

    def __post_init__(self) -> None:
        """Refuse tools that nobody knows, and names that belong to somebody else."""
        taken = self.name in BUILT_IN or reads_the_truth(self.name)
        if not self.name or taken or not set(self.name).isdisjoint(":/\\"):
            raise PlanError(f"An agent cannot be called {self.name!r}; a name of its own without : or / would work.")
        for name in self.without:
            if name not in CATALOGUE:
                raise PlanError(f"There is no tool {name!r} to leave out; tools: {', '.join(CATALOGUE)}.")

    def tools(self, *, lent: bool = False, seeing: bool = True) -> tuple[str, ...]:
        """Return the names of the tools that are offered, on a bench that has `lent` its hands, or has cameras."""
        missing = {
            *self.without,
            *(() if self.vla else ("vla",)),
            *(ARM if lent else LENT),
            *(() if seeing else EYES),
        }
        return tuple(name for name in CATALOGUE if name not in missing)

    def capabilities(
        self, cameras: tuple[str, ...], vla: Capabilities | None = None, *, lent: bool = False
    ) -> Capabilities:
        """Return what the bench is told, for a task with `cameras` and an opened policy behind the `vla` tool.

        Where the bench has `lent` its hands, the instruments' data ports are delivered unless the terms say otherwise.
        Limits, tools and that policy are part of the version: runs under other terms are another system.
        """
        wanted = cameras if self.cameras is None else self.cameras
        if vla is not None:
            wanted = tuple(dict.fromkeys((*wanted, *vla.cameras, *(name for name in vla.optional if name in cameras))))
        return Capabilities(
            self.name,
            f"{self.version} ({self.condition(vla, self.tools(lent=lent, seeing=bool(cameras)))})",
            cameras=wanted,
            depth=self.depth or (vla is not None and vla.depth),
            readings=self.reads(lent=lent) or (vla is not None and vla.readings),
            reports=True,
            sites=LENT_SITES if lent else SITES,
            accepts=LENT_SITES if lent else SITES,
            performs=lent,
        )

    def reads(self, *, lent: bool) -> bool:
        """Return whether the instruments' data ports are delivered."""
        return lent if self.readings is None else self.readings

    def condition(self, vla: Capabilities | None = None, offered: tuple[str, ...] = tuple(CATALOGUE)) -> str:
        """Return limits, tools and helper in words, with a digest of the catalogue of tools `offered`."""
        limits = [f"{name} {value:g}" for name, value in asdict(self.limits).items() if value is not None]
        left_out = [f"without {name}" for name in sorted(self.without)]
        helper = [f"vla {vla.name} {vla.version}"] if vla is not None else []
        catalogue = [[tool.name, tool.description, tool.schema()] for tool in map(CATALOGUE.__getitem__, offered)]
        sha256 = hashlib.sha256(json.dumps(catalogue, sort_keys=True).encode()).hexdigest()
        return ", ".join((*limits, *left_out, *helper, f"tools {sha256[:12]}"))
