"""The elements of a problem: corners, rest offsets, constants of their laws; packed for the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact.springs import contact_stiffness
from rheotwin.errors import RheotwinError
from rheotwin.kernels.vectors import aligned, aligned_copy
from rheotwin.meshing import cell_blocks, element_measures
from rheotwin.meshing.mixed import CellBlock
from rheotwin.particles.local_shape.forces import KEPT, ROWS, SPREAD, Group, Needs, Room
from rheotwin.particles.local_shape.material import Parts, constants, law_parts, match_report, moments
from rheotwin.particles.local_shape.options import LocalShapeOptions
from rheotwin.particles.shear_volume.corners import CHUNK, corners_in_chunks, in_chunks
from rheotwin.particles.stability import StepBound, stable_step, with_contact_reason
from rheotwin.problem import Problem, ProblemBody

SAME = 1e-12
"""Shapes this close, over their size, differ by the rounding of coordinates."""


@dataclass(frozen=True)
class ShapeElements:
    """Elements (E, n) in global node numbers with rest offsets (E, n, 3) [m] and volumes (E,) [m3]; all have n corners.

    `cells` are their places among all cells.
    `spring` k, `beside` c1, `series` c2 [N/m, N s/m] of shapes, `damping` D [N s/m]; `bulk` lambda V and `swelling`
    eta V [J, J s]; `share` B and `time` tau [s], 1 and infinite where nothing creeps.
    """

    cells: Indices
    corners: Indices
    offsets: Array
    volumes: Array
    spring: Array
    beside: Array
    damping: Array
    bulk: Array
    swelling: Array
    share: Array
    time: Array
    needs: Needs

    @property
    def creeps(self) -> Array:
        """Where rest shapes creep (E,)."""
        return np.isfinite(self.time)

    def rows(self, h: float) -> Array:
        """Return the constants (ROWS, E) of steps of `h` [s]."""
        turns = h / self.time
        with np.errstate(invalid="ignore"):
            mean = np.where(self.creeps, -np.expm1(-turns) * self.time, h)  # tau (1 - exp(-h/tau))
        kept = np.exp(-turns)
        whole = 1.0 if self.needs.keeps_volume else self.share
        size = np.sum(self.offsets**2, axis=(1, 2))
        found = (
            *(self.share * self.spring, self.share * self.beside, self.damping, kept, self.share * mean - h * kept),
            *(whole * self.bulk, whole * self.swelling, size, 1.0 - self.share, self.spring, self.beside),
        )
        return np.stack(np.broadcast_arrays(*found))

    def packed(self, h: float) -> Group:
        """Return the elements for the compiled loop; those that fill up the last chunk pull at nothing."""
        rows = in_chunks(self.rows(h))
        rows[-1, :, len(self.corners) - (len(rows) - 1) * CHUNK :] = _idle(rows)
        corners, (_, blocks) = corners_in_chunks(self.corners), self.rest_shapes()
        return Group(len(self.corners), corners, rows, blocks, room(self.needs.corners))

    def rest_shapes(self) -> tuple[Array, Indices]:
        """Return rest offsets as the loop has them (blocks, 3 n, CHUNK), and the block of each chunk.

        Chunks in which all elements are like the first one share a block, unless they creep apart.
        """
        found = in_chunks(self.offsets.reshape(len(self.offsets), -1).T)
        first = found[0, :, :1]
        same = np.abs(found - first).max(axis=(1, 2)) <= SAME * np.abs(first).max()
        if self.needs.creeps or not same.any():
            return found, np.arange(len(found))
        shared = np.broadcast_to(first, found.shape[1:])[None]
        return aligned_copy(np.concatenate([shared, found[~same]]), float), np.where(same, 0, np.cumsum(~same))


def _idle(rows: Array) -> Array:
    """Return constants (ROWS, 1) of an element without forces."""
    idle = np.zeros((ROWS, 1))
    idle[KEPT] = 1.0
    idle[SPREAD] = rows[-1, SPREAD, :1]
    return idle


def room(corners: int) -> Room:
    """Return room for one chunk of elements of so many corners."""
    places, velocities, pulls = (aligned((3 * corners, CHUNK), float) for _ in range(3))
    return Room(places, velocities, pulls, np.zeros((8, 4)))


class _Some(NamedTuple):
    """Cells of one law: their numbers, corners, rest offsets, volumes; k/E [m] and lambda V/E [m3]."""

    cells: Indices
    corners: Indices
    offsets: Array
    volumes: Array
    shape: Array
    bulk: Array


def find_elements(problem: Problem, options: LocalShapeOptions) -> tuple[list[ShapeElements], dict[str, Any]]:
    """Return the elements of all bodies by their number of corners, and how well each law is matched."""
    found: list[_Some] = []
    laws: list[Parts] = []
    matches: dict[str, Any] = {}
    first = 0
    for body in problem.bodies:
        volumes = element_measures(body.mesh) * problem.thickness
        for part in body.laws:
            parts = law_parts(problem, part, options)
            chosen = np.zeros(len(volumes), bool)
            chosen[part.cells] = True
            own = [_some(problem, parts, body, block, chosen, volumes, first) for block in cell_blocks(body.mesh)]
            own = [some for some in own if len(some.cells)]
            found += own
            laws += [parts] * len(own)
            name = body.name if len(body.laws) == 1 else part.place.removeprefix("bodies.")
            shapes = np.concatenate([moments(some.offsets) for some in own])
            matches[name] = match_report(problem, parts, shapes, np.concatenate([some.volumes for some in own]))
        first += len(volumes)
    _check_all_held(problem, [some.corners for some in found])
    creeping = any(parts.creeps for parts in laws)
    needs = Needs(
        corners=0,
        dimension=problem.dimension,
        rotation=options.rotation,
        passes=options.passes,
        viscous=creeping or options.damping > 0.0 or any(parts.beside > 0.0 for parts in laws),
        creeps=creeping,
        volume=any(bool(some.bulk.any()) for some in found),
        keeps_volume=options.keep_volume and creeping,
    )
    blocks = []
    for count in sorted({some.corners.shape[1] for some in found}):
        alike = [(some, parts) for some, parts in zip(found, laws, strict=True) if some.corners.shape[1] == count]
        blocks.append(_joined(problem, alike, options.damping, needs._replace(corners=count)))
    return blocks, matches


def _some(
    problem: Problem, parts: Parts, body: ProblemBody, block: CellBlock, chosen: Flags, volumes: Array, first: int
) -> _Some:
    """Return the chosen cells of a block."""
    taken = chosen[block.cells]
    cells, corners = block.cells[taken], np.asarray(block.corners.T[taken] + body.first_node, np.intp)
    places = problem.points[corners]
    offsets = places - places.mean(axis=1, keepdims=True)
    given = constants(problem, parts, moments(offsets), volumes[cells])
    return _Some(first + cells, corners, offsets, volumes[cells], *given)


def _joined(problem: Problem, alike: list[tuple[_Some, Parts]], zeta: float, needs: Needs) -> ShapeElements:
    """Return elements of equally many corners, in the order of their cells; `zeta` damps them."""
    order = np.argsort(np.concatenate([some.cells for some, _ in alike]))

    def joined(field: int) -> Any:
        return np.concatenate([some[field] for some, _ in alike])[order]

    cells, corners, offsets, volumes, shape, bulk = (joined(field) for field in range(6))
    counts = [len(some.cells) for some, _ in alike]

    def each(name: str) -> Array:
        return np.repeat([float(getattr(parts, name)) for _, parts in alike], counts)[order]

    spring, beside, creeps = each("spring"), each("beside"), each("creeps") > 0.0
    damping = 2.0 * zeta * np.sqrt(shape * spring * problem.masses[corners].mean(axis=1))
    return ShapeElements(
        cells=cells,
        corners=np.ascontiguousarray(corners, dtype=np.int64),
        offsets=np.pad(offsets, ((0, 0), (0, 0), (0, 3 - problem.dimension))),
        volumes=volumes,
        spring=shape * spring,
        beside=shape * beside,
        damping=damping,
        bulk=bulk * spring,
        swelling=bulk * beside,
        share=each("share"),
        time=np.where(creeps, each("time"), np.inf),
        needs=needs,
    )


def _check_all_held(problem: Problem, corners: list[Indices]) -> None:
    """Refuse nodes in no element."""
    alone = np.setdiff1d(np.arange(len(problem.points)), np.concatenate([own.ravel() for own in corners]))
    if len(alone):
        body = problem.body_of(int(alone[0]))
        raise RheotwinError(
            f"bodies.{body.name}: node {alone[0] - body.first_node} is a corner of no element, so nothing holds it; "
            "remove it from the mesh"
        )


def step_bound(problem: Problem, blocks: list[ShapeElements]) -> StepBound:
    """Return the largest stable step [s]: no eigenvalue of M^-1 K is above max_i sum_e K_e/m_i.

    K_e = B k + lambda V tr S^-1 bounds an element: its shape has k times a projector, its volume one row of that size.
    """
    moving = (problem.owners < 0).any(axis=1)
    if not moving.any():
        return StepBound(np.inf, "nothing that moves")
    sums = np.zeros((2, len(problem.points)))
    for elements in blocks:
        share = 1.0 if elements.needs.keeps_volume else elements.share
        moment = moments(elements.offsets[:, :, : problem.dimension])
        size = np.trace(np.linalg.inv(moment), axis1=1, axis2=2)
        stiffness = share * (elements.spring + elements.bulk * size)
        viscosity = share * (elements.beside + elements.swelling * size) + elements.damping
        nodes, count = elements.corners.ravel(), elements.corners.shape[1]
        for row, values in enumerate((stiffness, viscosity)):
            sums[row] += np.bincount(nodes, np.repeat(values, count), len(problem.points))
    sums[0] += contact_stiffness(problem)
    step = stable_step(*(float(np.max((row / problem.masses)[moving])) for row in sums))
    reason = "the stiffness of the elements around one vertex (h^2 sum K/m + 2 h sum C/m < 4)"
    return with_contact_reason(StepBound(step, reason), problem)
