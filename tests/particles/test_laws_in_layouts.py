"""Edges of every nonlinear law, in every layout and precision, are those of the loop over one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.particles.state import EXTENSION, TENSION
from rheotwin.validation.checks.running import block, put, side, truss

BASE = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
SOFTENING = {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5}
SLIDER = {"natural": 0.5, "least": 0.45, "most": 0.55}
LAWS: dict[str, dict[str, Any]] = {
    "softening": {**BASE, "softening": SOFTENING},
    "slider": {**BASE, "softening": SOFTENING, "slider": SLIDER},
    "from nothing": {**BASE, "softening": {"viscosity": 0.1, "from_stress": 0.0, "to_stress": 2.0}},
    "steep": {**BASE, "series_viscosity": 1.0e5, "softening": {"viscosity": 0.1, "from_stress": 0.5, "to_stress": 0.6}},
    "not softening": {**BASE, "softening": {"viscosity": 6.0, "from_stress": 0.05, "to_stress": 0.5}},
    "plastic": {**BASE, "young": 0.0, "softening": SOFTENING},
}
TABULATED = {
    "model": "tabulated",
    "strain": [-0.4, -0.02, 0.0, 0.05, 0.5],
    "stress": [-1.0, -0.3, 0.0, 0.4, 0.6],
    "poisson": 0.25,
    "viscosity": 0.5,
}
ALL = LAWS | {"slider alone": {**BASE, "slider": SLIDER}, "friction": {**BASE, "friction": 0.1}, "table": TABULATED}
FAST = ("structured", "unstructured")
BOX = {"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8]}


@pytest.fixture(params=list(LAWS))
def softening(request: pytest.FixtureRequest) -> dict[str, Any]:
    return LAWS[request.param]


def test_one_step_finds_the_tension_at_any_rate(softening: dict[str, Any]) -> None:
    """Rates of nine decades, below, between and above the thresholds; a second step begins from a poor guess."""
    problem = block(3, softening, body=BOX)
    random = np.random.default_rng(3)
    size = 10.0 ** random.uniform(-6.0, 3.0, len(problem.points))
    found = []
    for kernel in (*FAST, "general"):
        simulation = truss(problem, kernel=kernel, step=1e-6)
        for turn in range(2):
            velocities = np.random.default_rng(turn).standard_normal(problem.points.shape) * size[:, None]
            put(simulation, velocities=velocities)
            simulation.advance(1e9, 1)
        found.append(simulation.save()["nonlinear_edges"])
    *fast, theirs = found
    stress = np.abs(theirs[TENSION])
    assert stress.min() < 0.01 * stress.max()
    # Ends move 1e-3 of an edge at most, and its rate has ten roundings of the ends' velocities.
    rounding = 20.0 * 2.0**-52 * np.abs(theirs).max(axis=1)
    for ours in fast:
        for row in (EXTENSION, TENSION):
            np.testing.assert_allclose(ours[row], theirs[row], rtol=1e-12, atol=rounding[row])


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("name", list(ALL))
def test_a_body_moves_as_in_the_general_kernel(name: str, precision: str, kernel: str) -> None:
    """Beside topology and pressures; in single precision to seven digits of what moves."""
    pulled = block(
        3, ALL[name], body=BOX, supports={"wall": side("left")}, forces={"pull": side("right", total=[2.0, 0.5, 0.0])}
    )
    extras = {"element_pressure": 0.5, "global_pressure": 0.1, "topology_stiffness": 1.0, "step": 0.002}
    ours = truss(pulled, kernel=kernel, precision=precision, **extras)
    theirs = truss(pulled, kernel="general", **extras)
    assert ours.statistics()["kernel"] == kernel
    for simulation in (ours, theirs):
        simulation.advance(0.5, 10**9)
    assert np.abs(theirs.positions - pulled.points).max() > 1e-3
    if precision == "single":
        np.testing.assert_allclose(ours.positions, theirs.positions, atol=250 * 5.0 * 2.0**-24)
        return
    np.testing.assert_allclose(ours.positions, theirs.positions, atol=1e-11)
    for key, values in theirs.save().items():
        scale = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(ours.save()[key], values, atol=1e-9 * scale, err_msg=key)
    assert ours.energy()["stored"] == pytest.approx(theirs.energy()["stored"], rel=1e-9)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("skin", ["friction", "slider", "linear", "softer", "table"])
def test_edges_of_other_laws_keep_their_place_beside(skin: str, kernel: str) -> None:
    """Laws follow each other in the state, each in lanes of its own; halves are the same as whole."""
    skins = {
        "friction": {**BASE, "friction": 0.2},
        "slider": {**BASE, "slider": SLIDER},
        "linear": BASE,
        "softer": {**BASE, "young": 6.0, "softening": {**SOFTENING, "viscosity": 0.2}, "slider": SLIDER},
        "table": TABULATED,
    }
    problem = block(
        3,
        LAWS["softening"],
        body=BOX,
        laws={"stuff": LAWS["softening"], "skin": skins[skin]},
        supports={"wall": side("left")},
        forces={"pull": side("right", total=[2.0, 0.5, 0.0])},
    )
    extras = {"surface_laws": {"block": "skin"}, "element_pressure": 0.5, "topology_stiffness": 1.0, "step": 0.002}
    whole, halves, theirs = (truss(problem, kernel=name, **extras) for name in (kernel, kernel, "general"))
    for simulation in (whole, theirs):
        simulation.advance(1e9, 200)
    halves.advance(1e9, 77)
    halves.restore(halves.save())
    halves.advance(1e9, 123)
    np.testing.assert_equal(halves.save(), whole.save())
    assert np.abs(theirs.positions - problem.points).max() > 1e-3
    for name, values in theirs.save().items():
        scale = max(1.0, np.abs(values).max(initial=0.0))
        np.testing.assert_allclose(whole.save()[name], values, atol=1e-9 * scale, err_msg=name)


@pytest.mark.parametrize("kernel", FAST)
@pytest.mark.parametrize("precision", ["double", "single"])
def test_lanes_that_are_no_edges_leave_no_trace(kernel: str, precision: str) -> None:
    """A restored body begins with empty lanes at zero, one that runs on has what bounds of sliders left there."""
    pulled = block(
        2,
        LAWS["slider"],
        body={"size": [1.3, 0.7], "cells": [5, 3]},
        supports={"wall": side("left")},
        forces={"pull": side("right", total=[0.02, 0.005])},
    )
    whole, restored = (truss(pulled, kernel=kernel, precision=precision, step=0.002) for _ in range(2))
    whole.advance(0.2, 100)
    for _ in range(100):
        restored.advance(0.2, 1)
        restored.restore(restored.save())
    np.testing.assert_equal(restored.save(), whole.save())


@pytest.mark.parametrize("load", [-0.7, -0.35, -0.1, 0.2, 0.45, 0.6, 0.9])
def test_a_tabulated_edge_hangs_where_its_table_says(load: float) -> None:
    """One edge under a force: l/l0 - 1 is the inverse of the table, straight beyond its ends; U the area under it."""
    problem = block(
        1,
        {**TABULATED, "viscosity": 2.0},
        body={"size": [1.0], "cells": [1]},
        supports={"wall": side("left")},
        forces={"pull": side("right", total=[load])},
    )
    simulation = truss(problem, match="edge", kernel="structured", step=0.01)
    simulation.advance(400.0, 10**9)
    strain, stress = np.array(TABULATED["strain"]), np.array(TABULATED["stress"])
    slopes = np.diff(stress) / np.diff(strain)
    wanted = float(np.interp(load, stress, strain))
    wanted += max(load - stress[-1], 0.0) / slopes[-1] + min(load - stress[0], 0.0) / slopes[0]
    assert simulation.positions[1, 0] - 1.0 == pytest.approx(wanted, rel=1e-6)
    way = np.linspace(0.0, wanted, 200_001)
    curve = np.interp(way, strain, stress) + slopes[-1] * np.maximum(way - strain[-1], 0.0)
    curve += slopes[0] * np.minimum(way - strain[0], 0.0)
    assert simulation.energy()["stored"] == pytest.approx(np.trapezoid(curve, way), rel=1e-5)


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
        block(1, {**TABULATED, **change}, body={"size": [1.0], "cells": [1]})
