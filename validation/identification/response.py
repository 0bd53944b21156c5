"""Exact answers of laws to displacements and forces that run straight from sample to sample, and to letting go.

A linear law is its Maxwell bank. With q_j the length of the dashpot of arm j, r_j = 1/tau_j and K = k_inf + sum g_j:

    q_j' = r_j (x - q_j),    f = K x - sum g_j q_j + b_0 x'

Where f is prescribed, x is one more unknown (x and x', if the end has a mass m, m x'' = -f after it is let go). Each is
a linear system driven by one quantity that is straight between samples, so its eigenvectors are advanced exactly:

    z' = l z + b u:   z(t+h) = e^{lh} z + b h [u0 (p1 - p2) + u1 p2],   p1 = (e^{lh}-1)/lh, p2 = (e^{lh}-1-lh)/(lh)^2

The force at a sample is that just before it. Where the law is not linear: `LawModel` and `FrictionModel` say how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled
from rheotwin.materials.voigt_chain import Spectrum
from rheotwin.validation.identification.record import TimeRecord

SAME_STEP = 1e-11
"""Steps that differ by less (relative) differ by the rounding of their times."""
EDGE = 1e-13
"""A force this near (relative) to the friction is on the edge of sliding."""


@dataclass(frozen=True)
class LawModel:
    """Linear bank [N/m, N s/m], driven by depth sign(x) |x/depth|^power, with cubic x (x/depth)^2 [N] beside it."""

    bank: Spectrum
    power: float = 1.0
    cubic: float = 0.0
    depth: float = 1.0

    def drive(self, x: Array) -> Array:
        """Return the displacement that the linear bank sees [m]."""
        if self.power == 1.0:
            return x
        return np.asarray(np.sign(x) * self.depth * np.abs(x / self.depth) ** self.power)

    def seen(self, y: Array) -> Array:
        """Return the displacement [m] at which the linear bank sees y [m]."""
        if self.power == 1.0:
            return y
        return np.asarray(np.sign(y) * self.depth * np.abs(y / self.depth) ** (1.0 / self.power))


@dataclass(frozen=True)
class FrictionModel:
    """Voigt unit (k [N/m], b1 [N s/m]) in series with a dashpot b2 that slides above the force alpha [N] (spec 2.4).

    An end that is let go has no mass.
    """

    k: float
    b1: float
    b2: float
    alpha: float


class _State(NamedTuple):
    """Displacement [m] and speed [m/s] of the end, lengths of the dashpots [m]."""

    x: float
    v: float
    q: Array


def respond(model: LawModel | FrictionModel, record: TimeRecord) -> Array:
    """Return what the model shows where the record observed: force [N] or displacement [m], (F,)."""
    found = np.empty(len(record.time))
    arms = len(model.bank.times) if isinstance(model, LawModel) else 1
    state = _State(0.0, 0.0, np.zeros(arms))
    start = 0
    for phase in record.phases:
        first = max(start - 1, 0)
        part = slice(first, phase.end)
        steps, x, f = np.diff(record.time[part]), record.displacement[part], record.force[part]
        if phase.drive == "displacement":
            if isinstance(model, LawModel):
                answer, state = _pulled(model, steps, x, state)
            else:
                answer, state = _pulled_friction(model, steps, x, state)
        else:
            if first or phase.drive == "free":  # the grip has brought it here
                state = state._replace(x=float(x[0]))
            load = np.zeros_like(f) if phase.drive == "free" else f
            mass = record.mass if phase.drive == "free" else 0.0
            if isinstance(model, LawModel):
                answer, state = _loaded(model, steps, load, mass, state)
            else:
                answer, state = _loaded_friction(model, steps, load, state)
        found[start : phase.end] = answer[start - first :]
        start = phase.end
    return found


def _pulled(model: LawModel, steps: Array, x: Array, state: _State) -> tuple[Array, _State]:
    """Return the force of a bank whose displacement is prescribed."""
    bank, y = model.bank, model.drive(x)
    q = np.empty((len(x), len(bank.times)))
    rates = 1.0 / bank.times
    advance_modes(steps, y, -rates, rates, state.q, q)
    speed = np.concatenate([[state.v], np.diff(y) / steps])
    force = (bank.equilibrium + bank.strengths.sum()) * y - q @ bank.strengths + bank.viscosity * speed
    if model.cubic:
        force = force + model.cubic * x * (x / model.depth) ** 2
    return force, _State(float(x[-1]), float(speed[-1]), q[-1])


def _loaded(model: LawModel, steps: Array, load: Array, mass: float, state: _State) -> tuple[Array, _State]:
    """Return the displacement of a bank whose force is prescribed, or 0 at an end with mass."""
    bank = model.bank
    rates, arms = 1.0 / bank.times, len(bank.times)
    stiff = bank.equilibrium + bank.strengths.sum()
    shown = np.zeros(0)
    extra = 2 if mass > 0.0 else 1 if bank.viscosity > 0.0 else 0
    matrix, gain = np.zeros((extra + arms, extra + arms)), np.zeros(extra + arms)
    start = np.concatenate([[float(model.drive(np.array(state.x))), state.v][:extra], state.q])
    matrix[extra:, extra:] = -np.diag(rates)
    if extra:
        row = np.concatenate([[-stiff], [-bank.viscosity] * (extra - 1), bank.strengths])
        inertia = mass if extra == 2 else bank.viscosity
        matrix[extra - 1] = row / inertia
        matrix[extra:, 0] = rates
        gain[extra - 1] = 1.0 / inertia
        if extra == 2:
            matrix[0, 1] = 1.0
        shown, through = np.eye(1, extra + arms)[0], 0.0
    else:
        matrix += np.outer(rates, bank.strengths) / stiff
        gain = rates / stiff
        shown, through = bank.strengths / stiff, 1.0 / stiff
    states = _advanced(matrix, gain, start, steps, load)
    y = states @ shown + through * load
    last = states[-1]
    return model.seen(y), _State(float(model.seen(y[-1:])[0]), float(last[1]) if extra == 2 else 0.0, last[extra:])


def _advanced(matrix: Array, gain: Array, start: Array, steps: Array, load: Array) -> Array:
    """Return states (F, n) of s' = A s + b u(t) from eigenvectors."""
    if not len(start):
        return np.zeros((len(load), 0))
    rates, vectors = np.linalg.eig(matrix)
    inverse = np.linalg.inv(vectors)
    modes = np.empty((len(load), len(start)), dtype=rates.dtype)
    advance_modes(steps, load, rates, inverse @ gain, inverse @ start, modes)
    return np.asarray((modes @ vectors.T).real)


@compiled
def advance_modes(steps: Array, load: Array, rates: Any, gains: Any, start: Any, modes: Any) -> None:
    """Write the modes z' = rate z + gain u (F, n) at the samples, `load` u (F,) straight in between."""
    for j in range(len(rates)):
        z = start[j]
        modes[0, j] = z
        last = -1.0
        keep, early, late = 0.0 * z, 0.0 * z, 0.0 * z
        for i in range(len(steps)):
            h = steps[i]
            if abs(h - last) > SAME_STEP * h:
                last = h
                q = rates[j] * h
                keep = np.exp(q)
                if abs(q) > 0.5:
                    p1 = (keep - 1.0) / q
                    p2 = (p1 - 1.0) / q
                else:  # 1/2! + q/3! + q^2/4! + ...
                    p2 = 0.0 * q + 1.0
                    for n in range(14, 2, -1):
                        p2 = 1.0 + p2 * q / n
                    p2 = 0.5 * p2
                    p1 = 1.0 + q * p2
                early, late = gains[j] * h * (p1 - p2), gains[j] * h * p2
            z = keep * z + early * load[i] + late * load[i + 1]
            modes[i + 1, j] = z


def _pulled_friction(model: FrictionModel, steps: Array, x: Array, state: _State) -> tuple[Array, _State]:
    force, ends = np.empty(len(x)), np.empty(2)
    # a sudden step is shared by the dashpots
    spring = state.x - state.q[0] + (x[0] - state.x) * model.b2 / (model.b1 + model.b2)
    pull_friction(steps, x, model.k, model.b1, model.b2, model.alpha, spring, state.v, force, ends)
    return force, _State(float(x[-1]), float(ends[1]), np.array([x[-1] - ends[0]]))


@compiled
def pull_friction(
    steps: Array,
    x: Array,
    k: float,
    b1: float,
    b2: float,
    alpha: float,
    spring: float,
    v: float,
    force: Array,
    ends: Array,
) -> None:
    """Write the force at the samples: sticking and sliding follow one another exactly (spec 2.4).

    `spring` is the length of the Voigt unit. It grows with v while stuck; sliding to the side s it tends to
    (b2 v + alpha s)/k at the rate k/(b1 + b2). `ends` takes its last length and the last speed.
    """
    for i in range(len(x)):
        if i > 0:
            v = (x[i] - x[i - 1]) / steps[i - 1]
            left = steps[i - 1]
            g = b1 * v + k * spring
            # on the edge it slides if the force would grow
            slides = abs(g) > alpha * (1.0 + EDGE) or (abs(g) >= alpha * (1.0 - EDGE) and v * g >= 0.0)
            toward = 1.0 if v > 0.0 else -1.0
            s = 1.0 if g > 0.0 else -1.0
            while left > 0.0:
                if slides:
                    end, rate, edge = (b2 * v + alpha * s) / k, k / (b1 + b2), (alpha * s - b1 * v) / k
                    until = np.log((spring - end) / (edge - end)) / rate if v * s < 0.0 else 2.0 * left
                    spring = edge if until < left else end + (spring - end) * np.exp(-rate * left)
                else:
                    s = toward
                    edge = (alpha * s - b1 * v) / k
                    until = (edge - spring) / v if v != 0.0 else 2.0 * left
                    spring = edge if until < left else spring + v * left
                left -= until
                slides = not slides
        g = b1 * v + k * spring
        s = 1.0 if g > 0.0 else -1.0
        force[i] = g if abs(g) <= alpha else (g + b1 / b2 * alpha * s) / (1.0 + b1 / b2)
    ends[0], ends[1] = spring, v


def _loaded_friction(model: FrictionModel, steps: Array, load: Array, state: _State) -> tuple[Array, _State]:
    """Return the displacement: x1' = (F - k x1)/b1, and x2' = S(F)/b2 whose mean is that of S^2/2 over F."""
    rate = model.k / model.b1
    springs = np.empty((len(load), 1))
    advance_modes(steps, load, np.array([-rate]), np.array([1.0 / model.b1]), np.array([state.x - state.q[0]]), springs)
    over = np.sign(load) * np.maximum(np.abs(load) - model.alpha, 0.0)
    rise, even = np.diff(load), np.abs(np.diff(load)) < 1e-12 * max(np.abs(load).max(), 1e-300)
    mean = np.where(even, over[1:], np.diff(0.5 * over**2) / np.where(even, 1.0, rise))
    slid = state.q[0] + np.concatenate([[0.0], np.cumsum(mean * steps / model.b2)])
    x = springs[:, 0] + slid
    return x, _State(float(x[-1]), 0.0, slid[-1:])
