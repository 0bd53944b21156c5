"""Generalised-alpha: its coefficients, what it damps, and what that costs (spec 2.3)."""

from typing import Any

import numpy as np
import pytest

from rheotwin.fem.steppers.schemes import generalized_alpha
from rheotwin.materials import Channel
from rheotwin.validation.checks.running import ELASTIC, VISCOPLASTIC, Data, box_scene, path, put, run_to, start
from rheotwin.validation.checks.scenes import press_scene


def amplification(radius: float, omega: float) -> np.ndarray:
    """Matrix (3, 3) of one step of h = 1 on q'' + omega^2 q = 0, state (q, v, a)."""
    scheme = generalized_alpha(1.0, radius)
    step = scheme.channel(Channel.elastic(omega**2))
    m, on_v, on_a = scheme.inertia
    du = np.array([-step.on_displacement, on_v - step.on_velocity, on_a - step.on_acceleration])
    du /= m + step.stiffness
    rows = [np.array([1.0, 0.0, 0.0]) + du]
    for by_du, by_v, by_a in (scheme.velocity, scheme.acceleration):
        rows.append(by_du * du + np.array([0.0, by_v, by_a]))
    return np.array(rows)


@pytest.mark.parametrize("radius", [0.0, 0.4, 0.8, 1.0])
def test_spectral_radius(radius: float) -> None:
    """Stable at every step; at infinite frequency what is left after a step is the radius asked for."""
    for ratio in (1e-3, 0.1, 1.0, 10.0, 1e3):
        assert np.abs(np.linalg.eigvals(amplification(radius, ratio))).max() <= 1.0 + 1e-9
    # at radius 0 all three meet: they leave 0 by ratio^(-2/3)
    assert np.abs(np.linalg.eigvals(amplification(radius, 1e6))).max() == pytest.approx(radius, abs=2e-4)
    if radius == 1.0:  # the average of both ends: no damping at any frequency
        for ratio in (0.1, 1.0, 10.0):
            values = np.linalg.eigvals(amplification(1.0, ratio))
            np.testing.assert_allclose(np.sort(np.abs(values))[-2:], 1.0, atol=1e-12)


def after_release(law: Data, step: float, until: float, table: Data | None = None, **options: Any) -> list[float]:
    """Floor forces, step by step, once a bar has let go of a body without inertia."""
    data = press_scene(law)
    if table is not None:
        data["tools"]["bar"]["motion"] = table
    simulation, found = run_to(start(data, step=step, energy_balance=False, **options), until), []
    for _ in range(6):
        simulation.advance(20.0, 1)
        forces = simulation.reactions()
        assert abs(forces["tool.bar"][1]) < 1e-12
        found.append(float(forces["support.floor"][1]))
    return found


def test_no_force_alternates_after_release() -> None:
    """F-VP goes up again: a Maxwell body without inertia is free of stress once the bar has lost it (spec 8).
    The midpoint rule balances the middle of steps, where this holds; at their ends it leaves a force of alternating
    sign (1.2 N at h = 0.01)."""
    midpoint = np.array(after_release(VISCOPLASTIC, 0.02, 12.5, stepper="midpoint"))
    assert np.all(midpoint[1:] * midpoint[:-1] < 0.0) and 0.5 < np.abs(midpoint).max() < 10.0
    for stepper in ("generalized-alpha", "quasi-static"):
        assert np.abs(after_release(VISCOPLASTIC, 0.02, 12.5, stepper=stepper)).max() < 1e-6


@pytest.mark.parametrize("radius", [0.8, 0.5])
def test_what_is_left_falls_by_the_spectral_radius(radius: float) -> None:
    """The bar leaves at once: the force of an elastic body without inertia is a mode of infinite frequency."""
    away = path([0.0, 1.0, 1.1], [[0.0, 0.0], [0.0, -1.0], [0.0, 5.0]])
    forces = np.array(after_release(ELASTIC, 0.1, 2.0, away, stepper="generalized-alpha", spectral_radius=radius))
    np.testing.assert_allclose(forces[1:] / forces[:-1], -radius, rtol=0.2)
    assert np.mean(np.abs(forces[1:] / forces[:-1])) == pytest.approx(radius, rel=0.1)


def test_algorithmic_loss_is_reported_as_defect() -> None:
    """A free elastic body keeps its energy at rho = 1 and loses that of its unresolved modes below."""
    lost = {}
    for radius in (1.0, 0.8, 0.3):
        data = box_scene(ELASTIC, size=[2.0, 1.0], cells=[4, 2], density=30.0, duration=5.0)
        simulation = start(data, step=0.1, stepper="generalized-alpha", spectral_radius=radius)
        put(simulation, v=np.random.default_rng(4).normal(size=simulation.positions.size))
        before = simulation.energy()
        run_to(simulation, 5.0)
        after = simulation.energy()
        lost[radius] = (after["defect"] - before["defect"]) / before["kinetic"]
        assert after["dissipated"] == 0.0
        change = before["kinetic"] - after["kinetic"] - after["stored"]
        assert lost[radius] * before["kinetic"] == pytest.approx(change, abs=1e-12 * before["kinetic"])
    assert abs(lost[1.0]) < 0.05 and 0.05 < lost[0.8] < lost[0.3] < 1.0
