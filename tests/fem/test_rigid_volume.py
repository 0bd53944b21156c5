"""Bodies of rigid volume in time: pressures that settle, whatever the rule, the units and the impacts."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.checks.running import EQUAL_RATIO, FLOOR, Data, box_scene, path, run_to, side, start


def some_more(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.exhaustive) for name in names]


def box(*, length: float = 1.0, mass: float = 1.0, time: float = 1.0, **more: Any) -> Data:
    stress = mass / length / time**2
    law = EQUAL_RATIO["voigt"] | {"young": 300.0 * stress, "viscosity": 60.0 * stress * time}
    more |= {"density": 5.0 * mass / length**3, "thickness": length, "duration": 2.0 * time}
    return box_scene(law, size=[2.0 * length, length], cells=[4, 4], **more)


@pytest.mark.parametrize("stepper", ["midpoint", "quasi-static", *some_more("cayley", "generalized-alpha")])
@pytest.mark.parametrize("formulation", ["taylor-hood", "stabilized", *some_more("mini", "node")])
def test_a_block_in_a_trough_weighs_what_it_weighs(formulation: str, stepper: str) -> None:
    """Nothing can move but the pressure, which carries the weight of 10 N at every step once waves have died out.
    A pressure balanced at mid-step alternates between nothing and twice its value for ever."""
    walls = {name: side(name, fix=["x"]) for name in ("left", "right")}
    data = box(supports=walls | {"floor": side("bottom", fix=["y"])}, gravity=[0.0, -1.0])
    simulation = start(data, step=0.01, stepper=stepper, formulation=formulation, incompressible=True)
    for step in (199, 200):
        run_to(simulation, 0.01 * step)
        # modes of a damping rate of about 10/s have lost exp(-20) by then; rounding leaves 1e-8 of mu times the area
        assert simulation.reactions()["support.floor"][1] == pytest.approx(-10.0, rel=1e-5)


def pressed(**units: float) -> Data:
    length, time = units.get("length", 1.0), units.get("time", 1.0)
    motion = path([0.0, time, 2.0 * time], [[0.0, 0.0], *[[0.0, -0.1 * length]] * 2])
    bar = {"shape": "bar", "center": [length, length], "normal": [0.0, -1.0], "width": length, "motion": motion}
    return box(supports=FLOOR, tools={"bar": bar}, **units)


@pytest.mark.parametrize("formulation", ["taylor-hood", *some_more("stabilized", "node")])
def test_a_held_bar_feels_a_steady_force(formulation: str) -> None:
    """A second after the bar has stopped all rules agree, and one step with the next: impacts keep volumes as well."""
    forces = {}
    for stepper in ("midpoint", "generalized-alpha", "quasi-static"):
        simulation = start(pressed(), step=0.01, stepper=stepper, formulation=formulation, incompressible=True)
        run_to(simulation, 1.99)
        before = simulation.reactions()["tool.bar"][1]
        run_to(simulation, 2.0)
        forces[stepper] = simulation.reactions()["tool.bar"][1]
        assert before == pytest.approx(forces[stepper], rel=1e-4)
    assert forces["midpoint"] == pytest.approx(forces["quasi-static"], rel=1e-4)
    assert forces["generalized-alpha"] == pytest.approx(forces["quasi-static"], rel=1e-4)


@pytest.mark.parametrize("incompressible", [False, True])
@pytest.mark.parametrize(("length", "mass", "time"), [(1e-6, 1.0, 1.0), (1.0, 1e9, 1.0), (1e-3, 1e-9, 1e3)])
def test_units_do_not_matter(length: float, mass: float, time: float, incompressible: bool) -> None:
    """Stiffnesses and areas of different size must look neither singular nor lose digits to pivoting."""
    found = []
    for units in ({}, {"length": length, "mass": mass, "time": time}):
        scale, second = units.get("length", 1.0), units.get("time", 1.0)
        data = pressed(**units)
        simulation = start(data, step=0.02 * second, formulation="taylor-hood", incompressible=incompressible)
        run_to(simulation, 0.5 * second)
        found.append(simulation.positions / scale)
    # a rigid volume is 1e8 times as stiff as the body, so pressures and the motions they drive err by 1e-8 and more
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-6 if incompressible else 1e-9)


def test_fluids_of_dashpots_and_soft_cells() -> None:
    """Without springs the ratio of the moduli is that of the viscosities."""
    data = pressed()
    data["laws"]["stuff"] = {"model": "voigt", "young": 0.0, "poisson": 0.3, "viscosity": 60.0}
    for formulation in ("taylor-hood", "stabilized"):
        simulation = run_to(start(data, step=0.02, formulation=formulation), 0.5)
        assert simulation.reactions()["tool.bar"][1] > 0.0
    # The patches' drift is one number per cell, the other strains one per quadrature point.
    plain = start(pressed(), step=0.02, formulation="node")
    soft = start(pressed(), step=0.02, formulation="node", soft_volume=1.0)
    for simulation in (plain, soft):
        run_to(simulation, 1.0)
    found, without = soft.fields()["stress"], plain.fields()["stress"]
    assert found.shape == without.shape and 0.0 < np.abs(found - without).max() < 0.5 * np.abs(without).max()


FLAT, RING = {"plane": "stress"}, {"plane": "axisymmetric"}


@pytest.mark.parametrize(
    ("scene", "law", "options", "words"),
    [
        (RING, {}, {"formulation": "node", "soft_volume": 1.0}, "soft_volume.*rings"),
        (FLAT, {}, {"stepper": "rk4", "formulation": "node", "incompressible": True}, "node holds the volume, which a"),
        (FLAT, {"viscous_poisson": 0.1}, {"stepper": "rk4"}, "need a mass on every unknown"),
        ({}, {}, {"formulation": "element", "soft_volume": 1.0}, "soft_volume belongs to formulation = node or cell"),
    ],
)
def test_volumes_refuse_what_they_do_not_know(scene: Data, law: Data, options: Data, words: str) -> None:
    data = pressed() | scene
    if scene == RING:
        del data["thickness"]
    data["laws"]["stuff"] |= law
    with pytest.raises(RheotwinError, match=words):
        start(data, **{"step": 0.02} | options)
