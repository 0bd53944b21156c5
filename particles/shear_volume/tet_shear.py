"""The consistent tetrahedron: isochoric neo-Hooke shear and a volume element (spec section 3.4, `consistent3d`).

    W = V0 [ 3 mu/2 (y^(1/3) - 1) + K/2 (J - 1)^2 ],    y = 1 + (t^3 - J^2) psi(J)^2,   t = tr C/3,   J = V/V0

With psi = 1/J (see `inversion`) y^(1/3) = J^(-2/3) t, the usual neo-Hooke law; written so, it is smooth in flattened
and inverted shapes and has no equilibrium there. Edges e_a from corner 0 make up C: tr C = sum_ab G_ab e_a.e_b with
the inverse metric G of the rest shape, the papers' sum over edges with dihedral cotangents.

Memory is on the deviatoric second Piola stress per modulus, with the components its force on corner a has along e_b,

    s_ab = J^(-2/3) (G_ab - tr C/3 C^-1_ab),   C^-1_ab = c_a . c_b/(6V)^2,  c_a = 6 dV/dx_a,    f_a = -V0 w_ab e_b

which no rotation changes; w are the arms' stresses. Where J < J0 s is that of the energy above. The dashpot is
Newtonian, 2 eta J dev D, with psi for 1/J in D.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.inverse_cube_root import inverse_cube_root
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.group import Group, Memory, parts_of
from rheotwin.particles.shear_volume.inversion import FLAT, guarded_inverse, inverse_ratio
from rheotwin.particles.shear_volume.lanes import CHUNK, gather_tets, scatter_tets
from rheotwin.particles.shear_volume.memory import advance_arms
from rheotwin.particles.shear_volume.recovery import viscosity_of_inverted
from rheotwin.particles.shear_volume.tensor_memory import arm_energy
from rheotwin.particles.shear_volume.tensor_softening import SPACE_SCRATCH, soften_tensors

Array = NDArray[np.float64]

STRAINS = 6
ROWS = 9
"""Rows of constants: 1/(6 V0) [1/m3], G_11, G_22, G_33, G_12, G_23, G_13 [1/m2], V0 mu and V0 K [J]."""


@compiled(vectors=True, spliced=True)
def _stiffer(ratio: float, psi: float, third: float, y: float, root: float) -> float:
    """Return s^2 t, by how much an element is stiffer than at rest, root = y^(-1/3): (t^3 + 3 y^(4/3))/4.

    Below J0 also psi^2 t^3 y^(-2/3), of the second derivative 4 t^2 of t^3 - J^2 at shapes that are mirror images.
    """
    cube, inner = third * third * third, y * root
    return 0.25 * cube + 0.75 * inner * inner + (psi * psi * root * root * cube if ratio < FLAT else 0.0)


@compiled(vectors=True, nogil=True)
def _measure(e: Array, c: Array, strain: Array) -> None:
    """Write s_11, s_22, s_33, s_12, s_23, s_13 and J - 1."""
    for k in range(CHUNK):
        ax, ay, az = e[k], e[CHUNK + k], e[2 * CHUNK + k]
        bx, by, bz = e[3 * CHUNK + k], e[4 * CHUNK + k], e[5 * CHUNK + k]
        dx, dy, dz = e[6 * CHUNK + k], e[7 * CHUNK + k], e[8 * CHUNK + k]
        scale, g0, g1, g2 = c[k], c[CHUNK + k], c[2 * CHUNK + k], c[3 * CHUNK + k]
        g3, g4, g5 = c[4 * CHUNK + k], c[5 * CHUNK + k], c[6 * CHUNK + k]
        px, py, pz = by * dz - bz * dy, bz * dx - bx * dz, bx * dy - by * dx
        qx, qy, qz = dy * az - dz * ay, dz * ax - dx * az, dx * ay - dy * ax
        rx, ry, rz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        ratio = scale * (ax * px + ay * py + az * pz)
        trace = g0 * (ax * ax + ay * ay + az * az) + g1 * (bx * bx + by * by + bz * bz)
        trace += g2 * (dx * dx + dy * dy + dz * dz) + 2.0 * g3 * (ax * bx + ay * by + az * bz)
        trace += 2.0 * (g4 * (bx * dx + by * dy + bz * dz) + g5 * (ax * dx + ay * dy + az * dz))
        third = trace * (1.0 / 3.0)
        psi, slope = inverse_ratio(ratio)
        excess = third * third * third - ratio * ratio
        root = inverse_cube_root(1.0 + excess * psi * psi)
        own = root * root * psi
        swell = own * (excess * slope - ratio * psi) * scale * scale * guarded_inverse(ratio)
        own *= psi * third * third
        strain[k] = own * g0 + swell * (px * px + py * py + pz * pz)
        strain[CHUNK + k] = own * g1 + swell * (qx * qx + qy * qy + qz * qz)
        strain[2 * CHUNK + k] = own * g2 + swell * (rx * rx + ry * ry + rz * rz)
        strain[3 * CHUNK + k] = own * g3 + swell * (px * qx + py * qy + pz * qz)
        strain[4 * CHUNK + k] = own * g4 + swell * (qx * rx + qy * ry + qz * rz)
        strain[5 * CHUNK + k] = own * g5 + swell * (px * rx + py * ry + pz * rz)
        strain[6 * CHUNK + k] = ratio - 1.0


@compiled(vectors=True, nogil=True)
def _pull(e: Array, c: Array, tension: Array, limit: float, pulls: Array) -> int:
    """Write the forces on corners 1, 2 and 3 by springs and arms; return how many are inverted or beyond `limit`."""
    severe = 0
    for k in range(CHUNK):
        ax, ay, az = e[k], e[CHUNK + k], e[2 * CHUNK + k]
        bx, by, bz = e[3 * CHUNK + k], e[4 * CHUNK + k], e[5 * CHUNK + k]
        dx, dy, dz = e[6 * CHUNK + k], e[7 * CHUNK + k], e[8 * CHUNK + k]
        scale, g0, g1, g2 = c[k], c[CHUNK + k], c[2 * CHUNK + k], c[3 * CHUNK + k]
        g3, g4, g5 = c[4 * CHUNK + k], c[5 * CHUNK + k], c[6 * CHUNK + k]
        px, py, pz = by * dz - bz * dy, bz * dx - bx * dz, bx * dy - by * dx
        qx, qy, qz = dy * az - dz * ay, dz * ax - dx * az, dx * ay - dy * ax
        rx, ry, rz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        ratio = scale * (ax * px + ay * py + az * pz)
        trace = g0 * (ax * ax + ay * ay + az * az) + g1 * (bx * bx + by * by + bz * bz)
        trace += g2 * (dx * dx + dy * dy + dz * dz) + 2.0 * g3 * (ax * bx + ay * by + az * bz)
        trace += 2.0 * (g4 * (bx * dx + by * dy + bz * dz) + g5 * (ax * dx + ay * dy + az * dz))
        third = trace * (1.0 / 3.0)
        psi, slope = inverse_ratio(ratio)
        excess = third * third * third - ratio * ratio
        y = 1.0 + excess * psi * psi
        root = inverse_cube_root(y)
        too_stiff = _stiffer(ratio, psi, third, y, root) > limit * third
        severe += 1 if too_stiff or ratio < 0.0 else 0
        shear = c[7 * CHUNK + k] * root * root * psi
        swell = shear * (excess * slope - ratio * psi) + c[8 * CHUNK + k] * (ratio - 1.0) + tension[6 * CHUNK + k]
        swell *= scale
        shear *= psi * third * third
        w0, w1, w2 = shear * g0 + tension[k], shear * g1 + tension[CHUNK + k], shear * g2 + tension[2 * CHUNK + k]
        w3, w4, w5 = (
            shear * g3 + tension[3 * CHUNK + k],
            shear * g4 + tension[4 * CHUNK + k],
            shear * g5 + tension[5 * CHUNK + k],
        )
        pulls[k] = -(w0 * ax + w3 * bx + w5 * dx + swell * px)
        pulls[CHUNK + k] = -(w0 * ay + w3 * by + w5 * dy + swell * py)
        pulls[2 * CHUNK + k] = -(w0 * az + w3 * bz + w5 * dz + swell * pz)
        pulls[3 * CHUNK + k] = -(w3 * ax + w1 * bx + w4 * dx + swell * qx)
        pulls[4 * CHUNK + k] = -(w3 * ay + w1 * by + w4 * dy + swell * qy)
        pulls[5 * CHUNK + k] = -(w3 * az + w1 * bz + w4 * dz + swell * qz)
        pulls[6 * CHUNK + k] = -(w5 * ax + w4 * bx + w2 * dx + swell * rx)
        pulls[7 * CHUNK + k] = -(w5 * ay + w4 * by + w2 * dy + swell * ry)
        pulls[8 * CHUNK + k] = -(w5 * az + w4 * bz + w2 * dz + swell * rz)
    return severe


@compiled(nogil=True)
def _stiffest(e: Array, c: Array) -> float:
    """Return the largest s^2."""
    worst = 0.0
    for k in range(CHUNK):
        third, ratio, y = _shape(e, c, k)
        psi, _ = inverse_ratio(ratio)
        worst = max(worst, _stiffer(ratio, psi, third, y, 1.0 / np.cbrt(y)) / max(third, 1e-300))
    return worst


@compiled(nogil=True)
def _shape(e: Array, c: Array, k: int) -> tuple[float, float, float]:
    """Return t, J and y of one element."""
    third, ratio = 0.0, 0.0
    for row, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))):
        dot = 0.0
        for axis in range(3):
            dot += e[(3 * a + axis) * CHUNK + k] * e[(3 * b + axis) * CHUNK + k]
        third += c[(1 + row) * CHUNK + k] * dot / (3.0 if a == b else 1.5)
    for axis in range(3):
        p, q = (axis + 1) % 3, (axis + 2) % 3
        cross = e[(3 + p) * CHUNK + k] * e[(6 + q) * CHUNK + k]
        cross -= e[(3 + q) * CHUNK + k] * e[(6 + p) * CHUNK + k]
        ratio += c[k] * e[axis * CHUNK + k] * cross
    psi, _ = inverse_ratio(ratio)
    return third, ratio, 1.0 + (third**3 - ratio**2) * psi * psi


@compiled(vectors=True, nogil=True)
def _add_dashpots(e: Array, u: Array, c: Array, shear: Array, volume: Array, pulls: Array) -> None:
    """Add the forces of the dashpots at edge rates `u`: -(2 eta V0 psi scale^2 dev sym(L) + eta_v V0 J' scale) c_a.

    L = sum_a u_a (x) c_a is 6 V0 J times the gradient of the velocity.
    """
    for k in range(CHUNK):
        ax, ay, az = e[k], e[CHUNK + k], e[2 * CHUNK + k]
        bx, by, bz = e[3 * CHUNK + k], e[4 * CHUNK + k], e[5 * CHUNK + k]
        dx, dy, dz = e[6 * CHUNK + k], e[7 * CHUNK + k], e[8 * CHUNK + k]
        ux, uy, uz = u[k], u[CHUNK + k], u[2 * CHUNK + k]
        vx, vy, vz = u[3 * CHUNK + k], u[4 * CHUNK + k], u[5 * CHUNK + k]
        wx, wy, wz = u[6 * CHUNK + k], u[7 * CHUNK + k], u[8 * CHUNK + k]
        scale = c[k]
        px, py, pz = by * dz - bz * dy, bz * dx - bx * dz, bx * dy - by * dx
        qx, qy, qz = dy * az - dz * ay, dz * ax - dx * az, dx * ay - dy * ax
        rx, ry, rz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        psi, _ = inverse_ratio(scale * (ax * px + ay * py + az * pz))
        xx, yy, zz = ux * px + vx * qx + wx * rx, uy * py + vy * qy + wy * ry, uz * pz + vz * qz + wz * rz
        xy = 0.5 * (ux * py + vx * qy + wx * ry + uy * px + vy * qx + wy * rx)
        yz = 0.5 * (uy * pz + vy * qz + wy * rz + uz * py + vz * qy + wz * ry)
        xz = 0.5 * (ux * pz + vx * qz + wx * rz + uz * px + vz * qx + wz * rx)
        factor = 2.0 * shear[k] * psi * scale * scale
        swell = volume[k] * scale * scale * (xx + yy + zz) - factor * (xx + yy + zz) * (1.0 / 3.0)
        xx, yy, zz = factor * xx + swell, factor * yy + swell, factor * zz + swell
        xy, yz, xz = factor * xy, factor * yz, factor * xz
        pulls[k] -= xx * px + xy * py + xz * pz
        pulls[CHUNK + k] -= xy * px + yy * py + yz * pz
        pulls[2 * CHUNK + k] -= xz * px + yz * py + zz * pz
        pulls[3 * CHUNK + k] -= xx * qx + xy * qy + xz * qz
        pulls[4 * CHUNK + k] -= xy * qx + yy * qy + yz * qz
        pulls[5 * CHUNK + k] -= xz * qx + yz * qy + zz * qz
        pulls[6 * CHUNK + k] -= xx * rx + xy * ry + xz * rz
        pulls[7 * CHUNK + k] -= xy * rx + yy * ry + yz * rz
        pulls[8 * CHUNK + k] -= xz * rx + yz * ry + zz * rz


@cache
def add_tet_forces(remembers: bool, viscous: bool, softens: bool) -> Any:
    """Return the compiled function that adds the forces of elements with or without arms, dashpots and softening.

    It advances arms to positions x (N, 3) [m] and adds all forces at velocities v [m/s] to `force` (N, 3) [N]. `part`
    [s] is the step that led here, 0 for a whole one. It returns into how many parts the next has to be divided.
    """

    @compiled(inside=True, allocates=True)
    def add_tet_forces(group: Group, memory: Memory, x: Array, v: Array, part: float, force: Array) -> float:
        stiffer = 0.0
        edges, rates, pulls = np.empty(9 * CHUNK), np.empty(9 * CHUNK), np.empty(9 * CHUNK)
        strain, tension = np.empty(7 * CHUNK), np.zeros(7 * CHUNK)
        scratch = np.empty(SPACE_SCRATCH * CHUNK if softens else 0)
        for chunk in range(group.constants.shape[0]):
            first, c = chunk * CHUNK, group.constants[chunk]
            gather_tets(group.corners, first, x, edges)
            if remembers:
                tension[:] = 0.0
                before = memory.shear_before[chunk]
                _measure(edges, c, strain)
                if softens:
                    gather_tets(group.corners, first, v, rates)
                    soften_tensors(group, memory, chunk, part, edges, rates, strain, tension, scratch)
                shear, volume = slice(0, 6 * CHUNK), slice(6 * CHUNK, 7 * CHUNK)
                advance_arms(group.shear, chunk, part, memory.shear_arms[chunk], before, strain[shear], tension[shear])
                advance_arms(
                    group.volume,
                    chunk,
                    part,
                    memory.volume_arms[chunk],
                    memory.volume_before[chunk],
                    strain[volume],
                    tension[volume],
                )
            if _pull(edges, c, tension, group.limit, pulls):
                stiffer = max(stiffer, _stiffest(edges, c))
            if viscous:
                gather_tets(group.corners, first, v, rates)
                left = scratch[:CHUNK] if softens else group.shear.viscosity[chunk]
                left_of_volume = scratch[CHUNK : 2 * CHUNK] if softens else group.volume.viscosity[chunk]
                _add_dashpots(edges, rates, c, left, left_of_volume, pulls)
            scatter_tets(group.corners, first, pulls, force)
        return parts_of(group, stiffer)

    return add_tet_forces


@compiled(inside=True, allocates=True)
def mark_inverted_tets(group: Group, x: Array, inverted: NDArray[np.bool_]) -> None:
    """Mark the bodies (B,) that have an inverted element at positions x (N, 3) [m]."""
    edges = np.empty(9 * CHUNK)
    for chunk in range(group.recovery.viscosity.shape[0]):
        c = group.constants[chunk]
        gather_tets(group.corners, chunk * CHUNK, x, edges)
        for k in range(CHUNK):
            _, ratio, _ = _shape(edges, c, k)
            if ratio < 0.0:
                inverted[group.recovery.body[chunk, k]] = True


@compiled(inside=True, allocates=True)
def add_tet_recovery(group: Group, inverted: NDArray[np.bool_], x: Array, v: Array, force: Array) -> float:
    """Add the dashpots of bodies with `inverted` elements; return into how many parts the step has to be divided."""
    stiffer, eta = 0.0, np.empty(CHUNK)
    edges, rates, pulls = np.empty(9 * CHUNK), np.empty(9 * CHUNK), np.empty(9 * CHUNK)
    for chunk in range(group.recovery.viscosity.shape[0]):
        if viscosity_of_inverted(group.recovery, chunk, inverted, eta):
            first, c = chunk * CHUNK, group.constants[chunk]
            gather_tets(group.corners, first, x, edges)
            gather_tets(group.corners, first, v, rates)
            pulls[:] = 0.0
            _add_dashpots(edges, rates, c, eta, eta, pulls)
            scatter_tets(group.corners, first, pulls, force)
            stiffer = max(stiffer, _stiffest(edges, c))
    return group.recovery.haste * stiffer


def tet_energy(group: Group, memory: Memory, x: Array) -> float:
    """Return the energy in springs and arms [J] at positions (N, 3) [m]."""
    c, e = group.columns, group.edges_at(x)
    metric = np.einsum("eax,ebx->eab", e, e)
    third = np.einsum("en,ne->e", metric[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]] * [1, 1, 1, 2, 2, 2], c[1:7]) / 3.0
    ratio = c[0] * np.linalg.det(e)
    y = 1.0 + (third**3 - ratio**2) * inverse_ratio(ratio)[0] ** 2
    springs = 1.5 * c[7] * (np.cbrt(y) - 1.0) + 0.5 * c[8] * (ratio - 1.0) ** 2
    return float(springs.sum()) + arm_energy(group, memory, metric)
