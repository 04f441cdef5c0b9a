"""Measure whether a robot's next choice follows from what actually happened on a laboratory bench."""

__version__ = "0.3.0"
