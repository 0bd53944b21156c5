"""Edges with nonlinear laws: one answer in every layout and precision, other laws beside them, refusals."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import boundary_nodes
from rheotwin.particles.edge_laws import LawOptions
from rheotwin.particles.network import build_network
from rheotwin.particles.state import EXTENSION, TENSION
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import HELD, begin, block, pull, put, row, run_to, side, truss

BASE = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
MAXWELL = {"model": "maxwell", "young": 12.0, "poisson": 0.25, "viscosity": 4.0}
SOFTENING = {"softening": {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5}}
SLIDER = {"slider": {"natural": 0.5, "least": 0.45, "most": 0.55}}
TABLE = {
    "model": "tabulated",
    "strain": [-0.4, -0.02, 0.0, 0.05, 0.5],
    "stress": [-1.0, -0.3, 0.0, 0.4, 0.6],
    "poisson": 0.25,
    "viscosity": 0.5,
}
LAWS: dict[str, dict[str, Any]] = {
    "slider": BASE | SLIDER,
    "softening": BASE | SOFTENING,
    "softening slider": BASE | SOFTENING | SLIDER,
    "friction": {**BASE, "friction": 0.2},
    "maxwell slider": MAXWELL | SLIDER,
}
SOFT = {
    "softening slider": LAWS["softening slider"],
    "softening": LAWS["softening"],
    "from nothing": {**BASE, "softening": {"viscosity": 0.1, "from_stress": 0.0, "to_stress": 2.0}},
    "steep": {**BASE, "series_viscosity": 1.0e5, "softening": {"viscosity": 0.1, "from_stress": 0.5, "to_stress": 0.6}},
    "not softening": {**BASE, "softening": {"viscosity": 6.0, "from_stress": 0.05, "to_stress": 0.5}},
    "plastic": {**BASE, "young": 0.0} | SOFTENING,
}
ALL = LAWS | SOFT | {"table": TABLE, "dough": {**LAWS["softening"], "poisson": 0.45}}
FAST = ("structured", "unstructured")
BOX = {"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8]}
EXTRAS = {"element_pressure": 0.5, "global_pressure": 0.1, "topology_stiffness": 1.0, "step": 0.002}


def telling(cases: set[Any], *sets: Any) -> list[Any]:
    late = pytest.mark.exhaustive
    return [pytest.param(*case, marks=[] if case in cases else late) for case in product(*sets)]


all_laws = pytest.mark.parametrize("name", LAWS)


def pulled(dimension: int, law: dict[str, Any], body: dict[str, Any] | None = None, **scene: Any) -> Problem:
    forces = {"pull": side("right", total=[6.0, 0.0, 0.0][:dimension])}
    return block(dimension, law, body, **{"supports": HELD, "forces": forces} | scene)


def dragged(law: dict[str, Any], **scene: Any) -> Problem:
    return pulled(3, law, BOX, forces={"pull": side("right", total=[2.0, 0.5, 0.0])}, **scene)


def agree(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for name, values in other.items():
        scale = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(one[name], values, atol=1e-9 * scale, err_msg=name)


@pytest.mark.parametrize("name", telling({("softening slider",), ("steep",)}, SOFT))
def test_one_step_finds_the_tension_at_any_rate(name: str) -> None:
    """Rates of nine decades, below, between and above the thresholds; a second step begins from a poor guess."""
    problem = block(3, SOFT[name], BOX)
    size = 10.0 ** np.random.default_rng(3).uniform(-6.0, 3.0, (len(problem.points), 1))
    found = []
    for kernel in (*FAST, "general"):
        simulation = truss(problem, kernel=kernel, step=1e-6)
        for turn in range(2):
            put(simulation, velocities=np.random.default_rng(turn).standard_normal(problem.points.shape) * size)
            simulation.advance(1e9, 1)
        found.append(simulation.save()["nonlinear_edges"])
    *fast, theirs = found
    stress = np.abs(theirs[TENSION])
    assert stress.min() < 0.01 * stress.max()
    # Ends move 1e-3 of an edge at most, and its rate has ten roundings of the ends' velocities.
    rounding = 20.0 * 2.0**-52 * np.abs(theirs).max(axis=1)
    for ours, kept in product(fast, (EXTENSION, TENSION)):
        np.testing.assert_allclose(ours[kept], theirs[kept], rtol=1e-12, atol=rounding[kept])


MOVING = {
    ("softening slider", "double", "structured"),
    ("friction", "double", "unstructured"),
    ("table", "single", "unstructured"),
    ("dough", "double", "structured"),
}


@pytest.mark.parametrize(("name", "precision", "kernel"), telling(MOVING, ALL, ("double", "single"), FAST))
def test_a_body_moves_as_in_the_general_kernel(name: str, precision: str, kernel: str) -> None:
    """Beside topology and pressures; in single precision to seven digits of what moves."""
    problem = dragged(ALL[name])
    ours = truss(problem, kernel=kernel, precision=precision, **EXTRAS)
    theirs = truss(problem, kernel="general", **EXTRAS)
    assert ours.statistics()["kernel"] == kernel
    for simulation in (ours, theirs):
        run_to(simulation, 0.5)
    assert np.abs(theirs.positions - problem.points).max() > 1e-3
    if precision == "single":
        np.testing.assert_allclose(ours.positions, theirs.positions, atol=250 * 5.0 * 2.0**-24)
        return
    np.testing.assert_allclose(ours.positions, theirs.positions, atol=1e-11)
    agree(ours.save(), theirs.save())
    assert ours.energy()["stored"] == pytest.approx(theirs.energy()["stored"], rel=1e-9)


SKINS = {
    "friction": LAWS["friction"],
    "slider": LAWS["slider"],
    "linear": BASE,
    "softer": BASE | {"young": 6.0, "softening": {**SOFTENING["softening"], "viscosity": 0.2}},
    "table": TABLE,
}


@pytest.mark.parametrize(
    ("skin", "kernel"), telling({("linear", "structured"), ("table", "unstructured")}, SKINS, FAST)
)
def test_edges_of_other_laws_keep_their_place_beside(skin: str, kernel: str) -> None:
    """Laws follow each other in the state, each in lanes of its own; halves are the same as whole."""
    law = LAWS["softening slider"]
    problem = dragged(law, laws={"stuff": law, "skin": SKINS[skin]})
    extras = {**EXTRAS, "surface_laws": {"block": "skin"}}
    whole, halves, theirs = (truss(problem, kernel=name, **extras) for name in (kernel, kernel, "general"))
    for simulation in (whole, theirs):
        simulation.advance(1e9, 200)
    halves.advance(1e9, 77)
    halves.restore(halves.save())
    halves.advance(1e9, 123)
    np.testing.assert_equal(halves.save(), whole.save())
    assert np.abs(theirs.positions - problem.points).max() > 1e-3
    agree(whole.save(), theirs.save())


@pytest.mark.parametrize(
    ("kernel", "precision"), telling({("structured", "single"), ("unstructured", "double")}, FAST, ("double", "single"))
)
def test_lanes_that_are_no_edges_leave_no_trace(kernel: str, precision: str) -> None:
    """A restored body begins with empty lanes at zero, one that runs on has what bounds of sliders left there."""
    box, forces = {"size": [1.3, 0.7], "cells": [5, 3]}, {"pull": side("right", total=[0.02, 0.005])}
    problem = pulled(2, LAWS["softening slider"], box, forces=forces)
    whole, restored = (truss(problem, kernel=kernel, precision=precision, step=0.002) for _ in range(2))
    whole.advance(0.2, 100)
    for _ in range(100):
        restored.advance(0.2, 1)
        restored.restore(restored.save())
    np.testing.assert_equal(restored.save(), whole.save())


@pytest.mark.parametrize("load", [-0.7, -0.1, 0.2, 0.45, 0.9])
def test_a_tabulated_edge_hangs_where_its_table_says(load: float) -> None:
    """One edge under a force: l/l0 - 1 is the inverse of the table, straight beyond its ends; U the area under it."""
    simulation = begin(row({**TABLE, "viscosity": 2.0}, mass=0.5, forces=pull(load)), kernel="structured", step=0.01)
    run_to(simulation, 400.0)
    strain, stress = np.array(TABLE["strain"]), np.array(TABLE["stress"])
    slopes = np.diff(stress) / np.diff(strain)
    wanted = float(np.interp(load, stress, strain))
    wanted += max(load - stress[-1], 0.0) / slopes[-1] + min(load - stress[0], 0.0) / slopes[0]
    assert simulation.positions[1, 0] - 1.0 == pytest.approx(wanted, rel=1e-6)
    way = np.linspace(0.0, wanted, 200_001)
    curve = np.interp(way, strain, stress) + slopes[-1] * np.maximum(way - strain[-1], 0.0)
    curve += slopes[0] * np.minimum(way - strain[0], 0.0)
    assert simulation.energy()["stored"] == pytest.approx(np.trapezoid(curve, way), rel=1e-5)


def test_unit_of_length_does_not_matter() -> None:
    """A body of half the size under the same stress stretches alike: thresholds are stresses, not forces."""
    for law in (LAWS["softening slider"], LAWS["friction"]):
        found = []
        for scale in (1.0, 0.5):
            problem = pulled(2, law, {"size": [3.0 * scale, 2.0 * scale], "density": 1.0 / scale**2}, thickness=1.0)
            loads = tuple(replace(load, shares=load.shares * scale) for load in problem.loads)
            simulation = run_to(truss(replace(problem, loads=loads), step=0.004), 1.0)
            found.append(simulation.fields()["displacement"] / scale)
        np.testing.assert_allclose(found[1], found[0], atol=1e-10)


@all_laws
def test_edges_the_match_leaves_without_a_spring_do_nothing(name: str) -> None:
    """In flat cells the best fit takes some springs away: their constants are 0, and no ratio may be 0/0."""
    simulation = truss(pulled(2, LAWS[name], {"size": [12.0, 2.0], "cell": "quad"}))
    shares = np.concatenate([group.share for group in simulation.method.network.nonlinear])
    assert 0.0 < shares.min() < 1e-20 * shares.max()
    run_to(simulation, 1.0)
    assert np.all(np.isfinite(simulation.positions))
    assert np.abs(simulation.fields()["displacement"]).max() > 0.1


@pytest.mark.parametrize("surface", ["crust", "glue"])
def test_surface_edges_have_the_surfaces_law(surface: str) -> None:
    """Edges with an end on the surface, linear or not; the core keeps the body's law, and every edge its place."""
    laws = {
        "stuff": {**MAXWELL, "model": "voigt", "viscosity": 0.6},
        "crust": {**MAXWELL, "young": 30.0, "viscosity": 0.9},
        "glue": {**BASE, "young": 30.0, "friction": 0.4},
    }
    problem = block(3, laws["stuff"], body={"size": [4.0] * 3, "cells": [4, 4, 4]}, laws=laws)
    plain = build_network(problem, volume_term=False)
    network = build_network(problem, volume_term=False, laws=LawOptions(surface_laws={"block": surface}))
    on_surface = np.zeros(125, dtype=bool)
    on_surface[boundary_nodes(problem.bodies[0].mesh)] = True
    outer = on_surface[network.edges].any(axis=1)
    assert 0 < np.count_nonzero(~outer) < np.count_nonzero(outer)

    def of_same_edge(values: np.ndarray) -> np.ndarray:
        keys = [tuple(edge) for edge in plain.edges]
        return values[[keys.index(tuple(edge)) for edge in network.edges]]

    share = of_same_edge(plain.edge_constants.stiffness) / 12.0
    np.testing.assert_allclose(network.edge_constants.stiffness[~outer], 12.0 * share[~outer], rtol=1e-13)
    np.testing.assert_allclose(network.edge_constants.viscosity[~outer], 0.6 * share[~outer], rtol=1e-13)
    np.testing.assert_allclose(network.node_share.toarray(), of_same_edge(plain.node_share.toarray().T).T, rtol=1e-12)
    if surface == "crust":
        assert network.linear_edges == len(network.edges)
        np.testing.assert_allclose(network.edge_constants.arm_stiffness[0, outer], 30.0 * share[outer], rtol=1e-13)
        np.testing.assert_allclose(network.edge_constants.arm_stiffness[0, ~outer], 0.0)
    else:
        (group,) = network.nonlinear
        assert network.linear_edges == np.count_nonzero(~outer) and not outer[: network.linear_edges].any()
        np.testing.assert_allclose(group.share, share[outer], rtol=1e-13)
        np.testing.assert_allclose(group.force_share, share[outer] * network.rest_length[outer], rtol=1e-13)
        np.testing.assert_allclose(network.edge_constants.stiffness[outer], 30.0 * share[outer], rtol=1e-13)
    simulation = run_to(truss(problem, surface_laws={"block": surface}, volume_term=False), 0.1)
    assert simulation.statistics()["edges"] == len(network.edges)


def test_what_nonlinear_edges_cannot_do_and_which_ratio_they_have() -> None:
    problem = pulled(2, LAWS["softening"])
    for stepper in ("euler", "rk4", "implicit"):
        with pytest.raises(RheotwinError, match=r"solvers\.truss\.stepper.*semi-implicit"):
            truss(problem, stepper=stepper)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.local_volume.*three-element with softening"):
        truss(pulled(2, LAWS["softening"], body={"cell": "quad"}), local_volume=True)
    with pytest.warns(UserWarning, match=r"nonlinear law has no volume springs here.*0\.25, and not 0\.35"):
        simulation = truss(pulled(2, {**LAWS["friction"], "poisson": 0.35}), volume_term=False)
    assert simulation.statistics()["volume_cells"] == 0


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("name", ALL)
def test_volume_springs_of_a_nonlinear_law_are_those_of_its_spring(name: str, dimension: int) -> None:
    """Flow keeps the volume: no dashpot acts on it. A table has its slope at rest, 0.4/0.05, and its dashpot."""
    law = {**ALL[name], "poisson": 0.45}
    young = 8.0 if name == "table" else law["young"]
    elastic = {"model": "elastic", "young": max(young, 1.0), "poisson": 0.45}
    ours, theirs = (build_network(pulled(dimension, one), volume_term=True) for one in (law, elastic))
    expected = theirs.cell_constants.stiffness * young / elastic["young"]
    assert len(ours.cells) == len(ours.rest_volume) > 0
    np.testing.assert_array_equal(ours.cells, theirs.cells)
    np.testing.assert_allclose(ours.cell_constants.stiffness, expected, rtol=1e-14)
    np.testing.assert_allclose(
        ours.cell_constants.viscosity, expected * (0.5 / 8.0 if name == "table" else 0.0), rtol=1e-14
    )
    assert not ours.cell_constants.arm_stiffness.any()


def test_dough_keeps_its_area_while_it_flows() -> None:
    """Drawn to 5/3 of its length, and left, the block keeps its area by volume springs and not by edges alone."""
    motion = {"times": [0.0, 10.0], "displacement": [[0.0, 0.0], [2.0, 0.0]]}
    supports = {"left": side("left", fix=["x"]), "right": side("right", motion=motion)}
    lost = {}
    for poisson in (0.25, 0.49):
        problem = pulled(2, {**LAWS["softening"], "poisson": poisson}, supports=supports, forces={})
        simulation = run_to(truss(problem), 20.0)
        (body,) = problem.bodies
        x = np.asarray(simulation.save()["positions"])[body.mesh.t]
        a, b = x[1] - x[0], x[2] - x[0]
        lost[poisson] = 1.0 - 0.5 * np.abs(np.cross(a, b)).sum() / 6.0
    assert abs(lost[0.49]) < 0.01 < 0.1 < abs(lost[0.25])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stress": [-1.0, -0.3, 0.0, 0.4]}, "5 strains but 4 stresses"),
        ({"strain": [-0.4, -0.02, 0.0, 0.0, 0.5]}, "`strain` must increase"),
        ({"stress": [-1.0, -0.3, 0.0, 0.4, 0.3]}, "`stress` must not decrease"),
        ({"stress": [-1.0, -0.3, 0.1, 0.4, 0.6]}, "the stress at rest is 0.1 and must be 0"),
        ({"stress": [0.0] * 5}, "a stress that rises somewhere"),
    ],
)
def test_tables_that_are_no_law_are_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        block(1, {**TABLE, **change}, body={"size": [1.0], "cells": [1]})
