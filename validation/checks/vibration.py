"""Bars with inertia: a mode that rings, a front that runs.

Vibration of a lumped Maxwell bar in its first mode: values, and the order of every rule in time (R15, T2).

Front of a wave in a Maxwell bar whose end is suddenly loaded (T9). Consistent mass and the midpoint rule with
h = dx/(sqrt(2) c) disperse in opposite directions, the first error of the wave speed cancels and the front stays sharp.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from rheotwin.arrays import Array
from rheotwin.constraints.stabilisation import stabilised_demand
from rheotwin.fem.steppers.explicit_rules import EXPLICIT_RULES, ExplicitRule
from rheotwin.materials import Channel
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Check, Curve, Measurement, Values, check
from rheotwin.validation.checks.running import HELD, Data, box_scene, last_order, run_to, seen, side, start
from rheotwin.validation.closed_forms import MaxwellBarWave, first_eigenvalue, mode_response

MASSIVE: Data = {"model": "maxwell", "young": 1.0, "poisson": 0.0, "viscosity": 2.0}
"""R15: E = 1, c = 2 and unit density."""
ELEMENTS = 10


def vibrating(stepper: str, step: float, times: tuple[float, ...], law: Data = MASSIVE, **options: Any) -> Simulation:
    """Return a bar held at the left and started with the shape of its first mode, to be seen at `times` [s]."""
    more: Data = {"duration": times[-1], "density": 1.0, "supports": HELD, "output": {"times": [0.0, *times]}}
    scene = box_scene(law, size=[1.0], cells=[ELEMENTS], **more)
    simulation = start(scene, step=step, stepper=stepper, energy_balance=False, **options)
    simulation.restore(simulation.save() | {"v": np.sin(0.5 * np.pi * simulation.positions[:, 0])})
    return simulation


def vibration(stepper: str, step: float, times: tuple[float, ...], law: Data = MASSIVE, **options: Any) -> Array:
    """Return (q, v) of the mode at `times` [s]: those of the bar's free end, at 1 m."""
    bar = vibrating(stepper, step, times, law, **options)
    return np.array(seen(bar, times, lambda: [bar.positions[-1, 0] - 1.0, bar.velocities[-1, 0]]))


def exact_vibration(times: tuple[float, ...]) -> Array:
    """Return (q, v) of the mode by the matrix exponential."""
    state = mode_response(Channel.maxwell(1.0, 2.0), first_eigenvalue(ELEMENTS), times)
    return np.stack([state.amplitude, state.rate], axis=1)


def lumped_bar() -> Measurement:
    """Compute R15 with the midpoint rule."""
    times, steps, names = (1.0, 5.0), (0.1, 0.05), ("q(1)", "v(1)", "q(5)", "v(5)")
    found, exact = vibration("midpoint", 2e-4, times), exact_vibration(times)
    errors = [np.abs(vibration("midpoint", step, times) - exact).ravel() for step in steps]
    orders = {name: last_order(steps, pair) for name, pair in zip(names, zip(*errors, strict=True), strict=True)}
    values = {"lambda_1": first_eigenvalue(ELEMENTS)} | dict(zip(names, found.ravel(), strict=True))
    return Measurement(values, orders)


def vibration_order(stepper: str, order: float, steps: tuple[float, ...], end: float) -> Measurement:
    """Refine the step of a rule on the bar, which vibrates until `end` [s]."""
    exact = exact_vibration((end,))
    errors = tuple(float(np.linalg.norm(vibration(stepper, step, (end,)) - exact)) for step in steps)
    rate = {"time rate": last_order(steps, errors)}
    return Measurement(rate, rate, (Curve("time", stepper, steps, errors, order),))


def adaptive_vibration() -> Values:
    """Tighten the tolerance of the adaptive stepper tenfold."""
    exact = exact_vibration((5.0,))
    rough, fine = (np.linalg.norm(vibration("adaptive", 0.1, (5.0,), tolerance=t) - exact) for t in (1e-3, 1e-4))
    return {"error at tolerance 1e-4": float(fine), "error at 1e-3 / error at 1e-4": float(rough / fine)}


def average_acceleration() -> Values:
    """Return the velocity of an elastic mode after twenty steps h = 1/omega of generalised alpha of radius 1.

    It is the average of both ends: the mode turns by 2 atan(h omega/2) in each step, and keeps its amplitude.
    """
    step = 1.0 / float(np.sqrt(first_eigenvalue(ELEMENTS)))
    found = vibration("generalized-alpha", step, (20.0 * step,), SPRING, spectral_radius=1.0)[0]
    return {"u omega": float(found[0]) / step, "v": float(found[1])}


def adaptive_pieces() -> Values:
    """Return the pieces of the first step h = 1/omega of an elastic mode, by tolerance.

    Midpoint and endpoint rule lead to 0.8/omega and 0.5/omega: they differ by 3/8 of what moved.
    """
    step = 1.0 / float(np.sqrt(first_eigenvalue(ELEMENTS)))
    found = {}
    for tolerance in (0.37, 0.38):
        simulation = vibrating("adaptive", step, (step,), SPRING, tolerance=tolerance)
        run_to(simulation, step)
        found[f"pieces at {tolerance}"] = float(simulation.statistics()["steps"])
    return found


def explicit_steps() -> Values:
    """Return the stable step [s] of central differences for a bar of one cell, E = rho = L = 1, eta = 0 and 1/4."""
    found = {}
    for name, law in (("spring", SPRING), ("with a dashpot", SPRING | {"model": "voigt", "viscosity": 0.25})):
        scene = box_scene(law, size=[1.0], cells=[1], density=1.0, supports=HELD)
        found[name] = start(scene, stepper="central-difference", step=0.01).stable_step
    return found


def stabilised_steps() -> Values:
    """Return the largest stable om h of R'' + 2 om R' + om^2 R = 0 by explicit rules, om = 1/s."""

    def rate(y: Array, time: float, *, after: bool) -> Array:
        return np.stack([y[1], -stabilised_demand(y[0], y[1], np.zeros_like(y[0]), 1.0)])

    def growth(step: float, rule: ExplicitRule) -> float:
        matrix = np.stack([rule.advance(rate, unit, 0.0, step) for unit in np.eye(2)], axis=1)
        return float(np.abs(np.linalg.eigvals(matrix)).max() - 1.0)

    rules = {"Euler": EXPLICIT_RULES["euler"], "RK4": EXPLICIT_RULES["rk4"]}
    return {name: float(brentq(growth, 1.0, 3.0, args=(rule,))) for name, rule in rules.items()}


def _stepper_check(
    stepper: str, order: float, steps: tuple[float, ...] = (0.05, 0.025, 0.0125), end: float = 5.0
) -> Check:
    """Return the check of a rule's order; steps must be stable and divide the `end` [s]."""
    compute, name = partial(vibration_order, stepper, order, steps, end), f"vibrating-bar-{stepper}"
    return check(f"fem.T2/{stepper}", compute, name=name, options={"stepper": stepper}, quick=True)


WAVE = MaxwellBarWave(young=1.0, viscosity=0.5, density=1.0)
MAXWELL: Data = {"model": "maxwell", "young": WAVE.young, "poisson": 0.0, "viscosity": WAVE.viscosity}
SPRING: Data = {"model": "elastic", "young": WAVE.young, "poisson": 0.0}
TIMES = (0.4, 0.8)
"""When the front is looked at [s]; the bar of 1 m ends the wave at 1 s."""


class Profile(NamedTuple):
    """Stress [Pa] over the distance from the loaded end [m], and the displacement [m] of that end."""

    positions: Array
    stress: Array
    end_displacement: float


def loaded_bar(law: Data, cells: int) -> list[Profile]:
    """Pull the left end of a bar of 1 m with 1 Pa from rest and return its state at `TIMES`."""
    step = 1.0 / cells / np.sqrt(2.0) / WAVE.speed
    more: Data = {"forces": {"pull": side("left", total=[-1.0])}, "output": {"times": [0.0, *TIMES]}}
    scene = box_scene(law, size=[1.0], cells=[cells], duration=TIMES[-1], density=WAVE.density, **more)
    simulation = start(scene, step=step, mass="consistent", stepper="midpoint")
    rest = simulation.positions[:, 0]

    def profile() -> Profile:
        return Profile(rest, simulation.fields()["stress"][:, 0], float(rest[0] - simulation.positions[0, 0]))

    return seen(simulation, TIMES, profile)


def front(profile: Profile, height: float) -> float:
    """Return the distance [m] at which the stress falls through half the height of the front."""
    ahead = int(np.flatnonzero(profile.stress >= 0.5 * height)[-1])
    x, stress = profile.positions[ahead : ahead + 2], profile.stress[ahead : ahead + 2]
    return float(np.interp(-0.5 * height, -stress, x))


def wave() -> Values:
    """Follow the front; an elastic bar on the same mesh tells the shape that the mesh gives to a sharp front."""
    relaxing, elastic = loaded_bar(MAXWELL, 800), loaded_bar(SPRING, 800)
    places = [front(profile, float(WAVE.front_stress(t))) for t, profile in zip(TIMES, relaxing, strict=True)]
    values = {"front speed": (places[1] - places[0]) / (TIMES[1] - TIMES[0])}
    for time, profile, sharp in zip(TIMES, relaxing, elastic, strict=True):
        at_front = [float(np.interp(WAVE.speed * time, p.positions, p.stress)) for p in (profile, sharp)]
        values[f"front stress, t = {time:g}"] = at_front[0] / at_front[1]
        values[f"end displacement, t = {time:g}"] = profile.end_displacement
    return values


_MIDPOINT = {"stepper": "midpoint"}
_ALPHA = {"stepper": "generalized-alpha", "spectral_radius": 1.0}
_CENTRAL = {"stepper": "central-difference"}
_ADAPTIVE = {"stepper": "adaptive", "tolerance": 1e-4}
CHECKS = {
    "vibration": (
        check("fem.R15", lumped_bar, name="lumped-bar", covers=("T2", "A2"), options=_MIDPOINT),
        # A new rule in time is one line here and a catalogue entry; explicit ones need steps below their stable one.
        _stepper_check("midpoint", 2.0),
        _stepper_check("cayley", 2.0),
        _stepper_check("generalized-alpha", 2.0),
        _stepper_check("central-difference", 2.0),
        _stepper_check("euler", 1.0, (1e-3, 5e-4, 2.5e-4), end=1.0),
        _stepper_check("rk4", 4.0),
        check("fem.S2.alpha", average_acceleration, name="average-acceleration", options=_ALPHA, quick=True),
        check("parts.pieces", adaptive_pieces, name="adaptive-pieces", options=_ADAPTIVE, quick=True),
        check("parts.steps", explicit_steps, name="explicit-steps", options=_CENTRAL, quick=True),
        check("fem.S2.stabilised", stabilised_steps, name="stabilised-steps", quick=True),
        check("fem.T2/adaptive", adaptive_vibration, name="vibrating-bar-adaptive", options=_ADAPTIVE, quick=True),
    ),
    "wave": (check("fem.T9", wave, name="maxwell-wave", options=_MIDPOINT, quick=True),),
}
