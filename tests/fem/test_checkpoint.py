"""N + N steps through save and restore are 2N steps, bit for bit."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import EQUAL_RATIO, FLOOR, VISCOPLASTIC, Data, box_scene, path, run_to, start
from rheotwin.validation.checks.scenes import press_scene


def everything(simulation: Simulation) -> dict[str, Any]:
    return {**simulation.save(), **simulation.fields(), **simulation.reactions(), **simulation.energy()}


def same_bits(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.asarray(found[name]).dtype == np.asarray(value).dtype
        assert np.asarray(found[name]).tobytes() == np.asarray(value).tobytes(), name


def check_restart(data: Data, at: float, end: float, **options: Any) -> Simulation:
    """Run to the end at one go, and through a checkpoint; return the resumed run."""
    whole, first, second = (start(data, **options) for _ in range(3))
    run_to(first, at)
    second.restore(first.save())
    same_bits(everything(second), everything(first))
    for simulation in (whole, second):
        run_to(simulation, end)
    assert second.time == end
    same_bits(everything(second), everything(whole))
    return second


IMPLICIT = ("midpoint", "generalized-alpha", "quasi-static", "adaptive")
PRESSED: list[Any] = [
    ("three-element", {"step": 0.2, "order": 2, "history": "quadrature"}),
    ("three-element", {"step": 0.1, "stepper": "adaptive", "tolerance": 0.02}),
    *(
        (law, {"step": 0.5, "kinematics": description, "stepper": stepper, "newton_tolerance": 1e-10})
        for law, description, stepper in (
            ("three-element", "corotational", "midpoint"),
            ("three-element", "total-lagrangian", "quasi-static"),
            ("generalized-maxwell", "corotational", "quasi-static"),
            ("generalized-maxwell", "total-lagrangian", "midpoint"),
        )
    ),
]


def heavy_press(law: Data) -> Data:
    return press_scene(law, mass=30.0) | {"gravity": [0.0, -0.5]}


@pytest.mark.parametrize(("law", "options"), PRESSED)
def test_restart_in_contact_is_exact(law: str, options: Data) -> None:
    at, end = (0.5, 1.0) if options.get("stepper") == "adaptive" else (2.0, 4.0)
    assert len(check_restart(heavy_press(EQUAL_RATIO[law]), at, end, **options).save()["contact_node"]) > 0


@pytest.mark.parametrize("stepper", ["midpoint", "rk4"])
def test_restart_of_every_law(any_law: Data, stepper: str) -> None:
    data, at, end, step = heavy_press(any_law), 2.0, 4.0, 0.1
    if stepper == "rk4":
        data |= {"duration": 0.5, "output": {"interval": 0.5}}
        data["tools"]["bar"]["motion"] = path([0.0, 0.5], [[0.0, 0.0], [0.0, -0.5]])
        at, end = 0.02, 0.04
        step = 0.0005 if any_law["model"] in ("voigt", "three-element", "generalized-maxwell") else 0.01
    mass = "consistent" if any_law["model"] == "three-element" else "lumped"
    assert len(check_restart(data, at, end, step=step, stepper=stepper, mass=mass).save()["contact_node"]) == 5


def test_restart_of_two_bodies_with_a_round_tool() -> None:
    """Each body keeps its own memories; the chunks of `advance` do not matter either."""
    ball = {"shape": "sphere", "center": [1.0, 1.4], "radius": 0.5}
    ball["motion"] = path([0.0, 1.0], [[0.0, 0.0], [0.0, -0.2]])
    data = box_scene(EQUAL_RATIO["three-element"], size=[2.0, 1.0], cells=[6, 3], density=1.0, tools={"ball": ball})
    data["laws"]["other"] = EQUAL_RATIO["generalized-maxwell"]
    data["bodies"]["lower"] = data["bodies"]["block"] | {"law": "other", "origin": [0.0, -2.0]}
    data["supports"] = {name: {"body": name, "where": {"side": "bottom"}} for name in ("block", "lower")}
    data["gravity"] = [0.0, -1.0]
    whole, first, second = (start(data, step=0.05) for _ in range(3))
    for _ in range(13):
        first.advance(1.0, 1)
    second.restore(first.save())
    run_to(second, 1.0)
    for chunk in (1, 3, 16):
        whole.advance(1.0, chunk)
    assert len(second.save()["contact_node"]) > 0
    same_bits(everything(second), everything(whole))


@pytest.mark.parametrize("options", [{}, {"kinematics": "corotational"}, {"kinematics": "total-lagrangian"}])
def test_saved_state_does_not_move_on(options: Data) -> None:
    simulation = run_to(start(press_scene(VISCOPLASTIC), step=0.5, **options), 1.0)
    state = simulation.save()
    copies = {name: array.copy() for name, array in state.items()}
    run_to(simulation, 2.0)
    same_bits(state, copies)


@pytest.mark.parametrize("options", [{}, {"kinematics": "corotational"}])
def test_another_step_is_refused(options: Data) -> None:
    state = start(press_scene(VISCOPLASTIC), step=0.5, **options).save()
    with pytest.raises(RheotwinError, match=r"checkpoint: .* step of 0\.5 s but this run uses 0\.25 s"):
        start(press_scene(VISCOPLASTIC), step=0.25, **options).restore(state)


@pytest.mark.parametrize("options", [{"linear_solver": "amg"}, {"formulation": "taylor-hood", "incompressible": True}])
@pytest.mark.parametrize("stepper", IMPLICIT)
def test_restart_with_every_implicit_stepper(stepper: str, options: Data) -> None:
    """An iterative solver starts from what it found before: that is part of the state, or not used."""
    ball = {"shape": "sphere", "center": [0.5, 0.5, 1.3], "radius": 0.3}
    ball["motion"] = path([0.0, 0.1, 0.2], [[0.0] * 3, [0.0, 0.0, -0.05], [0.0] * 3])
    more: Data = {"density": 5.0, "duration": 0.2, "supports": FLOOR, "tools": {"ball": ball}}
    data = box_scene(VISCOPLASTIC, size=[1.0, 1.0, 1.0], cells=[2, 2, 2], cell="tet", **more)
    tolerance = {"tolerance": 1e-2} if stepper == "adaptive" else {}
    check_restart(data, 0.08, 0.15, step=0.01, stepper=stepper, **tolerance, **options)
