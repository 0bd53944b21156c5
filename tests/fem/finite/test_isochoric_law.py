"""Closed forms of the large-strain law: springs, memories, Newtonian arms, and the limit of small strain."""

import numpy as np
import pytest

from rheotwin.fem.finite.channels import channel_share
from rheotwin.fem.finite.kinematics import strain_vector, stress_tensor
from rheotwin.fem.finite.measures import Isochoric
from rheotwin.materials import Channel

Array = np.ndarray
LAW = Isochoric()
K, MU = 90.0, 40.0


def green(deformation: Array) -> Array:
    return strain_vector(0.5 * (np.swapaxes(deformation, -1, -2) @ deformation - np.eye(3)))


def cauchy(deformation: Array, stress: Array) -> Array:
    return np.asarray(deformation @ stress_tensor(stress) @ deformation.T / np.linalg.det(deformation))


def spring(deformation: Array) -> Array:
    strain = green(deformation)[None]
    stress = MU * LAW.shear(strain)[0]
    LAW.add_volume(strain, K * LAW.volume(strain), K, stress, np.zeros((1, 6, 6)))
    return cauchy(deformation, stress[0])


@pytest.mark.parametrize("stretch", [0.4, 0.9, 1.0, 1.7])
def test_stretch(stretch: float) -> None:
    """F = diag(l, 1, 1): sigma_xx = K (l - 1) + 2/3 mu l^(-5/3) (l^2 - 1), sigma_yy with -1/3.
    F = diag(l, l^-1/2, l^-1/2): no pressure, sigma_xx - sigma_yy = mu (l^2 - 1/l)."""
    pressure, deviator = K * (stretch - 1.0), MU * stretch ** (-5 / 3) * (stretch**2 - 1.0)
    expected = np.diag(pressure + deviator * np.array([2 / 3, -1 / 3, -1 / 3]))
    np.testing.assert_allclose(spring(np.diag([stretch, 1.0, 1.0])), expected, atol=1e-12 * K)
    found = spring(np.diag([stretch, stretch**-0.5, stretch**-0.5]))
    assert np.trace(found) == pytest.approx(0.0, abs=1e-12 * K)
    assert found[0, 0] - found[1, 1] == pytest.approx(MU * (stretch**2 - 1 / stretch), rel=1e-12, abs=1e-12 * K)


@pytest.mark.parametrize("shear", [0.1, 2.0])
def test_simple_shear(shear: float) -> None:
    """Neo-Hooke: sigma_xy = mu g and a first normal stress difference mu g^2."""
    found = spring(np.eye(3) + shear * np.outer([1, 0, 0], [0, 1, 0]))
    assert found[0, 1] == pytest.approx(MU * shear, rel=1e-12)
    assert found[0, 0] - found[1, 1] == pytest.approx(MU * shear**2, rel=1e-12)
    assert np.trace(found) == pytest.approx(0.0, abs=1e-12 * K)


def test_newtonian_arm_is_a_newtonian_fluid() -> None:
    """Any F and velocity gradient L: sigma = 2 eta dev(d) + eta_K tr(d) I with d = sym L and E' = F' d F."""
    rng = np.random.default_rng(0)
    deformation, gradient = np.eye(3) + 0.3 * rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    assert np.linalg.det(deformation) > 0.1
    d = 0.5 * (gradient + gradient.T)
    rate = strain_vector(deformation.T @ d @ deformation)
    found = cauchy(deformation, LAW.newtonian(green(deformation), rate, 7.0, 5.0)[0])
    np.testing.assert_allclose(found, 10.0 * (d - np.trace(d) / 3 * np.eye(3)) + 7.0 * np.trace(d) * np.eye(3))


@pytest.mark.parametrize("steps", [1, 3, 50])
def test_memory_is_exact_for_a_driver_at_constant_rate(steps: int) -> None:
    """Q(t) = g tau r (1 - exp(-t/tau)) from rest, and its decay afterwards, in steps of any length."""
    channel, rate, end = Channel(3.0, (5.0, 2.0), (0.4, 7.0), 0.0), np.array([2.0, -1.0]), 1.5
    g, tau = np.array(channel.strengths)[:, None], np.array(channel.times)[:, None]
    share, memories = channel_share(channel, end / steps), np.zeros((2, 2))
    for step in range(steps):
        before, after = rate * end * step / steps, rate * end * (step + 1) / steps
        stress = share.stress(memories, after, before)
        memories = share.remembered(memories, after, before)
    exact = g * tau * rate * (1 - np.exp(-end / tau))
    np.testing.assert_allclose(memories, exact, rtol=1e-12)
    np.testing.assert_allclose(stress, 3.0 * rate * end + exact.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        channel_share(channel, 4.0).remembered(memories, after, after), exact * np.exp(-4.0 / tau), rtol=1e-12
    )
