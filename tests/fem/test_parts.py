"""Bodies whose parts have laws of their own: two laws in series, against closed forms and against bodies of one law."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.solver import Simulation, check_capabilities, find_solver
from rheotwin.validation.checks.running import RHEOLOGICAL, Data, box_scene, path, problem_of, run_to, side, start

POISSON = 0.2
ELASTIC: Data = {"model": "elastic", "young": 3.0, "poisson": POISSON}
MAXWELL: Data = {"model": "maxwell", "young": 2.0, "poisson": POISSON, "viscosity": 1.0}
THREE: Data = RHEOLOGICAL | {"young": 2.0, "poisson": POISSON, "voigt_viscosity": 1.0, "series_viscosity": 5.0}
SLANTED: Data = {"model": "voigt", "young": 2.0, "poisson": POISSON, "viscosity": 0.5, "viscous_poisson": 0.0}
EXHAUSTIVE = pytest.mark.exhaustive
CELLS = {"line": (1, "strain"), "triangle": (2, "strain"), "quad": (2, "stress"), "tet": (3, ""), "hex": (3, "")}


def bar(own: Data, other: Data | None, *, cell: str = "triangle", confined: bool = True, **more: Any) -> Data:
    """Return a bar of length 2 along x whose half x > 1 is of another law; it is held sideways if `confined`."""
    dimension, plane = CELLS[cell]
    plane = more.pop("plane", plane)
    supports: Data = {"foot": side("left", fix=["x"])} | more.pop("supports", {})
    sides = {1: {}, 2: {"y": "bottom"}, 3: {"y": "front", "z": "bottom"}}[dimension]
    for axis, name in sides.items():
        wall = side(name, fix=[axis])
        supports[f"wall-{axis}"] = wall | {"where": {"box": {"x": [0.0, 2.0]}}} if confined else wall
    more |= {"plane": plane} if dimension == 2 else {}
    shape: Data = {"size": [2.0, 1.0, 1.0][:dimension], "cells": [4, 2, 2][:dimension], "cell": cell}
    data = box_scene(own, supports=supports, **{"duration": 2.0} | shape | more)
    if other is not None:
        data["laws"]["other"] = other
        data["bodies"]["block"]["parts"] = {"half": {"where": {"box": {"x": [1.0, 2.0]}}, "law": "other"}}
    return data


def ran(until: float, *scenes: Data, **options: Any) -> list[Simulation]:
    """Run scenes by the same options."""
    simulations = [start(data, **options) for data in scenes]
    for simulation in simulations:
        run_to(simulation, until)
    return simulations


def check_fields(found: Simulation, expected: Simulation, close: float, *names: str, least: float = 1e-300) -> None:
    """Fields agree to a share of their largest value."""
    for name in names or expected.fields():
        field = expected.fields()[name]
        np.testing.assert_allclose(found.fields()[name], field, atol=close * max(least, np.abs(field).max()))


def modulus(cell: str) -> float:
    """Stress along x per unit strain and Young's modulus of a confined bar."""
    dimension, plane = CELLS[cell]
    if dimension == 1:
        return 1.0
    if plane == "stress":
        return 1.0 / (1.0 - POISSON**2)
    return (1.0 - POISSON) / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))


def pull(dimension: int, total: float = 0.1) -> Data:
    return {"pull": side("right", total=[total, 0.0, 0.0][:dimension])}


def drive(dimension: int, times: list[float], way: list[float]) -> Data:
    return {"drive": side("right", fix=["x"], motion=path(times, [[x, 0.0, 0.0][:dimension] for x in way]))}


@pytest.mark.parametrize("history", ["nodal", pytest.param("quadrature", marks=EXHAUSTIVE)])
@pytest.mark.parametrize(("cell", "order"), [*((cell, 1) for cell in CELLS), ("triangle", 2), ("tet", 2)])
def test_elastic_and_maxwell_in_series_relax_as_one_maxwell_element(cell: str, order: int, history: str) -> None:
    """Per area 1/k = 1/k1 + 1/k2, tau = c/k: F = c d' (1 - exp(-t/tau)) on the ramp, then it decays."""
    ramp, stretch, h = 0.5, 0.1, 0.02
    dimension = CELLS[cell][0]
    data = bar(ELASTIC, MAXWELL, cell=cell, supports=drive(dimension, [0.0, ramp, 2.0], [0.0, stretch, stretch]))
    simulation = start(data, stepper="quasi-static", step=h, history=history, order=order)
    unit = modulus(cell)
    k = unit / (1.0 / ELASTIC["young"] + 1.0 / MAXWELL["young"])
    viscosity = unit * MAXWELL["viscosity"]
    rate, tau = stretch / ramp, viscosity / k
    for time in (ramp, 1.0, 2.0):
        run_to(simulation, time)
        force = viscosity * rate * (1.0 - np.exp(-min(time, ramp) / tau)) * np.exp(-max(time - ramp, 0.0) / tau)
        # of order 2: the seam moves by exponentials of time, within a step by (h/tau)^2/8 off a line
        assert -simulation.reactions()["support.drive"][0] == pytest.approx(force, rel=(h / tau) ** 2)
        stress = simulation.fields()["stress"]
        np.testing.assert_allclose(stress[:, 0], stress[0, 0], rtol=1e-9)  # one force through both laws
        assert stress[0, 0] == pytest.approx(force, rel=(h / tau) ** 2)
        strain = simulation.fields()["strain"][:, 0]
        x = problem_of(data).points[:, 0]
        assert strain[x == 0.0] == pytest.approx(stress[0, 0] / (unit * ELASTIC["young"]), rel=1e-9)
        both = strain[x == 0.0].mean() + strain[x == 2.0].mean()  # each is one long
        assert both == pytest.approx(rate * min(time, ramp), rel=1e-9)


@pytest.mark.parametrize(
    "cell", ["triangle", *(pytest.param(cell, marks=EXHAUSTIVE) for cell in CELLS if cell != "triangle")]
)
def test_elastic_and_three_elements_in_series_creep_each_on_its_own(cell: str) -> None:
    """u = F [1/E1 + (1 - exp(-E2 t/eta1))/E2 + t/eta2] under a constant force."""
    dimension, h = CELLS[cell][0], 1e-3
    data = bar(ELASTIC, THREE, cell=cell, forces=pull(dimension))
    problem = problem_of(data)
    simulation = start(problem, stepper="quasi-static", step=h)
    run_to(simulation, 1.0)
    moved = (simulation.positions - problem.points)[:, 0]
    force, unit, x = 0.1, modulus(cell), problem.points[:, 0]
    spring, inner, outer = THREE["young"], THREE["voigt_viscosity"], THREE["series_viscosity"]
    creep = (1.0 - np.exp(-spring / inner)) / spring + 1.0 / outer
    assert moved[x == 1.0] == pytest.approx(force / unit / ELASTIC["young"], rel=1e-9)
    # of order 1 with a dashpot: a step lags by h/2 tau
    tau = inner / spring
    assert moved[x == 2.0] == pytest.approx(force / unit * (1.0 / ELASTIC["young"] + creep), rel=h / tau)
    energy, voigt = simulation.energy(), force / unit / spring * (1.0 - np.exp(-spring / inner))
    stored = 0.5 * force**2 / unit / ELASTIC["young"] + 0.5 * unit * spring * voigt**2
    assert energy["stored"] == pytest.approx(stored, rel=5.0 * h / tau)
    assert abs(energy["defect"]) <= 0.1 * (h / tau) ** 2 * energy["external"]  # of the first step, where stress jumps


QUASI_STATIC = {"stepper": "quasi-static"}
STEPS = {"central-difference": 1e-3, "euler": 5e-4, "rk4": 1e-3}
STEPPERS = ("midpoint", "cayley", "generalized-alpha", "adaptive", "quasi-static", *STEPS)
OPTIONS = [{"stepper": stepper} for stepper in STEPPERS]
CONSTRAINED = {"stepper": "rk4", "formulation": "node", "incompressible": True}
"""Volumes are constraints of the whole body, shear is that of each part."""
OPTIONS += [CONSTRAINED] + [
    options | {"history": "quadrature"} for options in OPTIONS if options["stepper"] != "central-difference"
]


@pytest.mark.parametrize("options", OPTIONS)
def test_a_part_of_the_same_law_changes_nothing(options: Data) -> None:
    plane = "strain" if "formulation" in options else "stress"
    more: Data = {"confined": False, "forces": pull(2), "density": 10.0, "plane": plane}
    whole, split = ran(
        0.2,
        *(bar(THREE, other, **more) for other in (None, THREE)),
        step=STEPS.get(options["stepper"], 0.02),
        **options,
    )
    check_fields(split, whole, 1e-9, least=1e-3)
    assert np.abs(whole.fields()["displacement"]).max() > 1e-4
    assert split.energy() == pytest.approx(whole.energy(), rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("cell", ["line", "triangle", "quad", "tet"])
@pytest.mark.parametrize("law", [ELASTIC, SLANTED], ids=["one ratio", "two ratios"])
def test_static_parts_of_the_same_law_change_nothing(cell: str, law: Data) -> None:
    more: Data = {"cell": cell, "confined": False, "forces": pull(CELLS[cell][0])}
    whole, split = ran(0.1, *(bar(law, other, **more) for other in (None, law)), stepper="static")
    check_fields(split, whole, 1e-12, "displacement", "stress", "strain")


def test_plane_stress_of_one_ratio_beside_two_ratios() -> None:
    """Where a law of two Poisson ratios adds the ZZ strain as an unknown, at rest it is the eliminated one."""
    more: Data = {"cell": "quad", "confined": False, "forces": pull(2), "duration": 20.0}
    settled = {"model": "elastic", "young": SLANTED["young"], "poisson": POISSON}
    unknown, eliminated = ran(20.0, *(bar(ELASTIC, law, **more) for law in (SLANTED, settled)), stepper="static")
    check_fields(unknown, eliminated, 1e-12, "displacement", "stress", "strain")
    assert np.abs(eliminated.fields()["strain"][:, 2]).max() > 1e-3


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        ("tet", QUASI_STATIC),
        ("tet", {"history": "quadrature"}),
        ("tet", {"stepper": "rk4", "step": 0.001}),
        ("triangle", {"kinematics": "total-lagrangian"}),
        ("triangle", {"formulation": "taylor-hood"}),
    ],
)
def test_a_continued_run_is_bitwise_the_uninterrupted_one(cell: str, options: Data) -> None:
    data = bar(ELASTIC, THREE, cell=cell, forces=pull(CELLS[cell][0]), density=10.0)
    first, second = (start(data, **{"step": 0.01} | options) for _ in range(2))
    run_to(first, 0.05)
    second.restore(first.save())
    for simulation in (first, second):
        run_to(simulation, 0.1)
    for name, field in first.fields().items():
        np.testing.assert_array_equal(second.fields()[name], field)


def test_later_parts_win_and_the_rest_is_the_bodys_own() -> None:
    data = bar(ELASTIC, MAXWELL, cell="quad")
    data["bodies"]["block"]["parts"]["corner"] = {"where": {"box": {"x": [1.5, 2], "y": [0.5, 1]}}, "law": "stuff"}
    body = problem_of(data).bodies[0]
    places, _, cells = zip(*body.laws, strict=True)
    assert places == ("bodies.block.law", "bodies.block.parts.half.law", "bodies.block.parts.corner.law")
    middle = body.mesh.p[:, body.mesh.t].mean(axis=1)
    assert [len(chosen) for chosen in cells] == [4, 3, 1]
    assert np.all(middle[0, cells[0]] < 1.0) and np.all(middle[0, cells[1]] > 1.0)
    np.testing.assert_allclose(middle[:, cells[2]].ravel(), [1.75, 0.75])


EVERYWHERE = {"where": {"box": {"x": [0.0, 2.0]}}, "law": "other"}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (EVERYWHERE, r"bodies\.block\.parts\.half\.where: later parts take all its cells"),
        ({"law": "othr"}, r"bodies\.block\.parts\.half\.law: no law is named 'othr' \(did you mean 'other'\?\)"),
        ({"where": {"box": {"z": [0.0, 1.0]}}}, r"bodies\.block\.parts\.half\.where\.box\.z: there is no z in a 2D"),
        ({"where": {"side": "back"}}, r"bodies\.block\.parts\.half\.where\.side: 'back' does not exist in 2D"),
        ({"where": {"nearest": [0.0]}}, r"bodies\.block\.parts\.half\.where\.nearest: needs 2 component"),
        ({"where": {"region": "rod"}}, r"bodies\.block\.parts\.half\.where\.region: only bodies from mesh files"),
        ({"where": {"side": "left"}}, r"bodies\.block\.parts\.half\.where: no cell has all its corners in it"),
        ({"where": {"box": {"x": [9.0, 10.0]}}}, r"bodies\.block\.parts\.half\.where: selects no node"),
    ],
)
def test_faults_are_named(part: Data, words: str) -> None:
    data = bar(ELASTIC, MAXWELL)
    parts = data["bodies"]["block"]["parts"]
    parts |= {"all": part} if part is EVERYWHERE else {"half": parts["half"] | part}
    with pytest.raises(RheotwinError, match=words):
        problem_of(data)


PRESSURES = [
    *((cell, name) for name in ("taylor-hood", "mini", "stabilized", "node", "cell") for cell in ("triangle", "tet")),
    *((cell, name) for name in ("b-bar", "taylor-hood") for cell in ("quad", "hex")),
    ("triangle", "p2-p0"),
]


@pytest.mark.parametrize(("cell", "formulation"), PRESSURES)
def test_pressures_jump_where_laws_meet(cell: str, formulation: str) -> None:
    """Two laws in series: one strain in each half, so that pressure spaces of each law change nothing."""
    dimension = CELLS[cell][0]
    data = bar(ELASTIC, MAXWELL, cell=cell, plane="strain", supports=drive(dimension, [0.0, 0.5, 1.0], [0.0, 0.1, 0.1]))
    (plain,), (mixed,) = (
        ran(1.0, data, step=0.05, **QUASI_STATIC, **more) for more in ({}, {"formulation": formulation})
    )
    check_fields(mixed, plain, 1e-9, "displacement", "strain", "stress", "memory_stress")
    assert mixed.reactions()["support.drive"] == pytest.approx(plain.reactions()["support.drive"], rel=1e-9)
    assert mixed.energy()["stored"] == pytest.approx(plain.energy()["stored"], rel=1e-9)


@pytest.mark.parametrize("formulation", ["taylor-hood", "mini", "stabilized", "p2-p0", "node"])
def test_incompressible_parts_keep_the_volume(formulation: str) -> None:
    """A soft and a stiff half, pressed: each keeps its area, and the soft one gives way."""
    data = bar(ELASTIC, ELASTIC | {"young": 0.3}, confined=False, plane="strain", forces=pull(2, -0.02))
    (simulation,) = ran(1.0, data, step=0.1, formulation=formulation, incompressible=True, **QUASI_STATIC)
    strain = simulation.fields()["strain"]
    x = problem_of(data).points[:, 0]
    assert np.abs(strain[:, :3].sum(axis=1)).mean() < 0.05 * np.abs(strain[:, 0]).max()
    assert np.abs(strain[x > 1.0, 0]).mean() > 5.0 * np.abs(strain[x < 1.0, 0]).mean()


@pytest.mark.parametrize("stepper", ["midpoint", "quasi-static"])
@pytest.mark.parametrize("kinematics", ["corotational", "total-lagrangian"])
@pytest.mark.parametrize("cell", ["triangle", *(pytest.param(cell, marks=EXHAUSTIVE) for cell in ("quad", "tet"))])
def test_large_strain_has_parts(cell: str, kinematics: str, stepper: str) -> None:
    """A part of the same law changes nothing; of another law, small motions are those of small strain."""
    dimension, options = CELLS[cell][0], {"step": 0.1, "stepper": stepper}
    more: Data = {"cell": cell, "plane": "strain", "confined": False, "density": 1.0}
    scenes = [bar(THREE, other, forces=pull(dimension), **more) for other in (None, THREE)]
    tiny = bar(ELASTIC, MAXWELL, forces=pull(dimension, 1e-6), **more)
    (small,) = ran(1.0, tiny, **options)
    whole, split, large = ran(1.0, *scenes, tiny, kinematics=kinematics, **options)
    check_fields(split, whole, 1e-9, least=1e-12)
    # the stress of quads is averaged by elements, not by points
    compared = [name for name in small.fields() if cell != "quad" or "stress" not in name]
    check_fields(large, small, 1e-4, *compared, least=1e-12)
    assert split.energy() == pytest.approx(whole.energy(), rel=1e-8, abs=1e-12)
    assert np.abs(whole.fields()["displacement"]).max() > 1e-2


@pytest.mark.parametrize("solver", ["shear-volume", "fixed-point"])
def test_solvers_without_parts_say_so(solver: str) -> None:
    problem = problem_of(bar(ELASTIC, ELASTIC))
    with pytest.raises(InputFaults, match=r"bodies\.block\.parts: laws by part are beyond this solver"):
        check_capabilities(find_solver(solver), problem)


def test_laws_of_parts_are_asked_for_too() -> None:
    gum = {**ELASTIC, "poisson": 0.47}
    with pytest.warns(UserWarning, match=r"bodies\.block\.parts\.half\.law: linear triangle cells are too stiff"):
        start(bar(ELASTIC, gum))
    with pytest.raises(InputFaults, match=r"bodies\.block\.parts\.half\.law: a maxwell law relaxes to nothing"):
        start(bar(ELASTIC, MAXWELL), stepper="static")
    slider = {**THREE, "slider": {"natural": 0.5, "least": 0.3, "most": 0.7}}
    problem = problem_of(bar(ELASTIC, slider))
    with pytest.raises(InputFaults, match=r"parts\.half\.law: 'three-element with slider' is beyond this solver"):
        check_capabilities(find_solver("fem"), problem)
