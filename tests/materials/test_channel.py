import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel

T = np.array([0.0, 1e-3, 0.1, 1.0, 7.0, 40.0])
K, B, B2 = 2.0, 6.0, 40.0

Close = Callable[..., None]


def test_voigt_closed_forms(close: Close) -> None:
    voigt = Channel.voigt(K, B)
    close(voigt.relaxation(T), np.full(6, K))
    close(voigt.ramp(T, 0.5), 0.5 * (K * T + B))
    close(voigt.creep(T), (1 - np.exp(-K * T / B)) / K)
    assert (voigt.instantaneous, voigt.steady_viscosity) == (K, B)


def test_maxwell_closed_forms(close: Close) -> None:
    maxwell = Channel.maxwell(K, B)
    close(maxwell.relaxation(T), K * np.exp(-K * T / B))
    close(maxwell.ramp(T, 0.5), 0.5 * B * (1 - np.exp(-K * T / B)))
    close(maxwell.creep(T), 1 / K + T / B)
    assert maxwell.steady_viscosity == pytest.approx(B, rel=1e-15)


def test_three_element_closed_forms(close: Close) -> None:
    body = Channel.three_element(K, B, B2)
    share, rate = B2 / (B + B2), K / (B + B2)
    close(body.relaxation(T), share**2 * K * np.exp(-rate * T))
    close(body.ramp(T, 0.5), 0.5 * (share * B2 * (1 - np.exp(-rate * T)) + share * B))
    close(body.creep(T), (1 - np.exp(-K * T / B)) / K + T / B2)
    assert body.steady_viscosity == pytest.approx(B2, rel=1e-15)


def test_reference_three_element() -> None:
    """R3, R10, R11: E = 30, c1 = 20, c2 = 500; tolerance half a unit of the last digit given."""
    body = Channel.three_element(30, 20, 500)
    assert body.strengths == pytest.approx((27.7366864,), abs=5e-8)
    assert body.times == pytest.approx((17.3333333,), abs=5e-8)
    assert body.viscosity == pytest.approx(19.2307692, abs=5e-8)
    np.testing.assert_allclose(body.creep([1, 5, 20]), [0.0278957, 0.0433149, 0.0733333], atol=5.1e-8)
    stress = body.ramp([1, 5, 10, 20], 0.01) - np.append(np.zeros(3), body.ramp(10.0, 0.01))
    np.testing.assert_allclose(stress, [0.4618253, 1.3970402, 2.2998857, 1.1836659], atol=5.1e-8)
    at_stop = body.ramp(10.0, 0.01) - body.ramp(0.0, 0.01)
    assert at_stop == pytest.approx(2.1075780, abs=5.1e-8)


def test_printed_gain_of_the_papers() -> None:
    """E15: the relaxing part is larger by c1/c2 of itself (4 % for 20, 500); eta and tau are the same."""
    true, printed = (Channel.three_element(30, 20, 500, seed_printed=flag) for flag in (False, True))
    assert printed.strengths[0] / true.strengths[0] - 1 == pytest.approx(20 / 500, rel=1e-9)
    assert (printed.times, printed.viscosity) == (true.times, true.viscosity)
    assert printed.steady_viscosity == pytest.approx(500 + true.viscosity, rel=1e-12)


def test_maxwell_bank_step_and_ramp() -> None:
    """ID-23, ID-24: k = 1, k/b = 0.1, 0.01, 0.001; seven digits given."""
    bank = Channel.prony(0, (1, 1, 1), (10, 100, 1000))
    step = bank.relaxation([0, 10, 100, 1000])
    np.testing.assert_allclose(step, [3, 2.262767, 1.272762, 0.367925], atol=5.1e-7)
    hold = bank.ramp([1, 11, 101]) - bank.ramp([0, 10, 100])
    np.testing.assert_allclose(hold, [2.946143, 2.239967, 1.270475], atol=5.1e-7)


@pytest.mark.parametrize(
    ("channel", "same"),
    [
        (Channel.voigt(0, B), Channel(0, (), (), B)),
        (Channel.voigt(K, 0), Channel.elastic(K)),
        (Channel.maxwell(0, B), Channel.elastic(0)),
        (Channel.maxwell(K, 0), Channel.elastic(0)),
        (Channel.three_element(0, B, B), Channel(0, (), (), B / 2)),
        (Channel.three_element(K, 0, B2), Channel.maxwell(K, B2)),
        (Channel.three_element(K, B, 0), Channel.elastic(0)),
        (Channel.three_element(0, 0, 0), Channel.elastic(0)),
        (Channel.prony(1, (2, 3, 4), (0, math.inf, 5)), Channel(4, (4,), (5,), 0)),
        (Channel.voigt_chain((K,), (0,)), Channel.elastic(K)),
        (Channel.voigt_chain((0,), (B,)), Channel.voigt(0, B)),
        (Channel.voigt_chain((K, 0), (B, 0)), Channel.elastic(0)),
        (Channel.elastic(1) + Channel.maxwell(2, 4) + Channel.maxwell(3, 6), Channel(1, (5,), (2,), 0)),
    ],
)
def test_degenerate_parts_are_exact(channel: Channel, same: Channel) -> None:
    assert channel == same


def test_zero_channel() -> None:
    zero = Channel.maxwell(0, 1)
    assert zero.is_zero
    assert not Channel.voigt(0, 1).is_zero
    with pytest.raises(RheotwinError, match="no creep function"):
        zero.creep(1.0)


def test_negative_lame_parts() -> None:
    """Constants of one sign behave as their opposites; mixed signs in series are refused."""
    negative = Channel.three_element(-K, -B, -B2)
    assert negative == Channel.three_element(K, B, B2).scaled(-1)
    assert negative.creep(3.0) == pytest.approx(-Channel.three_element(K, B, B2).creep(3.0), rel=1e-14)
    assert Channel.voigt_chain((-K, -1), (-B, -9)) == Channel.voigt_chain((K, 1), (B, 9)).scaled(-1)
    with pytest.raises(RheotwinError, match=r"both signs .* choose the modulus bulk, shear or young"):
        Channel.maxwell(K, -B)
    with pytest.raises(RheotwinError, match="both signs"):
        Channel.voigt_chain((K, 1), (B, -9))
    with pytest.raises(RheotwinError, match="both signs"):
        Channel.prony(1, (-2,), (1,)).creep(1.0)


@pytest.mark.parametrize(
    ("strengths", "times", "sentence"),
    [
        ((1,), (), "1 strengths and 0 times"),
        ((1,), (-2,), "relaxation time -2 s is not positive"),
        ((math.nan,), (1,), "not finite"),
    ],
)
def test_refused_channels(strengths: tuple[float, ...], times: tuple[float, ...], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        Channel.prony(0, strengths, times)


def test_nothing_happens_before_the_start() -> None:
    body = Channel.three_element(K, B, B2)
    for response in (body.relaxation, body.ramp, body.creep):
        assert response(np.array([[-1.0, 1.0]])).shape == (1, 2)
        assert response(-1.0) == 0


BANKS = {
    "solid": (1.5, (2.0, 0.3), (0.2, 11.0), 0.7),
    "solid, no dashpot": (1.5, (2.0, 0.3), (0.2, 11.0), 0.0),
    "fluid": (0.0, (2.0, 0.3, 5.0), (0.2, 11.0, 3.0), 0.7),
    "fluid, no dashpot": (0.0, (2.0, 0.3), (0.2, 11.0), 0.0),
    "equal times and a zero strength": (1.5, (2.0, 0.0, 3.0), (0.2, 1.0, 0.2), 0.0),
}


@pytest.mark.parametrize("name", BANKS)
def test_creep_of_any_bank_against_the_state_equation(name: str, bank_ode: Any, close: Close) -> None:
    times = np.array([0.0, 0.01, 0.3, 2.0, 30.0])
    expected = [bank_ode(*BANKS[name]).creep(t) for t in times]
    close(Channel.prony(*BANKS[name]).creep(times), expected)


def test_random_banks_creep_as_their_state_equation(bank_ode: Any, close: Close) -> None:
    @settings(deadline=None, max_examples=60)
    @given(
        equilibrium=st.sampled_from([0.0, 3.0]),
        arms=st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.05, 50)), min_size=1, max_size=5),
        eta=st.sampled_from([0.0, 0.4]),
    )
    def check(equilibrium: float, arms: list[tuple[float, float]], eta: float) -> None:
        bank = (equilibrium, *zip(*arms, strict=True), eta)
        times = np.array([0.02, 1.0, 20.0])
        close(Channel.prony(*bank).creep(times), [bank_ode(*bank).creep(t) for t in times])

    check()


@pytest.mark.parametrize("name", BANKS)
@pytest.mark.parametrize("s", [0.05, 1.0, 6.0])
def test_laplace_transforms_of_creep_and_relaxation_are_inverse(name: str, s: float) -> None:
    """s^2 J~(s) R~(s) = 1, both transforms by quadrature, the delta adding its weight."""
    channel = Channel.prony(*BANKS[name])

    def transform(response: Callable[[float], Any]) -> float:
        breaks = [0, 0.1, 0.5, 2, 10, 50]
        span = [*(b for b in breaks if b < 45 / s), 45 / s]
        return sum(
            quad(lambda t: float(response(t)) * math.exp(-s * t), a, b, epsabs=0, epsrel=1e-12, limit=200)[0]
            for a, b in pairwise(span)
        )

    relaxed = transform(channel.relaxation) + channel.viscosity
    assert s**2 * transform(channel.creep) * relaxed == pytest.approx(1, rel=1e-9)
    assert channel.operational_modulus(s) == pytest.approx(s * relaxed, rel=1e-9)


@pytest.mark.parametrize("omega", [0.02, 0.3, 5.0])
def test_complex_modulus_is_the_fourier_integral(omega: float) -> None:
    """G* = g_inf + i omega (integral of (r - g_inf) exp(-i omega t) + eta)."""
    channel = Channel.prony(1.5, (2.0, 0.3), (0.2, 11.0), 0.7)

    def decaying(t: float) -> float:
        return float(channel.relaxation(t)) - 1.5

    cosine, sine = (
        quad(decaying, 0, np.inf, weight=weight, wvar=omega, epsabs=1e-12, limlst=400)[0] for weight in ("cos", "sin")
    )
    expected = 1.5 + 1j * omega * (cosine - 1j * sine + 0.7)
    assert channel.complex_modulus(omega) == pytest.approx(expected, rel=1e-9)


def test_complex_modulus_is_that_of_the_state_equation(chain_ode: Any) -> None:
    ks, bs = (10.0, 20.0, 5.0), (30.0, 300.0, 0.1)
    omegas = np.array([1e-3, 0.1, 10.0, 1e3])
    expected = [chain_ode(ks, bs).operational_modulus(1j * omega) for omega in omegas]
    np.testing.assert_allclose(Channel.voigt_chain(ks, bs).complex_modulus(omegas), expected, rtol=1e-9)
