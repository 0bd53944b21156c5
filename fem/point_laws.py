"""Laws of dough at a point: elastoplastic flow, softening dashpots, friction and sliders, solved in the step.

Elastoplastic laws are isotropic functions of a symmetric tensor A with eigenvalues a_i, principal axes N_i and A at the
start of a step seen with the plastic deformation of then:

    small strain:  A = e - e_p,            w_i = N_i,     s = sum q_i w_i w_i',   q_i = sigma_i
    large strain:  A = G'(I + 2 E) G,      w_i = G N_i,   S = sum q_i w_i w_i',   q_i = tau_i/a_i,   a_i = s^_i^2

with G = F_P^-1; afterwards e_p += sum (a_i - e_i) N_i N_i', G <- G N diag(s_i/s^_i) N' (`rheotwin.materials.flow`).

Three-element laws whose series dashpot c2 gives way: d is the Voigt part's strain, sigma = k d + c1 d', e = d + e_2,

    e_2' = phi(q) c2^-1 sigma,   phi = c_max/c2(q) softening, max(1 - alpha/q, 0) friction, q the von Mises stress

implicit in the step h; with D the deviator, g = k (d + de) + c1 de/h and r = (h k + c1)/c2 of each modulus,

    q (1 + phi(q) r) = |D g|,      D sigma = D g/(1 + phi r_mu),      p = p_g/(1 + phi r_K)

In uniaxial stress with one Poisson ratio that is the edge's law. A slider bounds e_2 by (natural - least) I +
(1 - least) e above and -(most - natural) I + (1 - most) e below, in every direction: phi falls until e_2 stays within.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.fem.finite.point import PointLaw, Response
from rheotwin.kernels.compiled import compiled
from rheotwin.materials import (
    Channel,
    Elastoplastic,
    FrictionThreeElement,
    Law,
    Moduli,
    NonlinearThreeElement,
    SliderThreeElement,
    SofteningThreeElement,
    VonMises,
)
from rheotwin.materials.flow import LAME, SHEAR, principal_axes, principal_stress, yielded

NEAR = 1e-7
"""Eigenvalues closer than this share of the largest are one where slopes of axes are taken."""
TURNS = 60
"""Most rounds of the scalar equations."""


@compiled
def _tensor(vector: Array, shear: float, out: Array) -> None:
    """Write the symmetric tensor of (XX, YY, ZZ, XY, YZ, XZ), shears times `shear`."""
    for i in range(3):
        out[i, i] = vector[i]
    out[0, 1] = out[1, 0] = shear * vector[3]
    out[1, 2] = out[2, 1] = shear * vector[4]
    out[0, 2] = out[2, 0] = shear * vector[5]


@compiled
def _product(left: Array, right: Array, turned: bool, out: Array) -> None:
    """Write A B, or A' B."""
    for i in range(3):
        for j in range(3):
            out[i, j] = 0.0
            for k in range(3):
                out[i, j] += (left[k, i] if turned else left[i, k]) * right[k, j]


@compiled
def _principal(a: Array, memory: float, constants: Array, h: float, small: bool, values: Array, q: Array) -> float:
    """Write elastic stretches (or strains) and q (3,) of eigenvalues a; return the new memory."""
    for i in range(3):
        values[i] = a[i] if small else math.sqrt(a[i])
    memory = yielded(values, memory, constants, h, small)
    principal_stress(values, memory, constants, small, q)
    if not small:
        for i in range(3):
            q[i] /= a[i]
    return memory


@compiled
def _trial(strain: Array, state: Array, small: bool, work: Array) -> None:
    """Write A's eigenvalues to the diagonal of work[0], N to work[1] and the w_i to the columns of work[2]."""
    a, axes, w, g, metric = work[0], work[1], work[2], work[3], work[4]
    _tensor(strain, 0.5, a)
    if small:
        _tensor(state[:6], 0.5, metric)
        for i in range(3):
            for j in range(3):
                a[i, j] -= metric[i, j]
        principal_axes(a, axes)
        for i in range(3):
            for j in range(3):
                w[i, j] = axes[i, j]
        return
    for i in range(3):
        for j in range(3):
            metric[i, j] = 2.0 * a[i, j] + (1.0 if i == j else 0.0)
            g[i, j] = state[3 * i + j] + (1.0 if i == j else 0.0)
    _product(metric, g, False, w)
    _product(g, w, True, a)
    principal_axes(a, axes)
    _product(g, axes, False, w)


@compiled
def _plastic(
    strain: Array, state: Array, constants: Array, start: float, h: float, small: bool, work: Array,
    stress: Array, modulus: Array, new: Array, slopes: bool,
) -> None:  # fmt: skip
    """Write stress (p, 6), its slope (p, 6, 6) and the state after the step, for all points."""
    rows, columns, scratch = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2), work[5]
    a, values, q, other, upper, lower = scratch[0], scratch[1], scratch[2], work[6, 0], work[6, 1], work[6, 2]
    slope, turned = work[7], work[8]
    for p in range(strain.shape[0]):
        last, old = state.shape[1] - 1, state[p, state.shape[1] - 1] + start
        _trial(strain[p], state[p], small, work)
        axes, w, largest = work[1], work[2], 0.0
        for i in range(3):
            a[i] = work[0, i, i]
            largest = max(largest, abs(a[i]))
        memory = _principal(a, old, constants, h, small, values, q)
        new[p, last] = memory - start
        for k in range(6):
            stress[p, k] = 0.0
            for i in range(3):
                stress[p, k] += q[i] * w[rows[k], i] * w[columns[k], i]
        if small:
            for k in range(6):
                change = 0.0
                for i in range(3):
                    change += (a[i] - values[i]) * axes[rows[k], i] * axes[columns[k], i]
                new[p, k] = state[p, k] + (change if k < 3 else 2.0 * change)
        else:
            for i in range(3):
                for j in range(3):
                    grown = 0.0
                    for k in range(3):
                        grown += w[i, k] * (values[k] / math.sqrt(a[k]) - 1.0) * axes[j, k]
                    new[p, 3 * i + j] = state[p, 3 * i + j] + grown
        if not slopes:
            continue
        # slopes of q by a: central differences of the principal law, which has kinks but no other roughness
        step = 1e-5 * largest if small else 1e-6 * largest
        step = max(step, 1e-12)
        for j in range(3):
            a[j] += step
            _principal(a, old, constants, h, small, other, upper)
            a[j] -= 2.0 * step
            _principal(a, old, constants, h, small, other, lower)
            a[j] += step
            for i in range(3):
                slope[i, j] = (upper[i] - lower[i]) / (2.0 * step)
        for m in range(6):
            # T = N'(dA) N of a unit of strain component m
            x, y = rows[m], columns[m]
            for i in range(3):
                for j in range(3):
                    both = w[x, i] * w[y, j] if m < 3 else 0.5 * (w[x, i] * w[y, j] + w[y, i] * w[x, j])
                    turned[i, j] = both if small else 2.0 * both
            for i in range(3):
                scratch[1, i] = slope[i, 0] * turned[0, 0] + slope[i, 1] * turned[1, 1] + slope[i, 2] * turned[2, 2]
            for i in range(3):
                turned[i, i] = scratch[1, i]
            for i in range(2):
                for j in range(i + 1, 3):
                    apart = a[i] - a[j]
                    if abs(apart) > NEAR * largest:
                        ratio = (q[i] - q[j]) / apart
                    else:
                        ratio = 0.5 * (slope[i, i] - slope[i, j] + slope[j, j] - slope[j, i])
                    turned[i, j] *= ratio
                    turned[j, i] *= ratio
            for k in range(6):
                total = 0.0
                for i in range(3):
                    for j in range(3):
                        total += w[rows[k], i] * turned[i, j] * w[columns[k], j]
                modulus[p, k, m] = total


@compiled
def _energies(
    strain: Array, state: Array, constants: Array, start: float, small: bool, work: Array, energy: Array, mandel: Array
) -> None:
    """Write the energy of springs (p,) [J/m3] and the stress sum tau_i N_i N_i' (p, 6) at the end of a step."""
    rows, columns = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
    values, q = work[5, 1], work[5, 2]
    for p in range(strain.shape[0]):
        _trial(strain[p], state[p], small, work)
        for i in range(3):
            values[i] = work[0, i, i] if small else math.sqrt(work[0, i, i])
        energy[p] = principal_stress(values, state[p, state.shape[1] - 1] + start, constants, small, q)
        for k in range(6):
            mandel[p, k] = 0.0
            for i in range(3):
                mandel[p, k] += q[i] * work[1, rows[k], i] * work[1, columns[k], i]


@compiled
def _plastic_strain(
    strain: Array, state: Array, constants: Array, start: float, h: float, small: bool, work: Array, out: Array
) -> None:
    """Write the plastic strain of a step, sum ln(s^_i/s_i) N_i N_i' or sum (a_i - e_i) N_i N_i' (p, 6)."""
    rows, columns = (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
    a, values, q = work[5, 0], work[5, 1], work[5, 2]
    for p in range(strain.shape[0]):
        _trial(strain[p], state[p], small, work)
        for i in range(3):
            a[i] = work[0, i, i]
        _principal(a, state[p, state.shape[1] - 1] + start, constants, h, small, values, q)
        for k in range(6):
            out[p, k] = 0.0
            for i in range(3):
                flow = a[i] - values[i] if small else math.log(math.sqrt(a[i]) / values[i])
                out[p, k] += flow * work[1, rows[k], i] * work[1, columns[k], i] * (1.0 if k < 3 else 2.0)


@dataclass(frozen=True)
class PlasticPoint:
    """An elastoplastic law; it remembers e_p (6) or F_P^-1 - I (9), and JP - 1 or alpha.

    `isochoric` leaves the volume's pressure to a bulk channel (von Mises at large strain).
    """

    law: Elastoplastic
    small: bool
    isochoric: bool = False
    symmetric: bool = False

    @property
    def width(self) -> int:
        """Numbers a point remembers."""
        return 7 if self.small else 10

    @cached_property
    def _constants(self) -> Array:
        constants = self.law.constants
        if self.isochoric:
            constants[LAME] = -2.0 / 3.0 * constants[SHEAR]
        return constants

    def respond(self, strain: Array, before: Array, state: Array, step: float) -> Response:
        """Return stress, slope and state after a step."""
        stress, modulus, new = np.empty_like(strain), np.empty((*strain.shape, 6)), np.empty_like(state)
        given = (np.ascontiguousarray(strain), np.ascontiguousarray(state), self._constants, self.law.start, step)
        _plastic(*given, self.small, np.zeros((9, 3, 3)), stress, modulus, new, True)
        return Response(stress, modulus, new)

    def relaxing(self, state: Array) -> Array:
        """Return zeros: nothing relaxes."""
        return np.zeros((len(state), 6))

    def _energies(self, strain: Array, state: Array) -> tuple[Array, Array]:
        energy, mandel = np.empty(len(strain)), np.empty((len(strain), 6))
        given = (np.ascontiguousarray(strain), np.ascontiguousarray(state), self._constants, self.law.start)
        _energies(*given, self.small, np.zeros((9, 3, 3)), energy, mandel)
        return energy, mandel

    def stored(self, strain: Array, state: Array) -> Array:
        """Return the energy of the springs."""
        return self._energies(strain, state)[0]

    def dissipated(self, strain: Array, before: Array, state: Array, old: Array, step: float) -> Array:
        """Return the work of the mean stress on the plastic strain, less what stiffer springs hold more."""
        flow, constants = np.empty((len(strain), 6)), self._constants
        given = (np.ascontiguousarray(strain), np.ascontiguousarray(old), constants, self.law.start, step)
        _plastic_strain(*given, self.small, np.zeros((9, 3, 3)), flow)
        (first, earlier), (last, later) = self._energies(before, old), self._energies(strain, state)
        lost = 0.5 * np.sum((earlier + later) * flow, axis=1)
        if self.law.start == 1.0:  # the moduli change with JP by the factor m
            growth = constants[5] * (old[:, -1] - state[:, -1])
            lost -= 0.5 * (first * np.expm1(growth) - last * np.expm1(-growth))
        return np.asarray(lost)


NOTHING = 1e-30
"""Viscosity of an absent part of a series dashpot."""
HALF = np.array([1.0, 1.0, 1.0, 0.5, 0.5, 0.5])
SOFT, STUCK = 1.0, 2.0
KIND, K, KC, K2, M, MC, M2, LOW, HIGH, EXPONENT, LOCK, NATURAL, LEAST, MOST = range(14)
"""Constants: bulk and shear moduli of spring, Voigt dashpot and series dashpot; thresholds [Pa] and B, or friction in
LOW; 1 where a slider acts, and its shares."""


@compiled
def _size(driven: float, ratio: float, constants: Array) -> tuple[float, float, float]:
    """Return q with q (1 + phi(q) r) = |g|, phi and its slope; the left side rises, between thresholds it is convex."""
    low, high, rise = constants[LOW], constants[HIGH], constants[EXPONENT]
    if constants[KIND] == STUCK:
        if driven <= low:
            return driven, 0.0, 0.0
        size = (driven + ratio * low) / (1.0 + ratio)
        return size, 1.0 - low / size, low / size**2
    if constants[KIND] != SOFT or driven <= low * (1.0 + ratio):
        return driven / (1.0 + ratio), 1.0, 0.0
    most = math.exp(rise * (high - low))
    if driven >= high * (1.0 + ratio * most):
        return driven / (1.0 + ratio * most), most, 0.0
    size = high
    for _ in range(TURNS):
        phi = math.exp(rise * (size - low))
        wanted = size - (size * (1.0 + ratio * phi) - driven) / (1.0 + ratio * phi * (1.0 + rise * size))
        done = abs(wanted - size) <= 1e-15 * high
        size = max(wanted, low)
        if done:
            break
    phi = math.exp(rise * (size - low))
    return size, phi, rise * phi


@compiled
def _excess(strain: Array, d: Array, constants: Array, push: Array, matrix: Array, axes: Array) -> float:
    """Return by how much e_2 = e - d goes beyond a slider's bounds; write what brings it back to push (6,)."""
    most, rows, columns = -1.0, (0, 1, 2, 0, 1, 0), (0, 1, 2, 1, 2, 2)
    for k in range(6):
        push[k] = 0.0
    for side in range(2):
        bound, sign = (constants[LEAST], 1.0) if side == 0 else (constants[MOST], -1.0)
        for k in range(6):
            beyond = bound * strain[k] - d[k] + (bound - constants[NATURAL] if k < 3 else 0.0)
            matrix[rows[k], columns[k]] = matrix[columns[k], rows[k]] = sign * beyond * (1.0 if k < 3 else 0.5)
        principal_axes(matrix, axes)
        for i in range(3):
            most = max(most, matrix[i, i])
            if matrix[i, i] > 0.0:
                for k in range(6):
                    unit = axes[rows[k], i] * axes[columns[k], i] * (1.0 if k < 3 else 2.0)
                    push[k] += sign * matrix[i, i] * unit
    return most


@compiled
def _three_elements(
    strain: Array, before: Array, d: Array, constants: Array, h: float, share: float, stress: Array, new: Array,
    modulus: Array, slopes: bool,
) -> None:  # fmt: skip
    """Write the stress (6,) of a point, its new d and the slope, with `share` of phi."""
    bulk, shear = constants[K] + constants[KC] / h, constants[M] + constants[MC] / h
    volume = change = held = 0.0
    for i in range(3):
        volume += d[i]
        change += strain[i] - before[i]
    driven_volume = constants[K] * (volume + change) + constants[KC] * change / h
    square = 0.0
    for k in range(6):
        part = 1.0 if k < 3 else 0.5
        mean = 1.0 / 3.0 if k < 3 else 0.0
        moved, held = strain[k] - before[k] - mean * change, d[k] - mean * volume
        stress[k] = 2.0 * part * (constants[M] * (held + moved) + constants[MC] * moved / h)
        square += stress[k] ** 2 * (1.0 if k < 3 else 2.0)
    driven = math.sqrt(1.5 * square)
    r_shear, r_bulk = h * shear * constants[M2], h * bulk * constants[K2]
    size, phi, slope = _size(driven, share * r_shear, constants)
    phi, slope = share * phi, share * slope
    across, along = 1.0 / (1.0 + phi * r_shear), 1.0 / (1.0 + phi * r_bulk)
    pressure = driven_volume * along
    if slopes:
        # d(across)/d|g| and dp/d|g| by q
        by_size = 1.0 / (1.0 + r_shear * (phi + size * slope))
        for m in range(6):
            for k in range(6):
                weight = (1.0 if k == m else 0.0) * (1.0 if k < 3 else 0.5)
                deviator = weight - (1.0 / 3.0 if k < 3 and m < 3 else 0.0)
                modulus[k, m] = 2.0 * shear * across * deviator
                modulus[k, m] += bulk * along if k < 3 and m < 3 else 0.0
            if slope != 0.0 and driven > 0.0:
                grown = 1.5 * stress[m] / driven * 2.0 * shear * by_size * slope  # dphi of a unit of strain m
                for k in range(6):
                    modulus[k, m] -= across**2 * r_shear * grown * stress[k]
                    modulus[k, m] -= driven_volume * along**2 * r_bulk * grown if k < 3 else 0.0
    # d after: sigma = (k + c1/h) d_new - c1/h d
    for k in range(6):
        part = 0.5 if k < 3 else 1.0
        mean = 1.0 / 3.0 if k < 3 else 0.0
        deviator = stress[k] * across
        spread = (deviator * part + constants[MC] / h * (d[k] - mean * volume)) / shear if shear > 0.0 else 0.0
        turned = (pressure + constants[KC] / h * volume) / bulk if bulk > 0.0 else 0.0
        new[k] = spread + mean * turned
        stress[k] = deviator + (pressure if k < 3 else 0.0)


@compiled
def _locked(
    strain: Array, before: Array, d: Array, constants: Array, h: float, lines: Array, work: Array, stress: Array,
    new: Array, unused: Array,
) -> None:  # fmt: skip
    """Write stress and d of a point with a slider: all of phi, the share that keeps the bounds, or the bounds alone."""
    push, matrix, axes = lines[0], work[0], work[1]
    _three_elements(strain, before, d, constants, h, 1.0, stress, new, unused, False)
    high, over = 1.0, _excess(strain, new, constants, push, matrix, axes)
    if over <= 0.0:
        return
    _three_elements(strain, before, d, constants, h, 0.0, stress, new, unused, False)
    low, under = 0.0, _excess(strain, new, constants, push, matrix, axes)
    if under < 0.0:
        for _ in range(TURNS):  # regula falsi, the end that stays counts half
            share = (low * over - high * under) / (over - under)
            _three_elements(strain, before, d, constants, h, share, stress, new, unused, False)
            off = _excess(strain, new, constants, push, matrix, axes)
            if abs(off) <= 1e-16 or high - low <= 1e-16:
                return
            if off > 0.0:
                high, over, under = share, off, 0.5 * under
            else:
                low, under, over = share, off, 0.5 * over
        return
    volume = change = 0.0
    for k in range(6):
        new[k] += push[k]
    for i in range(3):
        volume += new[i]
        change += new[i] - d[i]
    for k in range(6):
        part, mean = (1.0, 1.0 / 3.0) if k < 3 else (0.5, 0.0)
        moved = new[k] - d[k] - mean * change
        stress[k] = 2.0 * part * (constants[M] * (new[k] - mean * volume) + constants[MC] * moved / h)
        stress[k] += constants[K] * volume + constants[KC] * change / h if k < 3 else 0.0


@compiled
def _dashpots(
    strain: Array, before: Array, state: Array, constants: Array, h: float, lines: Array, work: Array, stress: Array,
    modulus: Array, new: Array,
) -> None:  # fmt: skip
    """Write stress (p, 6), slope and state of all points; with a slider slopes are central differences."""
    moved, other, scratch, step = lines[1], lines[2], lines[3], 1e-6
    for p in range(strain.shape[0]):
        d = state[p]
        if constants[LOCK] == 0.0:
            _three_elements(strain[p], before[p], d, constants, h, 1.0, stress[p], new[p], modulus[p], True)
        else:
            _locked(strain[p], before[p], d, constants, h, lines, work, stress[p], new[p], modulus[p])
            for m in range(6):
                for side in range(2):
                    for k in range(6):
                        moved[k] = strain[p, k]
                    moved[m] += step if side == 0 else -step
                    _locked(moved, before[p], d, constants, h, lines, work, other, scratch, modulus[p])
                    for k in range(6):
                        modulus[p, k, m] = other[k] if side == 0 else (modulus[p, k, m] - other[k]) / (2.0 * step)
        for k in range(6):
            new[p, 6 + k] = stress[p, k]


@dataclass(frozen=True)
class DashpotPoint:
    """A three-element law whose series dashpot gives way; it remembers d (6) and its stress (6)."""

    law: NonlinearThreeElement
    line: bool = False
    """Whether strains are those of a line, XX alone, and moduli Young's: a Poisson ratio of zero is that law."""
    symmetric: bool = False
    width: int = 12

    @cached_property
    def _constants(self) -> Array:
        law = self.law
        spring, voigt, series = (Moduli.from_young(p.young, 0.0) if self.line else p for p in law.parts)
        if spring.is_incompressible or voigt.is_incompressible:
            raise RheotwinError(f"law {law.name}: poisson = 0.5 leaves no bulk modulus: choose less than 0.5")
        out = np.zeros(14)
        out[K:M] = spring.bulk, voigt.bulk, 1.0 / max(series.bulk, NOTHING)
        out[M:LOW] = spring.shear, voigt.shear, 1.0 / max(series.shear, NOTHING)
        slider = None
        if isinstance(law, SofteningThreeElement):
            soft, slider = law.softening, law.slider
            out[KIND], out[LOW], out[HIGH] = SOFT, soft.from_stress, soft.to_stress
            out[EXPONENT] = math.log(law.series_dashpot.young / soft.viscosity) / (soft.to_stress - soft.from_stress)
        elif isinstance(law, FrictionThreeElement):
            out[KIND], out[LOW] = STUCK, law.friction
        elif isinstance(law, SliderThreeElement):
            slider = law.slider
        if slider is not None:
            out[LOCK:] = 1.0, slider.natural, slider.least, slider.most
        return out

    def respond(self, strain: Array, before: Array, state: Array, step: float) -> Response:
        """Return stress, slope and state after a step."""
        stress, modulus, new = np.empty_like(strain), np.empty((*strain.shape, 6)), np.empty_like(state)
        given = (np.ascontiguousarray(strain), np.ascontiguousarray(before), np.ascontiguousarray(state))
        _dashpots(*given, self._constants, step, np.zeros((4, 12)), np.zeros((2, 3, 3)), stress, modulus, new)
        return Response(stress, modulus, new)

    def _spring_stress(self, d: Array) -> Array:
        volume, (bulk, shear) = d[:, :3].sum(axis=1), self._constants[[K, M]]
        stress = 2.0 * shear * d * HALF
        stress[:, :3] += (bulk - 2.0 / 3.0 * shear) * volume[:, None]
        return np.asarray(stress)

    def relaxing(self, state: Array) -> Array:
        """Return the stress of the spring."""
        return self._spring_stress(state[:, :6])

    def stored(self, strain: Array, state: Array) -> Array:
        """Return the energy of the spring."""
        return np.asarray(0.5 * np.sum(self._spring_stress(state[:, :6]) * state[:, :6], axis=1))

    def dissipated(self, strain: Array, before: Array, state: Array, old: Array, step: float) -> Array:
        """Return the work on both dashpots (and a slider) at the mean of their stresses."""
        change, total = state[:, :6] - old[:, :6], state[:, 6:] + old[:, 6:]
        beside = total - self._spring_stress(state[:, :6] + old[:, :6])
        return np.asarray(0.5 * np.sum(beside * change + total * (strain - before - change), axis=1))


@dataclass(frozen=True)
class Uniaxial:
    """A law of a line: strain XX is given, no stress acts across; it remembers the strain across behind the law's."""

    law: PointLaw
    symmetric: bool = True

    @property
    def width(self) -> int:
        """Numbers a point remembers."""
        return self.law.width + 1

    @staticmethod
    def _whole(strain: Array, across: Array) -> Array:
        whole = np.zeros_like(strain)
        whole[:, 0], whole[:, 1], whole[:, 2] = strain[:, 0], across, across
        return whole

    def respond(self, strain: Array, before: Array, state: Array, step: float) -> Response:
        """Return the answer with the strain across at which no stress acts there."""
        old, across = self._whole(before, state[:, -1]), state[:, -1].copy()
        for _ in range(TURNS):
            found = self.law.respond(self._whole(strain, across), old, np.ascontiguousarray(state[:, :-1]), step)
            slope = found.modulus[:, 1, 1] + found.modulus[:, 1, 2]
            change = -found.stress[:, 1] / slope
            if np.all(np.abs(change) <= 1e-14 * (1e-3 + np.abs(across))):
                break
            across += change
        modulus = np.zeros_like(found.modulus)
        coupling = (found.modulus[:, 0, 1] + found.modulus[:, 0, 2]) * found.modulus[:, 1, 0] / slope
        modulus[:, 0, 0] = found.modulus[:, 0, 0] - coupling
        stress = np.zeros_like(found.stress)
        stress[:, 0] = found.stress[:, 0]
        return Response(stress, modulus, np.column_stack([found.state, across]))

    def relaxing(self, state: Array) -> Array:
        """Return that of the law."""
        return self.law.relaxing(state[:, :-1])

    def stored(self, strain: Array, state: Array) -> Array:
        """Return that of the law."""
        return self.law.stored(self._whole(strain, state[:, -1]), np.ascontiguousarray(state[:, :-1]))

    def dissipated(self, strain: Array, before: Array, state: Array, old: Array, step: float) -> Array:
        """Return that of the law."""
        first, last = self._whole(before, old[:, -1]), self._whole(strain, state[:, -1])
        return self.law.dissipated(last, first, state[:, :-1], old[:, :-1], step)


def is_yielding(law: Law) -> bool:
    """Tell whether a law is not linear in the history of strain and has to be asked at points."""
    return isinstance(law, Elastoplastic | NonlinearThreeElement)


def von_mises(law: Law) -> bool:
    """Tell whether a law yields at constant volume."""
    return isinstance(law, Elastoplastic) and isinstance(law.limit, VonMises)


def large_strain_law(law: Law, *, small: bool, rigid: bool) -> tuple[Channel, PointLaw]:
    """Return the bulk channel and the law at a point of a body in large motion; `small` strain in a turned frame."""
    if not isinstance(law, Elastoplastic) and not small:
        raise RheotwinError(
            f"law {law.name}: its dashpots know small strain only; choose solvers.fem.kinematics = "
            '"corotational" or "small"'
        )
    if isinstance(law, Elastoplastic) and not small:
        isochoric = von_mises(law)
        bulk = 0.0 if rigid or not isochoric else law.spring.bulk
        return Channel.elastic(bulk), PlasticPoint(law, small=False, isochoric=isochoric)
    point = small_strain_law(law, dimension=3)
    assert point is not None
    return Channel.elastic(0.0), point


def small_strain_law(law: Law, dimension: int) -> PointLaw | None:
    """Return what a law is at a point at small strain; None for laws that are linear in the history of strain."""
    if not is_yielding(law):
        return None
    if isinstance(law, Elastoplastic):
        point = PlasticPoint(law, small=True)
        return Uniaxial(point) if dimension == 1 else point
    assert isinstance(law, NonlinearThreeElement)
    return DashpotPoint(law, line=dimension == 1)
