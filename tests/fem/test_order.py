"""Orders in time of implicit rules without inertia (R9); those with it and in space are references (T2, T7, A3)."""

from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.running import EQUAL_RATIO, HELD, RHEOLOGICAL, Data, box_scene, side, start

STEPS = (40, 80, 160)


def results(data: Data, **options: Any) -> list[np.ndarray]:
    """Displacements and velocities after 1 s, with ever shorter steps."""
    found = []
    for steps in STEPS:
        simulation = start(data, step=1.0 / steps, **options)
        simulation.advance(1.0, steps)
        found.append(np.stack([simulation.positions, simulation.velocities]))
    return found


def creeping(law: Data) -> Data:
    times = np.linspace(0.0, 1.0, 641)
    push = {"push": side("right", total=[10.0, 5.0], times=times.tolist(), factor=(times**2).tolist())}
    return box_scene(law, size=[2.0, 1.0], cells=[2, 1], density=1e-14, supports=HELD, forces=push)


def order_of(found: np.ndarray) -> float:
    return float(np.log2(np.abs(found[0] - found[1]).max() / np.abs(found[1] - found[2]).max()))


BARE = EQUAL_RATIO["maxwell"] | {"viscosity": 200.0}
UNEQUAL = RHEOLOGICAL | {"young": 100.0, "voigt_viscosity": 80.0, "viscous_poisson": 0.2}


@pytest.mark.parametrize(
    ("stepper", "law", "order"),
    [("quasi-static", BARE, 2.0), ("quasi-static", UNEQUAL, 1.0), ("midpoint", UNEQUAL, 2.0), ("cayley", UNEQUAL, 2.0)],
)
def test_order_without_inertia(stepper: str, law: Data, order: float) -> None:
    """R9: collocating at the end is of order 1 as soon as there is a dashpot, at the middle of order 2."""
    found = results(creeping(law), stepper=stepper)
    assert order_of([both[0] for both in found]) == pytest.approx(order, abs=0.1)
