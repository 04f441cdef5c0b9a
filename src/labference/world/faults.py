"""What can go wrong in the laboratory itself: neither is ever counted against a policy."""

from __future__ import annotations


class SetupError(Exception):
    """An instance could not be prepared: something did not come to rest, or a load cell is mounted wrongly."""


class SimulationFault(Exception):
    """The simulator left the range in which its numbers mean anything: a validity event."""


class RenderingFault(Exception):
    """This machine cannot render: the campaign cannot go on, and `labference doctor` says what to install."""
