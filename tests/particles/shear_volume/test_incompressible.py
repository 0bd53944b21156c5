"""Constant volume in `shear-volume`: through the pressing scene, against Taylor-Hood, in what it says and refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.errors import Diverged, RheotwinError
from rheotwin.fem.solver import FemSolver
from rheotwin.loop import check_finite
from rheotwin.observers.protocol import Watched
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.shear_volume.solver import ShearVolumeSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options

VOIGT = {"model": "voigt", "young": 2.98, "viscosity": 2.98, "poisson": 0.49}
"""Shear modulus and shear viscosity of one."""
Data = dict[str, Any]
Begin = Callable[..., Simulation]


@pytest.fixture
def begin() -> Begin:
    def start(data: Data, **options: Any) -> Simulation:
        solver = ShearVolumeSolver()
        return solver.start(build_problem(scene_from_data(data)), checked_options(solver, options))

    return start


def pressed(stroke: float, *, cells: tuple[int, int] = (16, 6), hold: float = 0.0, **body: Any) -> Data:
    """Return the papers' block under a bar that comes down in ten seconds and stays (spec 8)."""
    times, places = [0.0, 10.0, 10.0 + hold], [[0.0, 0.0], [0.0, -stroke], [0.0, -stroke]]
    motion = {"times": times[: 3 if hold else 2], "displacement": places[: 3 if hold else 2]}
    bar = {"shape": "bar", "center": [40.0, 30.0], "normal": [0.0, -1.0], "width": 20.0, "motion": motion}
    box = {"shape": "box", "size": [80.0, 30.0], "cells": list(cells), "law": "stuff", "mass": 30.0}
    return {
        "schema": 1,
        "dimension": 2,
        "duration": 10.0 + hold,
        "laws": {"stuff": VOIGT},
        "bodies": {"block": {**box, **body}},
        "supports": {"floor": {"body": "block", "where": {"side": "bottom"}}},
        "tools": {"bar": bar},
        "output": {"interval": 10.0 + hold},
    }


def largest_error(data: Data, simulation: Simulation, kind: PatchKind) -> float:
    """Return the largest |R| over the rest measure of all patches."""
    problem = build_problem(scene_from_data(data))
    rows = measure_constraints(patches(kind, problem.bodies[0].mesh.t.T, problem.points), problem.points)
    return float(np.abs(rows.value(np.ascontiguousarray(simulation.positions)) / rows.rest).max())


@pytest.mark.parametrize(("kind", "width"), [("cell", 20.0), ("node", 20.0), ("cell", 120.0)])
def test_volumes_are_kept_through_the_press(kind: PatchKind, width: float, begin: Begin) -> None:
    """The bar starts at full speed, so that the first touch counts too; under a plate steps are divided."""
    data = pressed(10.0)
    data["tools"]["bar"]["width"] = width
    simulation = begin(data, step=0.01, incompressible=kind, shear="neo-hooke")
    forces = []
    for end in (*np.arange(991, 1000) * 0.01, 10.0):
        simulation.advance(end, 10**6)
        forces.append(simulation.reactions()["tool.bar"][1])
    tolerance = ShearVolumeOptions().volume_tolerance
    assert largest_error(data, simulation, kind) < tolerance
    assert simulation.statistics()["largest_volume_error"] < tolerance
    assert simulation.statistics()["divided_steps"] > 0 or width == 20.0
    # steps take turns with and without contact when its forces are not solved for together with pressures
    assert np.ptp(forces) < 0.1 * np.mean(forces)


def test_the_force_is_that_of_taylor_hood(begin: Begin) -> None:
    """Displacements live on the same points: quadratic ones on 16 x 6 squares, linear ones on 32 x 12.

    At a thousandth of the height both are linear; the bar stops at once, which volumes have to survive. What volumes
    may be off makes forces of single steps scatter, by 1 % of so small a force at the default tolerance.
    """
    solver = FemSolver()
    problem = build_problem(scene_from_data(pressed(0.03, hold=10.0)))
    options = {"step": 10.0, "stepper": "quasi-static", "formulation": "taylor-hood", "incompressible": True}
    reference = solver.start(problem, checked_options(solver, options))
    pair = {"incompressible": "pair", "volume_tolerance": 1e-9}
    simulation = begin(pressed(0.03, cells=(32, 12), hold=10.0), step=0.01, **pair)
    for each in (reference, simulation):
        each.advance(20.0, 10**6)
    assert simulation.statistics()["largest_volume_error"] < 1e-8
    assert simulation.reactions()["tool.bar"][1] == pytest.approx(reference.reactions()["tool.bar"][1], rel=0.03)


def test_constraints_per_element_say_that_they_lock(begin: Begin) -> None:
    with pytest.warns(UserWarning, match=r"seed mode .* 204 dof, 192 constraints, rank 192, 12 free modes: expect"):
        simulation = begin(pressed(10.0), step=0.01, incompressible="element")
    assert simulation.statistics()["free_modes"] == 12


def test_where_constraints_contradict_each_other_the_run_stops(begin: Begin) -> None:
    """Bar and constraints per element have no common motion (spec 5); the caller of `advance` is told, not left nan."""
    data = pressed(10.0)
    with pytest.warns(UserWarning, match="expect locking"):
        simulation = begin(data, step=0.01, incompressible="element")
    simulation.advance(10.0, 10**6)
    assert simulation.time < 2.0
    with pytest.raises(Diverged, match="the run diverged at t = "):
        check_finite(Watched(build_problem(scene_from_data(data)), simulation, 10.0))


def test_a_run_goes_on_bitwise_from_a_checkpoint(begin: Begin) -> None:
    data = pressed(10.0)
    once, twice = (begin(data, step=0.01, incompressible="cell") for _ in range(2))
    once.advance(0.5, 10**6)
    twice.restore(once.save())
    for each in (once, twice):
        each.advance(0.8, 10**6)
    np.testing.assert_array_equal(once.positions, twice.positions)
    np.testing.assert_array_equal(once.save()["multipliers"], twice.save()["multipliers"])


@pytest.mark.parametrize(
    ("change", "options", "sentence"),
    [
        ({"plane": "stress"}, {"incompressible": "cell"}, "plane strain only"),
        ({}, {"incompressible": "cell", "constraint_frequency": 90.0, "step": 0.01}, "choose at most 50"),
    ],
)
def test_what_cannot_be_kept_is_refused(change: Data, options: Data, sentence: str, begin: Begin) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        begin(pressed(1.0) | change, **options)
