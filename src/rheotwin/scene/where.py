"""Selections: which nodes of a body a support or a force acts on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import AXES, Dimension, SceneModel
from rheotwin.scene.quantities import Length, Point

Side = Literal["left", "right", "front", "back", "bottom", "top"]
SIDES: dict[int, tuple[Side, ...]] = {
    1: ("left", "right"),
    2: ("left", "right", "bottom", "top"),
    3: ("left", "right", "front", "back", "bottom", "top"),
}
"""Sides of a body in each dimension: left, right in x; bottom, top in the last axis; front, back in y."""

CHOICES = ("side", "box", "region", "nearest")


class Ranges(SceneModel):
    """A box in scene coordinates; an axis left out is not limited."""

    x: tuple[Length, Length] | None = None
    """Smallest and largest x."""
    y: tuple[Length, Length] | None = None
    """Smallest and largest y."""
    z: tuple[Length, Length] | None = None
    """Smallest and largest z."""

    @model_validator(mode="after")
    def _ordered(self) -> Ranges:
        given = {axis: getattr(self, axis) for axis in AXES if getattr(self, axis) is not None}
        if not given:
            raise PydanticCustomError("ranges", "needs at least one of x, y, z = [smallest, largest]")
        for axis, (low, high) in given.items():
            if low > high:
                raise PydanticCustomError("ranges", f"{axis} runs from {low} down to {high}; put the smaller first")
        return self


class Where(SceneModel):
    """Nodes of a body, chosen on its rest shape in one of four ways."""

    side: Side | None = None
    """A side of the body's bounding box."""
    box: Ranges | None = None
    """Everything inside a box, borders included."""
    region: str | None = None
    """A named group of the body's mesh file."""
    nearest: Point | None = None
    """The one node closest to a point."""

    @model_validator(mode="after")
    def _one_choice(self) -> Where:
        given = [choice for choice in CHOICES if getattr(self, choice) is not None]
        if len(given) != 1:
            shown = ", ".join(given) if given else "none"
            raise PydanticCustomError("where", f"needs exactly one of side, box, region, nearest (given: {shown})")
        return self

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        if self.side is not None and self.side not in SIDES[dimension]:
            yield "side", f"'{self.side}' does not exist in {dimension}D; use {', '.join(SIDES[dimension])}"
        for axis in AXES[dimension:]:
            if self.box is not None and getattr(self.box, axis) is not None:
                yield f"box.{axis}", f"there is no {axis} in a {dimension}D scene"
