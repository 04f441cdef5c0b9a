"""Hands: poses in, commands out. They know the robot, not the scene."""

from .grasp import Grasp as Grasp
from .grasp import Outline as Outline
from .grasp import Turn as Turn
from .grasp import clear_yaw as clear_yaw
from .grasp import grasp_standing as grasp_standing
from .grasp import release_opening as release_opening
from .kinematics import Arm as Arm
from .kinematics import Unreachable as Unreachable
from .kinematics import top_down as top_down
from .pick import Picked as Picked
from .pick import pick as pick
from .place import Placement as Placement
from .place import place as place
from .skill import go as go
from .skill import grip as grip
from .skill import home as home
from .skill import over as over
from .skill import reach as reach
from .spot import Disc as Disc
from .spot import Rectangle as Rectangle
from .spot import Spot as Spot
from .spot import free_spot as free_spot
