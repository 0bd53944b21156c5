"""Each metric against a case whose value follows by hand."""

import math

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import metrics

EXACT = 1e-12  # a handful of float64 operations on numbers of order one


def along(axis: int, values: object) -> np.ndarray:
    return np.multiply.outer(np.asarray(values, dtype=float), np.eye(3)[axis])


def test_errors_of_displacement_and_velocity() -> None:
    reference = along(0, [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]])
    other = reference + along(1, [[0.0, 0.0], [0.0, 0.0], [0.4, 0.0]])  # sqrt(3/4 * 0.16) = 0.2 sqrt(3), over 2
    error = metrics.displacement_error(other, reference, [3.0, 1.0])
    np.testing.assert_allclose(error, [0.0, 0.0, 0.1 * math.sqrt(3.0)], atol=EXACT)
    at_rest = metrics.displacement_error(np.ones((2, 1, 3)), np.zeros((2, 1, 3)), [1.0])
    assert np.isnan(at_rest).all(), "against a reference at rest it is undefined"
    speed = np.array([0.0, 1.0, -2.0, 0.0])
    reference = along(2, np.tile(speed[:, None], 5))
    error = metrics.velocity_error(1.25 * reference, reference, np.arange(1.0, 6.0))
    np.testing.assert_allclose(error, 0.25 * np.abs(speed) / 2.0, atol=EXACT)
    ref_times, times = np.linspace(0.0, 2.0, 9), np.array([0.0, 0.7, 2.0])
    error = metrics.force_curve_error(times, along(1, 1.1 * times), ref_times, along(1, ref_times))
    assert error == pytest.approx(0.1, abs=EXACT)
    unforced = metrics.force_curve_error(ref_times, np.zeros(9), ref_times, np.sin(ref_times))
    assert unforced == pytest.approx(1.0, abs=EXACT)


def test_common_times_and_values_at_them() -> None:
    common = metrics.common_times([0.0, 0.5, 1.2], [0.0, 0.4, 0.8, 1.2 + 1e-12, 1.6])
    np.testing.assert_allclose(common, [0.0, 0.4, 0.8, 1.2])
    with pytest.raises(RheotwinError, match="share no time"):
        metrics.common_times([0.0, 1.0], [2.0, 3.0])
    values = metrics.at_times([0.0, 2.0], np.array([[1.0], [5.0]]), np.array([-1.0, 0.5, 3.0]))
    np.testing.assert_allclose(values, [[1.0], [2.0], [5.0]], atol=EXACT)


def test_residuals_of_the_last_tenth() -> None:
    times = np.linspace(0.0, 10.0, 101)
    way = np.where(times < 5.0, -4.0 * times / 4.9, -1.0 - 0.2 * np.cos(4 * np.pi * times))
    motion = np.stack([along(0, 0.5 * np.abs(way)), along(1, way)], axis=1)
    residual = metrics.residual_displacement(times, motion, [1.0, 1.0])
    assert residual.node == 1
    found = (residual.peak, residual.at_node, residual.rms, residual.oscillation, metrics.bounce(residual))
    assert found == pytest.approx((4.0, 0.25, 0.25, 0.05, 0.75), abs=EXACT)
    times = np.linspace(0.0, 20.0, 201)
    # the window [18, 20] is one whole period
    residual = metrics.residual_displacement(times, along(0, np.sin(np.pi * times)[:, None]), [1.0])
    assert (residual.at_node, residual.oscillation) == pytest.approx((0.0, 1.0), abs=EXACT)
    residual = metrics.residual_displacement([0.0, 1.0], np.zeros((2, 3, 3)), np.ones(3))
    assert (residual.peak, residual.at_node, residual.rms, residual.oscillation) == (0.0, 0.0, 0.0, 0.0)
    assert metrics.residual_displacement([0.0], np.ones((1, 1, 3)), [1.0]).at_node == pytest.approx(1.0, abs=EXACT)


def test_held_force_drift_rates_and_memory() -> None:
    times = np.linspace(0.0, 10.0, 101)
    for last, held in ((2.0, 0.25), (0.0, 0.0)):
        force = along(1, np.where(times < 8.95, 8.0, last))
        assert metrics.held_force(times, force) == pytest.approx(held, abs=EXACT)
    assert metrics.volume_drift([2.0, 2.02, 1.9, 2.0]) == pytest.approx(0.05, abs=EXACT), "either way"
    assert metrics.real_time_factor(30.0, 1.5) == pytest.approx(20.0)
    assert metrics.step_rate(6000, 1.5) == pytest.approx(4000.0)
    assert math.isnan(metrics.real_time_factor(30.0, None)) and math.isnan(metrics.step_rate(None, 1.5))
    assert metrics.state_memory({"x": np.zeros((10, 3)), "flags": np.zeros(7, dtype=bool), "time": 1.0}) == 255
    before = metrics.peak_memory()
    assert np.ones(5_000_000).sum() > 0.0 and metrics.peak_memory() >= before > 1_000_000


def test_errors_of_energy_and_of_stress_in_any_axes() -> None:
    shear, turned = np.array([[[0.0, 0, 0, 2, 0, 0]]]), np.array([[[2.0, -2, 0, 0, 0, 0]]])
    reference = np.array([[[0.0, 0, 4, 0, 0, 0]]])
    for stress in (shear, turned):
        difference = metrics.stress_error(stress + reference, reference, [1.0])
        np.testing.assert_allclose(difference, 2.0 * np.sqrt(2.0) / 4.0, atol=EXACT)
    np.testing.assert_allclose(metrics.stress_error(0.0 * shear, shear, [3.0]), 1.0, atol=EXACT)
    balance = {"external": [0.0, 4, 10], "kinetic": [0.0, 1, 0], "stored": [0.0, 2, 6], "impact": [0.0, 0, 1]}
    balance["dissipated"] = [0.0, 1, 3]
    assert metrics.energy_defect(balance) == pytest.approx(0.0, abs=EXACT)
    # 1 J too little dissipated at the end: 1 over 10 + 9
    balance["dissipated"] = [0.0, 1, 2]
    assert metrics.energy_defect(balance) == pytest.approx(1.0 / 19.0, abs=EXACT)
    assert np.isnan(metrics.energy_defect({"kinetic": [0.0], "stored": [0.0]}))


def test_momentum_of_falling_and_turning_bodies() -> None:
    times, masses = np.linspace(0.0, 1.0, 11), np.array([1.0, 3.0])
    carried = metrics.momentum(masses, along(1, np.tile(-9.81 * times[:, None], 2)))
    weight = np.tile([0.0, -4.0 * 9.81, 0.0], (11, 1))
    assert metrics.momentum_defect(times, carried, weight) == pytest.approx(0.0, abs=EXACT)
    assert metrics.momentum_defect(times, carried) == pytest.approx(1.0, abs=EXACT)
    # with half its weight it has twice the momentum it got: 4 g - 2 g over 4 g + 2 g
    assert metrics.momentum_defect(times, carried, 0.5 * weight) == pytest.approx(1.0 / 3.0, abs=EXACT)
    angle = np.linspace(0.0, 2.0, 5)
    arm = 2.0 * np.stack([np.cos(angle), np.sin(angle), np.zeros(5)], axis=1)
    speed = 3.0 * np.stack([-arm[:, 1], arm[:, 0], np.zeros(5)], axis=1)
    turning = metrics.angular_momentum([0.5, 0.5], np.stack([arm, -arm], axis=1), np.stack([speed, -speed], axis=1))
    np.testing.assert_allclose(turning, np.tile([0.0, 0.0, 12.0], (5, 1)), atol=EXACT)
    assert metrics.momentum_defect(angle, turning) == pytest.approx(0.0, abs=EXACT)
