"""Public nouns: everything that crosses to a tested system. Standard library and numpy only."""

from .action import END_EFFECTOR as END_EFFECTOR
from .action import JOINT as JOINT
from .action import PROFILES as PROFILES
from .action import ActionSpec as ActionSpec
from .observation import Frame as Frame
from .observation import Goal as Goal
from .observation import Observation as Observation
from .observation import Reading as Reading
from .observation import RobotState as RobotState
from .observation import Senses as Senses
from .operation import Act as Act
from .operation import Move as Move
from .operation import Operation as Operation
from .operation import Report as Report
from .operation import Script as Script
from .operation import Stop as Stop
from .operation import Wait as Wait
from .policy import Capabilities as Capabilities
from .policy import Policy as Policy
from .refusal import Refusal as Refusal
from .refusal import ServiceFault as ServiceFault
