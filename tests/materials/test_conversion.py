from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel, maxwell_bank_to_voigt_chain, voigt_chain_to_maxwell_bank

Close = Callable[..., None]


def test_two_units_in_closed_form() -> None:
    """Identification spec 2.3, n = 2, and ID-10."""
    k1, b1, k2, b2 = 10.0, 30.0, 20.0, 300.0
    bank = voigt_chain_to_maxwell_bank((k1, k2), (b1, b2))
    assert bank.equilibrium == pytest.approx(1 / (1 / k1 + 1 / k2), rel=1e-14)
    assert bank.viscosity == pytest.approx(1 / (1 / b1 + 1 / b2), rel=1e-14)
    assert bank.times == pytest.approx(((b1 + b2) / (k1 + k2),), rel=1e-12)
    assert bank.strengths == pytest.approx(((k1 * b2 - k2 * b1) ** 2 / ((b1 + b2) ** 2 * (k1 + k2)),), rel=1e-12)
    found = (bank.equilibrium, bank.viscosity, 1 / bank.times[0], bank.strengths[0])
    assert found == pytest.approx((6.666667, 27.27273, 1 / 11, 1.763085), rel=5e-7)


# ID-12, ID-13, ID-15, ID-16: D = -0.025 m in 1 s, then hold; force at 0+, 1-, 1+, later times. Source digits.
TABLES = {
    "ID-12": ((15, 15), (30, 300), (0.6818182, 0.9892984, 0.3074803), {10: 0.2404393, 100: 0.1875148}),
    "ID-13": ((15, 15), (3, 300), (0.0742574, 0.4332742, 0.3590168), {10: 0.2578577, 100: 0.1875095}),
    "ID-15": ((10, 10, 10), (30, 300, 500), (0.6465517, 0.8313737, 0.1848219), {200: 0.0833873}),
    "ID-16": ((10, 10, 10), (60, 300, 600), (1.1538462, 1.3072261, 0.1533800), {200: 0.0834955}),
}


@pytest.mark.parametrize("name", TABLES)
def test_ramp_and_hold_of_the_source(name: str, chain_ode: Any, close: Close) -> None:
    ks, bs, around, later = TABLES[name]
    rate, bank = 0.025, voigt_chain_to_maxwell_bank(ks, bs)

    def hold(t: float) -> float:
        return float(bank.ramp(t, rate) - bank.ramp(t - 1, rate))

    forces = [float(bank.ramp(0.0, rate)), float(bank.ramp(1.0, rate)), hold(1.0)]
    assert forces == pytest.approx(around, abs=5.1e-8)
    assert [hold(t) for t in later] == pytest.approx(list(later.values()), abs=5.1e-8)
    ode = chain_ode(ks, bs)
    close(bank.ramp(1.0, rate), ode.ramp(1.0, rate))
    close([hold(t) for t in later], [ode.ramp_hold(rate, 1.0, t) for t in later])


def test_relaxation_times_of_the_source() -> None:
    """ID-12, 13, 15, 16, 17."""
    assert voigt_chain_to_maxwell_bank((15, 15), (30, 300)).times == pytest.approx((11,), rel=1e-12)
    assert voigt_chain_to_maxwell_bank((15, 15), (3, 300)).times == pytest.approx((10.1,), rel=1e-12)
    first = voigt_chain_to_maxwell_bank((10, 10, 10), (30, 300, 500))
    assert sorted(first.times) == pytest.approx((14.04887, 41.28447), rel=5e-7)
    assert sorted(first.strengths) == pytest.approx((0.270375, 3.928991), abs=5.1e-7)
    second = voigt_chain_to_maxwell_bank((10, 10, 10), (60, 300, 600))
    assert sorted(second.times) == pytest.approx((16.37950, 47.62050), rel=5e-7)


def test_any_chain_against_its_state_equation(chain_ode: Any, close: Close) -> None:
    @settings(deadline=None, max_examples=80)
    @given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(-1, 2)), min_size=1, max_size=5))
    def check(units: list[tuple[float, float]]) -> None:
        ks = [k for k, _ in units]
        bs = [k / 10**rate for k, rate in units]
        bank, ode = voigt_chain_to_maxwell_bank(ks, bs), chain_ode(ks, bs)
        times = np.array([0.003, 0.2, 3.0])
        close(bank.ramp(times), [ode.ramp(t) for t in times])

    check()


def separated_units(count: int) -> st.SearchStrategy[list[tuple[float, float]]]:
    """Units (k, k/b) with rates at least 10 % apart, over six decades, in any order."""
    exponents = st.lists(st.integers(-72, 72), min_size=count, max_size=count, unique=True)
    rates = exponents.map(lambda powers: [10 ** (power / 24) for power in powers])
    stiffness = st.lists(st.floats(0.01, 100), min_size=count, max_size=count)
    return st.tuples(stiffness, rates).map(lambda pair: list(zip(*pair, strict=True)))


@settings(deadline=None, max_examples=150)
@example(units=[(97.328125, 10 ** (power / 24)) for power in range(3)], free="nothing")  # root in mid-gap
@given(
    units=st.integers(1, 5).flatmap(separated_units),
    free=st.sampled_from(["nothing", "dashpot", "spring", "both"]),
)
def test_chain_to_bank_and_back(units: list[tuple[float, float]], free: str) -> None:
    chain = sorted(((k, k / rate) for k, rate in units), key=lambda unit: unit[0] / unit[1])
    if free in ("dashpot", "both"):
        chain.insert(0, (0.0, 3.0))
    if free in ("spring", "both"):
        chain.append((7.0, 0.0))
    ks, bs = zip(*chain, strict=True)
    back = maxwell_bank_to_voigt_chain(voigt_chain_to_maxwell_bank(ks, bs))
    assert back.ks == pytest.approx(ks, rel=1e-9)
    assert back.bs == pytest.approx(bs, rel=1e-9)


@settings(deadline=None, max_examples=100)
@given(
    units=st.integers(1, 5).flatmap(separated_units),
    equilibrium=st.sampled_from([0.0, 2.0]),
    eta=st.sampled_from([0.0, 0.5]),
)
def test_bank_to_chain_and_back(units: list[tuple[float, float]], equilibrium: float, eta: float) -> None:
    arms = sorted(((g, 1 / rate) for g, rate in units), key=lambda arm: -arm[1])
    bank = Channel.prony(equilibrium, *zip(*arms, strict=True), eta)
    chain = maxwell_bank_to_voigt_chain(bank)
    back = voigt_chain_to_maxwell_bank(chain.ks, chain.bs)
    assert back.strengths == pytest.approx(bank.strengths, rel=1e-9)
    assert back.times == pytest.approx(bank.times, rel=1e-9)
    # rates are zeros near 0 and infinity where a free part stands: those parts are exact
    assert (back.equilibrium, back.viscosity) == pytest.approx((equilibrium, eta), rel=1e-9)


def test_rates_over_ten_decades() -> None:
    """Weakly coupled units, where expanded polynomials lose every digit."""
    ks, bs = (1.0, 20.0, 3.0, 0.4, 5.0), (1e5, 2e4, 3.0, 4e-3, 5e-5)
    back = maxwell_bank_to_voigt_chain(voigt_chain_to_maxwell_bank(ks, bs))
    assert back.ks == pytest.approx(ks, rel=1e-12)
    assert back.bs == pytest.approx(bs, rel=1e-12)


def test_order_of_units_does_not_matter() -> None:
    forward = voigt_chain_to_maxwell_bank((1, 2, 3), (10, 1, 0))
    assert voigt_chain_to_maxwell_bank((3, 1, 2), (0, 10, 1)) == forward


def test_free_spring_and_free_dashpot() -> None:
    """Spring + dashpot is Maxwell; spring + Voigt is the standard solid: g = k0^2/(k0+k), tau = b/(k0+k)."""
    maxwell = voigt_chain_to_maxwell_bank((3, 0), (0, 12))
    assert (maxwell.equilibrium, maxwell.viscosity) == (0, 0)
    assert (*maxwell.strengths, *maxwell.times) == pytest.approx((3, 4), rel=1e-14)
    solid = voigt_chain_to_maxwell_bank((3, 2), (0, 12))
    assert solid.equilibrium == pytest.approx(3 * 2 / (3 + 2), rel=1e-14)
    assert (*solid.strengths, *solid.times) == pytest.approx((9 / 5, 12 / 5), rel=1e-14)


def test_equal_rates_are_one_unit() -> None:
    """Two units of one rate act as k = 1/sum(1/k), b = 1/sum(1/b), also when the rates differ by rounding."""
    assert voigt_chain_to_maxwell_bank((1, 3), (2, 6)) == Channel.voigt(0.75, 1.5)
    rounded = voigt_chain_to_maxwell_bank((0.1, 0.3), (1.0, 3.0))
    assert rounded.strengths == ()
    nearly = voigt_chain_to_maxwell_bank((1, 3, 2), (2, 6 * (1 + 1e-11), 1))
    exact = voigt_chain_to_maxwell_bank((0.75, 2), (1.5, 1))
    assert nearly.strengths == pytest.approx(exact.strengths, rel=1e-10)
    assert nearly.times == pytest.approx(exact.times, rel=1e-10)


def test_close_rates_stay_two_units() -> None:
    """k1 = k2 = 1, b = 1, 1.0001: g = (b2 - b1)^2/(2 (b1 + b2)^2), small and kept."""
    bank = voigt_chain_to_maxwell_bank((1, 1), (1, 1.0001))
    # b2 - b1 = 1e-4 carries a relative rounding of 1e-12
    assert bank.strengths == pytest.approx((1e-8 / (2 * 2.0001**2),), rel=1e-10)
    assert maxwell_bank_to_voigt_chain(bank).bs == pytest.approx((1.0001, 1), rel=1e-9)


@pytest.mark.parametrize(
    ("bank", "sentence"),
    [
        (Channel.prony(1, (0.0,), (2,), 3), "arm 1 of the bank has strength 0 .* drop that arm"),
        (Channel.prony(1, (1, 2), (2, 2), 3), "share the relaxation time 2 s: merge"),
        (Channel.prony(1, (1e-22,), (2,), 2), "two Voigt units share the rate k/b = 0.5 1/s"),
        (Channel.prony(1, (-1,), (2,), 3), "negative modulus"),
        (Channel.elastic(0), "carries no stress"),
    ],
)
def test_banks_no_chain_gives_back(bank: Channel, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        maxwell_bank_to_voigt_chain(bank)


def test_unpaired_units_are_refused() -> None:
    with pytest.raises(RheotwinError, match="2 springs and 1 dashpots"):
        voigt_chain_to_maxwell_bank((1, 2), (1,))
