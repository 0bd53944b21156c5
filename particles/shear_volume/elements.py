"""Which element each cell of a problem gets, with its rest shape and the networks of its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.particles.forces.cells import cell_volumes
from rheotwin.particles.network import Constants, stack_channels
from rheotwin.particles.shear_volume.channels import LawChannels, law_channels
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.shear_volume.softening import SofteningConstants, stack_softening
from rheotwin.problem import Problem, ProblemBody
from rheotwin.tensors import padded

OBTUSE = -1e-9
"""Weights below this belong to obtuse angles; those of right angles are zero up to rounding."""
HALVES = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 3], [1, 2, 3]])
"""Triangles of a quadrilateral by either diagonal: each counts half."""


def corner_rows(cells: Indices) -> Indices:
    """Return (k E, 3): every corner of cells (E, k), followed by the next and the one before, counter-clockwise."""
    return np.stack([cells, np.roll(cells, -1, axis=1), np.roll(cells, 1, axis=1)], axis=2).reshape(-1, 3)


def corner_cotangents(points: Array, corners: Indices) -> Array:
    """Return cot(theta) (C,) of corner rows (C, 3) at points (N, 2 or 3) [m]; angles beyond pi have negative areas."""
    a, b = (points[corners[:, k], :2] - points[corners[:, 0], :2] for k in (1, 2))
    return np.asarray(np.sum(a * b, axis=1) / (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))


def triangle_cotangents(points: Array, cells: Indices) -> Array:
    """Return the cotangents (3, E) of the angles of triangles (E, 3) at points (N, 2 or 3) [m]."""
    return corner_cotangents(points, corner_rows(cells)).reshape(-1, 3).T


def corner_weights(cotangents: Array) -> Array:
    """Return om_i = cot_i (cot_j + cot_k)/(1 + cot_i^2) (3, E) of cotangents (3, E) at rest.

    >>> corner_weights(np.array([[0.0], [1.0], [1.0]])).ravel()
    array([0. , 0.5, 0.5])
    """
    others = np.roll(cotangents, -1, axis=0) + np.roll(cotangents, -2, axis=0)
    return np.asarray(cotangents * others / (1.0 + cotangents**2))


def measures(points: Array, cells: Indices, dimension: int) -> Array:
    """Return signed areas or volumes (E,) [m^d] of simplices or quadrilaterals at points (N, 2 or 3) [m]."""
    if dimension == 2 and cells.shape[1] == 4:
        a, b = points[cells[:, 2]] - points[cells[:, 0]], points[cells[:, 3]] - points[cells[:, 1]]
        return np.asarray(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
    return cell_volumes(padded(points), cells)[0]


@dataclass(frozen=True)
class Elements:
    """Cells (E, k) of one kind in global node numbers; `rest` measures [m^d] with thickness and share in `size` [m^3].

    Networks are times size [J, J s]. What softens is beside the linear networks, which are then zero;
    `together` by one stress for shear and area (plane stress). Elements have `law` (E,), a number of `AllElements`,
    and are in bodies `body` (E,), where those of inverted bodies get a viscosity of `recovery` (E,) [J s].
    """

    cells: Indices
    rest: Array
    size: Array
    shear: Constants
    volume: Constants
    soft_shear: SofteningConstants | None = None
    soft_volume: SofteningConstants | None = None
    together: bool = False
    law: Indices | None = None
    body: Indices | None = None
    recovery: Array | None = None

    @property
    def stiffest_shear(self) -> Constants:
        """The linear networks of shear with the largest tangents of those that soften."""
        return self.shear if self.soft_shear is None else self.soft_shear.with_tangents(self.shear)

    @property
    def stiffest_volume(self) -> Constants:
        """The linear networks of volume with the largest tangents of those that soften."""
        return self.volume if self.soft_volume is None else self.soft_volume.with_tangents(self.volume)

    def __len__(self) -> int:
        return len(self.cells)


KINDS = ("cotangent", "neo_hooke", "tets", "seed_simplices", "seed_quadrilaterals")


@dataclass(frozen=True)
class AllElements:
    """The elements of a problem by kind, and the networks of its laws, body by body and part by part."""

    kinds: dict[str, Elements]
    channels: tuple[LawChannels, ...]

    @property
    def bodies(self) -> int:
        """Number of bodies."""
        numbers = [kind.body for kind in self.kinds.values() if kind.body is not None and len(kind)]
        return 1 + max((int(body.max()) for body in numbers), default=-1)


def find_elements(problem: Problem, options: ShearVolumeOptions) -> AllElements:
    """Sort the cells of all bodies."""
    parts = [(number, part) for number, body in enumerate(problem.bodies) for part in body.laws]
    channels = tuple(law_channels(problem, part, options) for _, part in parts)
    found: dict[str, list[_Some]] = {}
    for law, (number, part) in enumerate(parts):
        body = problem.bodies[number]
        cells = np.ascontiguousarray(body.mesh.t.T[part.cells] + body.first_node, dtype=np.int64)
        for kind, some, share in _sorted_cells(problem, body, cells, options):
            found.setdefault(kind, []).append(_Some(law, number, some, share))
    bodies = [problem.bodies[number] for number, _ in parts]
    waves = [_wave_time(problem, body, own) for body, own in zip(bodies, channels, strict=True)]
    times = [options.recovery * time for time in waves]
    widths = dict.fromkeys(KINDS, problem.dimension + 1) | {"seed_quadrilaterals": 4}
    kinds = {kind: _elements(problem, channels, times, found.get(kind, []), widths[kind]) for kind in KINDS}
    return AllElements(kinds, channels)


class _Some(NamedTuple):
    """Cells of one kind and one law, the number of their body and the share of their measure that counts."""

    law: int
    body: int
    cells: Indices
    share: float


def _sorted_cells(
    problem: Problem, body: ProblemBody, cells: Indices, options: ShearVolumeOptions
) -> list[tuple[str, Indices, float]]:
    """Return kind, cells and share of each sort of elements of a body."""
    if options.shear == "seed":
        return [("seed_quadrilaterals" if body.cell == "quad" else "seed_simplices", cells, 1.0)]
    if body.cell == "tet":
        return [("tets", cells, 1.0)]
    triangles, share = (cells[:, HALVES].reshape(-1, 3), 0.5) if body.cell == "quad" else (cells, 1.0)
    if options.shear == "neo-hooke":
        return [("neo_hooke", triangles, share)]
    obtuse = corner_weights(triangle_cotangents(problem.points, triangles)).min(axis=0) < OBTUSE
    return [("cotangent", triangles[~obtuse], share), ("neo_hooke", triangles[obtuse], share)]


def _elements(
    problem: Problem, channels: Sequence[LawChannels], times: Sequence[float], parts: Sequence[_Some], width: int
) -> Elements:
    cells = np.concatenate([np.zeros((0, width), np.int64), *(some.cells for some in parts)])
    counts = [len(some.cells) for some in parts]
    which = np.repeat(np.array([some.law for some in parts], np.int64), counts)
    body = np.repeat(np.array([some.body for some in parts], np.int64), counts)
    share = np.repeat([some.share for some in parts], counts)
    rest = measures(problem.points, cells, problem.dimension)
    size = rest * share * problem.thickness
    return Elements(
        np.ascontiguousarray(cells),
        rest,
        size,
        stack_channels([own.linear_shear for own in channels], which, size),
        stack_channels([own.linear_volume for own in channels], which, size),
        stack_softening([own.soft_shear for own in channels], which, size),
        stack_softening([own.soft_volume for own in channels], which, size),
        any(own.together for own in channels),
        which,
        body,
        np.array([time * own.shear.instantaneous for time, own in zip(times, channels, strict=True)])[which] * size,
    )


def _wave_time(problem: Problem, body: ProblemBody, channels: LawChannels) -> float:
    """Return how long a shear wave takes through a body of one law, V^(1/d) (rho/mu)^(1/2) [s]; 0 without springs."""
    cells = np.ascontiguousarray(body.mesh.t.T + body.first_node, dtype=np.int64)
    size, modulus = float(measures(problem.points, cells, problem.dimension).sum()), channels.shear.instantaneous
    density = float(problem.masses[body.nodes].sum()) / (size * problem.thickness)
    return float(size ** (1.0 / problem.dimension) * np.sqrt(density / modulus)) if modulus > 0.0 else 0.0
