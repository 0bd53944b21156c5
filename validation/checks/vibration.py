"""Bars with inertia: a mode that rings, a front that runs.

Vibration of a lumped Maxwell bar in its first mode: values, and the order of every rule in time (R15, T2).

Front of a wave in a Maxwell bar whose end is suddenly loaded (T9).

Consistent mass and the midpoint rule with h = dx/(sqrt(2) c) disperse in opposite directions: the first error of the
wave speed cancels, and the front stays sharp.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.materials import Channel
from rheotwin.validation.checks.check import Check, Curve, Measurement, check
from rheotwin.validation.checks.running import HELD, Data, box_scene, last_order, run_to, start
from rheotwin.validation.closed_forms import MaxwellBarWave, first_eigenvalue, mode_response

MASSIVE: Data = {"model": "maxwell", "young": 1.0, "poisson": 0.0, "viscosity": 2.0}
"""R15: E = 1, c = 2 and unit density."""
ELEMENTS = 10


def vibration(stepper: str, step: float, times: tuple[float, ...], **options: Any) -> Array:
    """Return (q, v) of the first mode at `times` [s]: the free end of a bar started with the mode's shape."""
    scene = box_scene(
        MASSIVE,
        size=[1.0],
        cells=[ELEMENTS],
        duration=times[-1],
        density=1.0,
        supports=HELD,
        output={"times": [0.0, *times]},
    )
    simulation = start(scene, step=step, stepper=stepper, energy_balance=False, **options)
    rest = simulation.positions[:, 0]
    simulation.restore(simulation.save() | {"v": np.sin(0.5 * np.pi * rest)})
    found = []
    for time in times:
        run_to(simulation, time)
        found.append([simulation.positions[-1, 0] - rest[-1], simulation.velocities[-1, 0]])
    return np.array(found)


def exact_vibration(times: tuple[float, ...]) -> Array:
    """Return (q, v) of the mode by the matrix exponential."""
    state = mode_response(Channel.maxwell(1.0, 2.0), first_eigenvalue(ELEMENTS), times)
    return np.stack([state.amplitude, state.rate], axis=1)


def lumped_bar() -> Measurement:
    """Compute R15 with the midpoint rule."""
    times = (1.0, 5.0)
    (q1, v1), (q5, v5) = vibration("midpoint", 1e-3, times)
    exact, steps = exact_vibration(times), (0.1, 0.05)
    errors = [np.abs(vibration("midpoint", step, times) - exact) for step in steps]
    names = (("q(1)", "v(1)"), ("q(5)", "v(5)"))
    orders = {names[i][j]: last_order(steps, [error[i, j] for error in errors]) for i in range(2) for j in range(2)}
    values = {"lambda_1": first_eigenvalue(ELEMENTS), "q(1)": q1, "v(1)": v1, "q(5)": q5, "v(5)": v5}
    return Measurement(values, orders)


def vibration_order(stepper: str, order: float, steps: tuple[float, ...], end: float) -> Measurement:
    """Refine the step of a rule on the bar, which vibrates until `end` [s]."""
    exact = exact_vibration((end,))
    errors = tuple(float(np.linalg.norm(vibration(stepper, step, (end,)) - exact)) for step in steps)
    rate = {"time rate": last_order(steps, errors)}
    return Measurement(rate, rate, (Curve("time", stepper, steps, errors, order),))


def adaptive_vibration() -> Measurement:
    """Tighten the tolerance of the adaptive stepper tenfold."""
    exact, errors = exact_vibration((5.0,)), []
    for tolerance in (1e-3, 1e-4):
        found = vibration("adaptive", 0.1, (5.0,), tolerance=tolerance)
        errors.append(float(np.linalg.norm(found - exact)))
    return Measurement({"error at tolerance 1e-4": errors[1], "error at 1e-3 / error at 1e-4": errors[0] / errors[1]})


def _stepper_check(
    stepper: str, order: float, steps: tuple[float, ...] = (0.05, 0.025, 0.0125), end: float = 5.0
) -> Check:
    """Return the check of a rule's order; steps must be stable and divide the `end` [s]."""
    return check(
        f"fem.T2/{stepper}",
        partial(vibration_order, stepper, order, steps, end),
        name=f"vibrating-bar-{stepper}",
        options={"stepper": stepper},
        quick=True,
    )


VIBRATION_CHECKS = (
    check("fem.R15", lumped_bar, name="lumped-bar", covers=("T2", "A2"), options={"stepper": "midpoint"}),
    # A new rule in time is one line here and a catalogue entry; explicit ones need steps below their stable one.
    _stepper_check("midpoint", 2.0),
    _stepper_check("cayley", 2.0),
    _stepper_check("generalized-alpha", 2.0),
    _stepper_check("central-difference", 2.0),
    _stepper_check("euler", 1.0, (1e-3, 5e-4, 2.5e-4), end=1.0),
    _stepper_check("rk4", 4.0),
    check(
        "fem.T2/adaptive",
        adaptive_vibration,
        name="vibrating-bar-adaptive",
        options={"stepper": "adaptive", "tolerance": 1e-4},
        quick=True,
    ),
)


WAVE = MaxwellBarWave(young=1.0, viscosity=0.5, density=1.0)
MAXWELL: Data = {"model": "maxwell", "young": WAVE.young, "poisson": 0.0, "viscosity": WAVE.viscosity}
SPRING: Data = {"model": "elastic", "young": WAVE.young, "poisson": 0.0}
TIMES = (0.4, 0.8)
"""When the front is looked at [s]; the bar of 1 m ends the wave at 1 s."""


@dataclass(frozen=True)
class Profile:
    """Stress [Pa] over the distance from the loaded end [m], and the displacement [m] of that end."""

    positions: Array
    stress: Array
    end_displacement: float


def loaded_bar(law: Data, cells: int) -> list[Profile]:
    """Pull the left end of a bar of 1 m with 1 Pa from rest and return its state at `TIMES`."""
    step = 1.0 / cells / np.sqrt(2.0) / WAVE.speed
    scene = box_scene(
        law,
        size=[1.0],
        cells=[cells],
        duration=TIMES[-1],
        density=WAVE.density,
        forces={"pull": {"body": "block", "where": {"side": "left"}, "total": [-1.0]}},
        output={"times": [0.0, *TIMES]},
    )
    simulation, found = start(scene, step=step, mass="consistent", stepper="midpoint"), []
    rest = simulation.positions[:, 0]
    for time in TIMES:
        run_to(simulation, time)
        stress = simulation.fields()["stress"][:, 0]
        found.append(Profile(rest, stress, float(rest[0] - simulation.positions[0, 0])))
    return found


def front(profile: Profile, height: float) -> float:
    """Return the distance [m] at which the stress falls through half the height of the front."""
    ahead = int(np.flatnonzero(profile.stress >= 0.5 * height)[-1])
    x, stress = profile.positions[ahead : ahead + 2], profile.stress[ahead : ahead + 2]
    return float(np.interp(-0.5 * height, -stress, x))


def measure() -> Measurement:
    """Follow the front; an elastic bar on the same mesh tells the shape that the mesh gives to a sharp front."""
    cells = 800
    relaxing, elastic = loaded_bar(MAXWELL, cells), loaded_bar(SPRING, cells)
    places = [front(profile, float(WAVE.front_stress(t))) for t, profile in zip(TIMES, relaxing, strict=True)]
    values = {"front speed": (places[1] - places[0]) / (TIMES[1] - TIMES[0])}
    for time, profile, sharp in zip(TIMES, relaxing, elastic, strict=True):
        at_front = [float(np.interp(WAVE.speed * time, p.positions, p.stress)) for p in (profile, sharp)]
        values[f"front stress, t = {time:g}"] = at_front[0] / at_front[1]
        values[f"end displacement, t = {time:g}"] = profile.end_displacement
    return Measurement(values)


WAVE_CHECKS = (check("fem.T9", measure, name="maxwell-wave", options={"stepper": "midpoint"}, quick=True),)

CHECKS = {"vibration": VIBRATION_CHECKS, "wave": WAVE_CHECKS}
