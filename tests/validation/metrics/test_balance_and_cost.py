"""Conservation defects, stress norm and memory against cases whose value follows by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.validation import metrics

EXACT = 1e-12


def test_stress_error_is_that_of_the_tensor_in_any_axes() -> None:
    # Pure shear tau and its turn by 45 degrees, diag(tau, -tau, 0), have the same norm sqrt(2) tau.
    shear = np.zeros((1, 1, 6))
    shear[..., 3] = 2.0
    turned = np.zeros((1, 1, 6))
    turned[..., 0], turned[..., 1] = 2.0, -2.0
    zero = np.zeros((1, 1, 6))
    for stress in (shear, turned):
        reference = np.zeros((1, 1, 6))
        reference[..., 2] = 4.0
        difference = metrics.stress_error(stress + reference, reference, [1.0])
        np.testing.assert_allclose(difference, 2.0 * np.sqrt(2.0) / 4.0, atol=EXACT)
    np.testing.assert_allclose(metrics.stress_error(zero, shear, [3.0]), 1.0, atol=EXACT)


def test_a_falling_body_has_no_momentum_defect_but_one_without_its_weight() -> None:
    times, masses = np.linspace(0.0, 1.0, 11), np.array([1.0, 3.0])
    velocity = np.zeros((11, 2, 3))
    velocity[:, :, 1] = -9.81 * times[:, None]
    carried = metrics.momentum(masses, velocity)
    weight = np.tile([0.0, -4.0 * 9.81, 0.0], (11, 1))
    assert metrics.momentum_defect(times, carried, weight) == pytest.approx(0.0, abs=EXACT)
    assert metrics.momentum_defect(times, carried) == pytest.approx(1.0, abs=EXACT)
    # with half its weight it has twice the momentum it got: 4 g - 2 g over 4 g + 2 g
    assert metrics.momentum_defect(times, carried, 0.5 * weight) == pytest.approx(1.0 / 3.0, abs=EXACT)


def test_angular_momentum_of_a_turning_pair_is_m_r2_omega() -> None:
    angle = np.linspace(0.0, 2.0, 5)
    arm = np.stack([np.cos(angle), np.sin(angle), np.zeros(5)], axis=1)
    speed = 3.0 * np.stack([-np.sin(angle), np.cos(angle), np.zeros(5)], axis=1)
    positions, velocity = np.stack([2.0 * arm, -2.0 * arm], axis=1), np.stack([2.0 * speed, -2.0 * speed], axis=1)
    turning = metrics.angular_momentum([0.5, 0.5], positions, velocity)
    np.testing.assert_allclose(turning, np.tile([0.0, 0.0, 12.0], (5, 1)), atol=EXACT)
    assert metrics.momentum_defect(angle, turning) == pytest.approx(0.0, abs=EXACT)


def test_energy_defect_is_what_the_balance_misses() -> None:
    balance = {
        "external": np.array([0.0, 4.0, 10.0]),
        "kinetic": np.array([0.0, 1.0, 0.0]),
        "stored": np.array([0.0, 2.0, 6.0]),
        "dissipated": np.array([0.0, 1.0, 3.0]),
        "impact": np.array([0.0, 0.0, 1.0]),
    }
    assert metrics.energy_defect(balance) == pytest.approx(0.0, abs=EXACT)
    # 1 J too little dissipated at the end: 1 over 10 + 9
    balance["dissipated"] = np.array([0.0, 1.0, 2.0])
    assert metrics.energy_defect(balance) == pytest.approx(1.0 / 19.0, abs=EXACT)
    assert np.isnan(metrics.energy_defect({"kinetic": [0.0], "stored": [0.0]}))


def test_memory_of_a_state_and_of_the_process() -> None:
    assert metrics.state_memory({"x": np.zeros((10, 3)), "flags": np.zeros(7, dtype=bool), "time": 1.0}) == 255
    before = metrics.peak_memory()
    block = np.ones(40_000_000 // 8)
    assert metrics.peak_memory() >= before > 1_000_000
    assert block.sum() > 0.0
