"""The agent bridge: one episode driver whose tools are Python calls, JSON over HTTP, and MCP alike."""

from .driver import Bridge as Bridge
from .terms import Limits as Limits
from .terms import Terms as Terms
from .tools import CATALOGUE as CATALOGUE
from .tools import Tool as Tool
