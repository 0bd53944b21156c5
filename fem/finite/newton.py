"""Newton's method for one step: full tangent, contact by active set, line search that keeps elements upright.

The equations of a step are M a + f_int(u) - f_ext = N lambda at a share of it (spec 2.3, 6). Without inertia they hold
at its end (share 1), with inertia in the middle (share 1/2):

    (2/h^2) M (du - h v_n) + f_int,mid = f_ext,mid + N lambda,      v = 2 du/h - v_n

with the strains of both ends averaged: momentum and angular momentum are kept exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.fem.finite.body import FinitePart, Inverted, PointState
from rheotwin.fem.finite.contact import ToolContact, ToolPairs
from rheotwin.fem.linear import SingularMatrix
from rheotwin.fem.options import FemOptions

CLOSED = 1e-11
"""Gap, as a share of the body's size, below which a contact is closed."""
SHORTEST = 1.0 / 16.0
"""Share of a Newton step below which the line search gives up."""


class NotConverged(ArithmeticError):
    """Newton's method did not reach its tolerance: why, the residual [N] left and the component it is largest in."""

    def __init__(self, reason: str, residual: float, component: int) -> None:
        self.residual, self.component = residual, component
        super().__init__(reason)


@dataclass(frozen=True)
class Pattern:
    """Where each entry of the element blocks, and each diagonal entry, goes in the compressed rows."""

    size: int
    indptr: Indices
    indices: Indices
    places: Indices
    """Per kept entry of all blocks, one after the other: its position in the matrix data."""
    kept: Indices
    """Those entries of the flattened blocks whose row and column are both free."""
    diagonal: Indices
    dofs: tuple[Indices, ...]
    """Components (e, m) of the elements, one array per kind of block."""

    @classmethod
    def of(cls, dofs: Sequence[Indices], free: Flags) -> Pattern:
        """Return the pattern of elements with components `dofs` (e, m) of each kind; `free` (size,) marks unknowns."""
        size = int(free.sum())
        number = np.full(len(free), -1)
        number[free] = np.arange(size)
        rows = np.concatenate([np.repeat(number[d], d.shape[1], axis=1).ravel() for d in dofs])
        columns = np.concatenate([np.tile(number[d], (1, d.shape[1])).ravel() for d in dofs])
        kept = np.flatnonzero((rows >= 0) & (columns >= 0))
        keys = np.concatenate([rows[kept] * size + columns[kept], np.arange(size) * (size + 1)])
        entries, places = np.unique(keys, return_inverse=True)
        indptr = np.searchsorted(entries, np.arange(size + 1) * size)
        return cls(size, indptr, entries % max(size, 1), places[: len(kept)], kept, places[len(kept) :], tuple(dofs))

    def product(self, blocks: list[Array], change: Array) -> Array:
        """Return the product of all blocks with a displacement change (size,) [m] of all components, held ones too."""
        total = np.zeros(len(change))
        for dofs, block in zip(self.dofs, blocks, strict=True):
            local = np.einsum("emn,en->em", block, change[dofs])
            total += np.bincount(dofs.ravel(), weights=local.ravel(), minlength=len(change))
        return total

    def matrix(self, blocks: list[Array], diagonal: Array) -> csr_matrix:
        """Return the sum of blocks (e, m, m) of each kind, plus a diagonal, over the free components."""
        flat = np.concatenate([block.ravel() for block in blocks])[self.kept]
        data = np.asarray(np.bincount(self.places, weights=flat, minlength=len(self.indices)), dtype=float)
        data[self.diagonal] += diagonal
        return csr_matrix((data, self.indices, self.indptr), shape=(self.size, self.size))


@dataclass(frozen=True)
class Frame:
    """What stays the same from step to step: parts, unknowns, pattern, contact, sizes."""

    parts: Sequence[tuple[FinitePart, slice]]
    """With the components of their bodies."""
    free: Flags
    pattern: Pattern
    """Of the elements of each part, then of single nodes."""
    contact: ToolContact
    points: Array
    factorise: Callable[[csr_matrix], Callable[[Array], Array]]
    element_size: float
    extent: float


@dataclass(frozen=True)
class Evaluation:
    """Residual without contact (size,) [N], the largest force in it [N], and its tangents per element [N/m]."""

    residual: Array
    scale: float
    blocks: list[Array]


@dataclass(frozen=True)
class StepEquations:
    """One step of length `step` [s] from displacement and velocity (size,) and the states of the parts."""

    frame: Frame
    states: Sequence[PointState]
    start: Array
    velocity: Array
    step: float
    share: float
    inertia: Array
    """2 M/h^2 per component [N/m], or zero."""
    external: Array
    """Loads at the share of the step [N]."""

    def evaluate(self, end: Array) -> Evaluation:
        """Evaluate at the displacement `end` of the end of the step."""
        inertial = self.inertia * (end - self.start - self.step * self.velocity)
        internal, blocks = np.zeros_like(end), []
        for (part, rows), state in zip(self.frame.parts, self.states, strict=True):
            forces, tangents = part.respond(state, self.start[rows], end[rows], self.step, self.share)
            internal[rows] += part.geometry.nodal_sum(forces, rows.stop - rows.start)
            blocks.append(tangents)
        largest = max(float(np.abs(force).max()) for force in (internal, inertial, self.external))
        return Evaluation(inertial + internal - self.external, largest, blocks)


@dataclass(frozen=True)
class Solution:
    """Displacement at the end of the step (size,) [m], contacts there, and the residual [N] of each iteration."""

    u: Array
    pairs: ToolPairs
    multipliers: Array
    residuals: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class _Trial:
    """A displacement with everything evaluated there; `open_force` is the equilibrium residual on free components."""

    u: Array
    evaluation: Evaluation
    pairs: ToolPairs
    multipliers: Array
    open_force: Array

    @property
    def merit(self) -> float:
        return float(np.abs(self.open_force).max(initial=0.0))


def solve_step(equations: StepEquations, target: Array, touching: Flags, time: float, options: FemOptions) -> Solution:
    """Solve one step whose held components end at `target` (size,) [m] and whose tools stand as at `time` [s].

    `touching` (k,) marks the pairs that touched before. Raises `NotConverged`, or `Inverted` if the step turns
    elements inside out however short it is made.
    """
    frame = equations.frame
    trial = _evaluate(equations, equations.start, np.zeros(len(touching)), time)
    residuals, scale = [trial.merit], trial.evaluation.scale
    for iteration in range(options.newton_iterations):
        scale = max(scale, trial.evaluation.scale)
        if iteration and _converged(frame, trial, target, options.newton_tolerance * scale):
            return Solution(trial.u, trial.pairs, trial.multipliers, residuals)
        touched = trial.multipliers > 0.0 if iteration else touching
        trial = _next(equations, trial, target, touched, time, any_change=iteration == 0)
        residuals.append(trial.merit)
    if _converged(frame, trial, target, options.newton_tolerance * max(scale, trial.evaluation.scale)):
        return Solution(trial.u, trial.pairs, trial.multipliers, residuals)
    worst = np.flatnonzero(frame.free)[int(np.argmax(np.abs(trial.open_force)))] if frame.free.any() else 0
    raise NotConverged(f"no equilibrium in {options.newton_iterations} iterations", trial.merit, int(worst))


def _evaluate(equations: StepEquations, u: Array, multipliers: Array, time: float) -> _Trial:
    frame = equations.frame
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
    equations: StepEquations, trial: _Trial, target: Array, touching: Flags, time: float, *, any_change: bool
) -> _Trial:
    """Take one Newton step with contact, shortened until no element is inverted and the residual falls.

    The first step of all moves supports and tools at once, so there the residual may grow.
    """
    free = equations.frame.free
    step, multipliers = _newton_step(equations, trial, target, touching)
    best, share, fault = None, 1.0, None
    while share >= SHORTEST:
        u = trial.u + share * step
        if share == 1.0:
            u[~free] = target[~free]
        try:
            found = _evaluate(equations, u, trial.multipliers + share * (multipliers - trial.multipliers), time)
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


def _newton_step(equations: StepEquations, trial: _Trial, target: Array, touching: Flags) -> tuple[Array, Array]:
    """Return the full step (size,) [m] and the multipliers (k,) [N] of the linearised equations."""
    frame = equations.frame
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
