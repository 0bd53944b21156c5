"""The contact problem of one step: normal laws and Coulomb friction on a dense compliance (spec 8).

    r = free + W lambda,   per contact r = (gap or normal rate, slip), lambda = (normal force, friction)

    exact       r_n >= 0, lambda_n >= 0, lambda_n r_n = 0
    compliant   lambda_n = F(r_n)
    sticking    s + c t = 0 while |t| <= mu_s lambda_n,   c = v_eps h/(mu lambda_n) of the regularised rule, else 0
    sliding     t = -mu lambda_n s/|s|

Sweeps over the contacts (block Gauss-Seidel) take turns with Newton steps of all contacts in the state the sweep found
them in. Where contacts ask for the same, W is singular and they hand over force for ever. Then proximal points are
solved instead, rho small and ever smaller:

    r + rho D (lambda - lambda_before) = 0 in place of r,   D = diag W

each of which has one solution, found in a few sweeps; what they leave open of the law, rho D (lambda - lambda_before),
fades from one to the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.unilateral import softened, solve_contact
from rheotwin.errors import Stopped
from rheotwin.fem.contact.coulomb import OPEN, STICKING, Cone
from rheotwin.fem.contact.law_force import HARD, Instant, Springs
from rheotwin.fem.contact.newton import newton_step, newton_steps
from rheotwin.fem.contact.sweeps import HELD, defects, sweep

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Change of a sweep, as a share of the largest force, at which the problem is solved."""
LONG, LONGER = 32, 200
"""Sweeps after which the problem counts as singular; and most of a proximal point."""
PATIENCE = 4
"""Sweeps between two Newton steps."""
POINTS = 16
"""Most proximal points."""
SOFTEST, SOFTER, STIFFEST = 1e-2, 10.0, 1e-5
"""rho to begin with, the factor between two points, and the least rho."""


class Solved(NamedTuple):
    """Forces (n, k) [N]: normal, then friction; the state of each contact; and how far laws are missed [m]."""

    force: Array
    state: Indices
    defect: float


class _Problem(NamedTuple):
    """One contact problem; `slides` tells what sticks below mu only."""

    compliance: Array
    free: Array
    springs: Springs
    cone: Cone
    instant: Instant
    slides: Flags

    def defect(self, force: Array, state: Indices) -> float:
        """Return how far the worst contact is from its law [m]."""
        out = np.zeros(len(force))
        defects(self.compliance, self.free, force, state, self.springs, self.cone, self.instant, out)
        return float(out.max(initial=0.0))

    def softened(self, rho: float, force: Array) -> _Problem:
        """Return the proximal point of some forces: compliance rho W_ii on top that begins there."""
        soft = rho * np.diag(self.compliance)
        return self._replace(compliance=self.compliance + np.diag(soft), free=self.free - soft * force.ravel())


def solve_cone(
    compliance: Array,
    free: Array,
    guess: Array,
    springs: Springs,
    cone: Cone,
    instant: Instant,
    slides: Flags | None = None,
    enough: float = 0.0,
) -> Solved:
    """Return the forces of the contact problem, the best ones found if it has no solution.

    `compliance` W (n k, n k) [m/N], `free` (n k,) [m] and the forces to start from (n, k); rates and impulses alike.
    What `slides` already sticks below mu only. Where W is singular laws may be missed by `enough` [m].
    """
    none = np.zeros(len(guess), np.bool_)
    problem = _Problem(compliance, free, springs, cone, instant, none if slides is None else slides)
    force, state, found = _iterate(problem, guess, LONG)
    if found:
        return Solved(force, state, problem.defect(force, state))
    if force.shape[1] == 1 and np.all(springs.kind == HARD):
        try:
            return _frictionless(problem)
        except Stopped:  # nothing holds all gaps: the best there is
            pass
    return _by_proximal_points(problem, guess, enough)


def _by_proximal_points(problem: _Problem, guess: Array, enough: float) -> Solved:
    """Solve a problem that is singular."""
    force, rho = guess, SOFTEST
    best = Solved(guess, np.zeros(len(guess), np.int64), np.inf)
    for _ in range(POINTS):
        force, state, found = _iterate(problem.softened(rho, force), force, LONGER)
        off = problem.defect(force, state)
        if off < best.defect:
            best = Solved(force, state, off)
        if best.defect <= enough:
            break
        rho = max(rho / SOFTER, STIFFEST) if found else min(rho * SOFTER, 1.0)
    return best


def _iterate(problem: _Problem, guess: Array, most: int) -> tuple[Array, Indices, bool]:
    """Return forces and states after at most so many sweeps, and whether they have come to rest."""
    w, free, springs, cone, instant, slides = problem
    force, state, slid = guess.copy(), np.zeros(len(guess), np.int64), slides.copy()
    for turn in range(most):
        change = sweep(w, free, force, state, slid, springs, cone, instant)
        if change <= TOLERANCE * float(np.abs(force).max(initial=0.0)):
            return force, state, True
        if turn % PATIENCE < PATIENCE - 1:
            continue
        for method in (newton_step, newton_steps):
            trial = method(w, free, force, state, springs, cone, instant)
            trial[:, 0] = np.maximum(trial[:, 0], 0.0)
            trial_state, trial_slid = state.copy(), slid.copy()
            after = sweep(w, free, trial, trial_state, trial_slid, springs, cone, instant)
            if after < change:
                force, state, slid = trial, trial_state, trial_slid
                break
    return force, state, False


def _frictionless(problem: _Problem) -> Solved:
    """Solve exact contact without friction by an active set, held contacts left out; it ends, however redundant."""
    compliance, own = problem.compliance, np.diag(problem.compliance)
    movable = np.flatnonzero(own > HELD * own.max(initial=0.0))
    force = np.zeros((len(own), 1))
    force[movable, 0] = solve_contact(softened(compliance[np.ix_(movable, movable)]), problem.free[movable])
    state = np.where(force[:, 0] > 0.0, STICKING, OPEN)
    return Solved(force, state, problem.defect(force, state))
