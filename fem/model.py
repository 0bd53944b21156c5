"""A problem as a finite-element model sees it: all bodies' equations, and supports, loads and tools on its nodes.

Vectors run over all bodies, each with the rows of its `Space`; those beyond the vertices of the mesh inherit what
holds, loads or touches the vertices around them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_matrix
from skfem import FacetBasis, LinearForm

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.motion import Motion, motion_rates
from rheotwin.constraints.tools import RigidTool
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import Body, Term
from rheotwin.fem.finite.body import DESCRIPTIONS, finite_body
from rheotwin.fem.linear import require_no_free_modes
from rheotwin.fem.options import FemOptions
from rheotwin.fem.space import Space
from rheotwin.fem.system import linear_body
from rheotwin.problem import NodalLoad, Prescribed, Problem, ProblemBody
from rheotwin.rings import on_axis

FREE = -1
"""Owner of a component that nothing holds."""
PADDING = -2
"""Owner of a component that stands for nothing, behind the last inner unknown of a body."""
AXIS = -3
"""Owner of the radial component on the axis of an axisymmetric body: symmetry holds it."""

SAME_SHARE = 1e-9
"""Rounding of the shares in the motion of a node that hangs."""
SAME_TIME = 1e-12
"""Share of the duration within which times are one: a kink of a motion at the end of a step belongs to the next."""


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
    bodies: tuple[Body, ...]
    first_rows: tuple[int, ...]
    points: Array
    owners: Indices
    """Index of the support that holds each component (rows, d); FREE, PADDING or AXIS otherwise."""
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

    def parts(self) -> Iterator[tuple[Body, slice]]:
        """Iterate over bodies and the components of vectors that are theirs."""
        d = self.dimension
        for body, first in zip(self.bodies, self.first_rows, strict=True):
            yield body, slice(first * d, first * d + body.space.size)

    @cached_property
    def terms(self) -> tuple[tuple[Term, slice], ...]:
        """Terms of all bodies one after the other, with the components of their bodies."""
        return tuple((term, rows) for body, rows in self.parts() for term in body.terms)

    @cached_property
    def vertex_rows(self) -> Indices:
        """Rows of the problem's nodes, in their order; -1 for those that hang."""
        found = np.full(len(self.problem.points), -1)
        for own, body, first in zip(self.problem.bodies, self.bodies, self.first_rows, strict=True):
            found[own.first_node + body.space.kept] = first + np.arange(len(body.space.kept))
        return found

    def at_vertices(self, vector: Array) -> Array:
        """Return the values (N, d) of a vector at the problem's nodes."""
        values = vector.reshape(-1, self.dimension)
        found = values[self.vertex_rows]
        for own, body, first in zip(self.problem.bodies, self.bodies, self.first_rows, strict=True):
            if len(own.hanging):
                found[own.nodes] = body.space.follows @ values[first : first + body.space.nodes]
        return np.asarray(found)

    @cached_property
    def held(self) -> Flags:
        """Components (size,) that supports prescribe, or that stand for nothing."""
        return np.asarray(self.owners != FREE).ravel()

    @cached_property
    def free(self) -> Indices:
        """Components that are unknown."""
        return np.flatnonzero(~self.held)

    @cached_property
    def weight(self) -> Array:
        """Force of gravity (size,) [N]."""
        fall = np.zeros_like(self.points)
        for body, first in zip(self.bodies, self.first_rows, strict=True):
            fall[first : first + body.space.nodes] = self.problem.gravity
        return np.asarray(self.mass @ fall.ravel())

    def applied(self, time: float) -> Array:
        """Return weight and applied forces (size,) [N] at `time` [s]."""
        force = self.weight.reshape(-1, self.dimension).copy()
        for load in self.loads:
            np.add.at(force, load.rows, load.factor.at(time)[0] * load.shares)
        return np.asarray(force).ravel()

    def start_velocities(self) -> Array:
        """Return the velocities (size,) [m/s] at time zero; a node behind the vertices has the mean of its parents'."""
        found = np.zeros_like(self.points)
        for own, body, first in zip(self.problem.bodies, self.bodies, self.first_rows, strict=True):
            given = self.problem.start_velocities[own.nodes]
            every = np.concatenate(
                [given[body.space.kept], *(given[group].mean(axis=1) for group in body.space.parents)]
            )
            found[first : first + len(every)] = every
        return np.where(self.held, 0.0, found.ravel())

    def prescribed(self, time: float) -> Array:
        """Return the displacement (size,) [m] that supports prescribe at `time` [s], zero elsewhere."""
        return self.followed([item.motion.at(time) for item in self.problem.prescribed])

    def prescribed_rate(self, time: float) -> Array:
        """Return the velocity (size,) [m/s] at which supports arrive at `time` [s], zero elsewhere."""
        slack, motions = SAME_TIME * self.problem.scene.duration, [item.motion for item in self.problem.prescribed]
        return self.followed([motion_rates(motion, time, after=False, slack=slack)[0] for motion in motions])

    def followed(self, values: Sequence[Array]) -> Array:
        """Return the value (d,) of the support that holds each component (size,), zero where none does."""
        target = np.zeros_like(self.points)
        for index, value in enumerate(values):
            np.copyto(target, value[None, :], where=self.owners == index)
        return target.ravel()


def _selected(problem: Problem, body: ProblemBody, space: Space, item: Prescribed) -> Flags:
    """Return which nodes (nodes,) a support holds: its vertices, and those behind them with all parents held.

    Sides and boxes are convex, so they contain these. The vertices of a region, or of a support made in code, may lie
    around a corner: there chords through the body stay free.
    """
    chosen = np.zeros(len(problem.points), dtype=bool)
    chosen[item.nodes] = True
    inherited = space.with_inherited(chosen[body.nodes])
    if len(body.hanging):
        alone = chosen[body.nodes] & ~(space.follows @ inherited > 1.0 - SAME_SHARE)
        if alone.any():
            raise RheotwinError(
                f"supports.{item.support}: node {body.first_node + int(np.argmax(alone))} hangs on an edge of a "
                "coarser cell that is not held as a whole; choose the whole edge, or end `finer` elsewhere"
            )
    spec = problem.scene.supports.get(item.support)
    convex = spec is not None and spec.where.region is None
    return inherited if convex else np.asarray(inherited & ~space.chords)


def _owners(problem: Problem, bodies: tuple[Body, ...]) -> Indices:
    """Return the first support that holds each component, and what symmetry or packing holds."""
    found = []
    for body, system in zip(problem.bodies, bodies, strict=True):
        space = system.space
        owners = np.full((space.rows, space.dimension), FREE)
        if space.axisymmetric:
            owners[: space.nodes][on_axis(space.points), 0] = AXIS
        for index, item in reversed(list(enumerate(problem.prescribed))):
            held = np.flatnonzero(_selected(problem, body, space, item))
            owners[np.ix_(held, np.array(item.components))] = index
        owners.reshape(-1)[space.used :] = PADDING
        found.append(owners)
    return np.concatenate(found)


def _spread(body: Body, load: NodalLoad, shares: Array, thickness: float) -> Array:
    """Turn shares of vertices (vertices, d) into shares of all rows: traction or pressure on the loaded facets, weight.

    On linear elements, and where no whole facet is loaded, the shares of the vertices stay.
    """
    space = body.space
    out, mesh = np.zeros((space.rows, space.dimension)), space.mesh
    if load.is_weight:
        out[: space.nodes] = np.any(shares != 0.0, axis=0)
        return np.asarray(body.mass @ out.ravel()).reshape(out.shape)
    out[: len(space.kept)] = space.follows.T @ shares if len(space.hanging) else shares
    if space.order == 1 or mesh.dim() == 1:
        return out
    facets = mesh.boundary_facets()
    loaded = np.flatnonzero(np.any(shares != 0.0, axis=1))
    facets = facets[np.isin(mesh.facets[:, facets], loaded).all(axis=0)]
    if not facets.size:
        return out
    out[:] = 0.0
    surface = FacetBasis(mesh, space.element, facets=facets, intorder=4)
    touched = surface.get_dofs(facets).flatten()  # the others of the cells behind get rounding

    def sweep(w: Any) -> Any:
        return 2.0 * np.pi * w.x[0] if space.axisymmetric else 1.0

    if load.pressure is None:
        area = LinearForm(lambda v, w: sweep(w) * v).assemble(surface)[touched, None]
        out[touched] = area / area.sum() * shares.sum(axis=0)
    else:
        for axis in range(space.dimension):
            normal = LinearForm(lambda v, w, k=axis: sweep(w) * w.n[k] * v).assemble(surface)
            out[touched, axis] = -load.pressure * thickness * normal[touched]
    return out


def _loads(problem: Problem, bodies: tuple[Body, ...], first_rows: tuple[int, ...]) -> tuple[Load, ...]:
    def placed(load: NodalLoad) -> Load:
        found = []
        for body, system, first in zip(problem.bodies, bodies, first_rows, strict=True):
            mine = (load.nodes >= body.nodes.start) & (load.nodes < body.nodes.stop)
            if not mine.any():
                continue
            shares = np.zeros((system.space.vertices, problem.dimension))
            np.add.at(shares, load.nodes[mine] - body.first_node, load.shares[mine])
            spread = _spread(system, load, shares, problem.thickness)
            rows = np.flatnonzero(np.any(spread != 0.0, axis=1))
            found.append((first + rows, spread[rows]))
        rows, shares = (np.concatenate(column) for column in zip(*found, strict=True))
        return Load(rows, shares, load.factor)

    return tuple(placed(load) for load in problem.loads)


def _tools(problem: Problem, bodies: tuple[Body, ...], first_rows: tuple[int, ...]) -> tuple[RigidTool, ...]:
    def placed(tool: RigidTool) -> RigidTool:
        touchable = np.zeros(len(problem.points), dtype=bool)
        touchable[tool.candidates] = True
        rows = []
        for body, system, first in zip(problem.bodies, bodies, first_rows, strict=True):
            space = system.space
            rows.append(first + np.flatnonzero(space.with_inherited(touchable[body.nodes]) & ~space.chords))
        return replace(tool, candidates=np.concatenate(rows))

    return tuple(placed(tool) for tool in problem.tools)


def _row_points(problem: Problem, bodies: tuple[Body, ...]) -> Array:
    """Rest positions of all rows; those behind the nodes stand at the first node of their body."""
    found = []
    for body in bodies:
        behind = body.space.rows - body.space.nodes
        found.extend([body.space.points, np.repeat(body.space.points[:1], behind, axis=0)])
    return np.concatenate(found)


def build_model(problem: Problem, options: FemOptions) -> Model:
    """Discretise a problem."""
    bodies = tuple(_body(body, problem, options) for body in problem.bodies)
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
        lumped=options.mass == "lumped",
    )


def _body(body: ProblemBody, problem: Problem, options: FemOptions) -> Body:
    if options.kinematics in DESCRIPTIONS:
        return finite_body(body, problem, options)
    return linear_body(body, problem, options)


def require_held(model: Model) -> None:
    """Refuse bodies that could move as a whole where no inertia resists, naming the motions."""
    for body, system, first in zip(model.problem.bodies, model.bodies, model.first_rows, strict=True):
        rows = slice(first, first + system.space.nodes)
        held = model.owners[rows] != FREE
        require_no_free_modes(body.name, system.space.points, held, axisymmetric=system.space.axisymmetric)
