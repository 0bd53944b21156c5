"""Parts of a body that have laws of their own."""

import numpy as np
import pytest

from rheotwin.validation.checks.running import Data, box_scene, run_to, side, start

SOFT = {"model": "voigt", "young": 100.0, "poisson": 0.0, "viscosity": 20.0}
HARD = SOFT | {"young": 300.0}
PULL = {"pull": side("right", total=[0.01, 0.0])}
HALF = {"where": {"box": {"x": [1.0, 2.0]}}}


def bar(second: Data, **more: Data | str) -> Data:
    data = box_scene(
        SOFT, cells=[4, 2], size=[2.0, 1.0], density=1.0, duration=20.0, supports={"wall": side("left")}, **more
    )
    data["bodies"]["block"]["parts"] = {"half": HALF | {"law": "second"}}
    data["laws"]["second"] = second
    return data | {"forces": PULL}


@pytest.mark.parametrize("options", [{}, {"shear": "neo-hooke"}], ids=["default", "neo-hooke"])
@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_two_laws_in_a_row_share_the_force(cell: str, options: Data) -> None:
    # u = F l/(A E1) along the soft half, F l/(A E2) along the hard one; nu = 0, strains of 1e-4
    simulation = run_to(start(bar(HARD, cell=cell), "shear-volume", **options), 20.0)
    moved = simulation.positions - simulation._problem.points
    for x, expected in ((1.0, 1e-4), (2.0, 1e-4 + 1e-4 / 3.0)):
        np.testing.assert_allclose(moved[np.isclose(simulation._problem.points[:, 0], x), 0], expected, rtol=2e-3)


def test_parts_of_the_same_law_change_nothing() -> None:
    whole = bar(SOFT)
    del whole["bodies"]["block"]["parts"]
    found = []
    for data in (bar(SOFT), whole):
        simulation = run_to(start(data, "shear-volume"), 1.0)
        found.append((simulation.positions.copy(), simulation.fields()["stress"]))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
