"""Everything that a tested system may answer, and scripts that answer step by step."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from .observation import Observation
from .operation import Move, Perform, Report, Stop, Wait
from .support import Execute, GeometryReport, StateReport

T = TypeVar("T")

Act = Move | Wait | Perform | Report | Stop | StateReport | GeometryReport | Execute

Script = Generator[Act, Observation, T]
"""A skill: yields acts, is sent the observation that follows each, returns what it found out."""
