"""Softening dashpots, friction and sliders at a point, solved in the step.

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
from rheotwin.fem.finite.point import Response
from rheotwin.kernels.compiled import compiled
from rheotwin.materials import (
    FrictionThreeElement,
    Moduli,
    NonlinearThreeElement,
    SliderThreeElement,
    SofteningThreeElement,
)
from rheotwin.materials.flow import principal_axes

TURNS = 60
"""Most rounds of the scalar equations."""
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
