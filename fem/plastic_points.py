"""Elastoplastic laws at a point, solved in the step.

They are isotropic functions of a symmetric tensor A with eigenvalues a_i, principal axes N_i and A at the
start of a step seen with the plastic deformation of then:

    small strain:  A = e - e_p,            w_i = N_i,     s = sum q_i w_i w_i',   q_i = sigma_i
    large strain:  A = G'(I + 2 E) G,      w_i = G N_i,   S = sum q_i w_i w_i',   q_i = tau_i/a_i,   a_i = s^_i^2

with G = F_P^-1; afterwards e_p += sum (a_i - e_i) N_i N_i', G <- G N diag(s_i/s^_i) N' (`rheotwin.materials.flow`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.finite.point import Response
from rheotwin.kernels.compiled import compiled
from rheotwin.materials import Elastoplastic
from rheotwin.materials.flow import LAME, SHEAR, principal_axes, principal_stress, yielded

NEAR = 1e-7
"""Eigenvalues closer than this share of the largest are one where slopes of axes are taken."""


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
