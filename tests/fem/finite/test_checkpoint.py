"""N + N steps through save and restore are 2N steps, bit for bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation

Data = dict[str, Any]


def everything(simulation: Simulation) -> dict[str, Any]:
    return {**simulation.save(), **simulation.fields(), **simulation.reactions(), **simulation.energy()}


def same_bits(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert np.asarray(found[name]).tobytes() == np.asarray(value).tobytes(), name


@pytest.mark.parametrize("inertia", [False, True], ids=["equilibrium", "midpoint"])
@pytest.mark.parametrize("name", ["three-element", "generalized-maxwell"])
def test_restart_in_contact_is_exact(
    name: str,
    inertia: bool,
    description: str,
    laws: dict[str, Data],
    press: Callable[..., Data],
    begin: Callable[..., Any],
) -> None:
    data = press(laws[name], mass=30.0) | {"gravity": [0.0, -0.5]}
    whole, first, second = (begin(data, description, step=0.5, inertia=inertia) for _ in range(3))
    first.advance(2.0, 10**9)
    assert len(first.save()["contact_node"])
    second.restore(first.save())
    same_bits(everything(second), everything(first))
    whole.advance(1.5, 2)
    for simulation in (whole, second):
        simulation.advance(4.0, 10**9)
    assert second.time == 4.0
    same_bits(everything(second), everything(whole))


def test_saved_state_does_not_move_on(
    description: str, laws: dict[str, Data], press: Callable[..., Data], begin: Callable[..., Any]
) -> None:
    simulation = begin(press(laws["maxwell"]), description, step=1.0)
    simulation.advance(1.0, 10**9)
    state = simulation.save()
    copies = {name: array.copy() for name, array in state.items()}
    simulation.advance(2.0, 10**9)
    same_bits(state, copies)


def test_another_step_is_refused(laws: dict[str, Data], press: Callable[..., Data], begin: Callable[..., Any]) -> None:
    state = begin(press(laws["maxwell"]), "corotational", step=0.5).save()
    with pytest.raises(RheotwinError, match=r"checkpoint: .* step of 0\.5 s but this run uses 0\.25 s"):
        begin(press(laws["maxwell"]), "corotational", step=0.25).restore(state)
