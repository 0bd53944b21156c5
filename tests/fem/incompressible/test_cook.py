"""Cook's membrane: the table R21 (A8), no locking up to nu = .4999999, and how wrong plain elements are."""

import numpy as np
import pytest

from rheotwin.constraints.measure import measure_constraints, soft_measure
from rheotwin.constraints.patches import patches
from rheotwin.validation.checks import cook

POISSONS = (0.3, 0.45, 0.49, 0.499, 0.4999, 0.4999999)
"""Up to the incompressible limit as far as double precision tells it apart."""
Table = dict[str, tuple[float | None, ...]]


@pytest.fixture(scope="module")
def table() -> Table:
    return {
        row: tuple(
            None if printed is None else cook.cook_tip(row, n) for n, printed in zip((4, 8, 16), known, strict=False)
        )
        for row, known in cook.COOK_REFERENCE.items()
    }


@pytest.fixture(scope="module")
def fine() -> tuple[float, ...]:
    return tuple(cook.cook_mixed(32, "triangle", "taylor-hood", poisson=nu) for nu in POISSONS)


@pytest.mark.parametrize("row", cook.COOK_REFERENCE)
def test_the_table_of_the_specification(table: Table, row: str) -> None:
    np.testing.assert_allclose(np.array(table[row], float), cook.COOK_REFERENCE[row][:3], rtol=0, atol=cook.TOLERANCE)


def test_the_constraint_holds_and_per_triangle_the_answer_is_wrong(table: Table) -> None:
    limit = cook.cook_mixed(32, "triangle", "taylor-hood")
    for row, loss in (("CSM per triangle, split squares", -0.46), ("CSM per triangle, crossed squares", -0.73)):
        assert table[row][2] / limit - 1.0 == pytest.approx(loss, abs=0.01)
    form = cook.cook_form(8, "triangle", "taylor-hood")
    u, pressure = cook.incompressible_statics(form, cook.SHEAR, cook.load(form.basis), cook.clamped(form.basis))
    # theta = p / (1e12 mu)
    np.testing.assert_allclose(form.volume_strain(u), 0.0, atol=1e-11)
    assert np.abs(pressure).max() > 1.0


BANDS = {
    "Taylor-Hood P2/P1": 0.003,
    "MINI": 0.04,
    "P1/P1 stabilized": 0.04,
    "Q1/P0 (B-bar)": 0.03,
    "CSM per pair": 0.04,
    "CSM per node": 0.05,
}
"""Discretisation error at 16 squares a side in the incompressible limit (R21 against 8.054), rounded up."""


@pytest.mark.parametrize("row", BANDS)
def test_no_locking_from_nu_3_to_4999999(fine: tuple[float, ...], row: str) -> None:
    error = np.array([cook.cook_mixed(16, *cook.CELLS[row], poisson=nu) for nu in POISSONS]) / np.array(fine) - 1.0
    assert np.abs(error).max() < BANDS[row]
    # the error does not grow as nu approaches 1/2, where plain triangles lose 40 %
    assert np.ptp(error) < 0.015


@pytest.mark.parametrize(("poisson", "errors"), [(0.45, (-13, -5, -2)), (0.49, (-23, -11, -5))])
def test_plain_triangles_lock_as_the_specification_says(poisson: float, errors: tuple[int, ...]) -> None:
    reference = cook.cook_displacement(32, 2, poisson)
    found = [100.0 * (cook.cook_displacement(n, 1, poisson) / reference - 1.0) for n in (8, 16, 32)]
    np.testing.assert_allclose(found, errors, atol=0.5)


@pytest.mark.parametrize(("strength", "loss"), [(1.0, 0.2), (5.0, 0.8)])
def test_soft_area_elements_cost_little(strength: float, loss: float) -> None:
    form = cook.cook_form(32, *cook.CELLS["CSM per node"])
    mesh = form.basis.mesh
    points, triangles = np.ascontiguousarray(mesh.p.T), mesh.t.T
    single = measure_constraints(patches("element", triangles, points), points).gradient(points)
    soft = soft_measure(patches("node", triangles, points), points, strength * cook.SHEAR).stiffness(single)
    forces = cook.load(form.basis), cook.clamped(form.basis)
    found = [
        cook.tip(form.basis, cook.incompressible_statics(form, cook.SHEAR, *forces, extra=extra)[0])
        for extra in (None, soft)
    ]
    assert 100.0 * (1.0 - found[1] / found[0]) == pytest.approx(loss, abs=0.05)
