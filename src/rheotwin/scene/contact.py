"""How bodies touch tools, each other and themselves: the law of a contact and its friction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field

from rheotwin.scene.base import Dimension, Flag, Name, Number, SceneModel
from rheotwin.scene.quantities import NotNegative, Positive
from rheotwin.scene.units import Quantity

if TYPE_CHECKING:
    from rheotwin.constraints.contact.law import ContactLaw

LawName = Literal["exact", "penalty", "integrated", "impulse", "viscous"]

KEYS_OF_LAW: dict[LawName, tuple[str, ...]] = {
    "exact": (),
    "penalty": ("stiffness", "damping"),
    "integrated": ("stiffness", "damping", "integral", "region", "offset"),
    "impulse": ("restitution",),
    "viscous": ("damping",),
}
"""What each law takes beside friction."""
NEEDED: dict[str, tuple[str, ...]] = {
    "penalty": ("stiffness",),
    "integrated": ("stiffness", "damping", "integral"),
    "viscous": ("damping",),
}
FRICTION_KEYS = ("static_friction", "friction_rule", "slip_speed")


class ContactKeys(SceneModel):
    """A contact law: the normal force of a node, and its friction."""

    law: LawName | None = None
    """exact (default): no penetration; penalty: K g + C g'; integrated: and I int g dt; impulse: exact, and bounces;
    viscous: C g'."""
    stiffness: Annotated[Positive, Quantity("N/m")] | None = None
    """K of a touching node (penalty, integrated)."""
    damping: Annotated[NotNegative, Quantity("N s/m")] | None = None
    """C of a touching node (penalty, integrated, viscous)."""
    integral: Annotated[Positive, Quantity("N/(m s)")] | None = None
    """I (integrated): takes the penetration away in about 5 K/I; less than C K/m for every node of mass m."""
    region: Annotated[NotNegative, Quantity("m")] | None = None
    """Width outside the surface in which an integrated contact keeps its sum; without one bodies never rest."""
    offset: Flag | None = None
    """Push from the outer end of the region on (integrated): rests at max(0, region - m g/K); default: false."""
    restitution: Annotated[Number, Field(ge=0, le=1)] | None = None
    """Share of the closing speed with which bodies part (impulse); default: 0."""
    friction: NotNegative | None = None
    """Coefficient of friction while sliding; default: 0."""
    static_friction: NotNegative | None = None
    """Coefficient up to which contacts stick, at least `friction`; default: the same."""
    friction_rule: Literal["exact", "regularised"] | None = None
    """exact (default): sticks or slides; regularised: proportional to the slip up to `slip_speed`, creeps."""
    slip_speed: Annotated[Positive, Quantity("m/s")] | None = None
    """Slip from which regularised friction has its full size."""

    def given(self) -> dict[str, Any]:
        """Return the keys of the law that are given, by name."""
        chosen = {name: getattr(self, name) for name in ContactKeys.model_fields}
        return {name: value for name, value in chosen.items() if value is not None}

    @property
    def law_name(self) -> LawName:
        """The law chosen, or the default."""
        return self.law or "exact"

    def with_keys_of(self, other: ContactKeys | None) -> ContactKeys:
        """Return this law with what another table gives instead; what has no meaning any more is dropped."""
        own, new = self.given(), {} if other is None else other.given()
        if "friction" in new:
            own.pop("static_friction", None)
        if new.get("friction_rule") == "regularised":
            own.pop("static_friction", None)
        together = {**own, **new}
        kept = {"law", "friction", *FRICTION_KEYS, *KEYS_OF_LAW[together.get("law", "exact")]}
        if not together.get("friction"):
            kept -= set(FRICTION_KEYS)
        if together.get("friction_rule") != "regularised":
            kept -= {"slip_speed"}
        return ContactKeys(**{name: value for name, value in together.items() if name in kept or name in new})

    def law_faults(self, given: set[str]) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for what is missing or has no meaning; `given` are the keys of the table itself."""
        own = KEYS_OF_LAW[self.law_name]
        for name in sorted({key for keys in KEYS_OF_LAW.values() for key in keys} - set(own)):
            if name in given and getattr(self, name) is not None:
                takers = " or ".join(law for law, keys in KEYS_OF_LAW.items() if name in keys)
                yield name, f"has no meaning for the law '{self.law_name}'; leave it out, or choose {takers}"
        for name in NEEDED.get(self.law_name, ()):
            if not getattr(self, name):
                yield name, f"missing; the law '{self.law_name}' needs it"
        if self.offset and not self.region:
            yield "offset", "needs a `region` greater than 0 to push from"
        yield from self._friction_faults(given)

    def _friction_faults(self, given: set[str]) -> Iterator[tuple[str, str]]:
        regularised = self.friction_rule == "regularised"
        for name in FRICTION_KEYS:
            if name in given and not self.friction:
                yield name, "has no meaning without `friction`; give it, or leave this out"
        if self.friction and self.static_friction is not None:
            if regularised:
                yield "static_friction", "regularised friction never sticks; leave it out, or choose the exact rule"
            elif self.static_friction < self.friction:
                yield "static_friction", f"{self.static_friction} must be at least `friction` {self.friction}"
        if self.friction and regularised and self.slip_speed is None:
            yield "slip_speed", "missing; regularised friction needs it"
        if self.friction and not regularised and "slip_speed" in given:
            yield "slip_speed", "has no meaning for exact friction; leave it out, or choose the regularised rule"

    def axis_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for a friction that has no direction to act in."""
        if dimension == 1 and self.friction:
            yield "friction", "in 1D nothing slides; leave it out"

    def contact_law(self) -> ContactLaw:
        """Return the law with its defaults filled in."""
        from rheotwin.constraints.contact.law import ContactLaw

        values = self.given()
        return ContactLaw(**{**values, "static_friction": values.get("static_friction", values.get("friction", 0.0))})


class ContactSpec(ContactKeys):
    """Contact of the whole scene; without this table tools are exact and frictionless and bodies pass each other."""

    bodies: Flag | None = None
    """Whether bodies push on each other; default: yes, but in 1D they cannot."""
    self_contact: Flag | Annotated[tuple[Name, ...], Field(min_length=1)] = Field(default=False, alias="self")
    """Bodies whose surface can touch itself: true for all, or their names; default: none."""
    edges: Flag | None = None
    """Whether edges touch edges, beside vertices and faces, in 3D; default: yes."""
    overlap: Literal["refuse", "resolve"] = "refuse"
    """Bodies that start inside each other: an error, or moved apart as they are before the run."""

    def dimension_faults(self, dimension: Dimension) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for everything that does not exist in this dimension."""
        yield from self.axis_faults(dimension)
        if dimension == 1:
            if self.bodies:
                yield "bodies", "in 1D bodies have no surface to touch; leave it out"
            if self.self_contact:
                yield "self", "in 1D bodies have no surface to touch; leave it out"
        if dimension != 3 and self.edges is not None:
            yield "edges", f"edges touch edges in 3D only; this scene is {dimension}D, leave it out"

    @property
    def named_selves(self) -> tuple[str, ...]:
        """Bodies named in `self`."""
        return () if isinstance(self.self_contact, bool) else self.self_contact

    def completed(self, dimension: Dimension) -> Self:
        """Return the table with the defaults that depend on the dimension filled in."""
        return self if self.bodies is not None else self.model_copy(update={"bodies": dimension > 1})


class ToolContactSpec(ContactKeys):
    """What the contact of one tool has different from the scene's `[contact]`."""
