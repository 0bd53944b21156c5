"""Ecoflex cylinders under a plate: force of a neo-Hookean body with the authors' shear modulus, nothing fitted.

The plates slip freely, as the authors' evaluation assumes; so the deformation is uniform and cannot lock.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

from rheotwin.arrays import Array
from rheotwin.validation.checks.check import Check, Measurement, check
from rheotwin.validation.checks.running import Data, run_to, started, with_data
from rheotwin.validation.checks.running import problem_of as problem_of
from rheotwin.validation.experiments import datasets as data
from rheotwin.validation.metrics import force_curve_error

AREA = float(np.pi) * data.ECOFLEX_DIAMETER**2 / 4.0
FULL, THIRD = 0.020, 0.009
"""Way of the plate at the end [m], and at 30 % compression."""
UNIT = 1e3
"""Shear modulus [Pa] of the runs: the force of a neo-Hookean body, or of one of springs, is proportional to it."""
PERCENT = 100.0


@dataclass(frozen=True)
class Model:
    """How the cylinder is modelled; `steps` forces are read up to `depth` [m]."""

    solver: str
    cells: tuple[int, int]
    cell: str
    poisson: float
    depth: float
    steps: int
    options: Data = field(default_factory=dict)


MODELS = {
    "fem": Model(
        "fem", (4, 2), "hex", 0.49, FULL, 40, {"kinematics": "total-lagrangian", "stepper": "quasi-static", "step": 0.5}
    ),
    # springs lie flat beyond
    "truss": Model("truss", (8, 6), "tet", 0.45, 0.012, 24, {"stepper": "implicit", "step": 0.1}),
}


def cylinder_scene(model: Model, *, bonded: bool, radius: float = data.ECOFLEX_DIAMETER / 2.0) -> Data:
    """Return the scene of a cylinder of shear modulus `UNIT` that a plate presses by `depth`, one force a second."""
    young = 2.0 * UNIT * (1.0 + model.poisson)
    fix = ["x", "y", "z"] if bonded else ["z"]
    motion = {"times": [0.0, float(model.steps)], "displacement": [[0.0] * 3, [0.0, 0.0, -model.depth]]}
    supports: Data = {
        "table": {"body": "phantom", "where": {"side": "bottom"}, "fix": fix},
        "plate": {"body": "phantom", "where": {"side": "top"}, "fix": fix, "motion": motion},
    }
    if not bonded:
        supports["middle"] = {"body": "phantom", "where": {"nearest": [0.0, 0.0, 0.0]}, "fix": ["x", "y"]}
        supports["turn"] = {"body": "phantom", "where": {"nearest": [radius, 0.0, 0.0]}, "fix": ["y"]}
    body = {"shape": "cylinder", "radius": radius, "height": data.ECOFLEX_HEIGHT, "cells": list(model.cells)}
    return {
        "schema": 1,
        "dimension": 3,
        "duration": float(model.steps),
        "laws": {"silicone": {"model": "elastic", "young": young, "poisson": model.poisson}},
        "bodies": {"phantom": body | {"cell": model.cell, "law": "silicone", "density": 1000.0}},
        "supports": supports,
        "output": {"interval": float(model.steps)},
    }


@cache
def pressing(name: str) -> tuple[Array, Array]:
    """Return ways of the plate (n,) [m] from zero on, and forces (n,) [N] on it for a shear modulus of `UNIT`."""
    model = MODELS[name]
    problem = problem_of(cylinder_scene(model, bonded=False))
    with warnings.catch_warnings():
        # a uniform deformation does not lock
        warnings.simplefilter("ignore", UserWarning)
        simulation = started(model.solver, problem, model.options)
    forces = [0.0]
    for time in range(1, model.steps + 1):
        run_to(simulation, float(time))
        forces.append(float(simulation.reactions()["support.plate"][2]))
    # the mesh is a prism with corners on the circle, so it is smaller
    share = problem.masses.sum() / (1000.0 * AREA * data.ECOFLEX_HEIGHT)
    return np.linspace(0.0, model.depth, model.steps + 1), np.array(forces) / share


def predicted(name: str, phantom: str, ways: Array) -> Array:
    """Return the force [N] on the plate at `ways` (n,) [m] with the published shear modulus."""
    (shear,), _ = data.published_ecoflex(phantom)
    known, forces = pressing(name)
    return np.asarray(CubicSpline(known, forces)(ways)) * shear / UNIT


@cache
def _measured(phantom: str, test: str) -> tuple[Array, Array]:
    record = data.read_ecoflex(phantom, test)
    assert record.path is not None and record.force is not None
    return -record.path.values[:, 2], -record.force.values[:, 2]


def against(name: str) -> Measurement:
    """Return, per phantom, the force at 30 % [N] and the error of the force curve [%] up to the model's depth.

    For finite elements also the residual S [kPa] of the nominal stress up to the end, root mean square over the tests,
    which the authors state for their own fit of the same law.
    """
    found: dict[str, float] = {}
    depth = MODELS[name].depth
    even = np.linspace(0.0, depth, 200)
    for phantom in data.ECOFLEX_PHANTOMS:
        curves = [_measured(phantom, test) for test in data.ECOFLEX_TESTS]
        found[f"force at 30 %, {phantom}"] = float(predicted(name, phantom, np.array([THIRD]))[0])
        mean = np.mean([np.interp(even, way, force) for way, force in curves], axis=0)
        error = force_curve_error(even, predicted(name, phantom, even), even, mean)
        found[f"force curve, {phantom}"] = PERCENT * error
        if depth == FULL:
            left = [np.square(predicted(name, phantom, way) - force).mean() for way, force in curves]
            found[f"residual S, {phantom}"] = 1e-3 * float(np.sqrt(np.mean(left))) / AREA
    return Measurement(found)


def as_measured() -> Measurement:
    """Return means over the tests: force at 30 % [N]; and the largest error of one test's curve from the mean [%]."""
    found: dict[str, float] = {}
    even = np.linspace(0.0, FULL, 200)
    for phantom in data.ECOFLEX_PHANTOMS:
        curves = [_measured(phantom, test) for test in data.ECOFLEX_TESTS]
        found[f"force at 30 %, {phantom}"] = float(np.mean([np.interp(THIRD, way, force) for way, force in curves]))
        each = [np.interp(even, way, force) for way, force in curves]
        errors = [force_curve_error(even, curve, even, np.mean(each, axis=0)) for curve in each]
        found[f"force curve, {phantom}"] = PERCENT * max(errors)
    return Measurement(found)


def friction() -> Measurement:
    """Return the stiffness of a nearly incompressible cylinder bonded to both plates over one that slips [1]."""
    small = Model("fem", (12, 8), "hex", 0.499, 1e-3, 1, {"formulation": "b-bar", "stepper": "static", "step": 1.0})
    force = []
    for bonded in (True, False):
        simulation = started("fem", problem_of(cylinder_scene(small, bonded=bonded)), small.options)
        run_to(simulation, 1.0)
        force.append(float(simulation.reactions()["support.plate"][2]))
    return Measurement({"bonded over slipping": force[0] / force[1]})


def _of(name: str) -> Callable[[], Measurement]:
    return with_data(data.ECOFLEX, lambda: against(name))


def checks() -> tuple[Check, ...]:
    """Return the checks: the data, one per model, the influence of friction."""
    return (
        check("measured.ecoflex", with_data(data.ECOFLEX, as_measured), name="ecoflex-data", quick=True, solvers=()),
        *(
            check(f"measured.ecoflex/{name}", _of(name), name=f"ecoflex-{name}", solvers=(model.solver,))
            for name, model in MODELS.items()
        ),
        check("measured.ecoflex/friction", friction, name="ecoflex-friction"),
    )


CHECKS = {"measured": checks()}
