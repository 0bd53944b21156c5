"""N + N steps through save and restore are 2N steps, bit for bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation

Data = dict[str, Any]
Start = Callable[..., Simulation]


def everything(simulation: Simulation) -> dict[str, np.ndarray]:
    return {**simulation.save(), **simulation.fields(), **simulation.reactions()}


def same_bits(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes(), name


def test_restart_in_contact_is_exact(any_law: Data, press: Callable[..., Data], start: Start) -> None:
    mass = "consistent" if any_law["model"] == "three-element" else "lumped"
    data = press(any_law, mass=30.0) | {"gravity": [0.0, -0.5]}
    whole, first = start(data, step=0.1, mass=mass), start(data, step=0.1, mass=mass)
    first.advance(2.0, 10**9)
    state = first.save()
    assert len(state["contact_node"]) == 5
    second = start(data, step=0.1, mass=mass)
    second.restore(state)
    same_bits(everything(second), everything(first))
    for simulation in (whole, second):
        simulation.advance(4.0, 10**9)
    assert second.time == 4.0
    same_bits(everything(second), everything(whole))


def test_restart_of_two_bodies_with_a_round_tool(
    scene: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """Each body keeps its own memories; the chunks of `advance` do not matter either."""
    ball = {
        "shape": "sphere",
        "center": [1.0, 1.4],
        "radius": 0.5,
        "motion": {"times": [0.0, 1.0], "displacement": [[0.0, 0.0], [0.0, -0.2]]},
    }
    data = scene(laws["three-element"], size=[2.0, 1.0], cells=[6, 3], density=1.0, duration=1.0, tools={"ball": ball})
    data["laws"]["other"] = laws["generalized-maxwell"]
    data["bodies"]["lower"] = data["bodies"]["block"] | {"law": "other", "origin": [0.0, -2.0]}
    data["supports"] = {name: {"body": name, "where": {"side": "bottom"}} for name in ("block", "lower")}
    data["gravity"] = [0.0, -1.0]
    whole, first, second = (start(data, step=0.05) for _ in range(3))
    for _ in range(13):
        first.advance(1.0, 1)
    second.restore(first.save())
    second.advance(1.0, 10**9)
    for chunk in (1, 3, 16):
        whole.advance(1.0, chunk)
    assert len(second.save()["contact_node"]) > 0
    same_bits(everything(second), everything(whole))


def test_saved_state_does_not_move_on(press: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    simulation = start(press(laws["maxwell"]), step=0.5)
    simulation.advance(1.0, 10**9)
    state = simulation.save()
    copies = {name: array.copy() for name, array in state.items()}
    simulation.advance(2.0, 10**9)
    same_bits(state, copies)


def test_another_step_is_refused(press: Callable[..., Data], start: Start, laws: dict[str, Data]) -> None:
    state = start(press(laws["maxwell"]), step=0.5).save()
    with pytest.raises(RheotwinError, match=r"checkpoint: .* step of 0\.5 s but this run uses 0\.25 s"):
        start(press(laws["maxwell"]), step=0.25).restore(state)


@pytest.mark.parametrize("options", [{"linear_solver": "amg"}, {"formulation": "taylor-hood", "incompressible": True}])
@pytest.mark.parametrize("stepper", ["midpoint", "generalized-alpha", "quasi-static", "adaptive"])
def test_restart_with_every_implicit_stepper(
    stepper: str, options: Data, scene: Callable[..., Data], start: Start, laws: dict[str, Data]
) -> None:
    """An iterative solver starts from what it found before: that is part of the state, or not used."""
    motion = {"times": [0.0, 0.1, 0.2], "displacement": [[0.0] * 3, [0.0, 0.0, -0.05], [0.0] * 3]}
    data = scene(
        laws["maxwell"],
        size=[1.0, 1.0, 1.0],
        cells=[2, 2, 2],
        cell="tet",
        density=5.0,
        duration=0.2,
        supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
        tools={"ball": {"shape": "sphere", "center": [0.5, 0.5, 1.3], "radius": 0.3, "motion": motion}},
    )
    more = {"tolerance": 1e-2} if stepper == "adaptive" else {}
    whole, second = (start(data, step=0.01, stepper=stepper, **more, **options) for _ in range(2))
    whole.advance(0.08, 10**9)
    second.restore(whole.save())
    for simulation in (whole, second):
        simulation.advance(0.15, 10**9)
    same_bits(everything(second), everything(whole))
