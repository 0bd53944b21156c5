"""Explicit one-step rules for y' = f(y, t), and the largest step at which each is stable for a body.

An eigenvector phi of the first-order system has an eigenvalue z with  z^2 + sum_X rho_X Z_X(z) = 0,  where
rho_X = phi' J_X phi / phi' M phi and Z(z) = g_inf + sum_a g_a z/(z + 1/tau_a) + eta z. Every rho_X lies between 0 and
the largest eigenvalue of M^-1 J_X (Lanczos), so the modes of one small matrix over that range bound those of the body;
with one modulus the bound is sharp. A rule with growth factor R is stable while |R(h z)| <= 1 for all of them: forward
Euler up to -2 Re z/|z|^2, Runge-Kutta up to 2.83/om for waves and 2.785/(eta rho) for dashpots (spec 2.3, R12).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import Term
from rheotwin.fem.linear import Choice, factorise
from rheotwin.fem.model import Model
from rheotwin.fem.steppers.first_order import require_mass
from rheotwin.materials import Channel

TOLERANCE = 1e-6
"""Relative accuracy of the largest eigenvalues; they are raised by as much, being approached from below."""
DENSE = 200
"""Unknowns up to which eigenvalues are computed directly."""
NEUTRAL = 1e-9
"""Share of the fastest eigenvalue below which a mode counts as rest or steady flow."""
ROUNDING = 1e-9
"""Growth per step that rounding may feign."""


class Rate(Protocol):
    """The right-hand side f(y, t); `after` tells from which side t is looked at."""

    def __call__(self, y: Array, time: float, *, after: bool) -> Array:
        """Return y'."""


@dataclass(frozen=True)
class ExplicitRule:
    """One rule: how it advances, and its growth factor on y' = z y for a step of 1."""

    name: str
    order: int
    advance: Callable[[Rate, Array, float, float], Array]
    """(f, y, begin, end) -> y at end; times in [s]."""
    growth: Callable[[NDArray[np.complex128]], NDArray[np.complex128]]
    """R(h z); a mode is stable while |R| <= 1."""
    damped_limit: float
    """Largest stable h |z| on the negative real axis: h om of a CSM pair, h (rate of a dashpot)."""


def euler(rate: Rate, y: Array, begin: float, end: float) -> Array:
    """Return y1 = y + h f(y, t), the papers' simplest rule; order 1.

    A Maxwell body of frequency om_max needs h < (1/tau)/om_max^2 and an undamped one h = 0, so this rule is here for
    comparison, not for use (spec 2.3).
    """
    return y + (end - begin) * rate(y, begin, after=True)


EXPLICIT_EULER = ExplicitRule("explicit Euler", 1, euler, growth=lambda z: 1.0 + z, damped_limit=2.0)


def runge_kutta(rate: Rate, y: Array, begin: float, end: float) -> Array:
    """Return y after the classical rule of the papers; order 4.

        k1 = f(y, t),  k2 = f(y + h/2 k1, t + h/2),  k3 = f(y + h/2 k2, t + h/2),  k4 = f(y + h k3, t + h)
        y1 = y + h (k1 + 2 k2 + 2 k3 + k4)/6

    Stable up to h om = 2.83 on the imaginary axis (waves) and 2.785 on the negative real one (dashpots, CSM).
    """
    h = end - begin
    k1 = rate(y, begin, after=True)
    k2 = rate(y + 0.5 * h * k1, begin + 0.5 * h, after=True)
    k3 = rate(y + 0.5 * h * k2, begin + 0.5 * h, after=True)
    k4 = rate(y + h * k3, end, after=False)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


RUNGE_KUTTA = ExplicitRule(
    "Runge-Kutta",
    4,
    runge_kutta,
    growth=lambda z: 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0))),
    damped_limit=2.785293563405282,
)
EXPLICIT_RULES = {"euler": EXPLICIT_EULER, "rk4": RUNGE_KUTTA}


def stable_step(model: Model, rule: ExplicitRule, choice: Choice) -> float:
    """Return the largest stable step [s] of all bodies."""
    require_mass(model)
    found = float("inf")
    for body, rows in model.parts():
        free = np.flatnonzero(~model.held[rows])
        if not free.size or not body.terms:
            continue
        largest = [_largest_eigenvalue(model, term, rows, free, choice) for term in body.terms]
        found = min(found, modal_limit([term.channel for term in body.terms], largest, rule))
    return found


def _largest_eigenvalue(model: Model, term: Term, rows: slice, free: Indices, choice: Choice) -> float:
    """Return the largest eigenvalue of M^-1 J on the free components of a body [1/(Pa s2)]."""
    size = rows.stop - rows.start
    mass = model.mass[rows, rows][free][:, free]

    def stiffness(x: Array) -> Array:
        whole = np.zeros(size)
        whole[free] = x
        return term.force(term.measure(whole))[free]

    if len(free) <= DENSE:
        dense = np.column_stack([stiffness(unit) for unit in np.eye(len(free))])
        root = np.linalg.inv(np.linalg.cholesky(mass.toarray()))
        return float(np.linalg.eigvalsh(root @ (0.5 * (dense + dense.T)) @ root.T)[-1])
    shape, start = (len(free), len(free)), np.random.default_rng(0).standard_normal(len(free))
    more: dict[str, object] = {"k": 1, "which": "LA", "tol": TOLERANCE, "v0": start, "return_eigenvectors": False}
    try:
        if model.lumped:
            scale = 1.0 / np.sqrt(mass.diagonal())
            scaled = LinearOperator(shape, lambda x: scale * stiffness(scale * x.ravel()), dtype=np.float64)
            value = eigsh(scaled, **more)[0]
        else:
            inverse = LinearOperator(shape, factorise(mass, choice).solve, dtype=np.float64)
            operator = LinearOperator(shape, lambda x: stiffness(x.ravel()), dtype=np.float64)
            value = eigsh(operator, M=mass, Minv=inverse, **more)[0]
    except ArpackError:
        raise RheotwinError(
            "solvers.fem.stepper: the stable step could not be computed; check masses and moduli for a slip of units"
        ) from None
    return float(value) * (1.0 + TOLERANCE)


def modal_limit(channels: list[Channel], largest: list[float], rule: ExplicitRule) -> float:
    """Return the largest stable step [s] for rho_X anywhere between 0 and `largest` [1/(Pa s2)]."""
    count = 200 if len(channels) == 1 else min(24, max(3, round(15_000 ** (1.0 / len(channels))) - 1))
    shares = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, count)])
    points = np.array(list(product(*(shares * value for value in largest))))
    roots = np.linalg.eigvals(_modal_matrices(channels, points[np.any(points > 0.0, axis=1)]))
    sizes = np.abs(roots)
    roots = np.asarray(roots[sizes > NEUTRAL * sizes.max(axis=1, keepdims=True)], dtype=np.complex128)
    return _limit(roots, rule)


def _modal_matrices(channels: list[Channel], points: Array) -> Array:
    """Return the matrices of q' = v, v' = -sum_X rho_X (g_inf q + sum_a w_a + eta v), w_a' = g_a v - w_a/tau_a."""
    arms = sum(len(channel.times) for channel in channels)
    out = np.zeros((len(points), 2 + arms, 2 + arms))
    out[:, 0, 1] = 1.0
    row = 2
    for channel, rho in zip(channels, points.T, strict=True):
        out[:, 1, 0] -= rho * channel.equilibrium
        out[:, 1, 1] -= rho * channel.viscosity
        for strength, time in zip(channel.strengths, channel.times, strict=True):
            out[:, 1, row] = -rho
            out[:, row, 1] = strength
            out[:, row, row] = -1.0 / time
            row += 1
    return out


def _limit(roots: NDArray[np.complex128], rule: ExplicitRule) -> float:
    """Return the largest h with |R(h z)| <= 1 for every root z, by bisection along each ray.

    Both rules contain a piece of every ray they are stable on at all that begins at 0, and Euler none of the
    imaginary axis.
    """
    if not roots.size:
        return float("inf")
    if rule.order == 1:
        limits = -2.0 * roots.real / np.abs(roots) ** 2
        return float(max(limits.min(), 0.0)) if limits.min() > NEUTRAL / np.abs(roots).max() else 0.0
    low, high = np.zeros(len(roots)), 4.0 / np.abs(roots)
    for _ in range(60):
        middle = 0.5 * (low + high)
        stable = np.abs(rule.growth(middle * roots)) <= 1.0 + ROUNDING
        low, high = np.where(stable, middle, low), np.where(stable, high, middle)
    return float(low.min())
