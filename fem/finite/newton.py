"""Newton's method for one step: full tangent, contact by active set, line search that keeps elements upright."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.fem.finite.assembly import Pattern
from rheotwin.fem.finite.body import Inverted
from rheotwin.fem.finite.contact import Pairs, ToolContact
from rheotwin.fem.finite.equations import Evaluation, StepEquations
from rheotwin.fem.linear import SingularMatrix

Array = NDArray[np.float64]

CLOSED = 1e-11
"""Gap, as a share of the body's size, below which a contact is closed."""
SHORTEST = 1.0 / 16.0
"""Share of a Newton step below which the line search gives up."""


class NotConverged(ArithmeticError):
    """Newton's method did not reach its tolerance: why, the residual [N] left and the component it is largest in."""

    def __init__(self, reason: str, residual: float, component: int) -> None:
        self.reason, self.residual, self.component = reason, residual, component
        super().__init__(reason)


@dataclass(frozen=True)
class Limits:
    """Residual, as a share of the largest force, at which to stop, and the iterations it may take."""

    tolerance: float
    iterations: int


@dataclass(frozen=True)
class Frame:
    """What stays the same from step to step: unknowns, pattern, contact, sizes."""

    free: NDArray[np.bool_]
    pattern: Pattern
    """Of the elements of each body, then of single nodes."""
    contact: ToolContact
    points: Array
    factorise: Callable[[csr_matrix], Callable[[Array], Array]]
    element_size: float
    extent: float


@dataclass(frozen=True)
class Solution:
    """Displacement at the end of the step (size,) [m], contacts there, and the residual [N] of each iteration."""

    u: Array
    pairs: Pairs
    multipliers: Array
    residuals: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Trial:
    """A displacement with everything evaluated there; `open_force` is the equilibrium residual on free components."""

    u: Array
    evaluation: Evaluation
    pairs: Pairs
    multipliers: Array
    open_force: Array

    @property
    def merit(self) -> float:
        return float(np.abs(self.open_force).max(initial=0.0))


def solve_step(
    frame: Frame, equations: StepEquations, target: Array, touching: NDArray[np.bool_], time: float, limits: Limits
) -> Solution:
    """Solve one step whose held components end at `target` (size,) [m] and whose tools stand as at `time` [s].

    `touching` (k,) marks the pairs that touched before. Raises `NotConverged`, or `Inverted` if the step turns
    elements inside out however short it is made.
    """
    trial = _evaluate(frame, equations, equations.start, np.zeros(len(touching)), time)
    residuals, scale = [trial.merit], trial.evaluation.scale
    for iteration in range(limits.iterations):
        scale = max(scale, trial.evaluation.scale)
        if iteration and _converged(frame, trial, target, limits.tolerance * scale):
            return Solution(trial.u, trial.pairs, trial.multipliers, residuals)
        touched = trial.multipliers > 0.0 if iteration else touching
        trial = _next(frame, equations, trial, target, touched, time, any_change=iteration == 0)
        residuals.append(trial.merit)
    if _converged(frame, trial, target, limits.tolerance * max(scale, trial.evaluation.scale)):
        return Solution(trial.u, trial.pairs, trial.multipliers, residuals)
    worst = np.flatnonzero(frame.free)[int(np.argmax(np.abs(trial.open_force)))] if frame.free.any() else 0
    raise NotConverged(f"no equilibrium in {limits.iterations} iterations", trial.merit, int(worst))


def _evaluate(frame: Frame, equations: StepEquations, u: Array, multipliers: Array, time: float) -> _Trial:
    evaluation = equations.evaluate(u)
    pairs = frame.contact.pairs(frame.points + u.reshape(frame.points.shape), time)
    pushed = pairs.forces(multipliers, frame.points.shape).ravel()
    return _Trial(u, evaluation, pairs, multipliers, (evaluation.residual - pushed)[frame.free])


def _converged(frame: Frame, trial: _Trial, target: Array, tolerance: float) -> bool:
    """Tell whether forces balance (to rounding at least), held components arrived, tools touch and do not overlap."""
    stiffest = max(float(np.abs(np.diagonal(block, axis1=1, axis2=2)).max()) for block in trial.evaluation.blocks)
    rounding = 16.0 * np.finfo(float).eps * stiffest * frame.element_size
    held = ~frame.free
    slack = CLOSED * frame.extent
    active = trial.multipliers > 0.0
    return bool(
        trial.merit <= max(tolerance, rounding)
        and np.array_equal(trial.u[held], target[held])
        and np.all(trial.pairs.gap >= -slack)
        and np.all(np.abs(trial.pairs.gap[active]) <= slack)
    )


def _next(
    frame: Frame,
    equations: StepEquations,
    trial: _Trial,
    target: Array,
    touching: NDArray[np.bool_],
    time: float,
    *,
    any_change: bool,
) -> _Trial:
    """Take one Newton step with contact, shortened until no element is inverted and the residual falls.

    The first step of all moves supports and tools at once, so there the residual may grow.
    """
    step, multipliers = _newton_step(frame, equations, trial, target, touching)
    best, share, fault = None, 1.0, None
    while share >= SHORTEST:
        u = trial.u + share * step
        if share == 1.0:
            u[~frame.free] = target[~frame.free]
        try:
            found = _evaluate(frame, equations, u, trial.multipliers + share * (multipliers - trial.multipliers), time)
        except Inverted as error:
            fault = error
        else:
            if best is None or found.merit < best.merit:
                best = found
            if any_change or found.merit < trial.merit:
                return found
        share *= 0.5
    if best is None:
        assert fault is not None
        raise fault
    return best


def _newton_step(
    frame: Frame, equations: StepEquations, trial: _Trial, target: Array, touching: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """Return the full step (size,) [m] and the multipliers (k,) [N] of the linearised equations."""
    free, shape = frame.free, frame.points.shape
    step = np.where(free, 0.0, target - trial.u)
    blocks = [*trial.evaluation.blocks, trial.pairs.stiffness(trial.multipliers, shape)]
    right = -trial.evaluation.residual - frame.pattern.product(blocks, step)
    matrix = frame.pattern.matrix(blocks, equations.inertia[free])
    try:
        solve = frame.factorise(matrix)

        def answer(loads: Array) -> Array:
            out = np.zeros_like(loads)
            out[free] = solve(loads[free])
            return out

        step += answer(right)
        if not np.isfinite(step).all():
            raise np.linalg.LinAlgError
        slack = 0.1 * CLOSED * frame.extent
        moved, multipliers = frame.contact.correct(trial.pairs, step.reshape(shape), touching, answer, slack)
    except (np.linalg.LinAlgError, SingularMatrix):
        component = int(np.argmax(np.abs(np.where(free, trial.evaluation.residual, 0.0))))
        raise NotConverged("the tangent is singular", trial.merit, component) from None
    return moved.ravel(), multipliers
