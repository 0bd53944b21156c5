"""Laws of contact at a floor by both solvers: rest, slide and stop (R12 to R15 of the particle model, as C12 and on).

A stiff square of four nodes of 1/2 kg on a plane, g = 9.8 m/s2: two of them below, so that each bears m g = 9.8 N.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rheotwin.particles import TrussSolver
from rheotwin.solver import Simulation, checked_options
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, box_scene, problem_of, run_to, start

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


def _soft(law: str, **more: Any) -> Data:
    return {"law": law, "stiffness": STIFFNESS, **more}


INTEGRATED = _soft("integrated", damping=20.0, integral=2000.0, region=0.01)


def _offset(region: float) -> Data:
    return _soft("integrated", damping=40.0, integral=2000.0, region=region, offset=True)


CHECKS = tuple(
    check(f"truss.{identity}", compute, name=name, solvers=("fem", "truss"))
    for identity, name, compute in (
        ("R12/penalty", "rest-penalty", partial(heights, _soft("penalty", damping=20.0), 4.0)),
        ("R12/integrated", "rest-integrated", partial(heights, INTEGRATED, 8.0)),
        ("R13/inside", "rest-offset-inside", partial(heights, _offset(0.02), 4.0)),
        ("R13/zero", "rest-offset-zero", partial(heights, _offset(0.005), 8.0)),
        ("R14", "slide-order", ordering),
        ("R15/exact", "stop-exact", partial(stopping, {})),
        ("R15/regularised", "stop-regularised", partial(stopping, REGULARISED)),
        ("R15/incline", "incline", incline),
    )
)
