"""The papers' shear of a tetrahedron with the reactions they do not state (spec sections 3.4 and 9: E1, E3-E6).

At a corner with edges x_m, m = 1, 2, 3, unit edges e_m, unit normals n_m of the face of the other two, pointing to its
x_m side, and areas S_m of these faces, each ordered pair of edges has a strain and a force of its own:

    gamma_mp = x_m . e_p/(x_m . n_m) - the same at rest                                        (4.22)-(4.27)
    f_mp = +tau_mp/4 (S_m e_p + S_p n_m)   on the corner                                       (4.28), (4.29)
    -r_t f_mp on the end of edge t,   r = alpha/sum(alpha),   S_m e_p + S_p n_m = sum_t alpha_t x_t

tau_mp is what a network answers to gamma_mp. Printed, the sign is the opposite (E1), the last two rows of (4.29) are
swapped (E6) and nothing takes the reaction. Here it goes term by term to the point where the line of the force meets
the opposite face; the only choice that is linear in small strains and keeps both momenta.

NOT CONSERVATIVE, for study only: a regular tetrahedron is cubic, with shear moduli 4.31 G and 2.34 G; those of other
shapes have no potential and are indefinite. The reaction is singular where a force is parallel to the opposite face.
Strains are as printed: on the dual basis of the edges (E4) the moduli are 6.55 G and 0.85 G, no better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.shear_volume.seed_softening import SofteningRows, soften_row

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

STRAINS = 6
"""Strains of a corner: (m, p) = (0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)."""
_EVEN = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 0, 1, 3], [3, 0, 2, 1]])
"""Corners of a cell, each first once, in orders that keep its orientation."""


def tetrahedron_corners(cells: Indices) -> Indices:
    """Return (4E, 4): every corner of tetrahedra (E, 4) followed by the others, oriented as the cell."""
    return np.ascontiguousarray(cells[:, _EVEN].reshape(-1, 4))


class Corner(NamedTuple):
    """Scratch of one corner: edges x_m and cross products c_m = x_(m+1) x x_(m+2) as rows (3, 3), and their rates."""

    edges: Array
    normals: Array
    edge_rates: Array
    normal_rates: Array
    length: Array
    """|x_m| [m]."""
    double_area: Array
    """|c_m| [m2], twice the face of the other two edges."""


@compiled(allocates=True)
def _room() -> Corner:
    square = np.empty((4, 3, 3))
    return Corner(square[0], square[1], square[2], square[3], np.empty(3), np.empty(3))


@compiled
def _measure(corner: Corner, nodes: Indices, x: Array, v: Array) -> tuple[float, float]:
    """Fill the scratch of a corner row (4,); return six times its signed volume [m3] and the rate of that."""
    a, c, b, d = corner.edges, corner.normals, corner.edge_rates, corner.normal_rates
    for m in range(3):
        for axis in range(3):
            a[m, axis] = x[nodes[m + 1], axis] - x[nodes[0], axis]
            b[m, axis] = v[nodes[m + 1], axis] - v[nodes[0], axis]
    for m in range(3):
        p, q = (m + 1) % 3, (m + 2) % 3
        for axis in range(3):
            i, j = (axis + 1) % 3, (axis + 2) % 3
            c[m, axis] = a[p, i] * a[q, j] - a[p, j] * a[q, i]
            d[m, axis] = b[p, i] * a[q, j] - b[p, j] * a[q, i] + a[p, i] * b[q, j] - a[p, j] * b[q, i]
        corner.length[m], corner.double_area[m] = np.sqrt(_dot(a[m], a[m])), np.sqrt(_dot(c[m], c[m]))
    return _dot(a[0], c[0]), _dot(b[0], c[0]) + _dot(a[0], d[0])


@compiled(spliced=True)
def _dot(a: Array, b: Array) -> float:
    found: float = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return found


@compiled(spliced=True)
def _pair(s: int) -> tuple[int, int]:
    """Return m and p of strain s."""
    return s // 2, (s // 2 + 1 + s % 2) % 3


@compiled
def _strain(corner: Corner, s: int, volume: float, flow: float) -> tuple[float, float]:
    """Return x_m . e_p/(x_m . n_m) = (x_m . x_p) |c_m|/(|x_p| volume) and its rate [1/s]."""
    m, p = _pair(s)
    a, c, b, d = corner.edges, corner.normals, corner.edge_rates, corner.normal_rates
    length, area = corner.length[p], corner.double_area[m]
    scale = area / (length * volume)
    strain = _dot(a[m], a[p]) * scale
    grown = _dot(c[m], d[m]) / area**2 - _dot(a[p], b[p]) / length**2 - flow / volume
    return strain, (_dot(b[m], a[p]) + _dot(a[m], b[p])) * scale + strain * grown


@compiled(allocates=True)
def shear_strains(x: Array, corners: Indices) -> Array:
    """Return the strains (6 C,) of corner rows (C, 4) at positions (N, 3) [m], to be taken off as those at rest."""
    corner, found, still = _room(), np.empty(STRAINS * corners.shape[0]), np.zeros_like(x)
    for row in range(corners.shape[0]):
        volume, flow = _measure(corner, corners[row], x, still)
        for s in range(STRAINS):
            found[STRAINS * row + s], _ = _strain(corner, s, volume, flow)
    return found


@compiled
def _push(corner: Corner, nodes: Indices, s: int, stress: float, volume: float, force: Array) -> None:
    """Add the force of one strain on its corner and the reactions on the other three."""
    m, p = _pair(s)
    along = 0.125 * stress * corner.double_area[m] / corner.length[p]
    across = 0.125 * stress * corner.double_area[p] / corner.double_area[m]
    pull = (
        along * corner.edges[p, 0] + across * corner.normals[m, 0],
        along * corner.edges[p, 1] + across * corner.normals[m, 1],
        along * corner.edges[p, 2] + across * corner.normals[m, 2],
    )
    total = along
    for t in range(3):
        total += across * _dot(corner.normals[m], corner.normals[t]) / volume
    if total == 0.0:
        return
    for t in range(3):
        share = across * _dot(corner.normals[m], corner.normals[t]) / volume
        share = (share + along if t == p else share) / total
        for axis in range(3):
            force[nodes[t + 1], axis] -= share * pull[axis]
    for axis in range(3):
        force[nodes[0], axis] += pull[axis]


@compiled(allocates=True)
def add_tetrahedron_shear_forces(elements: Elements, arms: Array, x: Array, v: Array, force: Array) -> None:
    """Advance the arms (arms, 6 C) of corner rows (C, 4) with their strain rates, then add forces [N] to (N, 3).

    `elements.rest` are the strains at rest and constants the shear modulus [Pa], six for each corner.
    """
    corner = _room()
    for row in range(elements.corners.shape[0]):
        nodes = elements.corners[row]
        volume, flow = _measure(corner, nodes, x, v)
        for s in range(STRAINS):
            e = STRAINS * row + s
            strain, rate = _strain(corner, s, volume, flow)
            stress = elements.stiffness[e] * (strain - elements.rest[e]) + elements.viscosity[e] * rate
            for arm in range(arms.shape[0]):
                state = elements.arm_decay[arm, e] * arms[arm, e] + elements.arm_gain[arm, e] * rate
                arms[arm, e] = state
                stress += elements.arm_stiffness[arm, e] * state
            _push(corner, nodes, s, stress, volume, force)


@compiled(allocates=True)
def soften_tetrahedra(elements: Elements, rows: SofteningRows, x: Array, v: Array, d: Array, arms: Array) -> None:
    """Advance softening networks of corner rows with their strain rates; stresses become the last of the arms."""
    corner = _room()
    for row in range(elements.corners.shape[0]):
        volume, flow = _measure(corner, elements.corners[row], x, v)
        for s in range(STRAINS):
            _, rate = _strain(corner, s, volume, flow)
            soften_row(rows, STRAINS * row + s, rate, d, arms)
