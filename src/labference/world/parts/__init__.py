"""Declarations of labware and instruments, one file each, free of MuJoCo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..build import Bench


class Part(Protocol):
    """Something that stands on the bench and can draw itself."""

    @property
    def name(self) -> str:
        """Return the name under which instances, records and goals know it."""

    def add(self, bench: Bench) -> None:
        """Draw it, and register what it offers: items, surfaces, cells, displays, cameras."""
