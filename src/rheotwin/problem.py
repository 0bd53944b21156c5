"""A scene made concrete: meshes, masses, held nodes, loads and tools, ready for any solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.links import RigidLink
from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import RigidTool
from rheotwin.errors import RheotwinError
from rheotwin.materials import Law
from rheotwin.meshing import NO_HANGING_NODES, HangingNodes
from rheotwin.scene import Scene

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


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

    @property
    def nodes(self) -> slice:
        """Global node numbers of the body."""
        return slice(self.first_node, self.first_node + self.mesh.p.shape[1])


@dataclass(frozen=True)
class Prescribed:
    """Nodes whose components follow a motion (zero for a fixed support); displacement values are (n, d) [m]."""

    name: str
    nodes: Indices
    components: tuple[int, ...]
    motion: Motion


def held_by(prescribed: Sequence[Prescribed], shape: tuple[int, ...]) -> NDArray[np.int64]:
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

    def __post_init__(self) -> None:
        """Refuse bodies with common nodes: what shares nodes is one body, and cannot touch or pass itself."""
        for body, following in pairwise(sorted(self.bodies, key=lambda body: body.first_node)):
            if following.first_node < body.nodes.stop:
                raise RheotwinError(
                    f"bodies.{following.name}: it shares node {following.first_node} with body '{body.name}'; number "
                    "the nodes of each body after those of the one before, or make one body of both"
                )

    def body_of(self, node: int) -> ProblemBody:
        """Return the body a global node belongs to."""
        return next(body for body in reversed(self.bodies) if node >= body.first_node)

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """Index of the support that holds each component (N, d), the first one named; -1 where it is free."""
        return held_by(self.prescribed, self.points.shape)

    @cached_property
    def extent(self) -> float:
        """Diagonal of the bounding box of all bodies at rest [m]."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))
