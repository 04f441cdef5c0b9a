"""The agent as `labference diagnose --policy` names it: without a memory, and with one that has learned elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from labference.truth.diagnosis import Registration, read
from labference.truth.identity import PlanError
from labference.wire import Refusal

from ..agent import METHODS
from ..bank import Bank, BankError
from ..diagnosed import Interfaces
from ..labs.wet_memory import WetMemory
from ..operate.symbolic import SymbolicMind
from ..retrieve import SeenInstance, refuse_seen

BANK, PLAN = "LABEVOLVER_BANK", "LABEVOLVER_PLAN"
"""Environment variables: the file of the memory, and the plan on whose starts it is evaluated."""


class InnerOnly(Interfaces):
    """The inner loop with the symbolic mind and no memory."""

    def __init__(self, seed: int = 0) -> None:
        del seed  # nothing is drawn
        super().__init__(SymbolicMind(METHODS["inner-only"]), "inner-only")


class Experienced(Interfaces):
    """The same with the experience in the bank that `LABEVOLVER_BANK` names; it learns nothing here.

    Refuses a bank that has learned on the starts of the plan that `LABEVOLVER_PLAN` names.
    """

    def __init__(self, seed: int = 0) -> None:
        del seed
        habits = METHODS["labevolver"]
        try:
            bank = Bank(_file(BANK), create=False)
            refuse_seen(bank, bank.entries(), instances(read(Path(_file(PLAN)))))
        except (BankError, PlanError, SeenInstance) as error:
            raise Refusal("unsupported", str(error)) from error
        super().__init__(SymbolicMind(habits), "labevolver", WetMemory(bank, habits.memory).recall)


def instances(registration: Registration) -> frozenset[str]:
    """Return the starts of a registration by the names under which trials teach."""
    task, campaign = registration.task, registration.campaign
    return frozenset(f"{task}:{campaign}:{start.index}" for start in registration.starts)


def _file(name: str) -> str:
    found = os.environ.get(name, "")
    if not found:
        raise PlanError(f"{name} names no file; {BANK}=runs/learning/bank.db {PLAN}=plan.json would work.")
    return found
