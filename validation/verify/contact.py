"""Laws of contact at a floor by both solvers: rest, slide and stop (R12 to R15 of the particle model, as C12 and on).

A stiff square of four nodes of 1/2 kg on a plane, g = 9.8 m/s2: two of them below, so that each bears m g = 9.8 N.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rheotwin.particles import TrussSolver
from rheotwin.solver import Simulation, checked_options
from rheotwin.validation.verify.check import Check, Measurement, Quantity
from rheotwin.validation.verify.running import Data, box_scene, problem_of, run_to, start

G = 9.8
STIFFNESS = 1000.0
"""K [N/m], so that m g/K = 9.8 mm."""
SQUARE: Data = {"model": "voigt", "young": 1e5, "poisson": 0.3, "viscosity": 2e3}
SOLVERS: dict[str, Data] = {
    "fem": {"step": 1e-3},
    "fem, explicit": {"stepper": "central-difference", "step": 1e-4},
    "truss": {"step": 1e-4},
}
SLOPE = np.pi / 6.0
SPEED, FRICTION = 2.0, 0.3
STOP = SPEED**2 / (2.0 * FRICTION * G)
REGULARISED: Data = {"friction_rule": "regularised", "slip_speed": 1e-3}


def on_floor(contact: Data, *, duration: float, gravity: tuple[float, float] = (0.0, -G), **floor: Any) -> Data:
    """Return the scene of the square on a plane at height zero, with a law of contact."""
    plane = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0], **floor}
    more = {"tools": {"floor": plane}, "gravity": list(gravity), "contact": contact}
    return box_scene(SQUARE, size=[0.1, 0.1], cells=[1, 1], cell="quad", mass=2.0, duration=duration, **more)


def begin(solver: str, data: Data) -> Simulation:
    """Start one of `SOLVERS` on a scene."""
    if solver == "truss":
        return TrussSolver().start(problem_of(data), checked_options(TrussSolver, SOLVERS[solver]))
    return start(data, **SOLVERS[solver])


def heights(law: Data, duration: float) -> Measurement:
    """Return where the lower nodes rest [m], by every solver."""
    found = {}
    for solver in SOLVERS:
        simulation = begin(solver, on_floor(law, duration=duration))
        run_to(simulation, duration)
        found[solver] = float(np.sort(simulation.positions[:, 1])[:2].mean())
    return Measurement(found)


def stopping(rule: Data) -> Measurement:
    """Return the slip [m] of a square put on a belt of 2 m/s until it goes along with it."""
    belt = {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [SPEED, 0.0]]}
    found = {}
    for solver in SOLVERS:
        simulation = begin(solver, on_floor({"friction": FRICTION} | rule, duration=1.0, motion=belt))
        run_to(simulation, 1.0)
        found[solver] = SPEED - float(simulation.positions[:, 0].mean() - 0.05)
    return Measurement(found)


def slide(solver: str, friction: float) -> float:
    """Return how far [m] the square slides down an incline of 30 degrees in 1 s."""
    gravity = (G * float(np.sin(SLOPE)), -G * float(np.cos(SLOPE)))
    simulation = begin(solver, on_floor({"friction": friction}, duration=1.0, gravity=gravity))
    run_to(simulation, 1.0)
    return float(simulation.positions[:, 0].mean() - 0.05)


def incline() -> Measurement:
    """Return accelerations [m/s2] down the incline."""
    return Measurement({solver: 2.0 * slide(solver, FRICTION) for solver in SOLVERS})


def ordering() -> Measurement:
    """Return the slide with friction as a share of that without."""
    return Measurement({solver: slide(solver, FRICTION) / slide(solver, 0.0) for solver in SOLVERS})


def _each(value: float, tolerance: float, unit: str, **more: Any) -> tuple[Quantity, ...]:
    return tuple(Quantity(solver, value, tolerance, unit=unit, **more) for solver in SOLVERS)


def _soft(law: str, **more: Any) -> Data:
    return {"law": law, "stiffness": STIFFNESS, **more}


INTEGRATED = _soft("integrated", damping=20.0, integral=2000.0, region=0.01)


def _offset(region: float) -> Data:
    return _soft("integrated", damping=40.0, integral=2000.0, region=region, offset=True)


CHECKS = (
    Check(
        reference="C12",
        name="rest-penalty",
        title="rest on a floor that gives way, -m g/K",
        quantities=_each(-G / STIFFNESS, 1e-6, "m"),
        compute=partial(heights, _soft("penalty", damping=20.0), 4.0),
    ),
    Check(
        reference="C12",
        name="rest-integrated",
        title="rest with the integral of the gap, at height zero",
        quantities=_each(0.0, 1e-6, "m"),
        compute=partial(heights, INTEGRATED, 8.0),
    ),
    Check(
        reference="C13",
        name="rest-offset-inside",
        title="rest of the offset form with a region of 20 mm, region - m g/K",
        quantities=_each(0.02 - G / STIFFNESS, 1e-6, "m"),
        compute=partial(heights, _offset(0.02), 4.0),
    ),
    Check(
        reference="C13",
        name="rest-offset-zero",
        title="rest of the offset form with a region of 5 mm, at height zero",
        quantities=_each(0.0, 1e-6, "m"),
        compute=partial(heights, _offset(0.005), 8.0),
    ),
    Check(
        reference="C14",
        name="slide-order",
        title="slide with mu = 0.3 over that without friction, 30 degrees: 1 - mu/tan 30",
        quantities=_each(1.0 - FRICTION / float(np.tan(SLOPE)), 1e-3, ""),
        compute=ordering,
    ),
    Check(
        reference="C15",
        name="stop-exact",
        title="slip on a belt until it stops, v0^2/(2 mu g)",
        quantities=_each(STOP, 0.002, "m", bound="relative"),
        compute=partial(stopping, {}),
    ),
    Check(
        reference="C15",
        name="stop-regularised",
        title="the same with regularised friction, slip speed 1 mm/s",
        quantities=_each(STOP, 0.002, "m", bound="relative"),
        compute=partial(stopping, REGULARISED),
    ),
    Check(
        reference="C15",
        name="incline",
        title="acceleration down 30 degrees with mu = 0.3, g (sin - mu cos)",
        quantities=_each(G * float(np.sin(SLOPE) - FRICTION * np.cos(SLOPE)), 1e-3, "m/s2"),
        compute=incline,
    ),
)
