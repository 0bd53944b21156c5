"""A problem as a finite-element model sees it: all bodies' equations, and supports, loads and tools on its nodes.

Vectors run over all bodies, each with the rows of its `Space`; those beyond the vertices of the mesh inherit what
holds, loads or touches the vertices around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix
from skfem import FacetBasis, LinearForm

from rheotwin.constraints.motion import Motion
from rheotwin.constraints.tools import RigidTool
from rheotwin.fem.space import Space
from rheotwin.fem.system import BodySystem, Discretisation, body_system
from rheotwin.problem import NodalLoad, Problem

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

FREE = -1
"""Owner of a component that nothing holds."""
PADDING = -2
"""Owner of a component that stands for nothing, behind the last inner unknown of a body."""


@dataclass(frozen=True)
class Load:
    """Dead forces: `shares` (rows, d) [N] on `rows`, times a factor that varies over time."""

    rows: Indices
    shares: Array
    factor: Motion


@dataclass(frozen=True)
class Model:
    """Matrices, supports, loads and tools over all rows of all bodies."""

    problem: Problem
    bodies: tuple[BodySystem, ...]
    first_rows: tuple[int, ...]
    points: Array
    owners: NDArray[np.int64]
    """Index of the support that holds each component (rows, d); FREE or PADDING otherwise."""
    loads: tuple[Load, ...]
    tools: tuple[RigidTool, ...]
    mass: csr_matrix
    lumped: bool

    @property
    def dimension(self) -> int:
        """Components of a displacement."""
        return self.problem.dimension

    @property
    def size(self) -> int:
        """Length of a vector."""
        return int(self.points.size)

    def parts(self) -> Iterator[tuple[BodySystem, slice]]:
        """Iterate over bodies and the components of vectors that are theirs."""
        d = self.dimension
        for body, first in zip(self.bodies, self.first_rows, strict=True):
            yield body, slice(first * d, first * d + body.space.size)

    @cached_property
    def vertex_rows(self) -> Indices:
        """Rows of the problem's nodes, in their order."""
        pairs = zip(self.bodies, self.first_rows, strict=True)
        return np.concatenate([first + np.arange(body.space.vertices) for body, first in pairs])

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Components (size,) that supports prescribe, or that stand for nothing."""
        return (self.owners != FREE).ravel()

    @cached_property
    def free(self) -> Indices:
        """Components that are unknown."""
        return np.flatnonzero(~self.held)

    @cached_property
    def weight(self) -> Array:
        """Force of gravity (size,) [N]."""
        return np.asarray(self.mass @ np.tile(self.problem.gravity, len(self.points)))

    def applied(self, time: float) -> Array:
        """Return weight and applied forces (size,) [N] at `time` [s]."""
        force = self.weight.reshape(-1, self.dimension).copy()
        for load in self.loads:
            np.add.at(force, load.rows, load.factor.at(time)[0] * load.shares)
        return np.asarray(force).ravel()

    def prescribed(self, time: float) -> Array:
        """Return the displacement (size,) [m] that supports prescribe at `time` [s], zero elsewhere."""
        target = np.zeros_like(self.points)
        for index, item in enumerate(self.problem.prescribed):
            target = np.where(self.owners == index, item.motion.at(time)[None, :], target)
        return target.ravel()


def _owners(problem: Problem, bodies: tuple[BodySystem, ...]) -> NDArray[np.int64]:
    """Return the first support that holds each component; a node behind the vertices needs all its parents held."""
    found = []
    for body, system in zip(problem.bodies, bodies, strict=True):
        space = system.space
        owners = np.full((space.rows, space.dimension), FREE)
        for index, item in reversed(list(enumerate(problem.prescribed))):
            holds = np.zeros(problem.points.shape, dtype=bool)
            holds[np.ix_(item.nodes, np.array(item.components))] = True
            owners[: space.nodes][space.with_inherited(holds[body.nodes])] = index
        owners.reshape(-1)[space.nodes * space.dimension + space.inner :] = PADDING
        found.append(owners)
    return np.concatenate(found)


@LinearForm
def _unit_pressure(v: object, w: object) -> object:
    return v


def _spread(space: Space, shares: Array) -> Array:
    """Turn shares of vertices (vertices, d) into shares of all nodes: a constant traction on the loaded facets.

    On linear elements, and where no whole facet is loaded, the shares of the vertices stay.
    """
    out = np.zeros((space.rows, space.dimension))
    out[: space.vertices] = shares
    mesh = space.basis.mesh
    loaded = np.flatnonzero(np.any(shares != 0.0, axis=1))
    if space.order == 1 or mesh.dim() == 1:
        return out
    facets = mesh.boundary_facets()
    facets = facets[np.isin(mesh.facets[:, facets], loaded).all(axis=0)]
    if not facets.size:
        return out
    surface = FacetBasis(mesh, space.basis.elem.elem, facets=facets, intorder=4)
    area = _unit_pressure.assemble(surface)
    total = shares.sum(axis=0)
    out[: space.nodes] = area[:, None] / area.sum() * total
    return out


def _loads(problem: Problem, bodies: tuple[BodySystem, ...], first_rows: tuple[int, ...]) -> tuple[Load, ...]:
    def placed(load: NodalLoad) -> Load:
        found = []
        for body, system, first in zip(problem.bodies, bodies, first_rows, strict=True):
            mine = (load.nodes >= body.nodes.start) & (load.nodes < body.nodes.stop)
            if not mine.any():
                continue
            shares = np.zeros((system.space.vertices, problem.dimension))
            np.add.at(shares, load.nodes[mine] - body.first_node, load.shares[mine])
            spread = _spread(system.space, shares)
            rows = np.flatnonzero(np.any(spread != 0.0, axis=1))
            found.append((first + rows, spread[rows]))
        rows, shares = (np.concatenate(column) for column in zip(*found, strict=True))
        return Load(rows, shares, load.factor)

    return tuple(placed(load) for load in problem.loads)


def _tools(problem: Problem, bodies: tuple[BodySystem, ...], first_rows: tuple[int, ...]) -> tuple[RigidTool, ...]:
    def placed(tool: RigidTool) -> RigidTool:
        touchable = np.zeros(len(problem.points), dtype=bool)
        touchable[tool.candidates] = True
        rows = []
        for body, system, first in zip(problem.bodies, bodies, first_rows, strict=True):
            rows.append(first + np.flatnonzero(system.space.with_inherited(touchable[body.nodes])))
        return replace(tool, candidates=np.concatenate(rows))

    return tuple(placed(tool) for tool in problem.tools)


def _row_points(problem: Problem, bodies: tuple[BodySystem, ...]) -> Array:
    """Rest positions of all rows; inner rows stand at the first node of their body."""
    found = []
    for body in bodies:
        inner = body.space.rows - body.space.nodes
        found.extend([body.space.points, np.repeat(body.space.points[:1], inner, axis=0)])
    return np.concatenate(found)


def build_model(problem: Problem, choice: Discretisation) -> Model:
    """Discretise a problem."""
    bodies = tuple(body_system(body, problem, choice) for body in problem.bodies)
    starts = np.cumsum([0, *(body.space.rows for body in bodies)])
    first_rows = tuple(int(start) for start in starts[:-1])
    return Model(
        problem=problem,
        bodies=bodies,
        first_rows=first_rows,
        points=_row_points(problem, bodies),
        owners=_owners(problem, bodies),
        loads=_loads(problem, bodies, first_rows),
        tools=_tools(problem, bodies, first_rows),
        mass=block_diag([body.mass for body in bodies], format="csr"),
        lumped=not choice.consistent_mass,
    )
