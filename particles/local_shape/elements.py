"""The elements of a problem: corners, rest offsets, constants of their laws; packed for the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.springs import contact_stiffness
from rheotwin.errors import RheotwinError
from rheotwin.kernels.vectors import aligned, aligned_copy
from rheotwin.meshing import element_measures
from rheotwin.particles.local_shape.forces import KEPT, ROWS, SPREAD, Group, Needs, Room
from rheotwin.particles.local_shape.material import Parts, constants, law_parts, match_report, moments
from rheotwin.particles.local_shape.options import LocalShapeOptions
from rheotwin.particles.shear_volume.corners import CHUNK, corners_in_chunks, in_chunks
from rheotwin.particles.stability import StepBound, stable_step, with_contact_reason
from rheotwin.problem import Problem

SAME = 1e-12
"""Shapes this close, over their size, differ by the rounding of coordinates."""


@dataclass(frozen=True)
class ShapeElements:
    """Elements (E, n) in global node numbers with rest offsets (E, n, 3) [m] and volumes (E,) [m3].

    `spring` k, `beside` c1, `series` c2 [N/m, N s/m] of shapes, `damping` D [N s/m]; `bulk` lambda V and `swelling`
    eta V [J, J s]; `share` B and `time` tau [s], 1 and infinite where nothing creeps.
    """

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
    matches: dict[str, Any]
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


def find_elements(problem: Problem, options: LocalShapeOptions) -> ShapeElements:
    """Return the elements of all bodies, in the order of their cells, with the constants of their laws."""
    found: list[_Some] = []
    laws: list[Parts] = []
    matches: dict[str, Any] = {}
    first = 0
    for body in problem.bodies:
        volumes = element_measures(body.mesh) * problem.thickness
        for part in body.laws:
            parts = law_parts(problem, part, options)
            cells = np.arange(len(volumes))[part.cells]
            corners = body.mesh.t.T[cells] + body.first_node
            places = problem.points[corners]
            offsets = places - places.mean(axis=1, keepdims=True)
            given = constants(problem, parts, offsets, volumes[cells])
            found.append(_Some(first + cells, corners, offsets, volumes[cells], *given))
            laws.append(parts)
            name = body.name if len(body.laws) == 1 else part.place.removeprefix("bodies.")
            matches[name] = match_report(problem, parts, offsets, volumes[cells])
        first += len(volumes)
    order = np.argsort(np.concatenate([some.cells for some in found]))

    def joined(field: int) -> Any:
        return np.concatenate([some[field] for some in found])[order]

    corners, offsets, volumes, shape, bulk = (joined(field) for field in range(1, 6))
    counts = [len(some.cells) for some in found]
    _check_all_held(problem, corners)

    def each(name: str) -> Array:
        return np.repeat([float(getattr(parts, name)) for parts in laws], counts)[order]

    spring, beside, creeps = each("spring"), each("beside"), each("creeps") > 0.0
    damping = 2.0 * options.damping * np.sqrt(shape * spring * problem.masses[corners].mean(axis=1))
    creeping = bool(creeps.any())
    needs = Needs(
        corners=corners.shape[1],
        dimension=problem.dimension,
        rotation=options.rotation,
        passes=options.passes,
        viscous=creeping or bool(beside.any() or damping.any()),
        creeps=creeping,
        volume=bool(bulk.any()),
        keeps_volume=options.keep_volume and creeping,
    )
    return ShapeElements(
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
        matches=matches,
        needs=needs,
    )


def _check_all_held(problem: Problem, corners: Indices) -> None:
    """Refuse nodes in no element."""
    alone = np.setdiff1d(np.arange(len(problem.points)), corners)
    if len(alone):
        body = problem.body_of(int(alone[0]))
        raise RheotwinError(
            f"bodies.{body.name}: node {alone[0] - body.first_node} is a corner of no element, so nothing holds it; "
            "remove it from the mesh"
        )


def step_bound(problem: Problem, elements: ShapeElements) -> StepBound:
    """Return the largest stable step [s]: no eigenvalue of M^-1 K is above max_i sum_e K_e/m_i.

    K_e = B k + lambda V tr S^-1 bounds an element: its shape has k times a projector, its volume one row of that size.
    """
    d, share = problem.dimension, 1.0 if elements.needs.keeps_volume else elements.share
    size = np.trace(np.linalg.inv(moments(elements.offsets[:, :, :d])), axis1=1, axis2=2)
    stiffness = share * (elements.spring + elements.bulk * size)
    viscosity = share * (elements.beside + elements.swelling * size) + elements.damping
    moving = (problem.owners < 0).any(axis=1)
    if not moving.any():
        return StepBound(np.inf, "nothing that moves")

    def fastest(values: Array, beside: Array | float = 0.0) -> float:
        sums = np.bincount(elements.corners.ravel(), np.repeat(values, elements.corners.shape[1]), len(problem.points))
        return float(np.max(((sums + beside) / problem.masses)[moving]))

    step = stable_step(fastest(stiffness, contact_stiffness(problem)), fastest(viscosity))
    reason = "the stiffness of the elements around one vertex (h^2 sum K/m + 2 h sum C/m < 4)"
    return with_contact_reason(StepBound(step, reason), problem)
