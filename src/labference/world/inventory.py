"""What declared parts put on a bench, without drawing or simulating any of it: no physics engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from ..truth.measurement import FIRST_SURFACE, Channels
from .parts import Part
from .parts.balance import LoadCellReadout
from .wet.plumbing import Cup
from .wet.vessel import Cylinder


@dataclass(slots=True)
class Body:
    """A body by name, with the mass of its shapes [kg]."""

    name: str
    mass: float = 0.0


@dataclass(slots=True)
class Inventory:
    """Stand in for the bench that parts draw themselves with, and list what they register.

    bodies    by name
    surfaces  name of a surface -> names of the bodies that count as it
    cells     name, body that is carried, and electronics, per load cell
    cups      vessels
    tips      item and meter, "" for a tool that only stirs
    grips     radius between the fingers per item [m]
    mounted   body -> the body that it is fixed to
    """

    bodies: dict[str, Body] = field(default_factory=dict)
    items: list[str] = field(default_factory=list)
    fixtures: list[str] = field(default_factory=list)
    surfaces: dict[str, list[str]] = field(default_factory=dict)
    cells: list[tuple[str, str, Callable[[float], LoadCellReadout]]] = field(default_factory=list)
    cups: list[Cup] = field(default_factory=list)
    tips: list[tuple[str, str]] = field(default_factory=list)
    grips: dict[str, float] = field(default_factory=dict)
    mounted: dict[str, str] = field(default_factory=dict)

    def item(self, name: str) -> Body:
        """Return a new free body."""
        self.items.append(name)
        return self._body(name)

    def fixture(self, name: str) -> Body:
        """Return a new body that an instance may put anywhere."""
        self.fixtures.append(name)
        return self._body(name)

    def attached(self, name: str, parent: object, *shape: object) -> Body:
        """Return a new body fixed to another."""
        del shape
        if isinstance(parent, Body):
            self.mounted[name] = parent.name
        return self._body(name)

    def surface(self, name: str, body: Body) -> None:
        """Let a body count as a surface."""
        self.surfaces.setdefault(name, []).append(body.name)

    def force_cell(self, name: str, body: Body, electronics: Callable[[float], LoadCellReadout]) -> None:
        """Weigh what `body` carries."""
        self.cells.append((name, body.name, electronics))

    def vessel(self, name: str, body: Body, *, radius: float, length: float, floor: float) -> None:
        """Let a body hold liquid."""
        del body
        self.cups.append(Cup(name, Cylinder(radius, length), floor))

    def tip(self, item: str, meter: str = "") -> None:
        """Let the lower end of an item stir, and be that of a meter."""
        self.tips.append((item, meter))

    def gripped(self, item: str, radius: float) -> None:
        """Note how wide an item is where it is held."""
        self.grips[item] = radius

    def __getattr__(self, name: str) -> Any:
        """Return what draws a shape: only its mass matters here."""
        if name.startswith("_"):
            raise AttributeError(name)
        return self._shape

    def _shape(self, *about: object, **how: object) -> Body:
        body = about[0] if about and isinstance(about[0], Body) else None
        if body is not None:
            body.mass += cast(float, how.get("mass", 0.0))
        return Body("shape")

    def _body(self, name: str) -> Body:
        return self.bodies.setdefault(name, Body(name))


def take_stock(parts: tuple[Part, ...]) -> Inventory:
    """Return what `parts` register."""
    found = Inventory()
    for part in parts:
        part.add(cast(Any, found))
    return found


def channels_of(stock: Inventory, timestep: float) -> Channels:
    """Return the same channels as a simulated bench of the same parts has, for ticks of `timestep` [s]."""
    if len(stock.surfaces) + FIRST_SURFACE > 16:
        raise ValueError(f"A touch mask has room for {16 - FIRST_SURFACE} surfaces, not {len(stock.surfaces)}.")
    return Channels(
        items=tuple(stock.items),
        surfaces=tuple(stock.surfaces),
        cells=tuple(name for name, _, _ in stock.cells),
        fixtures=tuple(stock.fixtures),
        timestep=timestep,
        vessels=tuple(cup.name for cup in stock.cups),
        meters=tuple(meter for _, meter in stock.tips if meter),
    )
