"""Return of an elastoplastic law to its limit, in principal values (compiled; `Elastoplastic` has the constants).

Trial stretches s^ are the singular values of F_E^ = F FP^-1, the last one negative where F_E^ is turned inside out.

Critical stretches (particles-slave spec 3.3, 3.6), fixed-corotated energy, m = exp(xi (1 - JP)), e^2 and e^-2 at most:

    s = clip(s^, 1 - theta_c, 1 + theta_s),   JP <- JP prod(s^/s),   tau_i = m (2 mu (s_i - 1) s_i + lambda (J - 1) J)

Von Mises on neo-Hooke's energy, b_i the squares of the isochoric stretches J^(-1/3) s_i, q the von Mises stress of t:

    t_i = mu (b_i - mean b),   tau_i = t_i + K (J - 1) J,   q <= sigma_y + H alpha
    ln s = ln s^ - dalpha n,   n = 3/2 t^/q^

A viscosity eta adds the overstress eta de_p/dt: s = (s^ + r clip(s^))/(1 + r) with r = h E/eta, and
q = sigma_y + H alpha + eta dalpha/h. tau is the Kirchhoff stress: P F_E^T = U diag(tau) U^T.

With `small` the numbers are principal small strains instead of stretches: e in [-theta_c, theta_s],
JP <- JP + sum(e^ - e), stress m (2 mu e_i + lambda tr(e)).
"""

from __future__ import annotations

import math

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled

KIND, LAME, SHEAR, FIRST, SECOND, THIRD, VISCOSITY, YOUNG = range(8)
"""Places in the constants; the limit's numbers: theta_c, theta_s, xi, or sigma_y, H."""
LEAST_VOLUME, MOST_VOLUME, MOST_HARDENED = 0.05, 20.0, 2.0
"""Bounds of JP, and of the exponent xi (1 - JP) both ways: moduli grow or fall e^2 = 7.4 fold at most."""
SHORTEST = 1e-3
"""What von Mises takes a stretch for that is shorter, or turned inside out."""


@compiled
def yielded(values: Array, memory: float, constants: Array, h: float, small: bool) -> float:
    """Bring trial stretches (3,), or small strains, back to the limit in place; return the new JP or alpha.

    h [s] is the step, read only if there is a viscosity; without h = 0 nothing flows then.
    """
    if constants[KIND] == 0.0:
        rest = 0.0 if small else 1.0
        share = 1.0  # of what is beyond that flows
        if constants[VISCOSITY] > 0.0:
            rate = h * constants[YOUNG] / constants[VISCOSITY]
            share = rate / (1.0 + rate)
        for i in range(3):
            clipped = min(max(values[i], rest - constants[FIRST]), rest + constants[SECOND])
            kept = values[i] + share * (clipped - values[i])
            memory = memory + (values[i] - kept) if small else memory * (values[i] / kept)
            values[i] = kept
        return min(max(memory, LEAST_VOLUME), MOST_VOLUME)
    if not small:
        return _isochoric(values, memory, constants, h)
    mean = (values[0] + values[1] + values[2]) / 3.0
    square = (values[0] - mean) ** 2 + (values[1] - mean) ** 2 + (values[2] - mean) ** 2
    size, stiff = 2.0 * constants[SHEAR] * math.sqrt(1.5 * square), 3.0 * constants[SHEAR]
    excess = size - constants[FIRST] - constants[SECOND] * memory
    if excess > 0.0 and (h > 0.0 or constants[VISCOSITY] == 0.0):
        flow = excess / (stiff + _resistance(constants, h))
        memory += flow
        for i in range(3):
            values[i] = mean + (1.0 - stiff * flow / size) * (values[i] - mean)
    return memory


@compiled
def _resistance(constants: Array, h: float) -> float:
    """Return H + eta/h."""
    return float(constants[SECOND] + (constants[VISCOSITY] / h if constants[VISCOSITY] > 0.0 else 0.0))


@compiled
def _isochoric(values: Array, memory: float, constants: Array, h: float) -> float:
    """Bring trial stretches back to von Mises' limit: one equation for dalpha, q falls while it grows."""
    for i in range(3):
        values[i] = max(values[i], SHORTEST)
    scale = (values[0] * values[1] * values[2]) ** (1.0 / 3.0)
    b0, b1, b2 = (values[0] / scale) ** 2, (values[1] / scale) ** 2, (values[2] / scale) ** 2
    mean, shear = (b0 + b1 + b2) / 3.0, constants[SHEAR]
    size = shear * math.sqrt(1.5 * ((b0 - mean) ** 2 + (b1 - mean) ** 2 + (b2 - mean) ** 2))
    excess = size - constants[FIRST] - constants[SECOND] * memory
    if excess <= 0.0 or (h <= 0.0 and constants[VISCOSITY] > 0.0):
        return memory
    rate = 1.5 * shear / size
    n0, n1, n2 = rate * (b0 - mean), rate * (b1 - mean), rate * (b2 - mean)
    resistance, flow, limit = _resistance(constants, h), 0.0, size - excess
    for _ in range(50):
        c0, c1, c2 = b0 * math.exp(-2.0 * flow * n0), b1 * math.exp(-2.0 * flow * n1), b2 * math.exp(-2.0 * flow * n2)
        mean = (c0 + c1 + c2) / 3.0
        now = shear * math.sqrt(1.5 * ((c0 - mean) ** 2 + (c1 - mean) ** 2 + (c2 - mean) ** 2))
        fall = 3.0 * shear * shear * ((c0 - mean) * n0 * c0 + (c1 - mean) * n1 * c1 + (c2 - mean) * n2 * c2) / now
        step = (now - limit - resistance * flow) / (fall + resistance)
        flow += step
        if abs(step) <= 1e-16 + 1e-15 * flow:
            break
    values[0] *= math.exp(-flow * n0)
    values[1] *= math.exp(-flow * n1)
    values[2] *= math.exp(-flow * n2)
    return memory + flow


@compiled
def hardened(memory: float, exponent: float) -> float:
    """Return by how much moduli have grown, exp(xi (1 - JP)) within its bounds."""
    return math.exp(min(max(exponent * (1.0 - memory), -MOST_HARDENED), MOST_HARDENED))


@compiled
def principal_stress(values: Array, memory: float, constants: Array, small: bool, stress: Array) -> float:
    """Write the principal Kirchhoff stresses (3,) [Pa] of elastic stretches (or strains); return the energy [J/m3].

    The energy is that of the spring; what von Mises hardening takes up counts as dissipated.
    """
    lame, shear, energy, factor = constants[LAME], constants[SHEAR], 0.0, 1.0
    if constants[KIND] == 0.0:
        factor = hardened(memory, constants[THIRD])
    if small:
        total = values[0] + values[1] + values[2]
        for i in range(3):
            energy += factor * shear * values[i] ** 2
            stress[i] = factor * (2.0 * shear * values[i] + lame * total)
        return float(energy + 0.5 * factor * lame * total**2)
    volume = values[0] * values[1] * values[2]
    if constants[KIND] == 0.0:
        for i in range(3):
            energy += factor * shear * (values[i] - 1.0) ** 2
            stress[i] = factor * (2.0 * shear * (values[i] - 1.0) * values[i] + lame * (volume - 1.0) * volume)
        return float(energy + 0.5 * factor * lame * (volume - 1.0) ** 2)
    bulk, scale = lame + 2.0 / 3.0 * shear, abs(volume) ** (-2.0 / 3.0)
    mean = scale * (values[0] ** 2 + values[1] ** 2 + values[2] ** 2) / 3.0
    for i in range(3):
        stress[i] = shear * (scale * values[i] ** 2 - mean) + bulk * (volume - 1.0) * volume
    return float(1.5 * shear * (mean - 1.0) + 0.5 * bulk * (volume - 1.0) ** 2)


@compiled
def principal_axes(matrix: Array, vectors: Array) -> None:
    """Turn a symmetric matrix (3, 3) into its eigenvalues, on the diagonal, and `vectors` (3, 3), column by column.

    Jacobi's rotations in place: exact where eigenvalues coincide, no memory taken.
    """
    for i in range(3):
        for j in range(3):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(20):
        off = abs(matrix[0, 1]) + abs(matrix[0, 2]) + abs(matrix[1, 2])
        if off <= 1e-300 or off <= 1e-18 * (abs(matrix[0, 0]) + abs(matrix[1, 1]) + abs(matrix[2, 2])):
            break
        for p in range(2):
            for q in range(p + 1, 3):
                if matrix[p, q] == 0.0:
                    continue
                ratio = (matrix[q, q] - matrix[p, p]) / (2.0 * matrix[p, q])
                t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                c = 1.0 / math.sqrt(1.0 + t * t)
                s, r = t * c, 3 - p - q
                matrix[p, p] -= t * matrix[p, q]
                matrix[q, q] += t * matrix[p, q]
                matrix[p, q] = matrix[q, p] = 0.0
                first, second = matrix[r, p], matrix[r, q]
                matrix[r, p] = matrix[p, r] = c * first - s * second
                matrix[r, q] = matrix[q, r] = s * first + c * second
                for i in range(3):
                    first, second = vectors[i, p], vectors[i, q]
                    vectors[i, p] = c * first - s * second
                    vectors[i, q] = s * first + c * second
