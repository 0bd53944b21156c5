"""Which nodes of a body are chosen, and what holds, pushes, links or follows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.scene.base import AXES, Axis, Dimension, Name, Number, SceneModel
from rheotwin.scene.motion import Motion, check_lengths
from rheotwin.scene.quantities import (
    ForceVector,
    Length,
    Modulus,
    NotNegative,
    Point,
    Positive,
    PositiveLength,
    PositiveTime,
    Time,
    Times,
)
from rheotwin.scene.units import Quantity

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


class SupportSpec(SceneModel):
    """Nodes of a body whose chosen components are held, or follow a motion."""

    body: Name
    """Name of the body."""
    where: Where
    """Which of its nodes."""
    fix: Annotated[tuple[Axis, ...], Field(min_length=1)] = ()
    """Components that are held; default: all."""
    motion: Motion | None = None
    """Displacement of the held components over time; default: none, they stay where they are."""
    since: Time = 0.0
    """From when on it acts: it holds its nodes where they are then and moves them on from there; default: the start."""
    until: PositiveTime | None = None
    """When it lets go; default: never."""

    @model_validator(mode="after")
    def _in_order(self) -> SupportSpec:
        if self.until is None:
            return self
        if self.until <= self.since:
            raise PydanticCustomError("until", "`until` must be after `since`: it would never act")
        if self.motion is not None and any(time > self.until for time in self.motion.times):
            raise PydanticCustomError(
                "until", "lets go before its motion ends: end the table of `motion` at `until`, or let go later"
            )
        return self

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from ((f"where.{key}", message) for key, message in self.where.dimension_faults(dimension))
        held = self.fix or AXES[:dimension]
        for axis in held:
            if axis not in AXES[:dimension]:
                yield "fix", f"there is no {axis} in a {dimension}D scene"
        if len(set(held)) < len(held):
            yield "fix", "names a component twice"
        if self.motion is not None and self.motion.angle is not None:
            yield from self._turn_faults(dimension, held)
        for axis, values in zip(
            AXES, zip(*self.motion.displacement, strict=False) if self.motion else (), strict=False
        ):
            if axis not in held and any(values):
                yield "motion.displacement", f"moves {axis}, which is not among the held components (`fix`)"

    def _turn_faults(self, dimension: Dimension, held: tuple[Axis, ...]) -> Iterator[tuple[str, str]]:
        assert self.motion is not None
        if dimension == 1:
            yield "motion.angle", "a 1D body cannot turn; leave it out"
        if dimension == 2 and self.motion.axis is not None:
            yield "motion.axis", "is for 3D; in 2D the axis stands on the plane, leave it out"
        if len(set(held)) < dimension:
            yield "fix", "turned nodes are held in all components; leave `fix` out"
        if self.since > 0.0:
            yield "since", "a turn starts from the rest shape: let the support act from the start, or leave `angle` out"

    def completed(self, dimension: Dimension) -> SupportSpec:
        """Return the support with its held components filled in."""
        return self if self.fix else self.model_copy(update={"fix": AXES[:dimension]})


class PunchSpec(SceneModel):
    """A rectangular punch that pushes on a lattice of nodes cell by cell: the papers' digital pushing."""

    center: Point
    """Its centre, in scene coordinates; what matters is where it lies along the pushed side."""
    size: Annotated[tuple[PositiveLength, ...], Field(min_length=1, max_length=2)]
    """Lengths of its edges along the axes of the pushed side: one in 2D, two in 3D."""
    cell: PositiveLength | None = None
    """Length of the cells it is cut into; default: that of the body's cells."""
    clip: Literal["renormalised", "none", "paper"] = "renormalised"
    """Vertices further than 3/4 of a cell get nothing: scaled up to keep the force, not done, or lost as printed."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        if dimension == 1:
            yield "size", "a 1D body has no side to push on; leave the punch out"
        elif len(self.size) != dimension - 1:
            yield "size", f"needs {dimension - 1} entr{'y' if dimension == 2 else 'ies'} in {dimension}D"


class ForceSpec(SceneModel):
    """A total force, shared over chosen nodes by the boundary area around them (else equally)."""

    body: Name
    """Name of the body."""
    where: Where
    """Which of its nodes."""
    total: ForceVector | None = None
    """Sum of the force over all chosen nodes, one component for each dimension; or `pressure`."""
    pressure: Modulus | None = None
    """Instead of `total`: pushes against the surface's normals at rest, inwards if above 0."""
    times: Times | None = None
    """Times of the table of factors, increasing; default: the force is constant."""
    factor: tuple[Number, ...] | None = None
    """What the force is multiplied by at each time; straight in between, held before and after."""
    punch: PunchSpec | None = None
    """Shares the force as a punch does instead of by area."""

    @field_validator("factor")
    @classmethod
    def _one_for_each_time(cls, factor: tuple[float, ...] | None, info: ValidationInfo) -> tuple[float, ...] | None:
        check_lengths(factor, info)
        return factor

    @model_validator(mode="after")
    def _one_force(self) -> ForceSpec:
        if (self.total is None) == (self.pressure is None):
            raise PydanticCustomError("force", "needs exactly one of `total` and `pressure`")
        if self.pressure is not None and self.punch is not None:
            raise PydanticCustomError("force", "a `punch` shares a total force; give `total`, or leave `punch` out")
        return self

    @model_validator(mode="after")
    def _both_or_neither(self) -> ForceSpec:
        if (self.times is None) != (self.factor is None):
            raise PydanticCustomError("factor", "needs `times` and `factor` together, or neither for a constant force")
        return self

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from ((f"where.{key}", message) for key, message in self.where.dimension_faults(dimension))
        if self.punch is not None:
            yield from ((f"punch.{key}", message) for key, message in self.punch.dimension_faults(dimension))


class LinkEnd(SceneModel):
    """The node of a body closest to a point of its rest shape."""

    body: Name
    """Name of the body."""
    at: Point
    """The point, in scene coordinates."""


class LinkSpec(SceneModel):
    """A rigid rod without mass between two nodes, or a chain of rods from node to node."""

    between: Annotated[tuple[LinkEnd, ...], Field(min_length=2)]
    """Its ends; more than two make a chain of one rod from each to the next."""
    length: PositiveLength | None = None
    """Length of each rod; default: the distance of its ends at rest."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        for k, end in enumerate(self.between):
            if len(end.at) != dimension:
                yield f"between.{k}.at", f"needs {dimension} component(s) in a {dimension}D scene, has {len(end.at)}"


class GrabSpec(SceneModel):
    """A point of a body's surface that a hand holds by spring and damper, up to a largest force."""

    body: Name
    """Name of the body."""
    at: Point
    """The point of the rest shape, in scene coordinates; the nearest of the surface (in 2D: of the body) is held."""
    times: Times
    """Times of the path, increasing."""
    position: Annotated[tuple[Point, ...], Field(min_length=1)]
    """Where the hand is at each time, straight in between."""
    since: Time | None = None
    """From when on it holds the point; default: the first of `times`."""
    until: PositiveTime | None = None
    """When it lets go; default: the last of `times`."""
    stiffness: Annotated[Positive, Quantity("N/m")] | None = None
    """Spring between point and hand; default: reaches `most_force` over a tenth of the bodies' extent."""
    damping: Annotated[NotNegative, Quantity("N s/m")] | None = None
    """Damper beside it; default: sqrt(k m), half of what is critical for the whole body."""
    most_force: Annotated[Positive, Quantity("N")] | None = None
    """Largest force of the hand; default: five times the body's weight at 9.81 m/s2."""

    @field_validator("position")
    @classmethod
    def _one_for_each_time(cls, values: Any, info: ValidationInfo) -> Any:
        check_lengths(values, info)
        return values

    @model_validator(mode="after")
    def _in_order(self) -> GrabSpec:
        since = self.times[0] if self.since is None else self.since
        until = self.times[-1] if self.until is None else self.until
        if until <= since:
            raise PydanticCustomError("until", "`until` must be after `since`: it would never hold")
        return self.model_copy(update={"since": since, "until": until})


class ProbeSpec(SceneModel):
    """The node of a body closest to a point of its rest shape."""

    body: Name
    """Name of the body."""
    at: Point
    """The point, in scene coordinates."""
