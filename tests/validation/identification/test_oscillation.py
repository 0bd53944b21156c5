"""Prony terms and shifts from storage and loss: known ones come back, slopes are right, faults are named."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rheotwin.__main__ import main
from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.validation.identification.oscillation import _shortened, identify_oscillation
from rheotwin.validation.identification.record import OscillationRecord
from rheotwin.validation.identification.spectrum import Terms, residuals_of
from rheotwin.validation.identification.sweeps import ShiftKind, Sweeps

FIVE = Channel.prony(1.0, (4.0, 2.0, 3.0, 1.0, 2.0), tuple(10.0 ** np.arange(-2.0, 3.0)))
TWO = Channel.prony(5.0, (20.0, 8.0), (0.05, 4.0))
LEVELS = np.array([0.0, 10.0, 20.0, 30.0])


def measured(
    channel: Channel, frequency: Array, noise: float = 0.0, seed: int = 0, a: Array | float = 1.0
) -> OscillationRecord:
    """Return storage and loss of a channel at reduced frequencies w a, both with relative noise."""
    draw = np.random.default_rng(seed).normal(size=(2, len(frequency)))
    z = channel.complex_modulus(frequency * a)
    storage, loss = z.real * (1.0 + noise * draw[0]), z.imag * (1.0 + noise * draw[1])
    return OscillationRecord("test", frequency, storage, loss)


def at_levels(logs: Array, noise: float = 0.0) -> OscillationRecord:
    """Return two decades of frequency at every temperature, whose ln a are given."""
    sweep = np.logspace(-1.0, 1.0, 11)
    frequency, a = np.tile(sweep, len(logs)), np.exp(np.repeat(logs, len(sweep)))
    return replace(measured(TWO, frequency, noise, a=a), temperature=np.repeat(LEVELS, len(sweep)))


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_five_times_over_four_decades_are_found_among_hundreds_over_seven(seed: int) -> None:
    found = identify_oscillation(measured(FIVE, np.logspace(-3.5, 3.5, 141), 0.01, seed))
    chosen = found.law
    assert chosen is not None and len(chosen.channel.times) == 5
    np.testing.assert_allclose(chosen.channel.times, FIVE.times, rtol=0.10)
    np.testing.assert_allclose(chosen.channel.strengths, FIVE.strengths, rtol=0.05)
    assert chosen.channel.equilibrium == pytest.approx(1.0, rel=0.05) and chosen.channel.viscosity == 0.0


def test_data_without_noise_give_the_terms_back() -> None:
    found = identify_oscillation(measured(TWO, np.logspace(-2.0, 3.0, 40)), terms=2)
    assert found.law is not None
    np.testing.assert_allclose(found.law.channel.times, TWO.times, rtol=1e-6)
    np.testing.assert_allclose(found.law.channel.strengths, TWO.strengths, rtol=1e-6)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    truth = [5.0, 20.0, 8.0, 0.05, 4.0]
    hits = []
    for seed in range(60):
        found = identify_oscillation(measured(TWO, np.logspace(-2.0, 2.5, 30), 0.02, seed), terms=2)
        known = [found_one for found_one in found.parameters if found_one.name != "eta"]
        hits.append([p.low < value < p.high for p, value in zip(known, truth, strict=True)])
    assert 0.90 < np.mean(hits) < 0.99  # 300 hits of probability 0.95, somewhat correlated


SHIFTS = {
    "wlf": -np.log(10.0) * 8.0 * (LEVELS - 10.0) / (60.0 + LEVELS - 10.0),
    "arrhenius": 15000.0 * (1.0 / (LEVELS + 273.15) - 1.0 / 283.15),
    "free": np.array([2.0, 0.0, -2.5, -3.0]),
}


@pytest.mark.parametrize("kind", SHIFTS)
def test_shifts_are_found_together_with_the_terms(kind: ShiftKind) -> None:
    found = identify_oscillation(at_levels(SHIFTS[kind], 0.005), reference=10.0)
    assert found.model.endswith(f" {kind}") and found.law is not None
    np.testing.assert_allclose(found.law.channel.times, TWO.times, rtol=0.05)
    if kind == "wlf":
        truth = {"C1": 8.0, "C2": 60.0}
    elif kind == "arrhenius":
        truth = {"activation energy": 15000.0 * 8.314462618}
    else:
        truth = {f"log10 a({t:g} C)": s / np.log(10.0) for t, s in zip(LEVELS, SHIFTS[kind], strict=True) if s}
    for parameter in found.parameters:
        if parameter.name in truth:
            assert parameter.low < parameter.value < parameter.high
            assert parameter.value == pytest.approx(truth.pop(parameter.name), rel=0.05)
    assert not truth


def test_the_law_at_a_temperature_that_was_not_measured() -> None:
    beyond = identify_oscillation(at_levels(SHIFTS["wlf"]), shift="wlf", reference=90.0)
    assert "90 Celsius, beyond the measured " in beyond.notes[0]
    found = identify_oscillation(at_levels(SHIFTS["wlf"]), shift="wlf", reference=15.0)
    a = 10.0 ** (-8.0 * 5.0 / 65.0)
    assert found.law is not None
    np.testing.assert_allclose(found.law.channel.times, np.array(TWO.times) * a, rtol=1e-4)


@pytest.mark.parametrize("kind", SHIFTS)
def test_slopes_are_those_of_differences(kind: ShiftKind) -> None:
    sweeps = Sweeps(at_levels(SHIFTS[kind]), kind, 10.0)
    shift = {"free": np.array([1.9, -2.4, -3.1]), "wlf": np.log([7.0, 45.0]), "arrhenius": np.array([3.9])}[kind]
    terms = Terms(np.log([0.04, 5.0]), np.array([15.0, 9.0]), np.array([4.0, 0.3]), shift)
    _, slopes = residuals_of(sweeps, terms)
    differences = approx_fprime(terms.unknowns, lambda q: residuals_of(sweeps, terms.moved(q))[0], 1e-7)
    np.testing.assert_allclose(slopes, differences, rtol=1e-6, atol=2e-6)


def test_the_same_record_gives_the_same_bits() -> None:
    record = at_levels(SHIFTS["free"], 0.01)
    one, other = (identify_oscillation(record) for _ in range(2))
    assert one.parameters == other.parameters and one.orders == other.orders


def test_shear_data_give_a_law_of_youngs_modulus() -> None:
    record = replace(measured(TWO, np.logspace(-2.0, 2.5, 30)), modulus="shear")
    found = identify_oscillation(record, terms=2, poisson=0.3)
    assert found.law is not None and found.law.channel.equilibrium == pytest.approx(2.6 * 5.0, rel=1e-6)
    assert found.value("g_inf") == pytest.approx(5.0, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"loss": np.array([1.0, 0.0, 1.0, 1.0])}, "loss is 0 in row 2"),
        ({"storage": np.array([1.0, 1.0, np.nan, 1.0])}, "storage is nan in row 3"),
        ({"temperature": np.array([20.0, 20.0, 30.0, 30.0])}, "2 rows at 20 Celsius"),
    ],
)
def test_faults_are_one_sentence(change: dict[str, Array], said: str) -> None:
    plain = OscillationRecord("dma", *(np.array([1.0, 2.0, 3.0, 4.0]) for _ in range(3)))
    with pytest.raises(RheotwinError, match=said):
        identify_oscillation(replace(plain, **change))


def test_what_cannot_be_asked_for() -> None:
    record = at_levels(SHIFTS["free"])
    for options, said in (
        ({"shift": "none"}, "it has 4 temperatures; choose a shift"),
        ({"shift": "free", "reference": 12.0}, "12 is none; choose one of 0, 10, 20, 30"),
        ({"shift": "wlf", "terms": 40}, "40 terms cannot be told apart in these data; ask for 1 to"),
    ):
        with pytest.raises(RheotwinError, match=said):
            identify_oscillation(record, **options)


def test_the_command_line_takes_a_table_over_frequency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = at_levels(SHIFTS["wlf"], 0.005)
    assert record.temperature is not None
    rows = zip(record.temperature, record.frequency, record.storage, record.loss, strict=True)
    lines = [
        "temperature_C,angular_frequency_rad_s,storage_Pa,loss_Pa",
        *(",".join(map(repr, map(float, row))) for row in rows),
    ]
    path = tmp_path / "dma.csv"
    path.write_text("\n".join(lines))
    assert main(["identify", str(path), "--shift", "wlf", "--temperature", "15", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "the law is that of 15 Celsius" in said and "C2" in said
    assert 'model = "generalized-maxwell"' in (tmp_path / "out" / "law.toml").read_text()
    assert main(["identify", str(path), "--law", "chain"]) == 2
    assert "identified from one table, without --law" in capsys.readouterr().err


def test_a_term_beyond_the_frequencies_is_named_with_what_would_tell() -> None:
    slow = Channel.prony(5.0, (20.0, 8.0), (0.05, 200.0))
    found = identify_oscillation(measured(slow, np.logspace(-1.3, 2.5, 30), 0.01), terms=2)
    (flat,) = found.flat
    assert flat.combination.startswith("g_inf^-1 g2 tau2 (") and flat.factor > 1e6
    assert flat.remedy == "needs frequencies below 0.05 rad/s, or a higher temperature"
    assert found.value("g2") == pytest.approx(13.0, rel=0.02)  # g_inf + g2
    assert found.value("g2") / found.value("tau2") == pytest.approx(0.04, rel=0.05)
    assert identify_oscillation(measured(TWO, np.logspace(-2.0, 2.5, 30), 0.01), terms=2).flat == ()


def test_two_terms_of_one_time_are_named_as_a_combination() -> None:
    near = Channel.prony(5.0, (20.0, 8.0), (0.05, 0.12))
    found = identify_oscillation(measured(near, np.logspace(-2.0, 2.5, 30), 0.05), terms=2)
    assert found.flat and found.flat[0].remedy == "needs less noise, or fewer terms"


def test_flat_directions_of_a_broad_spectrum_are_few_and_short() -> None:
    times = 10.0 ** np.linspace(-3.0, 3.0, 13)
    found = identify_oscillation(
        measured(Channel.prony(0.5, (1.0,) * 13, times), np.logspace(-3.0, 3.0, 60), 0.03), terms=9
    )
    assert 0 < len(found.flat) <= 3
    assert all(len(one.combination.split()) <= 6 + 3 for one in found.flat)
    assert _shortened("a b^2 c d e f g h") == "a b^2 c d e f and 2 more" and _shortened("a b") == "a b"
