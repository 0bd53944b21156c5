"""Compiled loops of isochoric energies over points: tau = dw/dE and its slope, for energies of unit shear modulus.

    invariants     w = c10 x + c01 y + c20 x^2 + c30 x^3,    x = I1^ - 3, y = I2^ - 3
                   tau = 2 w_x a + 2 w_y b,  a = J^(-2/3) C^-1 dev(2 E),  b = J^(-4/3) C^-1 dev(2 E - 4 cof E)
    principal      w = sum 2 m/a^2 (sum_i l_i^a J^(-a/3) - 3),    tau = sum_i beta_i/l_i^2 N_i (x) N_i
                   beta_i = sum 2 m/a (l^_i^a - mean of the three)

The slope of the second in principal axes is Holzapfel's (2000) 6.180, with the limit of equal stretches. Both are zero
at rest to the last digit, and small strains keep all of theirs.
"""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled
from rheotwin.materials.flow import principal_axes

ALIKE = 1e-7
"""Difference of squared stretches below which they count as equal in the slope of turning axes."""


@compiled(inside=True, contract=True)
def _deviatoric_product(inverse: Array, other: Array, scale: float, out: Array) -> None:
    """Write scale C^-1 dev(X) (6,) of tensors (3, 3) that commute."""
    mean = (other[0, 0] + other[1, 1] + other[2, 2]) / 3.0
    row, column = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
    for m in range(6):
        i, j = row[m], column[m]
        total = -mean * inverse[i, j]
        for k in range(3):
            total += inverse[i, k] * other[k, j]
        out[m] = scale * total


@compiled(contract=True, allocates=True)
def by_invariants(strain: Array, c10: float, c01: float, c20: float, c30: float, stress: Array, slope: Array) -> None:
    """Write tau (p, 6) and, unless its array is empty, dtau/dE (p, 6, 6)."""
    row, column = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
    inverse, double, cofactor, metric = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    first, second = np.zeros(6), np.zeros(6)
    for p in range(len(strain)):
        for m in range(6):
            i, j = row[m], column[m]
            double[i, j] = double[j, i] = (2.0 if m < 3 else 1.0) * strain[p, m]
        for i in range(3):
            i1, i2 = (i + 1) % 3, (i + 2) % 3
            for j in range(3):
                j1, j2 = (j + 1) % 3, (j + 2) % 3
                cofactor[i, j] = double[i1, j1] * double[i2, j2] - double[i1, j2] * double[i2, j1]
                metric[i, j] = double[i, j] + (1.0 if i == j else 0.0)
        trace = double[0, 0] + double[1, 1] + double[2, 2]
        minors = cofactor[0, 0] + cofactor[1, 1] + cofactor[2, 2]
        excess = trace + minors
        for j in range(3):
            excess += double[0, j] * cofactor[0, j]
        for i in range(3):  # cof(1 + X) = (1 + tr X) 1 - X + cof X
            for j in range(3):
                unit = 1.0 + trace if i == j else 0.0
                inverse[i, j] = (unit - double[i, j] + cofactor[i, j]) / (1.0 + excess)
        shrink = np.exp(-np.log1p(excess) / 3.0)
        x = 3.0 * np.expm1(-np.log1p(excess) / 3.0) + shrink * trace
        by_x, by_xx = c10 + 2.0 * c20 * x + 3.0 * c30 * x * x, 2.0 * c20 + 6.0 * c30 * x
        _deviatoric_product(inverse, double, shrink, first)
        if c01 != 0.0:
            for i in range(3):
                for j in range(3):
                    cofactor[i, j] = double[i, j] - cofactor[i, j]
            _deviatoric_product(inverse, cofactor, shrink * shrink, second)
        for m in range(6):
            stress[p, m] = 2.0 * by_x * first[m] + 2.0 * c01 * second[m]
        if len(slope) == 0:
            continue
        i1, i2 = 3.0 + trace, 3.0 + 2.0 * trace + minors
        for m in range(6):
            i, j = row[m], column[m]
            for n in range(6):
                k, t = row[n], column[n]
                mixed = 0.5 * (inverse[i, k] * inverse[j, t] + inverse[i, t] * inverse[j, k])
                outer = inverse[i, j] * (shrink if n < 3 else 0.0) + first[m] * inverse[k, t]
                total = 4.0 * by_xx * first[m] * first[n] + 4.0 / 3.0 * by_x * (shrink * i1 * mixed - outer)
                if c01 != 0.0:
                    unit = (1.0 if m < 3 and n < 3 else 0.0) - (1.0 if m == n else 0.0) * (1.0 if m < 3 else 0.5)
                    slant = i1 * (1.0 if n < 3 else 0.0) - metric[k, t]
                    turned = 2.0 * unit + 4.0 / 3.0 * (i2 * mixed - inverse[i, j] * slant)
                    total += 2.0 * c01 * (shrink * shrink * turned - 4.0 / 3.0 * second[m] * inverse[k, t])
                slope[p, m, n] = total


@compiled(contract=True, allocates=True)
def by_stretches(strain: Array, moduli: Array, exponents: Array, stress: Array, slope: Array) -> None:
    """Write tau (p, 6) and, unless its array is empty, dtau/dE (p, 6, 6) of terms with `moduli` m and `exponents` a."""
    row, column = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
    matrix, axes, dyads = np.empty((3, 3)), np.empty((3, 3)), np.empty((6, 6))
    square, log, beta, power = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    gamma, factor = np.empty((3, 3)), np.empty(3)
    for p in range(len(strain)):
        for m in range(6):
            i, j = row[m], column[m]
            matrix[i, j] = matrix[j, i] = (1.0 if m < 3 else 0.5) * strain[p, m]
        principal_axes(matrix, axes)
        for i in range(3):
            square[i], log[i], beta[i] = 1.0 + 2.0 * matrix[i, i], 0.5 * np.log1p(2.0 * matrix[i, i]), 0.0
        volume = (log[0] + log[1] + log[2]) / 3.0
        gamma[:, :] = 0.0
        for t in range(len(moduli)):
            mean = 0.0
            for i in range(3):  # powers less one, which keep the digits of small strains
                power[i] = np.expm1(exponents[t] * (log[i] - volume))
                mean += power[i] / 3.0
            for i in range(3):
                beta[i] += 2.0 * moduli[t] / exponents[t] * (power[i] - mean)
                for j in range(3):
                    unit = power[i] + 1.0 if i == j else 0.0
                    gamma[i, j] += 2.0 * moduli[t] * (unit - (power[i] + power[j] - mean + 1.0) / 3.0)
        for m in range(6):  # N_a (x) N_a, then sym(N_a (x) N_b)
            a, b = row[m], column[m]
            for n in range(6):
                i, j = row[n], column[n]
                dyads[m, n] = 0.5 * (axes[i, a] * axes[j, b] + axes[i, b] * axes[j, a])
        for n in range(6):
            stress[p, n] = 0.0
            for a in range(3):
                stress[p, n] += beta[a] / square[a] * dyads[a, n]
        if len(slope) == 0:
            continue
        for a in range(3):
            for b in range(3):
                twice = 2.0 * beta[a] if a == b else 0.0
                gamma[a, b] = (gamma[a, b] - twice) / (square[a] * square[b])
        for m in range(3):
            a, b = row[m + 3], column[m + 3]
            apart = square[b] - square[a]
            if abs(apart) > ALIKE:
                factor[m] = 4.0 * (beta[b] / square[b] - beta[a] / square[a]) / apart
            else:
                factor[m] = gamma[a, a] + gamma[b, b] - gamma[a, b] - gamma[b, a]
        for m in range(6):
            for n in range(6):
                total = 0.0
                for a in range(3):
                    total += factor[a] * dyads[a + 3, m] * dyads[a + 3, n]
                    for b in range(3):
                        total += gamma[a, b] * dyads[a, m] * dyads[b, n]
                slope[p, m, n] = total
