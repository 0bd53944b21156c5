"""The consistent shear triangle on the papers' own strains, with an area element in it (spec section 3.3, W_D).

    gamma_i = cot_i - cot_i0,   cot_i = a . b/(2S);     Gamma = S/S0 - 1
    W = S0 [ mu/2 sum_i om_i gamma_i^2 + K/2 Gamma^2 ],   om_i = cot_i0 (cot_j0 + cot_k0)/(1 + cot_i0^2)

a, b are the edges that leave corner i. Its tangent at rest is that of a linear finite element. Any network takes the
place of mu and of K; memory sits on scalars that no rotation changes. It is passive where all om_i >= 0, that is
without obtuse angles at rest.

With J = S/S0 and p_i = a . b/(2 S0) - J cot_i0 strains are gamma_i = p_i/J; here p_i psi(J) (see `inversion`), so that
forces stay finite through S = 0. They grow with the fourth power of deformation: an element that was flattened comes
back late and with violence, or stays a needle. `neo_hooke_triangle` is made for that. From edges e1, e2 of corner 0 and
T_i = dW/dgamma_i:

    dW = psi/(2 S0) d[ (T0 - T1 - T2) e1.e2 + T1 e1.e1 + T2 e2.e2 ] + [ sum_i T_i (p_i psi' - cot_i0 psi) + P ] dJ
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import formula
from rheotwin.particles.shear_volume.corner_softening import SCRATCH, soften_corners
from rheotwin.particles.shear_volume.group import Group, Memory, Room, parts_of
from rheotwin.particles.shear_volume.inversion import inverse_ratio, slope_of
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.memory import advance_arms
from rheotwin.particles.shear_volume.tensor_memory import in_elements, volume_energy
from rheotwin.particles.shear_volume.triangle_corners import (
    SHAPE,
    gather_edges,
    gather_shapes,
    pulls_in_vectors,
    scatter_pulls,
)

Array = NDArray[np.float64]

STRAINS = 3
SCALE, REST, WEIGHT, SHEAR, AREA, ROWS = 0, 1, 4, 7, 8, 9
"""Rows of constants: 1/(2 S0) [1/m2], three cot_i0, three om_i, S0 mu and S0 K [J]."""


def corner_cotangents(points: Array, cells: NDArray[np.int64]) -> Array:
    """Return the cotangents (3, E) of the angles of triangles (E, 3) at points (N, 2 or 3) [m]."""
    found = []
    for i in range(3):
        a, b = (points[cells[:, (i + k) % 3], :2] - points[cells[:, i], :2] for k in (1, 2))
        found.append(np.sum(a * b, axis=1) / (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]))
    return np.array(found)


def corner_weights(cotangents: Array) -> Array:
    """Return om_i (3, E) of cotangents (3, E) at rest.

    >>> corner_weights(np.array([[0.0], [1.0], [1.0]])).ravel()
    array([0. , 0.5, 0.5])
    """
    others = np.roll(cotangents, -1, axis=0) + np.roll(cotangents, -2, axis=0)
    return np.asarray(cotangents * others / (1.0 + cotangents**2))


@formula
def _stiffer(psi: Any, size: Any, strain: Any) -> Any:
    """Return s^2 w0, by how much a triangle is stiffer than at rest: (1 + psi^2 (1 + 6 gamma^2)) w/(2 w0).

    w = (aa + bb - ab)/(2 S0), at rest the sum of cotangents, stands for the squares of gradients of J and p_i;
    `strain` is the sum of gamma_i^2.
    """
    return 0.5 * size * (1.0 + psi * psi * (1.0 + 6.0 * strain))


@compiled(vectors=True, nogil=True)
def _measure(e: Array, c: Array, strain: Array) -> None:
    """Write the strains gamma_i and Gamma: four rows."""
    for k in range(CHUNK):
        ax, ay, bx, by = e[k], e[CHUNK + k], e[2 * CHUNK + k], e[3 * CHUNK + k]
        scale, c0, c1, c2 = c[k], c[CHUNK + k], c[2 * CHUNK + k], c[3 * CHUNK + k]
        ratio, psi = e[4 * CHUNK + k], e[5 * CHUNK + k]
        ab, aa, bb = scale * (ax * bx + ay * by), scale * (ax * ax + ay * ay), scale * (bx * bx + by * by)
        strain[k] = (ab - ratio * c0) * psi
        strain[CHUNK + k] = (aa - ab - ratio * c1) * psi
        strain[2 * CHUNK + k] = (bb - ab - ratio * c2) * psi
        strain[3 * CHUNK + k] = ratio - 1.0


@compiled(vectors=True, nogil=True)
def _add_dashpots(e: Array, u: Array, c: Array, shear: Array, area: Array, tension: Array) -> None:
    """Add eta times the strain rates of edge rates `u` to the tensions: four rows."""
    for k in range(CHUNK):
        ax, ay, bx, by = e[k], e[CHUNK + k], e[2 * CHUNK + k], e[3 * CHUNK + k]
        ux, uy, wx, wy = u[k], u[CHUNK + k], u[2 * CHUNK + k], u[3 * CHUNK + k]
        scale, c0, c1, c2 = c[k], c[CHUNK + k], c[2 * CHUNK + k], c[3 * CHUNK + k]
        ratio, psi = e[4 * CHUNK + k], e[5 * CHUNK + k]
        flow = scale * (ux * by + ax * wy - uy * bx - ay * wx)
        ab, aa, bb = scale * (ax * bx + ay * by), scale * (ax * ax + ay * ay), scale * (bx * bx + by * by)
        dab = scale * (ux * bx + ax * wx + uy * by + ay * wy)
        daa, dbb = 2.0 * scale * (ax * ux + ay * uy), 2.0 * scale * (bx * wx + by * wy)
        turn, eta = slope_of(ratio, psi) * flow, shear[k]
        p0, p1, p2 = ab - ratio * c0, aa - ab - ratio * c1, bb - ab - ratio * c2
        tension[k] += eta * ((dab - flow * c0) * psi + p0 * turn)
        tension[CHUNK + k] += eta * ((daa - dab - flow * c1) * psi + p1 * turn)
        tension[2 * CHUNK + k] += eta * ((dbb - dab - flow * c2) * psi + p2 * turn)
        tension[3 * CHUNK + k] += area[k] * flow


@formula
def _pulls(shape: Any, constants: Any, tension: Any, limit: Any) -> Any:
    """Return the forces on corners 1 and 2 by springs and `tension`, and whether the stiffness is over `limit`."""
    ax, ay, bx, by, ratio, psi = shape
    scale, c0, c1, c2, om0, om1, om2, shear, area = constants
    ab, aa, bb = scale * (ax * bx + ay * by), scale * (ax * ax + ay * ay), scale * (bx * bx + by * by)
    p0, p1, p2 = ab - ratio * c0, aa - ab - ratio * c1, bb - ab - ratio * c2
    g0, g1, g2 = p0 * psi, p1 * psi, p2 * psi
    squares = g0 * g0 + g1 * g1 + g2 * g2
    severe = _stiffer(psi, aa + bb - ab, squares) > limit * (c0 + c1 + c2)
    t0 = om0 * (shear * g0 + tension[0])
    t1 = om1 * (shear * g1 + tension[1])
    t2 = om2 * (shear * g2 + tension[2])
    swell = slope_of(ratio, psi) * (t0 * p0 + t1 * p1 + t2 * p2) - psi * (t0 * c0 + t1 * c1 + t2 * c2)
    swell = -scale * (swell + area * (ratio - 1.0) + tension[3])
    pull = -scale * psi
    mixed, t1, t2 = pull * (t0 - t1 - t2), 2.0 * pull * t1, 2.0 * pull * t2
    first = mixed * bx + t1 * ax + swell * by, mixed * by + t1 * ay - swell * bx
    second = mixed * ax + t2 * bx - swell * ay, mixed * ay + t2 * by + swell * ax
    return (*first, *second), severe


_pull, _pull_by_springs = pulls_in_vectors(_pulls, ROWS)


@compiled(inside=True, vectors=True)
def _stiffest(e: Array, c: Array, strain: Array) -> float:
    """Return the largest s^2."""
    _measure(e, c, strain)
    worst = 0.0
    for k in range(CHUNK):
        ax, ay, bx, by = e[k], e[CHUNK + k], e[2 * CHUNK + k], e[3 * CHUNK + k]
        size = c[k] * (ax * ax + ay * ay + bx * bx + by * by - ax * bx - ay * by)
        squares = strain[k] ** 2 + strain[CHUNK + k] ** 2 + strain[2 * CHUNK + k] ** 2
        rest = c[CHUNK + k] + c[2 * CHUNK + k] + c[3 * CHUNK + k]
        worst = max(worst, _stiffer(e[5 * CHUNK + k], size, squares) / rest)
    return worst


@compiled(nogil=True, allocates=True)
def _soften(
    group: Group,
    memory: Memory,
    chunk: int,
    part: float,
    v: Array,
    edges: Array,
    rates: Array,
    strain: Array,
    tension: Array,
    scratch: Array,
) -> None:
    """Advance softening networks of a chunk: strain rates are what dashpots of unit viscosity answer."""
    c, rate = group.constants[chunk], scratch[3 * CHUNK : 7 * CHUNK]
    scratch[: 2 * CHUNK], rate[:] = 1.0, 0.0
    if group.viscous:
        gather_edges(group.corners, chunk * CHUNK, v, rates)
        _add_dashpots(edges, rates, c, scratch[:CHUNK], scratch[CHUNK : 2 * CHUNK], rate)
    scratch[:CHUNK], scratch[CHUNK : 2 * CHUNK] = group.shear.viscosity[chunk], group.volume.viscosity[chunk]
    _measure(edges, c, strain)
    soften_corners(group, memory, chunk, part, c[WEIGHT * CHUNK : (WEIGHT + 3) * CHUNK], strain, tension, scratch)


@cache
def add_cotangent_forces(remembers: bool, viscous: bool, softens: bool) -> Any:
    """Return the compiled function that adds the forces of elements with or without arms, dashpots and softening.

    It advances arms to positions x (N, 3) [m] and adds all forces at velocities v [m/s] to `force` (N, 3) [N]. `part`
    [s] is the step that led here, 0 for a whole one. It returns into how many parts the next has to be divided.
    """

    @compiled(inside=True)
    def add_by_springs(
        group: Group, memory: Memory, x: Array, v: Array, part: float, room: Room, force: Array
    ) -> float:  # fmt: skip
        stiffer, corners = 0.0, group.corners
        for chunk in range(group.constants.shape[0]):
            c = group.constants[chunk]
            gather_shapes(corners, chunk * CHUNK, x, room.shape, c)
            if _pull_by_springs(room.shape, c, group.limit, room.pulls):
                stiffer = max(stiffer, _stiffest(room.shape, c, room.strain))
            scatter_pulls(corners, chunk * CHUNK, room.pulls, force)
        return parts_of(group, stiffer)

    @compiled(inside=True, allocates=True)
    def add_with_networks(
        group: Group, memory: Memory, x: Array, v: Array, part: float, room: Room, force: Array
    ) -> float:  # fmt: skip
        stiffer = 0.0
        edges, rates, pulls = np.empty(SHAPE * CHUNK), np.empty(4 * CHUNK), np.empty(4 * CHUNK)
        strain, tension = np.empty(4 * CHUNK), np.zeros(4 * CHUNK)
        scratch = np.empty(SCRATCH * CHUNK if softens else 0)
        for chunk in range(group.constants.shape[0]):
            first, c = chunk * CHUNK, group.constants[chunk]
            gather_shapes(group.corners, first, x, edges, c)
            tension[:] = 0.0
            if softens:
                _soften(group, memory, chunk, part, v, edges, rates, strain, tension, scratch)
            if viscous:
                gather_edges(group.corners, first, v, rates)
                left = scratch[:CHUNK] if softens else group.shear.viscosity[chunk]
                left_of_area = scratch[CHUNK : 2 * CHUNK] if softens else group.volume.viscosity[chunk]
                _add_dashpots(edges, rates, c, left, left_of_area, tension)
            if remembers:
                _measure(edges, c, strain)
                shear, area = slice(0, 3 * CHUNK), slice(3 * CHUNK, 4 * CHUNK)
                advance_arms(
                    group.shear,
                    chunk,
                    part,
                    memory.shear_arms[chunk],
                    memory.shear_before[chunk],
                    strain[shear],
                    tension[shear],
                )
                advance_arms(
                    group.volume,
                    chunk,
                    part,
                    memory.volume_arms[chunk],
                    memory.volume_before[chunk],
                    strain[area],
                    tension[area],
                )
            if _pull(edges, c, tension, group.limit, pulls):
                stiffer = max(stiffer, _stiffest(edges, c, strain))
            scatter_pulls(group.corners, first, pulls, force)
        return parts_of(group, stiffer)

    return add_with_networks if remembers or viscous else add_by_springs


def cotangent_energy(group: Group, memory: Memory, x: Array) -> float:
    """Return the energy in springs, S0 (mu sum om gamma^2 + K Gamma^2)/2, and arms, the same with kappa z^2 [J]."""
    c, e = group.columns, group.edges_at(x)
    metric = c[0] * np.einsum("eax,ebx->abe", e, e)
    ratio = c[0] * (e[:, 0, 0] * e[:, 1, 1] - e[:, 0, 1] * e[:, 1, 0])
    dots = np.stack([metric[0, 1], metric[0, 0] - metric[0, 1], metric[1, 1] - metric[0, 1]])
    strain = (dots - ratio * c[REST:WEIGHT]) * inverse_ratio(ratio)[0]
    own = c[SHEAR] * strain**2
    own += np.sum(
        in_elements(group.shear.arm_stiffness, group)[:, None] * in_elements(memory.shear_arms, group) ** 2, 0
    )
    if len(memory.shear_voigt):
        soft = group.soft_shear
        own += in_elements(soft.size * soft.spring, group) * in_elements(memory.shear_voigt, group) ** 2
    total = 0.5 * np.sum(c[WEIGHT:SHEAR] * own) + 0.5 * np.sum(c[AREA] * (ratio - 1.0) ** 2)
    return float(total) + volume_energy(group, memory)
