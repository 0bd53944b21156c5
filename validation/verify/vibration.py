"""Vibration of a lumped Maxwell bar in its first mode: values, and the order of every rule in time (R15, T2)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.materials import Channel
from rheotwin.validation.closed_forms import first_eigenvalue, mode_response
from rheotwin.validation.verify.check import Check, Curve, Measurement, Quantity
from rheotwin.validation.verify.running import HELD, Data, box_scene, last_order, run_to, start

Array = NDArray[np.float64]

CLOSE = 1e-6
"""What a midpoint step of 1 ms must reach: its error is h^2/12 times rates of order one."""
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
    return Check(
        reference="T2",
        name=f"vibrating-bar-{stepper}",
        title=f"order of {stepper} on a vibrating Maxwell bar",
        quantities=(Quantity("time rate", order, 0.1),),
        compute=partial(vibration_order, stepper, order, steps, end),
        options={"stepper": stepper},
        quick=True,
    )


CHECKS = (
    Check(
        reference="R15",
        name="lumped-bar",
        title="vibration of a lumped Maxwell bar in its first mode",
        quantities=(
            Quantity("lambda_1", 2.46233188, 5.1e-9, unit="1/s2"),
            Quantity("q(1)", 0.67673322, CLOSE, unit="m"),
            Quantity("v(1)", 0.14251873, CLOSE, unit="m/s"),
            Quantity("q(5)", 0.37129960, CLOSE, unit="m"),
            Quantity("v(5)", 0.07692925, CLOSE, unit="m/s"),
        ),
        compute=lumped_bar,
        covers=("T2", "A2"),
        options={"stepper": "midpoint"},
    ),
    # A new rule in time is one line here; explicit ones need steps below their stable one.
    _stepper_check("midpoint", 2.0),
    _stepper_check("cayley", 2.0),
    _stepper_check("generalized-alpha", 2.0),
    _stepper_check("central-difference", 2.0),
    _stepper_check("euler", 1.0, (1e-3, 5e-4, 2.5e-4), end=1.0),
    _stepper_check("rk4", 4.0),
    Check(
        reference="T2",
        name="vibrating-bar-adaptive",
        title="adaptive step on a vibrating Maxwell bar: the error follows the tolerance",
        quantities=(
            Quantity("error at tolerance 1e-4", 1e-4, bound="at most"),
            Quantity("error at 1e-3 / error at 1e-4", 5.0, bound="at least"),
        ),
        compute=adaptive_vibration,
        options={"stepper": "adaptive", "tolerance": 1e-4},
        quick=True,
    ),
)
