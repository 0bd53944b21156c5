"""A scene made concrete: meshes, masses, held nodes, loads and tools, ready for any solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.grabs import Grab
from rheotwin.constraints.links import RigidLink
from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import RigidTool
from rheotwin.errors import RheotwinError
from rheotwin.materials import Law
from rheotwin.meshing import NO_HANGING_NODES, HangingNodes
from rheotwin.scene import Scene

Cells = Indices | EllipsisType
"""Numbers of the cells that have something; `...` where all have it."""


class BodyPart(NamedTuple):
    """Cells of a body that are made of one law, and where the scene says so."""

    place: str
    law: Law
    cells: Cells


@dataclass(frozen=True)
class ProblemBody:
    """One body: its scikit-fem mesh, its law and where its nodes sit in the global numbering."""

    name: str
    mesh: Any
    cell: str
    law: Law
    first_node: int
    density: float
    regions: dict[str, Indices]
    hanging: HangingNodes = NO_HANGING_NODES
    """Nodes of finer cells on the edges of coarser ones."""
    parts: tuple[BodyPart, ...] = ()
    """Cells of other laws than the body's own; no cell is in two of them."""

    @property
    def laws(self) -> tuple[BodyPart, ...]:
        """Every law of the body with its cells: the body's own where there are no parts, then theirs."""
        place = f"bodies.{self.name}.law"
        if not self.parts:
            return (BodyPart(place, self.law, ...),)
        rest = np.ones(self.mesh.t.shape[1], dtype=bool)
        for part in self.parts:
            rest[part.cells] = False
        own = (BodyPart(place, self.law, np.flatnonzero(rest)),) if rest.any() else ()
        return (*own, *self.parts)

    @property
    def nodes(self) -> slice:
        """Global node numbers of the body: points between the vertices of curved cells have none."""
        curved = len(self.mesh.elem.doflocs) > len(self.mesh.t)
        return slice(self.first_node, self.first_node + (self.mesh.nvertices if curved else self.mesh.p.shape[1]))


@dataclass(frozen=True)
class Prescribed:
    """Nodes whose components follow a motion (zero for a fixed support); displacement values are (n, d) [m]."""

    name: str
    nodes: Indices
    components: tuple[int, ...]
    motion: Motion
    begin: float = 0.0
    end: float = np.inf
    """From when to when [s] it acts; its motion is measured from where it finds its nodes."""

    @property
    def support(self) -> str:
        """The support it belongs to: parts of one are called NAME#0, NAME#1, .."""
        return self.name.partition("#")[0]


def on_supports(prescribed: Sequence[Prescribed], forces: Iterable[Array]) -> dict[str, Array]:
    """Return the force (d,) [N] on each support by its name, from those on what is prescribed, in its order."""
    found: dict[str, Array] = {}
    for item, force in zip(prescribed, forces, strict=True):
        name = f"support.{item.support}"
        found[name] = found[name] + force if name in found else force
    return found


def held_by(prescribed: Sequence[Prescribed], shape: tuple[int, ...]) -> Indices:
    """Return the index of the support that holds each component (N, d), the first one named; -1 where it is free."""
    owners = np.full(shape, -1)
    for index in reversed(range(len(prescribed))):
        item = prescribed[index]
        owners[np.ix_(item.nodes, np.array(item.components))] = index
    return owners


@dataclass(frozen=True)
class NodalLoad:
    """Dead forces: `shares` (n, d) [N] on `nodes`, times a factor that varies over time."""

    name: str
    nodes: Indices
    shares: Array
    factor: Motion
    is_weight: bool = False
    """Whether the shares are masses times an acceleration, and no traction on a surface."""
    pressure: float | None = None
    """The pressure [Pa] the shares stand for; none for a constant traction."""


@dataclass(frozen=True)
class Problem:
    """Everything a solver needs, in SI units; node arrays run over all bodies one after the other."""

    scene: Scene
    dimension: int
    plane: str
    thickness: float
    bodies: tuple[ProblemBody, ...]
    points: Array
    masses: Array
    gravity: Array
    prescribed: tuple[Prescribed, ...]
    loads: tuple[NodalLoad, ...]
    tools: tuple[RigidTool, ...]
    probes: dict[str, int]
    tick: Fraction
    """Largest time [s] that divides every planned output time (0: none): a step that divides it lands on all."""
    contact: ContactSetup | None = None
    """None: tools are exact and frictionless, bodies pass through each other."""
    links: tuple[RigidLink, ...] = ()
    """Pairs of nodes that keep their distance."""
    grabs: tuple[Grab, ...] = ()
    """Points held by a hand."""
    velocities: Array | None = None
    """Velocities (N, d) [m/s] at time zero; none: at rest."""
    refinement: Mapping[str, Any] | None = None
    """How a solver came to its meshes, for the record; none: they are those of the scene."""

    def __post_init__(self) -> None:
        """Refuse what does not fit together: scenes are checked with their places, other problems here."""
        self._check_nodes()
        self._check_numbers()
        if self.contact is not None:
            self._check_contact(self.contact)

    def _check_nodes(self) -> None:
        """Refuse bodies with common nodes (they could not touch or pass each other) and nodes without a body."""
        expected, before = 0, ""
        for body in sorted(self.bodies, key=lambda body: body.first_node):
            if before and body.first_node < expected:
                raise RheotwinError(
                    f"bodies.{body.name}: it shares node {body.first_node} with body '{before}'; number the nodes of "
                    "each body after those of the one before, or make one body of both"
                )
            if body.first_node != expected:
                raise RheotwinError(
                    f"bodies.{body.name}: its nodes begin at {body.first_node}, those before it end at {expected}; "
                    "number the nodes of all bodies without a gap"
                )
            expected, before = body.nodes.stop, body.name
        if expected != len(self.points):
            raise RheotwinError(
                f"points: there are {len(self.points)} for {expected} nodes of bodies; give one for each"
            )

    def _check_numbers(self) -> None:
        """Refuse places and masses no node can have."""
        if self.points.shape[1:] != (self.dimension,):
            raise RheotwinError(f"points: each needs {self.dimension} coordinates, got the shape {self.points.shape}")
        if self.masses.shape != self.points.shape[:1]:
            raise RheotwinError(f"masses: there are {self.masses.size} for {len(self.points)} nodes; give one for each")
        lost = np.flatnonzero(~np.isfinite(self.points).all(axis=1))
        if len(lost):
            raise RheotwinError(f"{self._place(lost[0])} is at {self.points[lost[0]]}; give it finite coordinates")
        light = np.flatnonzero(~((self.masses > 0.0) & np.isfinite(self.masses)))
        if len(light):
            raise RheotwinError(
                f"{self._place(light[0])} has no mass that is a positive number ({self.masses[light[0]]} kg); give the "
                "body a density or total mass"
            )

    def _check_contact(self, contact: ContactSetup) -> None:
        """Refuse laws for other tools than there are, and bodies that are not there."""
        if len(contact.tool_laws) != len(self.tools):
            raise RheotwinError(
                f"contact.tool_laws: there are {len(contact.tool_laws)} for {len(self.tools)} tools; give one for each"
            )
        for number in contact.self_bodies:
            if not 0 <= number < len(self.bodies):
                raise RheotwinError(
                    f"contact.self_bodies: there is no body {number}; their numbers go from 0 to {len(self.bodies) - 1}"
                )

    def _place(self, node: int) -> str:
        body = self.body_of(node)
        return f"bodies.{body.name}: node {node - body.first_node}"

    def body_of(self, node: int) -> ProblemBody:
        """Return the body a global node belongs to."""
        return next(body for body in reversed(self.bodies) if node >= body.first_node)

    @cached_property
    def owners(self) -> Indices:
        """Index of the support that holds each component (N, d), the first one named; -1 where it is free."""
        return held_by(self.prescribed, self.points.shape)

    @cached_property
    def start_velocities(self) -> Array:
        """Velocities (N, d) [m/s] at time zero; held components start at rest, and then follow their support."""
        given = np.zeros_like(self.points) if self.velocities is None else self.velocities
        return np.where(self.owners < 0, given, 0.0)

    @cached_property
    def extent(self) -> float:
        """Diagonal of the bounding box of all bodies at rest [m]."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))
