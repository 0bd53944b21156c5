"""Orders in time of every implicit rule with and without inertia, and in space of every element (R9, A3, T7)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.manufactured import space_orders
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene, path, run_to, side, start

STEPS = (40, 80, 160)
DRIVEN_LAWS = ("maxwell", "three-element", "generalized-maxwell")
SMOOTH = path([0.0, 2.0], [[0.0, 0.0], [0.1, 0.05]]) | {"interpolation": "smooth"}


def shaken(law: Data, density: float, **options: Any) -> list[np.ndarray]:
    """Displacements and velocities at the end of a smooth motion of one side, with ever shorter steps."""
    found = []
    for steps in STEPS:
        data = box_scene(
            law,
            size=[2.0, 1.0],
            cells=[2, 1],
            density=density,
            duration=1.0,
            supports={"grip": side("left", motion=SMOOTH)},
        )
        simulation = start(data, step=1.0 / steps, **options)
        run_to(simulation, 1.0)
        found.append(np.stack([simulation.positions, simulation.velocities]))
    return found


def order_of(found: np.ndarray) -> float:
    """Order from three results whose steps halve, without knowing the exact one."""
    return float(np.log2(np.abs(found[0] - found[1]).max() / np.abs(found[1] - found[2]).max()))


@pytest.mark.parametrize(
    ("stepper", "law"),
    [(stepper, law) for stepper in ("midpoint", "cayley", "generalized-alpha") for law in DRIVEN_LAWS],
)
@pytest.mark.parametrize("mass", ["lumped", "consistent"])
def test_dynamic_rules_are_of_order_two(mass: str, stepper: str, law: str) -> None:
    """Displacements and velocities of a body that its driven side shakes: 2 +- 0.1."""
    found = shaken(EQUAL_RATIO[law], 80.0, stepper=stepper, mass=mass)
    for quantity in range(2):
        assert order_of([both[quantity] for both in found]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("radius", [0.0, 0.5, 1.0])
def test_order_two_at_any_spectral_radius(radius: float) -> None:
    found = shaken(RHEOLOGICAL, 20.0, stepper="generalized-alpha", spectral_radius=radius)
    assert order_of([both[0] for both in found]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("stepper", "law", "order"),
    [
        ("quasi-static", "bare maxwell", 2.0),
        ("quasi-static", "unequal", 1.0),
        ("midpoint", "unequal", 2.0),
        ("cayley", "unequal", 2.0),
    ],
)
def test_order_without_inertia(stepper: str, law: str, order: float, creeping: Callable[..., Any]) -> None:
    """R9: collocating at the end is of order 1 as soon as there is a dashpot, at the middle of order 2."""
    assert order_of(creeping(law, stepper)) == pytest.approx(order, abs=0.1)


@pytest.fixture
def creeping() -> Callable[..., list[np.ndarray]]:
    """Displacements of a body without inertia under a load that grows like t^2 (so its rate is not constant)."""
    maxwell = {"model": "maxwell", "young": 300.0, "poisson": 0.35, "viscosity": 200.0}
    three = {"model": "three-element", "young": 100.0, "poisson": 0.35, "voigt_viscosity": 80.0}
    three |= {"series_viscosity": 500.0, "viscous_poisson": 0.2}
    times = np.linspace(0.0, 1.0, 641)

    def run(law: str, stepper: str) -> list[np.ndarray]:
        push = side("right", total=[10.0, 5.0])
        push |= {"times": times.tolist(), "factor": (times**2).tolist()}
        found = []
        for steps in STEPS:
            data = box_scene(
                {"bare maxwell": maxwell, "unequal": three}[law],
                size=[2.0, 1.0],
                cells=[2, 1],
                density=1e-14,
                duration=1.0,
                supports={"wall": side("left")},
                forces={"push": push},
            )
            simulation = start(data, step=1.0 / steps, stepper=stepper)
            run_to(simulation, 1.0)
            found.append(simulation.positions)
        return found

    return run


@pytest.mark.parametrize(
    ("cell", "order", "cells", "steps", "expected"),
    [
        ("triangle", 1, (4, 8, 16, 32), 50, (1.71, 1.88, 1.96)),
        ("triangle", 2, (4, 8, 16), 200, (3.05, 3.06)),
        ("quad", 1, (4, 8, 16), 50, (2.0, 2.0)),
        ("quad", 2, (4, 8), 100, (3.0,)),
        ("tet", 1, (4, 8), 30, (2.0,)),
        ("tet", 2, (4, 6), 60, (3.0,)),
        ("hex", 1, (2, 4, 8), 30, (2.0, 2.0)),
        ("hex", 2, (2, 4), 60, (3.0,)),
    ],
)
def test_order_in_space(cell: str, order: int, cells: tuple[int, ...], steps: int, expected: tuple[float, ...]) -> None:
    """R9, T7: L2 rates of the manufactured solution (on cubes only the last one counts), and H1 one less."""
    rates = space_orders(cell, order, cells, steps).values
    found = [rate for name, rate in rates.items() if name.startswith("L2")]
    if cell in ("tet", "hex"):
        found, expected = found[-1:], expected[-1:]
    np.testing.assert_allclose(found, expected, atol=0.1)
    (gradient,) = (rate for name, rate in rates.items() if name.startswith("H1"))
    assert gradient == pytest.approx(order, abs=0.1)
