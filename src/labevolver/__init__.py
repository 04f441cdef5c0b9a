"""A training-free agent for the wet lab that turns finished trials into experience for the next one."""

__version__ = "0.3.0"
