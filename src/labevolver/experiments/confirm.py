"""The headlines with the simulated arm, in few trials, with memories that cross between the laboratories.

Experience of the fast laboratory is used with the arm, and experience that was made with the arm in the fast one; each
is compared with trials on the same instances in the same laboratory without a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from labference.policies import make_policy
from labference.truth.identity import FAST, PHYSICS

from ..bank import Bank
from .common import Outcome, mean, plan_of, play, rate
from .evolve import Setting, trial
from .ph import WARM
from .ph_ec import ASKED, TARGETS
from .pouring import WITHIN_G, learn, validate

MASS_G = 20.0
PARTS = ("ph", "ph-ec", "pouring")
Say = Callable[[str], None]


def confirm(out: Path, n: int, seed: int, say: Say, parts: Sequence[str] = PARTS) -> dict[str, list[Outcome]]:
    """Run `n` trials a condition and return them by condition; every finished condition is told."""
    found: dict[str, list[Outcome]] = {}

    def tell(name: str, trials: list[Outcome], pours: bool = False) -> None:
        found[name] = trials
        say(pour_line(name, trials) if pours else line(name, trials))

    out.mkdir(parents=True, exist_ok=True)
    if "ph" in parts:
        _ph(out / "ph", n, seed, tell)
    if "ph-ec" in parts:
        _ph_ec(out / "ph-ec", n, seed, tell)
    if "pouring" in parts:
        _pouring(out / "pouring", n, seed, lambda name, trials: tell(name, trials, True))
    return found


def _ph(out: Path, n: int, seed: int, tell: Callable[[str, list[Outcome]], None]) -> None:
    """PH 5: cold with the arm, which teaches a memory; with memory of the fast laboratory; and the other way round."""
    waters, others = (("ph", "paper", n, seed),), (("ph", "paper", n, seed + 1),)
    with _bank(out / "arm.db") as bank:
        learned = _run(out / "arm-learns", bank, waters, "labevolver", PHYSICS, learns=True)
        tell("pH 5, arm, from an empty memory", learned)
        tell("pH 5, fast, no memory", _run(out / "fast-none", None, others, "inner-only", FAST))
        tell("pH 5, fast, memory of the arm", _run(out / "fast-arm", bank, others, "labevolver", FAST))
    with _bank(out / "fast.db") as bank:
        _run(out / "fast-learns", bank, (("ph", "paper", WARM, seed + 5000),), "labevolver", FAST, learns=True)
        tell("pH 5, arm, no memory", _run(out / "arm-none", None, waters, "inner-only", PHYSICS))
        tell("pH 5, arm, memory of fast", _run(out / "arm-fast", bank, waters, "labevolver", PHYSICS))


def _ph_ec(out: Path, n: int, seed: int, tell: Callable[[str, list[Outcome]], None]) -> None:
    """PH 6 with EC 300, with the arm: without a memory, and with full experience of the fast laboratory."""
    waters = (("ph-ec", f"targets:{ASKED}", n, seed),)
    others = tuple(("ph-ec", f"targets:{each}", 3, seed + 7000) for each in TARGETS if each != ASKED)
    with _bank(out / "fast.db") as bank:
        _run(out / "fast-learns", bank, (("ph", "paper", WARM, seed + 5000), *others), "labevolver", FAST, learns=True)
        tell("pH 6, EC 300, arm, no memory", _run(out / "arm-none", None, waters, "inner-only", PHYSICS))
        tell("pH 6, EC 300, arm, memory of fast", _run(out / "arm-fast", bank, waters, "labevolver", PHYSICS))


def _pouring(out: Path, n: int, seed: int, tell: Callable[[str, list[Outcome]], None]) -> None:
    """20 g of water with the arm: the best controller with a pre-stop, and gains that were explored in fast."""
    plan = plan_of("pouring-water", "best_pd", n, seed, "table-1", PHYSICS)
    pours = [play(plan, index, out / "best", lambda: make_policy("best_pd", 0))[0] for index in range(n)]
    tell("20 g of water, arm, best pre-stop PD", pours)
    with _bank(out / "fast.db") as bank:
        learn(bank, out / "fast-explores", "water", MASS_G, 1000 + seed)
        locked = validate(bank, out / "arm-locked", "water", MASS_G, n, seed + 10, PHYSICS)
    tell("20 g of water, arm, gains of fast", locked)


def _bank(path: Path) -> Bank:
    path.parent.mkdir(parents=True, exist_ok=True)
    return Bank(path)


def _run(
    out: Path,
    bank: Bank | None,
    populations: Sequence[tuple[str, str, int, int]],
    method: str,
    fidelity: str,
    learns: bool = False,
) -> list[Outcome]:
    """Run populations (task, instances, trials, seed) one after the other."""
    found = []
    for task, instances, n, seed in populations:
        plan = plan_of(task, f"labevolver-{method}", n, seed, instances, fidelity)
        place = out if len(populations) == 1 else out / f"{task}-{instances.rpartition(':')[2]}"
        found += [trial(plan, index, place, bank, Setting(method, learns=learns)) for index in range(n)]
    return found


def line(name: str, found: Sequence[Outcome]) -> str:
    """Return a condition as a line, with every trial's additions."""
    every = ", ".join(str(each.additions) for each in found)
    return (
        f"{name}: success {rate(sum(each.success for each in found), len(found))}, "
        f"additions {mean(each.additions for each in found)} ({every}), "
        f"intercepts {mean(each.intercepts for each in found)}, time {mean(each.seconds for each in found)} s, "
        f"n = {len(found)}"
    )


def pour_line(name: str, found: Sequence[Outcome]) -> str:
    """Return a condition of pours as a line: errors of the true mass."""
    errors = [each.poured - MASS_G for each in found]
    return (
        f"{name}: MAE {mean(abs(each) for each in errors)} g, within {WITHIN_G:g} g "
        f"{rate(sum(abs(each) <= WITHIN_G + 1e-9 for each in errors), len(errors))}, "
        f"time of the pour {mean(each.pour_s for each in found)} s, n = {len(found)}"
    )
