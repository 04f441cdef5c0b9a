"""Figure 7: pH 6 with EC 300 uS/cm without, with partial and with full experience, and four targets with full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..bank import Bank
from .common import plan_of
from .crew import Crew
from .evolve import Setting
from .ph import Row, row, warmed

PAPER = {"none": "21 additions", "partial": "between", "full": "11 additions, no intercepts, time down by 55 %"}
"""Figure 7 of labevolver; one run each."""
TARGETS = ("ph6-ec300", "ph5-ec400", "ph8.5-ec350", "ph7-ec250")
ASKED = TARGETS[0]
EACH = 3
"""Joint trials on each of the other targets that make full experience."""
Say = Callable[[str], None]


def figure_7(out: Path, n: int, seed: int, say: Say, crew: Crew | None = None) -> list[Row]:
    """Return the three conditions on the same `n` waters, and then the other targets with full experience."""
    crew = crew or Crew()
    rows = []
    for condition in ("none", "partial", "full"):
        bank = _bank(out, condition, ASKED, seed, crew)
        rows.append(_run(out / condition, condition, ASKED, bank, n, seed, crew))
        say(str(rows[-1]))
    for target in TARGETS[1:]:
        bank = _bank(out, "full", target, seed, crew)
        rows.append(_run(out / target, f"full, {target}", target, bank, n, seed, crew))
        say(str(rows[-1]))
    say(f"mean additions of the four targets: {sum(each.additions.value for each in rows[2:]) / 4:.2f} (paper 8)")
    return rows


def _run(out: Path, name: str, target: str, bank: Bank | None, n: int, seed: int, crew: Crew) -> Row:
    method = "inner-only" if bank is None else "labevolver"
    plan = plan_of("ph-ec", f"labevolver-{method}", n, seed, f"targets:{target}")
    found = [crew.trial(plan, index, out, bank, Setting(method, learns=False)) for index in range(n)]
    if bank is not None:
        bank.close()
    return row(name, found, PAPER.get(name, ""))


def _bank(out: Path, condition: str, asked: str, seed: int, crew: Crew) -> Bank | None:
    """Return a bank of pH trials, with joint trials on every target but `asked` where experience is full."""
    if condition == "none":
        return None
    name = f"{condition}-{asked}"
    bank = warmed(out / f"{name}.db", out / f"{name}-ph", "labevolver", seed, crew=crew)
    assert bank is not None  # labevolver has a memory
    if condition == "full":
        for number, target in enumerate(each for each in TARGETS if each != asked):
            plan = plan_of("ph-ec", "labevolver-labevolver", EACH, seed + 7000 + number, f"targets:{target}")
            for index in range(EACH):
                crew.trial(plan, index, out / f"{name}-{target}", bank, Setting())
    return bank
