"""Which element each cell of a problem gets, with its rest shape and the networks of its body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.cell_volume import cell_volumes
from rheotwin.particles.network import Constants, stack_channels
from rheotwin.particles.shear_volume.channels import BodyChannels, body_channels
from rheotwin.particles.shear_volume.cotangent_triangle import corner_cotangents, corner_weights
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.shear_volume.quadrilateral_area import quadrilateral_areas
from rheotwin.particles.shear_volume.softening_constants import SofteningConstants, stack_softening
from rheotwin.problem import Problem, ProblemBody
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

OBTUSE = -1e-9
"""Weights below this belong to obtuse angles; those of right angles are zero up to rounding."""
HALVES = np.array([[0, 1, 2], [0, 2, 3], [0, 1, 3], [1, 2, 3]])
"""Triangles of a quadrilateral by either diagonal: each counts half."""


@dataclass(frozen=True)
class Elements:
    """Cells (E, k) of one kind in global node numbers; `rest` measures [m^d] with thickness and share in `size` [m^3].

    Networks are times size [J, J s]. What softens is beside the linear networks, which are then zero;
    `together` by one stress for shear and area (plane stress). Elements are in bodies `body`
    (E,), where those of inverted bodies get a viscosity of `recovery` (E,) [J s].
    """

    cells: Indices
    rest: Array
    size: Array
    shear: Constants
    volume: Constants
    soft_shear: SofteningConstants | None = None
    soft_volume: SofteningConstants | None = None
    together: bool = False
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


@dataclass(frozen=True)
class AllElements:
    """The elements of a problem by kind, and the networks of its bodies."""

    cotangent: Elements
    neo_hooke: Elements
    tets: Elements
    seed_simplices: Elements
    seed_quadrilaterals: Elements
    channels: tuple[BodyChannels, ...]

    @property
    def kinds(self) -> dict[str, Elements]:
        """All kinds by name."""
        return {
            "cotangent": self.cotangent,
            "neo_hooke": self.neo_hooke,
            "tets": self.tets,
            "seed_simplices": self.seed_simplices,
            "seed_quadrilaterals": self.seed_quadrilaterals,
        }


def find_elements(problem: Problem, options: ShearVolumeOptions) -> AllElements:
    """Sort the cells of all bodies."""
    channels = tuple(body_channels(problem, body, options) for body in problem.bodies)
    found: dict[str, list[tuple[int, Indices, float]]] = {}
    times = []
    for number, body in enumerate(problem.bodies):
        cells = np.ascontiguousarray(body.mesh.t.T + body.first_node, dtype=np.int64)
        times.append(options.recovery * _wave_time(problem, body, cells, channels[number]))
        for kind, some, share in _sorted_cells(problem, body, cells, options):
            found.setdefault(kind, []).append((number, some, share))
    corners = problem.dimension + 1

    def elements(kind: str, width: int) -> Elements:
        parts = found.get(kind, [])
        return _elements(problem, channels, times, parts, width)

    return AllElements(
        cotangent=elements("cotangent", 3),
        neo_hooke=elements("neo-hooke", 3),
        tets=elements("tets", 4),
        seed_simplices=elements("seed", corners),
        seed_quadrilaterals=elements("seed quadrilaterals", 4),
        channels=channels,
    )


def _sorted_cells(
    problem: Problem, body: ProblemBody, cells: Indices, options: ShearVolumeOptions
) -> list[tuple[str, Indices, float]]:
    """Return kind, cells and share of each sort of elements of a body."""
    if options.shear == "seed":
        return [("seed quadrilaterals" if body.cell == "quad" else "seed", cells, 1.0)]
    if body.cell == "tet":
        return [("tets", cells, 1.0)]
    triangles, share = (cells[:, HALVES].reshape(-1, 3), 0.5) if body.cell == "quad" else (cells, 1.0)
    if options.shear == "neo-hooke":
        return [("neo-hooke", triangles, share)]
    obtuse = corner_weights(corner_cotangents(problem.points, triangles)).min(axis=0) < OBTUSE
    return [("cotangent", triangles[~obtuse], share), ("neo-hooke", triangles[obtuse], share)]


def _elements(
    problem: Problem,
    channels: Sequence[BodyChannels],
    times: Sequence[float],
    parts: Sequence[tuple[int, Indices, float]],
    width: int,
) -> Elements:
    cells = np.concatenate([np.zeros((0, width), np.int64), *(cells for _, cells, _ in parts)])
    which = np.repeat([number for number, _, _ in parts], [len(some) for _, some, _ in parts]).astype(np.int64)
    share = np.repeat([share for _, _, share in parts], [len(some) for _, some, _ in parts])
    rest = _measures(problem, cells)
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
        np.array([time * own.shear.instantaneous for time, own in zip(times, channels, strict=True)])[which] * size,
    )


def _wave_time(problem: Problem, body: ProblemBody, cells: Indices, channels: BodyChannels) -> float:
    """Return how long a shear wave takes through a body, V^(1/d) (rho/mu)^(1/2) [s]; 0 without springs."""
    size, modulus = float(_measures(problem, cells).sum()), channels.shear.instantaneous
    density = float(problem.masses[body.nodes].sum()) / (size * problem.thickness)
    return float(size ** (1.0 / problem.dimension) * np.sqrt(density / modulus)) if modulus > 0.0 else 0.0


def _measures(problem: Problem, cells: Indices) -> Array:
    if problem.dimension == 2 and cells.shape[1] == 4:
        return quadrilateral_areas(problem.points, cells)
    return cell_volumes(padded(problem.points), cells)[0]
