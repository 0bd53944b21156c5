"""Compiled loops of total-Lagrangian elements: gradients, forces, tangents, and what pressures and volumes do.

With P = F S and g_a = grad N_a, a step's force and tangent are, component i of node a and k of node b,

    f_ai = sum_q w P_iJ g_aJ,      K_ai,bk = sum_q w g_aJ A_iJkL g_bL,      A_iJkL = s d_ik S_JL + F_iM F'_kN D_MJNL

S acts at F, its slope D is by the strain of the end F', and s is the share of the step at which S acts. `across` holds
dF_zz per component: N_a/R of rings, and the unknown strains of plane stress.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled

Integers = NDArray[np.integer]
SLOT = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])
"""Place of each entry of a symmetric tensor among its six numbers."""


@compiled(contract=True)
def gradients(columns: Array, across: Array, dofs: Integers, u: Array, slope: Array) -> None:
    """Write H = du/dX (e, q, 3, 3) from `columns` (e, q, d, n) of dN/dX and `across` (e, q, m or 0)."""
    elements, points, d, nodes = columns.shape
    for e in range(elements):
        for q in range(points):
            h = slope[e, q]
            h[:, :] = 0.0
            for a in range(nodes):
                for i in range(d):
                    moved = u[dofs[e, a * d + i]]
                    for j in range(d):
                        h[i, j] += moved * columns[e, q, j, a]
            for m in range(across.shape[2]):
                h[2, 2] += u[dofs[e, m]] * across[e, q, m]


@compiled(contract=True)
def smallest_volume(slope: Array) -> tuple[int, float]:
    """Return the element with the smallest det(1 + H), H (e, q, 3, 3), and that determinant."""
    worst, least = 0, np.inf
    for e in range(slope.shape[0]):
        for q in range(slope.shape[1]):
            h = slope[e, q]
            x, y, z = 1.0 + h[0, 0], 1.0 + h[1, 1], 1.0 + h[2, 2]
            minors = y * z - h[1, 2] * h[2, 1], h[1, 0] * z - h[1, 2] * h[2, 0], h[1, 0] * h[2, 1] - y * h[2, 0]
            volume = x * minors[0] - h[0, 1] * minors[1] + h[0, 2] * minors[2]
            if not volume >= least:
                worst, least = e, volume
    return worst, least


@compiled(contract=True)
def volume_change(strain: Array, change: Array) -> None:
    """Write J - 1 = (det C - 1)/(1 + J) (p,), det C - 1 = tr X + (second invariant of X) + det X, X = 2 E."""
    for p in range(len(strain)):
        x, y, z = 2.0 * strain[p, 0], 2.0 * strain[p, 1], 2.0 * strain[p, 2]
        a, b, c = strain[p, 3], strain[p, 4], strain[p, 5]
        minors = y * z - b * b, x * z - c * c, x * y - a * a
        excess = x + y + z + minors[0] + minors[1] + minors[2]
        excess += x * minors[0] + a * (b * c - a * z) + c * (a * b - y * c)
        change[p] = excess / (1.0 + np.sqrt(1.0 + excess))


@compiled(contract=True)
def green(slope: Array, strain: Array) -> None:
    """Write E = sym(H) + H'H/2 (p, 6), engineering shear, from H (p, 3, 3), so that small strains keep all digits."""
    for p in range(len(slope)):
        h = slope[p]
        for i in range(3):
            for j in range(i, 3):
                product = h[0, i] * h[0, j] + h[1, i] * h[1, j] + h[2, i] * h[2, j]
                strain[p, SLOT[i, j]] = (0.5 if i == j else 1.0) * (h[i, j] + h[j, i] + product)


@compiled(contract=True)
def element_forces(columns: Array, across: Array, weights: Array, slope: Array, stress: Array, forces: Array) -> None:
    """Add sum w F S g (e, m) [N] of stresses (e, q, 6) at F = 1 + H."""
    elements, points, d, nodes = columns.shape
    for e in range(elements):
        for q in range(points):
            for i in range(d):
                for j in range(d):
                    pushed = weights[e, q] * stress[e, q, SLOT[i, j]]
                    for k in range(d):
                        pushed += weights[e, q] * slope[e, q, i, k] * stress[e, q, SLOT[k, j]]
                    for a in range(nodes):
                        forces[e, a * d + i] += pushed * columns[e, q, j, a]
            for m in range(across.shape[2]):
                forces[e, m] += weights[e, q] * (1.0 + slope[e, q, 2, 2]) * stress[e, q, 2] * across[e, q, m]


@compiled(inside=True, contract=True)
def _elasticity(at: Array, end: Array, stress: Array, modulus: Array, share: float, half: Array, out: Array) -> None:
    """Write A_iJkL (3, 3, 3, 3) from H at the share and at the end."""
    for i in range(3):
        for j in range(3):
            for c in range(6):
                total = modulus[SLOT[i, j], c]
                for m in range(3):
                    total += at[i, m] * modulus[SLOT[m, j], c]
                half[i, j, c] = total
    for i in range(3):
        for j in range(3):
            for k in range(3):
                for t in range(3):
                    total = half[i, j, SLOT[k, t]]
                    for n in range(3):
                        total += end[k, n] * half[i, j, SLOT[n, t]]
                    out[i, j, k, t] = total
            for t in range(3):
                out[i, j, i, t] += share * stress[SLOT[j, t]]


@compiled(contract=True, allocates=True)
def element_tangents(
    columns: Array,
    across: Array,
    weights: Array,
    at: Array,
    end: Array,
    stress: Array,
    modulus: Array,
    share: float,
    blocks: Array,
) -> None:
    """Write K (e, m, m) [N/m] into the first rows and columns of `blocks`."""
    elements, points, d, nodes = columns.shape
    half, full, size = np.empty((3, 3, 6)), np.empty((3, 3, 3, 3)), across.shape[2]
    local, right = np.empty((d, d, nodes, nodes)), np.empty((d, d, d, nodes))
    for e in range(elements):
        local[:] = 0.0
        for q in range(points):
            w = weights[e, q]
            _elasticity(at[e, q], end[e, q], stress[e, q], modulus[e, q], share, half, full)
            g = columns[e, q]
            for i in range(d):
                for k in range(d):
                    for j in range(d):
                        for b in range(nodes):
                            right[i, k, j, b] = w * full[i, j, k, 0] * g[0, b]
                        for t in range(1, d):
                            factor = w * full[i, j, k, t]
                            for b in range(nodes):
                                right[i, k, j, b] += factor * g[t, b]
                    for a in range(nodes):
                        for j in range(d):
                            factor = g[j, a]
                            for b in range(nodes):
                                local[i, k, a, b] += factor * right[i, k, j, b]
            for m in range(size):
                turned = w * across[e, q, m]
                if turned == 0.0:
                    continue
                for a in range(nodes):
                    for i in range(d):
                        for j in range(d):
                            blocks[e, a * d + i, m] += turned * full[i, j, 2, 2] * g[j, a]
                            blocks[e, m, a * d + i] += turned * full[2, 2, i, j] * g[j, a]
                for n in range(size):
                    blocks[e, m, n] += turned * full[2, 2, 2, 2] * across[e, q, n]
        for a in range(nodes):
            for i in range(d):
                for k in range(d):
                    for b in range(nodes):
                        blocks[e, a * d + i, b * d + k] += local[i, k, a, b]


@compiled(contract=True, allocates=True)
def couple(
    columns: Array,
    across: Array,
    weights: Array,
    slope: Array,
    shapes: Array,
    amiss: Array,
    compliance: float,
    forces: Array,
    blocks: Array,
) -> None:
    """Add the rows of pressures (k of them behind m components) with functions `shapes` (q, k).

        f_k = int N_k (J - 1 - p/K),      K_k,ai = int N_k dJ/du_ai,      K_kl = -int N_k N_l/K

    `amiss` (e, q) is J - 1 - (p - what memories hold of it)/K, `compliance` 1/K [1/Pa].
    """
    elements, points, d, nodes = columns.shape
    size, change, f = forces.shape[1] - shapes.shape[1], np.zeros(forces.shape[1]), np.empty((3, 3))
    for e in range(elements):
        for q in range(points):
            for i in range(3):
                for j in range(3):
                    f[i, j] = slope[e, q, i, j] + (1.0 if i == j else 0.0)
            change[:] = 0.0
            for i in range(3):
                i1, i2 = (i + 1) % 3, (i + 2) % 3
                for j in range(3):
                    j1, j2 = (j + 1) % 3, (j + 2) % 3
                    cofactor = f[i1, j1] * f[i2, j2] - f[i1, j2] * f[i2, j1]
                    if i < d and j < d:
                        for a in range(nodes):
                            change[a * d + i] += cofactor * columns[e, q, j, a]
                    elif i == 2 and j == 2:
                        for m in range(across.shape[2]):
                            change[m] += cofactor * across[e, q, m]
            for k in range(shapes.shape[1]):
                w = weights[e, q] * shapes[q, k]
                forces[e, size + k] += w * amiss[e, q]
                for m in range(size):
                    blocks[e, size + k, m] += w * change[m]
                    blocks[e, m, size + k] += w * change[m]
                for t in range(shapes.shape[1]):
                    blocks[e, size + k, size + t] -= w * shapes[q, t] * compliance


@compiled(contract=True)
def add_volume(strain: Array, pressure: Array, bulk: float, stress: Array, modulus: Array) -> None:
    """Add p v and k v (x) v + p dv/dE to stresses (p, 6) and moduli (p, 6, 6) [Pa], v = J C^-1, k = `bulk`.

    dv/dE = J (C^-1 (x) C^-1 - 2 C^-1 . C^-1)
    """
    for p in range(len(strain)):
        e = strain[p]
        x, y, z, a, b, c = 1.0 + 2.0 * e[0], 1.0 + 2.0 * e[1], 1.0 + 2.0 * e[2], e[3], e[4], e[5]
        # cofactors of C; C^-1 = cofactors/J^2
        v0, v1, v2 = y * z - b * b, x * z - c * c, x * y - a * a
        v3, v4, v5 = c * b - a * z, a * c - x * b, a * b - y * c
        ratio = np.sqrt(x * v0 + a * v3 + c * v5)
        v0, v1, v2, v3, v4, v5 = v0 / ratio, v1 / ratio, v2 / ratio, v3 / ratio, v4 / ratio, v5 / ratio
        v = (v0, v1, v2, v3, v4, v5)
        inverse = ((v0, v3, v5), (v3, v1, v4), (v5, v4, v2))
        push, both, twice = pressure[p], bulk + pressure[p] / ratio, pressure[p] / ratio
        row, column = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
        for m in range(6):
            i, j = row[m], column[m]
            stress[p, m] += push * v[m]
            for n in range(6):
                k, t = row[n], column[n]
                mixed = inverse[i][k] * inverse[j][t] + inverse[i][t] * inverse[j][k]
                modulus[p, m, n] += both * v[m] * v[n] - twice * mixed


@compiled(contract=True)
def eliminate(blocks: Array, own: Integers) -> None:
    """Eliminate in place the components `own` of each block (e, m, m), last one first; their columns are kept."""
    for e in range(len(blocks)):
        block, size = blocks[e], blocks.shape[1]
        for turn in range(len(own) - 1, -1, -1):
            o = own[turn]
            for i in range(size):
                gone = False
                for later in range(turn, len(own)):
                    gone = gone or own[later] == i
                if gone:
                    continue
                factor, column = block[i, o] / block[o, o], block[i, o]
                for j in range(size):
                    block[i, j] -= factor * block[o, j]
                block[i, o] = column


@compiled(contract=True)
def reduce(blocks: Array, own: Integers, right: Array) -> None:
    """Eliminate the components `own` from right-hand sides (e, m), by what `eliminate` left."""
    for e in range(len(blocks)):
        for turn in range(len(own) - 1, -1, -1):
            o = own[turn]
            for i in range(blocks.shape[1]):
                gone = False
                for later in range(turn, len(own)):
                    gone = gone or own[later] == i
                if not gone:
                    right[e, i] -= blocks[e, i, o] / blocks[e, o, o] * right[e, o]


@compiled(contract=True)
def recover(blocks: Array, own: Integers, right: Array, found: Array) -> None:
    """Write the components `own` of solutions (e, m) whose others are known, by what `eliminate` and `reduce` left."""
    for e in range(len(blocks)):
        for turn in range(len(own)):
            o = own[turn]
            total = right[e, o]
            for j in range(blocks.shape[1]):
                gone = False
                for later in range(turn, len(own)):
                    gone = gone or own[later] == j
                if not gone:
                    total -= blocks[e, o, j] * found[e, j]
            found[e, o] = total / blocks[e, o, o]


@compiled
def scatter(places: Integers, blocks: Array, data: Array) -> None:
    """Add blocks (e, m, m) into the entries of a matrix; `places` (e m m,), negative where an entry is left out."""
    entry, size = 0, blocks.shape[1]
    for e in range(len(blocks)):
        for i in range(size):
            for j in range(size):
                if places[entry] >= 0:
                    data[places[entry]] += blocks[e, i, j]
                entry += 1
