"""The one place where MuJoCo is imported, after the settings that it and its software renderer read only once."""

from __future__ import annotations

import os
import sys
from ctypes.util import find_library

if sys.platform == "linux" and "MUJOCO_GL" not in os.environ:
    # MuJoCo cannot even be imported with a backend whose library is missing; without any, only cameras are.
    found = (name for name, library in (("egl", "EGL"), ("osmesa", "OSMesa")) if find_library(library))
    os.environ["MUJOCO_GL"] = next(found, "disable")
# Without render threads of its own, a process may fork after it has rendered; frames are the same.
os.environ.setdefault("LP_NUM_THREADS", "0")

import mujoco as mujoco

# MuJoCo would append its warnings to a file in the working folder; `World` counts them and raises instead.
mujoco.set_mju_user_warning(lambda _: None)
