"""Closed forms against the numbers printed in the specification, to their last digit (R10, R11, R13, R14, R15)."""

import numpy as np
import pytest

from rheotwin.materials import Channel, Maxwell, Moduli
from rheotwin.validation.closed_forms import (
    LameCreep,
    ThickCylinder,
    driven_stress,
    first_eigenvalue,
    mode_response,
)

DOUGH = Channel.three_element(30.0, 20.0, 500.0)


def test_three_element_creep() -> None:
    """R10."""
    np.testing.assert_allclose(DOUGH.creep([1, 5, 20]), [0.0278957, 0.0433149, 0.0733333], atol=5.1e-8)


def test_three_element_ramp_and_hold() -> None:
    """R11: .01/s for 10 s; at the end of the ramp the viscous part drops at once."""
    history = [0.0, 10.0], [0.0, 0.1]
    before = driven_stress(DOUGH, *history, [1, 5, 10], side="before")
    np.testing.assert_allclose(before, [0.4618253, 1.3970402, 2.2998857], atol=5.1e-8)
    np.testing.assert_allclose(driven_stress(DOUGH, *history, [10, 20]), [2.1075780, 1.1836659], atol=5.1e-8)


def test_creep_of_unequal_poisson_ratios() -> None:
    """R13; the flow is that of the viscous Young modulus (E19)."""
    creep = LameCreep.of(Maxwell(Moduli.from_young(300, 0.35), Moduli.from_young(500, 0.25)))
    assert creep.rate == pytest.approx(0.7201646, abs=5.1e-8)
    assert creep.flow == pytest.approx(1 / 500, rel=1e-14)
    np.testing.assert_allclose(creep.at([0, 1, 5, 10]), [0.00333333, 0.00536462, 0.01339262, 0.02339424], atol=5.1e-9)


def test_thick_cylinder() -> None:
    """R14."""
    tube = ThickCylinder(inner=1, outer=2, pressure=1, bulk=1000, shear=100, shear_viscosity=200)
    found = tube.radial_displacement([1, 2, 1, 2], [0, 0, 2, 2])
    np.testing.assert_allclose(found, [0.00682796, 0.00365591, 0.01349796, 0.00699591], atol=5.1e-9)


def test_lumped_bar() -> None:
    """R15."""
    eigenvalue = first_eigenvalue(10)
    assert eigenvalue == pytest.approx(2.46233188, abs=5.1e-9)
    state = mode_response(Channel.maxwell(1.0, 2.0), eigenvalue, [1.0, 5.0])
    np.testing.assert_allclose(state.amplitude, [0.67673322, 0.37129960], atol=5.1e-9)
    np.testing.assert_allclose(state.rate, [0.14251873, 0.07692925], atol=5.1e-9)
