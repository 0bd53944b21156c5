from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.materials import (
    Channel,
    EdgeNetwork,
    GeneralizedVoigt,
    Maxwell,
    Moduli,
    ThreeElement,
    Voigt,
    edge_network,
)

K, B1, B2 = (Moduli.from_young(young, 0.3) for young in (2.0, 6.0, 40.0))
SECTION, LENGTH = 0.5, 4.0
Close = Callable[..., None]


def test_unified_kernel_of_the_three_element_edge() -> None:
    """kappa = B^2 k, A = k/(b + b'), eta = B b with B = b'/(b + b'), times section/length."""
    network = edge_network(ThreeElement(K, B1, B2), section=SECTION, length=LENGTH)
    share, scale = 40 / 46, SECTION / LENGTH
    assert network.stiffness == 0
    assert network.arm_stiffness == pytest.approx((share**2 * 2 * scale,), rel=1e-14)
    assert network.arm_rate == pytest.approx((2 / 46,), rel=1e-14)
    assert network.viscosity == pytest.approx(share * 6 * scale, rel=1e-14)


def test_kernels_of_voigt_and_maxwell() -> None:
    voigt, maxwell = edge_network(Voigt(K, B1)), edge_network(Maxwell(K, B1))
    assert (voigt.arm_stiffness, voigt.arm_rate) == ((), ())
    assert (voigt.stiffness, voigt.viscosity) == pytest.approx((2, 6), rel=1e-14)
    assert (*maxwell.arm_stiffness, *maxwell.arm_rate) == pytest.approx((2, 2 / 6), rel=1e-14)
    assert (maxwell.stiffness, maxwell.viscosity) == (0, 0)


def test_kernel_equals_the_direct_three_element_edge(close: Close) -> None:
    """f = B (k d + b ldot), d' = -A d + B ldot at constant ldot: d = B ldot (1 - exp(-A t))/A."""
    k, b1, b2, rate, t = 2.0, 6.0, 40.0, 0.3, 5.0
    share, decay = b2 / (b1 + b2), k / (b1 + b2)
    voigt_part = share * rate * (1 - np.exp(-decay * t)) / decay
    network = edge_network(ThreeElement(K, B1, B2))
    arms = network.advance(np.zeros(1), rate, t)
    close(network.force(rate * t, rate, arms), share * (k * voigt_part + b1 * rate))


def test_network_follows_a_voigt_chain_through_ramp_and_hold(chain_ode: Any, close: Close) -> None:
    ks, bs = (10.0, 10.0, 10.0), (30.0, 300.0, 500.0)
    springs, dashpots = (tuple(Moduli.from_young(value, 0.3) for value in values) for values in (ks, bs))
    network = edge_network(GeneralizedVoigt(springs, dashpots))
    rate, arms = 0.025, np.zeros((1, 2))
    for _ in range(4):
        arms = network.advance(arms, np.array([rate]), 0.25)
    ode = chain_ode(ks, bs)
    close(network.force(rate, rate, arms), [ode.ramp(1.0, rate)])
    arms = network.advance(arms, np.zeros(1), 30.0)
    close(network.force(rate, 0.0, arms), [ode.ramp_hold(rate, 1.0, 31.0)])


def test_force_is_the_ramp_of_the_channel(close: Close) -> None:
    channel = Channel.prony(1.5, (2.0, 0.3), (0.2, 11.0), 0.7)
    network = EdgeNetwork.from_channel(channel)
    rates = np.array([0.1, -2.0, 5.0])
    arms = network.advance(np.zeros((3, 2)), rates, 2.0)
    close(network.force(2.0 * rates, rates, arms), channel.ramp(2.0) * rates)
