"""Channels of relaxation, chains converted to banks and back, edge networks, against state equations of their own."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.linalg import expm

from rheotwin import materials
from rheotwin.errors import RheotwinError

T = np.array([0.0, 1e-3, 0.1, 1.0, 7.0, 40.0])
K, B, B2 = 2.0, 6.0, 40.0
SHARE, RATE = B2 / (B + B2), K / (B + B2)


def close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * 1e-3 * np.max(np.abs(expected)))


def driven(matrix: np.ndarray, drive: np.ndarray, start: np.ndarray, t: float) -> np.ndarray:
    """State at t of x' = matrix x + drive (constant drive)."""
    size = len(drive)
    augmented = np.zeros((size + 1, size + 1))
    augmented[:size, :size], augmented[:size, size] = matrix, drive
    return (expm(augmented * t) @ np.append(start, 1.0))[:size]


class ChainOde:
    """Voigt units in series, all damped: x' = (-k x + f)/b, f = S (sum rho x + v), S = 1/sum(1/b)."""

    def __init__(self, ks: Sequence[float], bs: Sequence[float]) -> None:
        self.k, self.b = np.array(ks, float), np.array(bs, float)
        self.rho, self.s = self.k / self.b, 1 / np.sum(1 / self.b)
        self.matrix = -np.diag(self.rho) + self.s * np.outer(1 / self.b, self.rho)
        self.drive = self.s / self.b

    def ramp(self, t: float, rate: float = 1.0) -> float:
        lengths = driven(self.matrix, rate * self.drive, np.zeros(len(self.b)), t)
        return float(self.s * (self.rho @ lengths + rate))

    def ramp_hold(self, rate: float, ramp_end: float, t: float) -> float:
        at_end = driven(self.matrix, rate * self.drive, np.zeros(len(self.b)), ramp_end)
        return float(self.s * self.rho @ (expm(self.matrix * (t - ramp_end)) @ at_end))

    def operational_modulus(self, s: complex) -> complex:
        lengths = np.linalg.solve(s * np.eye(len(self.b)) - self.matrix, self.drive * s)
        return complex(self.s * (self.rho @ lengths + s))


class BankOde:
    """Maxwell arms z' = e' - z/tau beside a spring and a dashpot, under unit step stress."""

    def __init__(self, equilibrium: float, g: Sequence[float], tau: Sequence[float], eta: float) -> None:
        self.k, self.g, self.tau, self.eta = equilibrium, np.array(g, float), np.array(tau, float), eta

    def creep(self, t: float) -> float:
        arms = len(self.g)
        instantaneous = self.k + self.g.sum()
        # e' as a row over (e, z) and its constant part, from 1 = k e + g z + eta e' or its time derivative
        if self.eta:
            row, constant = -np.append(self.k, self.g) / self.eta, 1 / self.eta
            start = np.zeros(arms + 1)
        else:
            row, constant = np.append(0.0, self.g / self.tau) / instantaneous, 0.0
            start = np.full(arms + 1, 1 / instantaneous)
        matrix = np.tile(row, (arms + 1, 1)) - np.diag(np.append(0.0, 1 / self.tau))
        return float(driven(matrix, np.full(arms + 1, constant), start, t)[0])


@pytest.mark.parametrize(
    ("channel", "relaxation", "ramp", "creep", "viscosity"),
    [
        (materials.Channel.voigt(K, B), K, K * T + B, (1 - np.exp(-K * T / B)) / K, B),
        (materials.Channel.maxwell(K, B), K * np.exp(-K * T / B), B * (1 - np.exp(-K * T / B)), 1 / K + T / B, B),
        (
            materials.Channel.three_element(K, B, B2),
            SHARE**2 * K * np.exp(-RATE * T), SHARE * (B2 * (1 - np.exp(-RATE * T)) + B),
            (1 - np.exp(-K * T / B)) / K + T / B2, B2,
        ),
    ],
    ids=["voigt", "maxwell", "three-element"],
)  # fmt: skip
def test_closed_forms(channel: materials.Channel, relaxation: Any, ramp: Any, creep: Any, viscosity: float) -> None:
    close(channel.relaxation(T), np.full(6, relaxation))
    close(channel.ramp(T, 0.5), 0.5 * ramp)
    close(channel.creep(T), creep)
    assert channel.steady_viscosity == pytest.approx(viscosity, rel=1e-15)


REFERENCES = [f"fem.{n}" for n in ("R2", "R3", "R10", "R11", "R13", "E19")]
REFERENCES += [f"identification.ID-{n}" for n in (10, 12, 13, 14, 15, 16, 17, 23, 24)]


@pytest.mark.parametrize(
    ("channel", "same"),
    [
        (materials.Channel.voigt(0, B), materials.Channel(0, (), (), B)),
        (materials.Channel.voigt(K, 0), materials.Channel.elastic(K)),
        (materials.Channel.maxwell(0, B), materials.Channel.elastic(0)),
        (materials.Channel.maxwell(K, 0), materials.Channel.elastic(0)),
        (materials.Channel.three_element(0, B, B), materials.Channel(0, (), (), B / 2)),
        (materials.Channel.three_element(K, 0, B2), materials.Channel.maxwell(K, B2)),
        (materials.Channel.three_element(K, B, 0), materials.Channel.elastic(0)),
        (materials.Channel.three_element(0, 0, 0), materials.Channel.elastic(0)),
        (materials.Channel.prony(1, (2, 3, 4), (0, math.inf, 5)), materials.Channel(4, (4,), (5,), 0)),
        (materials.Channel.voigt_chain((K,), (0,)), materials.Channel.elastic(K)),
        (materials.Channel.voigt_chain((0,), (B,)), materials.Channel.voigt(0, B)),
        (materials.Channel.voigt_chain((K, 0), (B, 0)), materials.Channel.elastic(0)),
        (
            materials.Channel.elastic(1) + materials.Channel.maxwell(2, 4) + materials.Channel.maxwell(3, 6),
            materials.Channel(1, (5,), (2,), 0),
        ),
    ],
)
def test_degenerate_parts_are_exact(channel: materials.Channel, same: materials.Channel) -> None:
    assert channel == same


def test_zero_channels_signs_and_what_is_before_the_start() -> None:
    """Constants of one sign behave as their opposites."""
    assert materials.Channel.maxwell(0, 1).is_zero and not materials.Channel.voigt(0, 1).is_zero
    negative = materials.Channel.three_element(-K, -B, -B2)
    assert negative == materials.Channel.three_element(K, B, B2).scaled(-1)
    assert negative.creep(3.0) == pytest.approx(-materials.Channel.three_element(K, B, B2).creep(3.0), rel=1e-14)
    assert materials.Channel.voigt_chain((-K, -1), (-B, -9)) == materials.Channel.voigt_chain((K, 1), (B, 9)).scaled(-1)
    body = materials.Channel.three_element(K, B, B2)
    for response in (body.relaxation, body.ramp, body.creep):
        assert response(np.array([[-1.0, 1.0]])).shape == (1, 2) and response(-1.0) == 0
    # E15: the relaxing part is larger by c1/c2 of itself (4 % for 20, 500); eta and tau are the same.
    true, printed = (materials.Channel.three_element(30, 20, 500, seed_printed=flag) for flag in (False, True))
    assert printed.strengths[0] / true.strengths[0] - 1 == pytest.approx(20 / 500, rel=1e-9)
    assert (printed.times, printed.viscosity) == (true.times, true.viscosity)
    assert printed.steady_viscosity == pytest.approx(500 + true.viscosity, rel=1e-12)


BANKS = {
    "solid": (1.5, (2.0, 0.3), (0.2, 11.0), 0.7),
    "solid, no dashpot": (1.5, (2.0, 0.3), (0.2, 11.0), 0.0),
    "fluid": (0.0, (2.0, 0.3, 5.0), (0.2, 11.0, 3.0), 0.7),
    "fluid, no dashpot": (0.0, (2.0, 0.3), (0.2, 11.0), 0.0),
    "equal times and a zero strength": (1.5, (2.0, 0.0, 3.0), (0.2, 1.0, 0.2), 0.0),
}


@settings(deadline=None, max_examples=40)
@given(
    equilibrium=st.sampled_from([0.0, 3.0]),
    arms=st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.05, 50)), min_size=1, max_size=5),
    eta=st.sampled_from([0.0, 0.4]),
)
def test_random_banks_creep_as_their_state_equation(
    equilibrium: float, arms: list[tuple[float, float]], eta: float
) -> None:
    bank = (equilibrium, *zip(*arms, strict=True), eta)
    times = np.array([0.02, 1.0, 20.0])
    close(materials.Channel.prony(*bank).creep(times), [BankOde(*bank).creep(t) for t in times])


@pytest.mark.parametrize("name", BANKS)
@pytest.mark.parametrize("s", [0.05, 1.0, 6.0])
def test_laplace_transforms_of_creep_and_relaxation_are_inverse(name: str, s: float) -> None:
    """s^2 J~(s) R~(s) = 1, both transforms by quadrature, the delta adding its weight."""
    channel = materials.Channel.prony(*BANKS[name])
    span = [*(b for b in (0, 0.1, 0.5, 2, 10, 50) if b < 45 / s), 45 / s]

    def transform(response: Callable[[float], Any]) -> float:
        def weighed(t: float) -> float:
            return float(response(t)) * math.exp(-s * t)

        return sum(quad(weighed, a, b, epsabs=0, epsrel=1e-12, limit=200)[0] for a, b in pairwise(span))

    relaxed = transform(channel.relaxation) + channel.viscosity
    assert s**2 * transform(channel.creep) * relaxed == pytest.approx(1, rel=1e-9)
    assert channel.operational_modulus(s) == pytest.approx(s * relaxed, rel=1e-9)


def test_complex_modulus_is_that_of_the_state_equation() -> None:
    ks, bs, omegas = (10.0, 20.0, 5.0), (30.0, 300.0, 0.1), np.array([1e-3, 0.1, 10.0, 1e3])
    expected = [ChainOde(ks, bs).operational_modulus(1j * omega) for omega in omegas]
    np.testing.assert_allclose(materials.Channel.voigt_chain(ks, bs).complex_modulus(omegas), expected, rtol=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(-1, 2)), min_size=1, max_size=5))
def test_any_chain_against_its_state_equation(units: list[tuple[float, float]]) -> None:
    ks = [k for k, _ in units]
    bs = [k / 10**rate for k, rate in units]
    times = np.array([0.003, 0.2, 3.0])
    close(materials.voigt_chain_to_maxwell_bank(ks, bs).ramp(times), [ChainOde(ks, bs).ramp(t) for t in times])


def separated_units(count: int) -> st.SearchStrategy[list[tuple[float, float]]]:
    exponents = st.lists(st.integers(-72, 72), min_size=count, max_size=count, unique=True)
    rates = exponents.map(lambda powers: [10 ** (power / 24) for power in powers])
    stiffness = st.lists(st.floats(0.01, 100), min_size=count, max_size=count)
    return st.tuples(stiffness, rates).map(lambda pair: list(zip(*pair, strict=True)))


@settings(deadline=None, max_examples=150)
@example(units=[(97.328125, 10 ** (power / 24)) for power in range(3)], free="nothing")  # root in mid-gap
@given(units=st.integers(1, 5).flatmap(separated_units), free=st.sampled_from(["nothing", "dashpot", "spring", "both"]))
def test_chain_to_bank_and_back(units: list[tuple[float, float]], free: str) -> None:
    chain = sorted(((k, k / rate) for k, rate in units), key=lambda unit: unit[0] / unit[1])
    if free in ("dashpot", "both"):
        chain.insert(0, (0.0, 3.0))
    if free in ("spring", "both"):
        chain.append((7.0, 0.0))
    ks, bs = zip(*chain, strict=True)
    back = materials.maxwell_bank_to_voigt_chain(materials.voigt_chain_to_maxwell_bank(ks, bs))
    assert back.ks == pytest.approx(ks, rel=1e-9) and back.bs == pytest.approx(bs, rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(
    units=st.integers(1, 5).flatmap(separated_units),
    equilibrium=st.sampled_from([0.0, 2.0]),
    eta=st.sampled_from([0.0, 0.5]),
)
def test_bank_to_chain_and_back(units: list[tuple[float, float]], equilibrium: float, eta: float) -> None:
    arms = sorted(((g, 1 / rate) for g, rate in units), key=lambda arm: -arm[1])
    bank = materials.Channel.prony(equilibrium, *zip(*arms, strict=True), eta)
    chain = materials.maxwell_bank_to_voigt_chain(bank)
    back = materials.voigt_chain_to_maxwell_bank(chain.ks, chain.bs)
    assert back.strengths == pytest.approx(bank.strengths, rel=1e-9)
    assert back.times == pytest.approx(bank.times, rel=1e-9)
    # rates are zeros near 0 and infinity where a free part stands: those parts are exact
    assert (back.equilibrium, back.viscosity) == pytest.approx((equilibrium, eta), rel=1e-9)


def test_equal_and_close_rates_free_parts_and_ten_decades() -> None:
    """Two units of one rate act as k = 1/sum(1/k), b = 1/sum(1/b), also when the rates differ by rounding."""
    assert materials.voigt_chain_to_maxwell_bank((1, 3), (2, 6)) == materials.Channel.voigt(0.75, 1.5)
    assert materials.voigt_chain_to_maxwell_bank((0.1, 0.3), (1.0, 3.0)).strengths == ()
    nearly = materials.voigt_chain_to_maxwell_bank((1, 3, 2), (2, 6 * (1 + 1e-11), 1))
    exact = materials.voigt_chain_to_maxwell_bank((0.75, 2), (1.5, 1))
    assert nearly.strengths == pytest.approx(exact.strengths, rel=1e-10)
    assert nearly.times == pytest.approx(exact.times, rel=1e-10)
    # k1 = k2 = 1, b = 1, 1.0001: g = (b2 - b1)^2/(2 (b1 + b2)^2), small and kept.
    bank = materials.voigt_chain_to_maxwell_bank((1, 1), (1, 1.0001))
    # b2 - b1 = 1e-4 carries a relative rounding of 1e-12
    assert bank.strengths == pytest.approx((1e-8 / (2 * 2.0001**2),), rel=1e-10)
    assert materials.maxwell_bank_to_voigt_chain(bank).bs == pytest.approx((1.0001, 1), rel=1e-9)
    # Spring + dashpot is Maxwell; spring + Voigt is the standard solid: g = k0^2/(k0+k), tau = b/(k0+k).
    maxwell = materials.voigt_chain_to_maxwell_bank((3, 0), (0, 12))
    assert (maxwell.equilibrium, maxwell.viscosity) == (0, 0)
    assert (*maxwell.strengths, *maxwell.times) == pytest.approx((3, 4), rel=1e-14)
    solid = materials.voigt_chain_to_maxwell_bank((3, 2), (0, 12))
    assert solid.equilibrium == pytest.approx(3 * 2 / (3 + 2), rel=1e-14)
    assert (*solid.strengths, *solid.times) == pytest.approx((9 / 5, 12 / 5), rel=1e-14)
    # Weakly coupled units, where expanded polynomials lose every digit.
    ks, bs = (1.0, 20.0, 3.0, 0.4, 5.0), (1e5, 2e4, 3.0, 4e-3, 5e-5)
    back = materials.maxwell_bank_to_voigt_chain(materials.voigt_chain_to_maxwell_bank(ks, bs))
    assert (*back.ks, *back.bs) == pytest.approx((*ks, *bs), rel=1e-12)
    assert materials.voigt_chain_to_maxwell_bank((3, 1, 2), (0, 10, 1)) == materials.voigt_chain_to_maxwell_bank(
        (1, 2, 3), (10, 1, 0)
    )


@pytest.mark.parametrize(
    ("bank", "sentence"),
    [
        (materials.Channel.prony(1, (0.0,), (2,), 3), "arm 1 of the bank has strength 0 .* drop that arm"),
        (materials.Channel.prony(1, (1, 2), (2, 2), 3), "share the relaxation time 2 s: merge"),
        (materials.Channel.prony(1, (1e-22,), (2,), 2), "two Voigt units share the rate k/b = 0.5 1/s"),
        (materials.Channel.prony(1, (-1,), (2,), 3), "negative modulus"),
        (materials.Channel.elastic(0), "carries no stress"),
    ],
)
def test_banks_no_chain_gives_back(bank: materials.Channel, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        materials.maxwell_bank_to_voigt_chain(bank)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: materials.Channel.prony(0, (1,), ()), "1 strengths and 0 times"),
        (lambda: materials.Channel.prony(0, (1,), (-2,)), "relaxation time -2 s is not positive"),
        (lambda: materials.Channel.prony(0, (math.nan,), (1,)), "not finite"),
        (lambda: materials.voigt_chain_to_maxwell_bank((1, 2), (1,)), "2 springs and 1 dashpots"),
        (lambda: materials.Channel.maxwell(0, 1).creep(1.0), "no creep function"),
        (lambda: materials.Channel.maxwell(K, -B), r"both signs .* choose the modulus bulk, shear or young"),
        (lambda: materials.Channel.voigt_chain((K, 1), (B, -9)), "both signs"),
        (lambda: materials.Channel.prony(1, (-2,), (1,)).creep(1.0), "both signs"),
    ],
)
def test_refused_channels(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        make()


SPRING, DASHPOT, SERIES = (materials.Moduli.from_young(young, 0.3) for young in (2.0, 6.0, 40.0))
SECTION, LENGTH = 0.5, 4.0


def test_kernels_of_edges() -> None:
    """kappa = B^2 k, A = k/(b + b'), eta = B b with B = b'/(b + b'), times section/length."""
    network = materials.edge_network(materials.ThreeElement(SPRING, DASHPOT, SERIES), section=SECTION, length=LENGTH)
    share, scale = 40 / 46, SECTION / LENGTH
    assert network.stiffness == 0
    assert network.arm_stiffness == pytest.approx((share**2 * 2 * scale,), rel=1e-14)
    assert network.arm_rate == pytest.approx((2 / 46,), rel=1e-14)
    assert network.viscosity == pytest.approx(share * 6 * scale, rel=1e-14)
    voigt, maxwell = (
        materials.edge_network(materials.Voigt(SPRING, DASHPOT)),
        materials.edge_network(materials.Maxwell(SPRING, DASHPOT)),
    )
    assert (voigt.arm_stiffness, voigt.arm_rate) == ((), ())
    assert (voigt.stiffness, voigt.viscosity) == pytest.approx((2, 6), rel=1e-14)
    assert (*maxwell.arm_stiffness, *maxwell.arm_rate) == pytest.approx((2, 2 / 6), rel=1e-14)
    assert (maxwell.stiffness, maxwell.viscosity) == (0, 0)
    # f = B (k d + b ldot), d' = -A d + B ldot at constant ldot: d = B ldot (1 - exp(-A t))/A.
    k, b1, b2, rate, t = 2.0, 6.0, 40.0, 0.3, 5.0
    share, decay = b2 / (b1 + b2), k / (b1 + b2)
    voigt_part = share * rate * (1 - np.exp(-decay * t)) / decay
    network = materials.edge_network(materials.ThreeElement(SPRING, DASHPOT, SERIES))
    arms = network.advance(np.zeros(1), rate, t)
    close(network.force(rate * t, rate, arms), share * (k * voigt_part + b1 * rate))


def test_network_follows_a_chain_and_a_bank() -> None:
    ks, bs = (10.0, 10.0, 10.0), (30.0, 300.0, 500.0)
    springs, dashpots = (tuple(materials.Moduli.from_young(value, 0.3) for value in values) for values in (ks, bs))
    network = materials.edge_network(materials.GeneralizedVoigt(springs, dashpots))
    rate, arms = 0.025, np.zeros((1, 2))
    for _ in range(4):
        arms = network.advance(arms, np.array([rate]), 0.25)
    ode = ChainOde(ks, bs)
    close(network.force(rate, rate, arms), [ode.ramp(1.0, rate)])
    arms = network.advance(arms, np.zeros(1), 30.0)
    close(network.force(rate, 0.0, arms), [ode.ramp_hold(rate, 1.0, 31.0)])
    channel = materials.Channel.prony(1.5, (2.0, 0.3), (0.2, 11.0), 0.7)
    network = materials.EdgeNetwork.from_channel(channel)
    rates = np.array([0.1, -2.0, 5.0])
    arms = network.advance(np.zeros((3, 2)), rates, 2.0)
    close(network.force(2.0 * rates, rates, arms), channel.ramp(2.0) * rates)
