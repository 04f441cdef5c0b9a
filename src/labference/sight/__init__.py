"""Eyes: delivered frames in, detections out. They know the cameras, not the truth."""

from .cloud import in_disc as in_disc
from .cloud import in_rectangle as in_rectangle
from .cloud import pixels as pixels
from .cloud import points as points
from .displays import Shown as Shown
from .displays import read_display as read_display
from .items import Item as Item
from .items import find_items as find_items
from .labels import Label as Label
from .labels import read_label as read_label
from .pan import Pan as Pan
from .pan import find_pan as find_pan
from .weighing import CAMERAS as CAMERAS
from .weighing import DISPLAY_CAMERA as DISPLAY_CAMERA
from .weighing import Seen as Seen
from .weighing import WeighingView as WeighingView
from .weighing import see_weighing as see_weighing
from .weights import Naming as Naming
from .weights import name_weight as name_weight
