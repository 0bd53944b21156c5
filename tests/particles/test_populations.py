"""Populations: a lane is what a run alone would be, and both are what the truss makes of the scene."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles import TrussSolver
from rheotwin.particles.populations import TrussPopulation
from rheotwin.population import Courses, Laws
from rheotwin.problem import Problem
from rheotwin.scene.load import law_from_data
from rheotwin.solver import checked_options
from rheotwin.validation.checks.running import Data, box_scene, path, problem_of, run_to, side, start

TIMES = np.array([0.1, 0.25, 0.3, 0.4])
CORE = {
    "model": "three-element",
    "young": 2000.0,
    "poisson": 0.25,
    "voigt_viscosity": 500.0,
    "series_viscosity": 3000.0,
}
SURFACE = CORE | {"young": 1200.0, "voigt_viscosity": 900.0, "series_viscosity": 1500.0}
SETS: list[Laws] = [
    {
        "stuff": law_from_data("stuff", CORE | {"young": k}),
        "skin": law_from_data("skin", SURFACE | {"young": other}),
    }
    for k, other in zip(np.linspace(500.0, 3000.0, 16), np.linspace(2500.0, 400.0, 16), strict=True)
]
STRUCTURES: dict[str, Data] = {
    "M1": {},
    "M2": {"local_volume": True},
    "M2'": {"local_volume": True, "local_volume_scale": 1.0, "voxel_laws": {"block": "stuff"}},
    "M3G": {"global_pressure": 1e4, "global_pressure_damping": 50.0},
    "M4": {"local_volume": True, "global_pressure": 1e4},
}


def pushed(cell: str = "hex", **more: Any) -> Problem:
    """A block of 3 x 2 x 2 cells, pushed at a part of its top, and let go."""
    punch = side("top", motion=path((0.0, 0.25), [[0.0] * 3, [0.1, 0.0, -0.3]]), until=0.3)
    punch["where"] = {"box": {"x": [0.9, 2.1], "z": [1.9, 2.1]}}
    supports = {"floor": side("bottom"), "punch": punch}
    data = box_scene(CORE, cells=[3, 2, 2], cell=cell, equal_mass=36 * 1.0, duration=0.4, supports=supports, **more)
    data["laws"]["skin"] = SURFACE
    return problem_of(data)


def population(problem: Problem, **options: Any) -> TrussPopulation:
    chosen = {"match": "edge", "surface_laws": {"block": "skin"}, **options}
    found = TrussSolver().population(problem, checked_options(TrussSolver(), chosen))
    assert isinstance(found, TrussPopulation)
    return found


def alone(found: TrussPopulation, sets: list[Laws]) -> Courses:
    """Every set in a run of its own."""
    runs = [found.run([laws], TIMES) for laws in sets]
    places = np.stack([run.places[..., 0] for run in runs], axis=-1)
    forces = {name: np.stack([run.forces[name][..., 0] for run in runs], axis=-1) for name in runs[0].forces}
    return Courses(places, forces, tuple(run.reasons[0] for run in runs))


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_lane_has_the_bits_of_a_run_alone(structure: str, precision: str) -> None:
    found = population(pushed(), precision=precision, **STRUCTURES[structure])
    sets = SETS[: found.lanes]
    together, one_by_one = found.run(sets, TIMES), alone(found, sets)
    assert found.lanes == {"double": 8, "single": 16}[precision]
    assert (together.places == one_by_one.places).all()
    assert all((together.forces[name] == one_by_one.forces[name]).all() for name in together.forces)
    assert np.ptp(together.places[-1], axis=-1).max() > 1e-3  # sets differ
    assert together.reasons == one_by_one.reasons == (None,) * len(sets)


@pytest.mark.parametrize("cell", ["hex", "tet"])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_population_comes_as_close_to_the_truss_as_its_steps_are_short(structure: str, cell: str) -> None:
    options = {**STRUCTURES[structure]}
    if cell == "tet" and "local_volume" in options:
        pytest.skip("tets have no diagonals")
    problem = pushed(cell)
    errors, forces = [], []
    simulation = start(problem, "truss", match="edge", surface_laws={"block": "skin"}, step=1e-4, **options)
    wanted = []
    for time in TIMES:
        run_to(simulation, float(time))
        wanted.append((simulation.positions.T.copy(), simulation.reactions()["support.punch"]))
    for step in (8e-3, 4e-3, 2e-3):
        run = population(problem, step=step, **options).run([{}], TIMES)
        errors.append(max(np.abs(run.places[k, ..., 0] - place).max() for k, (place, _) in enumerate(wanted)))
        off = run.forces["support.punch"][0, :, 0] - wanted[0][1]
        forces.append(float(np.linalg.norm(off) / np.linalg.norm(wanted[0][1])))
    assert errors[0] < 0.02
    assert errors[2] < 0.6 * errors[1] < 0.36 * errors[0], errors
    assert forces[2] < 0.02


def test_weights_and_forces_act_in_every_lane() -> None:
    """Held at its floor, a block under its weight and a force that grows creeps as the truss does."""
    grown = {"press": side("top", total=[50.0, 0.0, -200.0], times=[0.0, 0.4], factor=[0.0, 1.0])}
    data = box_scene(
        CORE, cells=[2, 2, 1], equal_mass=18.0, duration=0.4, supports={"floor": side("bottom")}, forces=grown,
        gravity=[0.0, 0.0, -9.81],
    )  # fmt: skip
    data["laws"]["skin"] = SURFACE
    problem = problem_of(data)
    run = population(problem, step=1e-3).run([{}] * 3, TIMES)
    simulation = run_to(start(problem, "truss", match="edge", surface_laws={"block": "skin"}, step=1e-4), 0.4)
    way = simulation.positions - problem.points
    assert np.abs(way).max() > 0.01
    for lane in range(3):
        np.testing.assert_allclose(run.places[-1, ..., lane].T - problem.points, way, atol=0.01 * np.abs(way).max())
    weight = problem.masses.sum() * 9.81 + 200.0
    assert run.forces["support.floor"][-1, 2, 0] == pytest.approx(-weight, rel=0.02)


def test_a_set_that_lanes_cannot_step_says_so_and_leaves_the_others_alone() -> None:
    found = population(pushed())
    maxwell = {"stuff": law_from_data("stuff", CORE | {"voigt_viscosity": 0.0})}
    run, good = found.run([SETS[0], maxwell, SETS[1]], TIMES), found.run([SETS[0], SETS[1]], TIMES)
    assert run.reasons[0] is run.reasons[2] is None
    assert run.reasons[1] is not None and "laws.stuff: has no viscosity beside its springs" in run.reasons[1]
    assert (run.places[..., [0, 2]] == good.places[..., :2]).all()


@pytest.mark.parametrize(
    ("scene", "options", "sentence"),
    [
        ({}, {"match": "length", "volume_term": False}, "the laws are not those of edges"),
        ({}, {"stepper": "euler"}, "its stepper is not"),
        ({"contact": {"law": "exact"}}, {}, "it has contact"),
    ],
)
def test_what_lanes_do_not_know_is_one_sentence(scene: Data, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=f"several sets of laws at a time are beyond this scene: .*{sentence}"):
        population(pushed(**scene), **options)


def test_a_pressure_that_only_tells_the_volume_is_left_out() -> None:
    plain, told = population(pushed()), population(pushed(), global_pressure=1e-9)
    assert (plain.run(SETS[:8], TIMES).places == told.run(SETS[:8], TIMES).places).all()
