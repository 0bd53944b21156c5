"""Contact with a floor and plates, and how blocks of particles rest there.

Laws of contact by both solvers: rest, slide and stop (R12 to R15 of the particle model, as C12 and on). A stiff square
of four nodes of 1/2 kg on a plane, g = 9.8 m/s2: two of them below, so that each bears m g = 9.8 N. Blocks of particles
under their weight and between plates (sections 3, 5 and 8 of the particle model). Squares thrown at a floor and at
each other.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.problem import Problem
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import FLOOR, Data, begin, box_scene, path, problem_of, put, run_to, side, start
from rheotwin.validation.metrics import angular_momentum, momentum

G = 9.8
STIFFNESS = 1000.0
"""K [N/m], so that m g/K = 9.8 mm."""
SQUARE: Data = {"model": "voigt", "young": 1e5, "poisson": 0.3, "viscosity": 2e3}
SOLVERS: dict[str, Data] = {
    "fem": {"step": 1e-3},
    "fem, explicit": {"stepper": "central-difference", "step": 1e-4},
    "truss": {"step": 1e-4},
}
SLOPE, SPEED, FRICTION = np.pi / 6.0, 2.0, 0.3
REGULARISED: Data = {"friction_rule": "regularised", "slip_speed": 1e-3}


def settled(
    solver: str, contact: Data, end: float, *, gravity: tuple[float, float] = (0.0, -G), **floor: Any
) -> Simulation:
    """Return one of `SOLVERS` at time `end` [s]: the square on a plane at height zero, with a law of contact."""
    plane = {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0], **floor}
    more: Data = {"tools": {"floor": plane}, "gravity": list(gravity), "contact": contact}
    scene = box_scene(SQUARE, size=[0.1, 0.1], cells=[1, 1], cell="quad", mass=2.0, duration=end, **more)
    simulation = start(scene, solver.partition(",")[0], **SOLVERS[solver])
    run_to(simulation, end)
    return simulation


def slipped(simulation: Simulation) -> float:
    """Return how far the square has gone along x [m]."""
    return float(simulation.positions[:, 0].mean() - 0.05)


def heights(law: Data, end: float) -> Values:
    """Return where the lower nodes rest [m], by every solver."""
    return {solver: float(np.sort(settled(solver, law, end).positions[:, 1])[:2].mean()) for solver in SOLVERS}


def stopping(rule: Data) -> Values:
    """Return the slip [m] of a square put on a belt of 2 m/s until it goes along with it."""
    belt, law = path((0.0, 1.0), [[0.0, 0.0], [SPEED, 0.0]]), {"friction": FRICTION} | rule
    return {solver: SPEED - slipped(settled(solver, law, 1.0, motion=belt)) for solver in SOLVERS}


def slide(solver: str, friction: float) -> float:
    """Return how far [m] the square slides down an incline of 30 degrees in 1 s."""
    gravity = (G * float(np.sin(SLOPE)), -G * float(np.cos(SLOPE)))
    return slipped(settled(solver, {"friction": friction}, 1.0, gravity=gravity))


def incline() -> Values:
    """Return accelerations [m/s2] down the incline."""
    return {solver: 2.0 * slide(solver, FRICTION) for solver in SOLVERS}


def ordering() -> Values:
    """Return the slide with friction as a share of that without."""
    return {solver: slide(solver, FRICTION) / slide(solver, 0.0) for solver in SOLVERS}


def _soft(law: str, **more: Any) -> Data:
    return {"law": law, "stiffness": STIFFNESS, **more}


PENALTY = _soft("penalty", damping=20.0)
INTEGRATED = _soft("integrated", damping=20.0, integral=2000.0, region=0.01)


def _offset(region: float) -> Data:
    return _soft("integrated", damping=40.0, integral=2000.0, region=region, offset=True)


STIFFNESSES = (0.0, 0.1, 1.0, 10.0, 100.0)
"""k_vol [Pa/m3]."""


def squeezed(stiffness: float) -> float:
    """Return V/V0 of 4 x 4 x 3 cubes, k = 20 N/m on every edge, squeezed by a fifth between plates that hold them."""
    law = {"model": "voigt", "young": 20.0, "viscosity": 2.0, "poisson": 0.25}
    plate = side("top", motion=path((0.0, 3.0), [[0.0] * 3, [0.0, 0.0, -0.6]]))
    data = box_scene(law, cells=[4, 4, 3], equal_mass=100.0, duration=60.0, supports=FLOOR | {"plate": plate})
    simulation = begin(data, global_pressure=max(stiffness, 1e-9))  # without pressure no volume is kept account of
    run_to(simulation, 60.0)
    return float(simulation.statistics()["volume_ratio"]["block"])


def volumes() -> Values:
    """Compute the ratios of volume, and the pressure of the stiffest."""
    found = {f"k_vol = {stiffness:g}": squeezed(stiffness) for stiffness in STIFFNESSES}
    stiffest = STIFFNESSES[-1]
    return found | {"pressure": stiffest * 48.0 * (1.0 - found[f"k_vol = {stiffest:g}"])}


EDGE: Data = {"model": "voigt", "young": 4400.0, "viscosity": 44.0, "poisson": 0.25}
"""k [N/m] and b [N s/m] of the edges of a block of 6 x 4 particles. They are not printed: k is such that the lowest
particle of the bottom row rests where it should, the highest then comes by itself."""


def on_penalty(law: Data, cells: list[int], size: list[float], mass: float, drop: float, duration: float) -> Array:
    """Return where the particles of the bottom row come to rest [m] after a fall from a height [m]."""
    floor = {"shape": "plane", "normal": [0.0, 1.0], "center": [0.0, -drop]}
    more: Data = {"gravity": [0.0, -G], "tools": {"floor": floor}, "contact": PENALTY, "pattern": "alternating"}
    simulation = begin(box_scene(law, size=size, cells=cells, equal_mass=mass, duration=duration, **more))
    bottom = simulation.positions[:, 1] == 0.0
    run_to(simulation, duration)
    return np.asarray(simulation.positions[bottom, 1] + drop)


def rest_heights() -> Values:
    """Compute rests on a plain penalty of 1000 N/m: of a particle of 1 kg that fell from 0.5 m, and of a block of 1 kg.

    The particle is one of two below a stiff square of 2 kg.
    """
    particle = on_penalty(EDGE | {"young": 1e5, "viscosity": 1e2}, [1, 1], [0.1, 0.1], 2.0, 0.5, 8.0)
    block = on_penalty(EDGE, [5, 3], [5.0, 3.0], 1.0, 0.0, 15.0)
    least, most = float(block.min()), float(block.max())
    return {"plain": float(particle.mean()), "block rows, least": least, "block rows, most": most}


BRICK: Data = {"shape": "box", "size": [1.0, 1.0], "cells": [1, 1], "cell": "quad", "law": "stuff", "mass": 2.0}


def _thrown(velocities: dict[str, list[float]], bodies: dict[str, Data], **more: Any) -> tuple[Problem, Simulation]:
    """Return squares of truss, thrown with the velocities [m/s] given by body."""
    scene = box_scene({"model": "elastic", "young": 100.0, "poisson": 0.25}, cells=[1, 1], duration=0.05, **more)
    problem = problem_of(scene | {"bodies": bodies})
    simulation: Any = start(problem, "truss", step=1e-3)
    speed = np.zeros((len(problem.points), 2))
    for body in problem.bodies:
        speed[body.nodes] = velocities[body.name]
    put(simulation, velocities=speed)
    return problem, simulation


def bounce() -> Values:
    """Throw a square at a floor that gives back half of its speed, and look at its lower side right behind."""
    floor = {"shape": "plane", "center": [0.0, -1e-4], "normal": [0.0, 1.0]}
    more: Data = {"contact": {"law": "impulse", "restitution": 0.5}, "tools": {"floor": floor}}
    _, simulation = _thrown({"block": [0.0, -1.0]}, {"block": BRICK}, **more)
    run_to(simulation, 1e-3)
    return {"speed": float(simulation.velocities[simulation.positions[:, 1] < 0.5, 1].mean())}


def collision() -> Values:
    """Throw one square at another, off its middle: no momentum is lost, and no moment of momentum."""
    law = {"law": "penalty", "stiffness": 1e4, "damping": 1.0}
    bodies = {"low": BRICK, "high": BRICK | {"origin": [0.3, 1.001]}}
    problem, simulation = _thrown({"low": [0.0, 0.0], "high": [0.0, -1.0]}, bodies, contact=law)

    def momenta() -> Array:
        x, v = np.pad([[simulation.positions], [simulation.velocities]], [(0, 0)] * 3 + [(0, 1)])
        return np.concatenate([momentum(problem.masses, v)[0], angular_momentum(problem.masses, x, v)[0]])

    before = momenta()
    run_to(simulation, 0.05)
    slowed = float(simulation.velocities[problem.bodies[1].nodes, 1].mean())
    return {"lost": float(np.abs(momenta() - before).max()), "speed after it": slowed}


CHECKS = {
    "contact": tuple(
        check(f"truss.{identity}", compute, name=name, solvers=("fem", "truss"))
        for identity, name, compute in (
            ("R12/penalty", "rest-penalty", partial(heights, PENALTY, 4.0)),
            ("R12/integrated", "rest-integrated", partial(heights, INTEGRATED, 8.0)),
            ("R13/inside", "rest-offset-inside", partial(heights, _offset(0.02), 4.0)),
            ("R13/zero", "rest-offset-zero", partial(heights, _offset(0.005), 8.0)),
            ("R14", "slide-order", ordering),
            ("R15/exact", "stop-exact", partial(stopping, {})),
            ("R15/regularised", "stop-regularised", partial(stopping, REGULARISED)),
            ("R15/incline", "incline", incline),
        )
    ),
    "blocks": (
        check("truss.S5.volume", volumes, name="squeezed-volume", quick=True, solvers=("truss",)),
        check("truss.S8.routh", rest_heights, name="rest-of-rows", solvers=("truss",)),
    ),
    "parts": (
        check("parts.bounce", bounce, name="bounce", quick=True, solvers=("truss",)),
        check("parts.collision", collision, name="collision", quick=True, solvers=("truss",)),
    ),
}
