"""One step of a model at large strain, from an accepted state to the next; halved where it has no solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.finite.body import BodyState, Inverted
from rheotwin.fem.finite.contact import Pairs
from rheotwin.fem.finite.equations import StepEquations
from rheotwin.fem.finite.model import FiniteModel
from rheotwin.fem.finite.newton import Limits, NotConverged, Solution, solve_step
from rheotwin.fem.finite.state import State
from rheotwin.fem.ledger import Ledger

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

HALVINGS = 6
"""How often a step that finds no equilibrium is halved before the run stops."""


@dataclass
class Effort:
    """Newton iterations and halvings so far."""

    iterations: int = 0
    halvings: int = 0


def carry(
    model: FiniteModel,
    state: State,
    start: float,
    end: float,
    limits: Limits,
    effort: Effort,
    *,
    halvings: int = HALVINGS,
) -> State:
    """Return the state at `end` [s], in one step or, where that has no solution, in two halves."""
    try:
        return _step(model, state, start, end, limits, effort)
    except (NotConverged, Inverted):
        if halvings == 0:
            raise
    effort.halvings += 1
    middle = 0.5 * (start + end)
    half = carry(model, state, start, middle, limits, effort, halvings=halvings - 1)
    return carry(model, half, middle, end, limits, effort, halvings=halvings - 1)


def _step(model: FiniteModel, state: State, start: float, end: float, limits: Limits, effort: Effort) -> State:
    h, share = end - start, 0.5 if model.inertia else 1.0
    equations = StepEquations(
        bodies=model.bodies,
        states=state.bodies,
        start=state.u,
        velocity=state.v,
        step=h,
        share=share,
        inertia=2.0 / h**2 * model.mass * model.inertia,
        external=model.loads(start + share * h),
    )
    solution = solve_step(model.frame, equations, model.held_displacement(end), state.touching, end, limits)
    effort.iterations += len(solution.residuals) - 1
    return _accepted(model, state, solution, h)


def _accepted(model: FiniteModel, state: State, solution: Solution, h: float) -> State:
    """Return the state after a solved step; only here do memories move on."""
    rate = (solution.u - state.u) / h
    touching = solution.multipliers > 0.0
    velocity = before = 2.0 * rate - state.v if model.inertia else rate
    if model.inertia:
        velocity = _after_impulses(model, before, rate, solution.pairs, touching)
    pairs = zip(model.bodies, state.bodies, strict=True)
    bodies = tuple(body.commit(then, solution.u, h) for body, then in pairs)
    solid = [b.forces(solution.u, b.solid_stress(now)) for b, now in zip(model.bodies, bodies, strict=True)]
    force = model.nodal_sum(solid)
    ledger = _booked(model, state, bodies, force, rate, velocity - before, h)
    acceleration = (velocity - state.v) / h * model.inertia
    return State(solution.u, velocity, rate, acceleration, force, bodies, touching, ledger)


def _after_impulses(model: FiniteModel, velocity: Array, rate: Array, pairs: Pairs, touching: Flags) -> Array:
    """Return v with held and touching components at the rate of what holds them: M (v' - v) = N p.

    As in the small-strain step: without these impulses the midpoint rule would reflect a stopped node for ever.
    """
    velocity = np.where(model.frame.free, velocity, rate)
    normals = model.normals(pairs, touching)
    response = normals / model.mass[:, None]
    return np.asarray(velocity + response @ np.linalg.solve(normals.T @ response, normals.T @ (rate - velocity)))


def _booked(
    model: FiniteModel,
    state: State,
    bodies: tuple[BodyState, ...],
    force: Array,
    rate: Array,
    jump: Array,
    h: float,
) -> Ledger:
    """Return the ledger after a step [J].

    Work from outside is what bodies and masses took up: springs and memories by the trapezoidal rule, Newtonian
    arms at the rate of the step, masses exactly. An impulse M dv on parts that move at `rate` does the work
    M dv . rate, of which dv . M dv/2 is lost.
    """
    flow = dissipated = 0.0
    for body, before, after in zip(model.bodies, state.bodies, bodies, strict=True):
        flow += body.flow_work(before, after)
        dissipated += 0.5 * h * (body.relaxing_power(before) + body.relaxing_power(after))
    external = 0.5 * h * float((state.force + force) @ rate) + flow
    impact = 0.0
    if model.inertia:
        external += float(model.mass @ (2.0 * (rate - state.v) * rate + jump * rate))
        impact = 0.5 * float(model.mass @ jump**2)
    ledger = state.ledger
    return Ledger(ledger.external + external, ledger.dissipated + dissipated + flow, ledger.impact + impact)
