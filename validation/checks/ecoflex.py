"""Ecoflex cylinders under a plate: force of a neo-Hookean body with the authors' shear modulus, nothing fitted.

The plates slip freely, as the authors' evaluation assumes; so the deformation is uniform and cannot lock.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from rheotwin.arrays import Array
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Check, Compute, Measurement, Values, check
from rheotwin.validation.checks.running import Data, path, problem_of, refined, scene_of, seen, side, start, with_data
from rheotwin.validation.experiments import datasets as data
from rheotwin.validation.metrics import area_metric, force_curve_error

AREA = float(np.pi) * data.ECOFLEX_DIAMETER**2 / 4.0
FULL, THIRD = 0.020, 0.009
"""Way of the plate at the end [m], and at 30 % compression."""
UNIT = 1e3
"""Shear modulus [Pa] of the runs: the force of a neo-Hookean body, or of one of springs, is proportional to it."""
PERCENT = 100.0


@dataclass(frozen=True)
class Model:
    """How the cylinder is modelled; `steps` forces are read up to `depth` [m].

    `meshes` have 1, 2, .. times the `cells`; the last one counts, the others say how uncertain it is.
    """

    solver: str
    cells: tuple[int, int]
    cell: str
    poisson: float
    depth: float
    steps: int
    options: Data = field(default_factory=dict)
    meshes: tuple[int, ...] = (1,)


LARGE: Data = {"kinematics": "total-lagrangian", "stepper": "quasi-static", "step": 0.5}
MODELS = {
    "fem": Model("fem", (2, 1), "hex", 0.49, FULL, 40, LARGE, (1, 2)),
    # springs lie flat beyond
    "truss": Model("truss", (8, 6), "tet", 0.45, 0.012, 24, {"stepper": "implicit", "step": 0.1}),
}


def cylinder_scene(model: Model, *, bonded: bool, radius: float = data.ECOFLEX_DIAMETER / 2.0) -> Data:
    """Return the scene of a cylinder of shear modulus `UNIT` that a plate presses by `depth`, one force a second."""
    law = {"model": "elastic", "young": 2.0 * UNIT * (1.0 + model.poisson), "poisson": model.poisson}
    fix = ["x", "y", "z"] if bonded else ["z"]
    motion = path((0.0, model.steps), [[0.0] * 3, [0.0, 0.0, -model.depth]])
    supports: Data = {"table": side("bottom", fix=fix), "plate": side("top", fix=fix, motion=motion)}
    if not bonded:
        supports["middle"] = {"body": "block", "where": {"nearest": [0.0, 0.0, 0.0]}, "fix": ["x", "y"]}
        supports["turn"] = {"body": "block", "where": {"nearest": [radius, 0.0, 0.0]}, "fix": ["y"]}
    shape = {"shape": "cylinder", "radius": radius, "height": data.ECOFLEX_HEIGHT, "cells": list(model.cells)}
    more: Data = {"cell": model.cell, "density": 1000.0, "supports": supports}
    return scene_of(law, shape, dimension=3, duration=float(model.steps), **more)


def plate_forces(model: Model, problem: Problem) -> list[float]:
    """Return the force [N] on the plate at every step of a model."""
    simulation = start(problem, model.solver, **model.options)
    return seen(simulation, range(1, model.steps + 1), lambda: float(simulation.reactions()["support.plate"][2]))


@cache
def pressing(name: str, finer: int) -> tuple[Array, Array]:
    """Return ways of the plate (n,) [m] from zero on, and forces (n,) [N] on it for a shear modulus of `UNIT`."""
    across, along = MODELS[name].cells
    model = replace(MODELS[name], cells=(finer * across, finer * along))
    problem = problem_of(cylinder_scene(model, bonded=False))
    with warnings.catch_warnings():
        # a uniform deformation does not lock
        warnings.simplefilter("ignore", UserWarning)
        forces = [0.0, *plate_forces(model, problem)]
    # the mesh is a prism with corners on the circle, so it is smaller
    share = problem.masses.sum() / (1000.0 * AREA * data.ECOFLEX_HEIGHT)
    return np.linspace(0.0, model.depth, model.steps + 1), np.array(forces) / share


def predicted(name: str, phantom: str, ways: Array, finer: int) -> Array:
    """Return the force [N] on the plate at `ways` (n,) [m] with the published shear modulus."""
    (shear,), _ = data.published_ecoflex(phantom)
    known, forces = pressing(name, finer)
    return np.asarray(CubicSpline(known, forces)(ways)) * shear / UNIT


@cache
def _measured(phantom: str, test: str) -> tuple[Array, Array]:
    record = data.read_ecoflex(phantom, test)
    assert record.path is not None and record.force is not None
    return -record.path.values[:, 2], -record.force.values[:, 2]


def _at_third(phantom: str) -> Array:
    """Return the forces of the tests at 30 % compression (3,) [N]."""
    return np.array([np.interp(THIRD, *_measured(phantom, test)) for test in data.ECOFLEX_TESTS])


def _area(force: float, forces: Array) -> float:
    return PERCENT * area_metric(force, forces, float(forces.mean())).total


def against(name: str) -> Measurement:
    """Return what a model gives, on the last of its meshes."""
    return refined(partial(_against, name), MODELS[name].meshes)


def _against(name: str, finer: int) -> Values:
    """Return, per phantom, the force at 30 % [N] and the error of the force curve [%] up to the model's depth.

    The area [%] is that between the force at 30 % and the three tests', over their mean.
    For finite elements also the residual S [kPa] of the nominal stress up to the end, root mean square over the tests,
    which the authors state for their own fit of the same law.
    """
    found: dict[str, float] = {}
    depth = MODELS[name].depth
    even = np.linspace(0.0, depth, 200)
    for phantom in data.ECOFLEX_PHANTOMS:
        curves = [_measured(phantom, test) for test in data.ECOFLEX_TESTS]
        force = float(predicted(name, phantom, np.array([THIRD]), finer)[0])
        found[f"force at 30 %, {phantom}"] = force
        found[f"area at 30 %, {phantom}"] = _area(force, _at_third(phantom))
        mean = np.mean([np.interp(even, way, force) for way, force in curves], axis=0)
        error = force_curve_error(even, predicted(name, phantom, even, finer), even, mean)
        found[f"force curve, {phantom}"] = PERCENT * error
        if depth == FULL:
            left = [np.square(predicted(name, phantom, way, finer) - force).mean() for way, force in curves]
            found[f"residual S, {phantom}"] = 1e-3 * float(np.sqrt(np.mean(left))) / AREA
    return found


def as_measured() -> Values:
    """Return means over the tests: force at 30 % [N]; and the largest error of one test's curve from the mean [%].

    The area [%] is the largest one between the force of one test and all three, over their mean.
    """
    found: dict[str, float] = {}
    even = np.linspace(0.0, FULL, 200)
    for phantom in data.ECOFLEX_PHANTOMS:
        curves = [_measured(phantom, test) for test in data.ECOFLEX_TESTS]
        forces = _at_third(phantom)
        found[f"force at 30 %, {phantom}"] = float(forces.mean())
        found[f"area at 30 %, {phantom}"] = max(_area(force, forces) for force in forces)
        each = [np.interp(even, way, force) for way, force in curves]
        errors = [force_curve_error(even, curve, even, np.mean(each, axis=0)) for curve in each]
        found[f"force curve, {phantom}"] = PERCENT * max(errors)
    return found


def friction() -> Values:
    """Return the stiffness of a nearly incompressible cylinder bonded to both plates over one that slips [1]."""
    small = Model("fem", (12, 8), "hex", 0.499, 1e-3, 1, {"formulation": "b-bar", "stepper": "static", "step": 1.0})
    bonded, slips = (plate_forces(small, problem_of(cylinder_scene(small, bonded=held)))[0] for held in (True, False))
    return {"bonded over slipping": bonded / slips}


def _check(identity: str, compute: Compute, name: str, **more: Any) -> Check:
    return check(f"measured.ecoflex{identity}", with_data(data.ECOFLEX, compute), name=f"ecoflex-{name}", **more)


CHECKS = {
    "measured": (
        _check("", as_measured, "data", quick=True, solvers=()),
        *(_check(f"/{name}", partial(against, name), name, solvers=(MODELS[name].solver,)) for name in MODELS),
        check("measured.ecoflex/friction", friction, name="ecoflex-friction"),
    )
}
