"""The plane neo-Hooke shear triangle with an area element in it (spec section 3.3, W_Q), for all shapes.

    W = S0 [ mu (tr C/2 - J) psi(J) + K/2 (J - 1)^2 ],      psi = 1/J (see `inversion`),   J = S/S0

In the corners' cotangents this is -(mu S0/2)(gam1 gam2 + gam2 gam3 + gam3 gam1): the papers' strain, and exact at any
deformation. Edges e_a from corner 0 make up C: tr C = sum_ab G_ab e_a.e_b with the inverse metric G of the rest shape.

Memory is on the deviatoric second Piola stress per modulus, with the components its force on corner a has along e_b,

    s_ab = (G_ab - tr C/2 C^-1_ab)/J,    C^-1_ab = c_a . c_b/(2S)^2,   c_a = 2 dS/dx_a,     f_a = -S0 w_ab e_b

which no rotation changes; w are the arms' stresses. Where J < J0 s is that of the energy above. The dashpot is
Newtonian, 2 eta J dev D, with psi for 1/J in D.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import formula, select
from rheotwin.particles.shear_volume.group import Group, Memory, Room, parts_of
from rheotwin.particles.shear_volume.inversion import FLAT, guarded_inverse, inverse_ratio, slope_of
from rheotwin.particles.shear_volume.lanes import CHUNK
from rheotwin.particles.shear_volume.memory import advance_arms
from rheotwin.particles.shear_volume.recovery import viscosity_of_inverted
from rheotwin.particles.shear_volume.tensor_memory import arm_energy
from rheotwin.particles.shear_volume.tensor_softening import PLANE_SCRATCH, soften_tensors
from rheotwin.particles.shear_volume.triangle_corners import (
    SHAPE,
    gather_edges,
    gather_shapes,
    pulls_in_vectors,
    scatter_pulls,
)

Array = NDArray[np.float64]

STRAINS = 3
ROWS = 6
"""Rows of constants: 1/(2 S0) [1/m2], G_11, G_12, G_22 [1/m2], S0 mu and S0 K [J]."""


@formula
def _upright(ratio: Any, psi: Any, half: Any) -> Any:
    """Return s^2 of J > J0, by how much a triangle is stiffer than at rest: half the largest second derivative of W.

    With half = tr C/2 and singular values a, b of F the shear has b/a^3 + a/b^3 = 2 (2 half^2 psi^2 - 1) psi and at
    most 1/32 more; change of area has 2 half + |J - 1|.
    """
    stretch = half * psi
    shear, area = (2.0 * stretch * stretch - 1.0) * psi, half + 0.5 * abs(ratio - 1.0)
    return select(shear > area, shear, area)


@formula
def _stiffer(ratio: Any, psi: Any, slope: Any, half: Any) -> Any:
    """Return s^2 of any J; below J0 the shear has at most twice psi - 9/2 (half + |J|) psi'."""
    shear, area = psi - 4.5 * (half + abs(ratio)) * slope, half + 0.5 * abs(ratio - 1.0)
    return select(ratio >= FLAT, _upright(ratio, psi, half), select(shear > area, shear, area))


@compiled(vectors=True, nogil=True)
def _measure(e: Array, c: Array, strain: Array) -> None:
    """Write s_11, s_12, s_22 and J - 1."""
    for k in range(CHUNK):
        ax, ay, bx, by = e[k], e[CHUNK + k], e[2 * CHUNK + k], e[3 * CHUNK + k]
        scale, g0, g1, g2 = c[k], c[CHUNK + k], c[2 * CHUNK + k], c[3 * CHUNK + k]
        aa, ab, bb = ax * ax + ay * ay, ax * bx + ay * by, bx * bx + by * by
        ratio, psi = e[4 * CHUNK + k], e[5 * CHUNK + k]
        half = 0.5 * (g0 * aa + 2.0 * g1 * ab + g2 * bb)
        swell = ((half - ratio) * slope_of(ratio, psi) - psi) * scale * scale * guarded_inverse(ratio)
        strain[k] = psi * g0 + swell * bb
        strain[CHUNK + k] = psi * g1 - swell * ab
        strain[2 * CHUNK + k] = psi * g2 + swell * aa
        strain[3 * CHUNK + k] = ratio - 1.0


@formula
def _pulls(shape: Any, constants: Any, tension: Any, limit: Any) -> Any:
    """Return the forces on corners 1 and 2 by springs and arms, and whether J < J0 or the stiffness is over `limit`."""
    ax, ay, bx, by, ratio, psi = shape
    scale, g0, g1, g2, shear, area = constants
    half = 0.5 * (g0 * (ax * ax + ay * ay) + g2 * (bx * bx + by * by)) + g1 * (ax * bx + ay * by)
    severe = (ratio < FLAT) | (_upright(ratio, psi, half) > limit)
    swell = shear * ((ratio - half) * slope_of(ratio, psi) + psi) - area * (ratio - 1.0)
    swell = scale * (swell - tension[3])
    shear = -shear * psi
    w0, w1, w2 = shear * g0 - tension[0], shear * g1 - tension[1], shear * g2 - tension[2]
    first = w0 * ax + w1 * bx + swell * by, w0 * ay + w1 * by - swell * bx
    second = w1 * ax + w2 * bx - swell * ay, w1 * ay + w2 * by + swell * ax
    return (*first, *second), severe


_pull, _pull_by_springs = pulls_in_vectors(_pulls, ROWS)


@compiled(inside=True, vectors=True)
def _stiffest(e: Array, c: Array) -> float:
    """Return the largest s^2."""
    worst = 0.0
    for k in range(CHUNK):
        ax, ay, bx, by = e[k], e[CHUNK + k], e[2 * CHUNK + k], e[3 * CHUNK + k]
        half = 0.5 * (c[CHUNK + k] * (ax * ax + ay * ay) + c[3 * CHUNK + k] * (bx * bx + by * by))
        half += c[2 * CHUNK + k] * (ax * bx + ay * by)
        ratio, psi = e[4 * CHUNK + k], e[5 * CHUNK + k]
        worst = max(worst, _stiffer(ratio, psi, slope_of(ratio, psi), half))
    return worst


@compiled(vectors=True, nogil=True)
def _add_dashpots(e: Array, u: Array, c: Array, shear: Array, area: Array, pulls: Array) -> None:
    """Add the forces of the dashpots at edge rates `u`: -(2 eta S0 psi scale^2 dev sym(L) + eta_v S0 J' scale) c_a.

    L = sum_a u_a (x) c_a with c_1 = (e2y, -e2x), c_2 = (-e1y, e1x) is 2 S0 J times the gradient of the velocity.
    """
    for k in range(CHUNK):
        ax, ay, bx, by = e[k], e[CHUNK + k], e[2 * CHUNK + k], e[3 * CHUNK + k]
        ux, uy, wx, wy = u[k], u[CHUNK + k], u[2 * CHUNK + k], u[3 * CHUNK + k]
        scale, psi = c[k], e[5 * CHUNK + k]
        lxx, lyy = ux * by - wx * ay, wy * ax - uy * bx
        lxy = 0.5 * (wx * ax - ux * bx + uy * by - wy * ay)
        factor = 2.0 * shear[k] * psi * scale * scale
        swell = area[k] * scale * scale * (lxx + lyy)
        xx, yy, xy = 0.5 * factor * (lxx - lyy) + swell, 0.5 * factor * (lyy - lxx) + swell, factor * lxy
        pulls[k] -= xx * by - xy * bx
        pulls[CHUNK + k] -= xy * by - yy * bx
        pulls[2 * CHUNK + k] -= xy * ax - xx * ay
        pulls[3 * CHUNK + k] -= yy * ax - xy * ay


@cache
def add_neo_hooke_forces(remembers: bool, viscous: bool, softens: bool) -> Any:
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
                stiffer = max(stiffer, _stiffest(room.shape, c))
            scatter_pulls(corners, chunk * CHUNK, room.pulls, force)
        return parts_of(group, stiffer)

    @compiled(inside=True, allocates=True)
    def add_with_networks(
        group: Group, memory: Memory, x: Array, v: Array, part: float, room: Room, force: Array
    ) -> float:  # fmt: skip
        stiffer = 0.0
        edges, rates, pulls = np.empty(SHAPE * CHUNK), np.empty(4 * CHUNK), np.empty(4 * CHUNK)
        strain, tension = np.empty(4 * CHUNK), np.zeros(4 * CHUNK)
        scratch = np.empty(PLANE_SCRATCH * CHUNK if softens else 0)
        for chunk in range(group.constants.shape[0]):
            first, c = chunk * CHUNK, group.constants[chunk]
            gather_shapes(group.corners, first, x, edges, c)
            if remembers:
                tension[:] = 0.0
                before = memory.shear_before[chunk]
                _measure(edges, c, strain)
                if softens:
                    gather_edges(group.corners, first, v, rates)
                    soften_tensors(group, memory, chunk, part, edges, rates, strain, tension, scratch)
                shear, area = slice(0, 3 * CHUNK), slice(3 * CHUNK, 4 * CHUNK)
                advance_arms(group.shear, chunk, part, memory.shear_arms[chunk], before, strain[shear], tension[shear])
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
                stiffer = max(stiffer, _stiffest(edges, c))
            if viscous:
                gather_edges(group.corners, first, v, rates)
                left = scratch[:CHUNK] if softens else group.shear.viscosity[chunk]
                left_of_area = scratch[CHUNK : 2 * CHUNK] if softens else group.volume.viscosity[chunk]
                _add_dashpots(edges, rates, c, left, left_of_area, pulls)
            scatter_pulls(group.corners, first, pulls, force)
        return parts_of(group, stiffer)

    return add_with_networks if remembers or viscous else add_by_springs


@compiled(inside=True, allocates=True)
def mark_inverted_triangles(group: Group, x: Array, inverted: NDArray[np.bool_]) -> None:
    """Mark the bodies (B,) that have an inverted element at positions x (N, 3) [m]."""
    edges = np.empty(SHAPE * CHUNK)
    for chunk in range(group.recovery.viscosity.shape[0]):
        c = group.constants[chunk]
        gather_shapes(group.corners, chunk * CHUNK, x, edges, c)
        for k in range(CHUNK):
            if edges[4 * CHUNK + k] < 0.0:
                inverted[group.recovery.body[chunk, k]] = True


@compiled(inside=True, allocates=True)
def add_triangle_recovery(group: Group, inverted: NDArray[np.bool_], x: Array, v: Array, force: Array) -> float:
    """Add the dashpots of bodies with `inverted` elements; return into how many parts the step has to be divided."""
    stiffer, eta = 0.0, np.empty(CHUNK)
    edges, rates, pulls = np.empty(SHAPE * CHUNK), np.empty(4 * CHUNK), np.empty(4 * CHUNK)
    for chunk in range(group.recovery.viscosity.shape[0]):
        if viscosity_of_inverted(group.recovery, chunk, inverted, eta):
            first, c = chunk * CHUNK, group.constants[chunk]
            gather_shapes(group.corners, first, x, edges, c)
            gather_edges(group.corners, first, v, rates)
            pulls[:] = 0.0
            _add_dashpots(edges, rates, c, eta, eta, pulls)
            scatter_pulls(group.corners, first, pulls, force)
            stiffer = max(stiffer, _stiffest(edges, c))
    return group.recovery.haste * stiffer


def neo_hooke_energy(group: Group, memory: Memory, x: Array) -> float:
    """Return the energy in springs and arms [J] at positions (N, 3) [m]."""
    c, e = group.columns, group.edges_at(x)
    metric = np.einsum("eax,ebx->eab", e, e)
    half = 0.5 * (c[1] * metric[:, 0, 0] + c[3] * metric[:, 1, 1]) + c[2] * metric[:, 0, 1]
    ratio = c[0] * (e[:, 0, 0] * e[:, 1, 1] - e[:, 0, 1] * e[:, 1, 0])
    springs = c[4] * (half - ratio) * inverse_ratio(ratio)[0] + 0.5 * c[5] * (ratio - 1.0) ** 2
    return float(springs.sum()) + arm_energy(group, memory, metric)
