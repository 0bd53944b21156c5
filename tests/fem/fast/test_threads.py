"""Two threads in the explicit steps of a scene: the same bits as one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.solver import Simulation

Data = dict[str, Any]


def test_two_threads_find_the_same_bits(
    scene: Callable[..., Data], start: Callable[..., Simulation], laws: dict[str, Data]
) -> None:
    grip = {"grip": {"body": "block", "where": {"side": "bottom"}}}
    data = scene(
        laws["three-element"], size=[2.0, 1.0], cells=[16, 8], density=30.0, gravity=[0.0, -9.8], supports=grip
    )
    ends = []
    for threads in (1, 2):
        simulation = start(data, stepper="central-difference", threads=threads)
        simulation.advance(10.0, 200)
        ends.append(simulation.positions)
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.ptp(ends[0][:, 1]) < 1.0


def test_threads_belong_to_central_differences(
    scene: Callable[..., Data], start: Callable[..., Simulation], laws: dict[str, Data]
) -> None:
    with pytest.raises(RheotwinError, match="threads belongs to stepper"):
        start(scene(laws["elastic"], size=[1.0], cells=[2]), threads=2)
