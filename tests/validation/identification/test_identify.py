"""From records to laws: parameters, orders, intervals, laws in scenes, several records, offsets, blind predictions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.__main__ import main
from rheotwin.errors import RheotwinError
from rheotwin.materials import Channel
from rheotwin.record import open_record
from rheotwin.validation.checks import fitting
from rheotwin.validation.checks.fitting import noisy_d, problem, run_d, seen
from rheotwin.validation.identification import Geometry, Identified, Phase, TimeRecord, identify
from rheotwin.validation.identification.candidate import LAWS
from rheotwin.validation.identification.fit import Problem, central_differences, fit
from rheotwin.validation.identification.intervals import bootstrap, profiles
from rheotwin.validation.identification.legacy import legacy_two_element
from rheotwin.validation.identification.order import correlation_length, judged, runs_probability
from rheotwin.validation.identification.response import FrictionModel, LawModel, respond
from rheotwin.validation.identification.straight import straightened

TRUTH = {"k1": 10.0, "b1": 30.0, "k2": 20.0, "b2": 300.0}


@pytest.fixture(scope="module")
def found() -> Identified:
    return identify(noisy_d(3), law="chain")


def ramps(rate: float = 0.01, hold: float = 60.0, step: float = 0.2) -> TimeRecord:
    """A ramp to 0.05 m, a hold and half the way back."""
    turn = 0.05 / rate
    time = np.arange(0.0, 2.0 * turn + hold + step, step)
    x = 0.05 * np.interp(time, [0.0, turn, turn + hold, 2.0 * turn + hold], [0.0, 1.0, 1.0, 0.5])
    return TimeRecord.driven(time, x, 0.0 * x, name=f"rate {rate:g}")


def answered(record: TimeRecord, law: LawModel | FrictionModel, noise: float, seed: int = 0) -> TimeRecord:
    shown = respond(law, record)
    noisy = shown + noise * np.abs(shown).max() * np.random.default_rng(seed).normal(size=len(shown))
    if record.phases[0].drive == "force":
        return replace(record, displacement=noisy)
    return replace(record, force=noisy)


def test_run_d_with_noise_is_two_units_within_their_intervals(found: Identified) -> None:
    assert found.model == "chain-2"
    assert [row.verdict for row in found.orders][:2] == ["does not describe the record", "chosen"]
    assert all("100 %" in row.verdict for row in found.orders[2:])
    for parameter in found.parameters:
        assert parameter.low < TRUTH[parameter.name] < parameter.high
        assert parameter.high / parameter.low < 1.02
    for row in found.orders[:2]:  # of white noise, all samples count
        assert row.effective == pytest.approx(1801, rel=0.02)
        assert row.bic - row.aic == pytest.approx(len(row.parameters) * (np.log(row.effective) - 2.0))
        assert row.bic == pytest.approx(1801 * np.log(row.reduced_chi2) + len(row.parameters) * np.log(1801), abs=30.0)
    assert found.adequacy.adequate and found.adequacy.reduced_chi2 == pytest.approx(1.0, abs=0.1)
    assert found.flat == () and 0.0 < found.law.uncertainty < 0.01  # type: ignore[union-attr, operator]


def test_noise_of_the_path_is_no_force_of_a_dashpot() -> None:
    """0.05 mm of noise on the path too: b_0 would carry 19 mN of it; made straight, the law is that of a clean path."""
    record = noisy_d(1)
    rough = np.where(record.observed_force, 5e-5 * np.random.default_rng(7).normal(size=len(record.time)), 0.0)
    noisy = replace(record, displacement=record.displacement + rough, sigma=(None, None))
    assert not identify(noisy, law="chain-2").adequacy.adequate
    found = identify(straightened(noisy), law="chain")
    assert found.model == "chain-2" and found.adequacy.adequate
    assert [found.value(name) for name in TRUTH] == pytest.approx(list(TRUTH.values()), rel=5e-3)


def test_massless_release_costs_little() -> None:
    record = replace(seen(*run_d()), mass=0.0)
    row = fit(problem("chain-2", record), starts=3)
    assert np.exp(row.problem.candidate.read(row.unknowns)) == pytest.approx([10.0, 30.0, 20.0, 300.0], rel=2e-3)


@pytest.mark.parametrize("name", ["chain-3", "bank-2", "power-bank-1", "cubic-bank-1", "three-element", "friction"])
def test_slopes_are_those_of_other_steps(name: str) -> None:
    """Central differences of two steps agree as their squares, so that their limit is known to 1e-9 of the largest."""
    fits = Problem(
        LAWS[name][0], (answered(ramps(), LawModel(Channel(8.0, (5.0,), (4.0,), 3.0).spectrum()), 0.01),), ((1.0, 1.0),)
    )
    at = {"friction": np.log([10.0, 30.0, 300.0, 0.05])}.get(name, 0.3 * np.arange(len(LAWS[name][0].bank_names)))
    used, wide = fits.slopes(at), [central_differences(fits.residuals, at, step) for step in (1e-3, 2e-3)]
    limit = (4.0 * wide[0] - wide[1]) / 3.0
    # an instant at which friction begins to slide moves with alpha: slopes jump there
    smooth = np.abs(wide[0] - limit) <= 1e-5 * np.abs(limit).max()
    assert smooth.mean() > 0.99
    assert np.abs(used - limit)[smooth].max() < 2e-8 * np.abs(limit).max()


def test_reading_a_chain_is_the_inverse_of_making_it() -> None:
    for name, elements in (
        ("chain-3", [10.0, 30.0, 20.0, 300.0, 5.0, 900.0]),
        ("power-chain-2", [50.0, 10.0, 30.0, 20.0, 300.0, 1.5]),
        ("three-element", [10.0, 30.0, 700.0]),
    ):
        (candidate,) = LAWS[name]
        back = candidate.read(candidate.unread(np.log(elements)))
        assert np.exp(back) == pytest.approx(elements, rel=1e-9)
        assert len(candidate.names) == len(candidate.units) == len(elements)


@pytest.mark.parametrize("solver", ["truss", "fem"])
def test_the_law_in_a_scene_reproduces_the_record(found: Identified, tmp_path: Path, solver: str) -> None:
    folder = found.save(tmp_path / "out")
    run = tmp_path / "run"
    assert main(["run", str(folder / "piece.toml"), "--solver", solver, "--output", str(run), "--quiet"]) == 0
    probes = open_record(run).probes
    record = noisy_d(3)
    pushed = record.observed_force
    wall, end = (
        np.interp(record.time, probes["time"], probes[name])
        for name in ("support.wall.force_x", "probe.end.displacement_x")
    )
    force, x = found.curves
    error = np.where(pushed, wall, end) - record.observed
    inside = np.abs(record.time - 6.1) > 0.2  # the force jumps
    assert np.sqrt(np.mean(error[pushed & inside] ** 2)) / np.abs(force.measured).max() == pytest.approx(
        force.misfit, rel=0.03
    )
    # the spec's share of an end without mass
    assert np.sqrt(np.mean(error[~pushed] ** 2)) / np.abs(x.measured).max() == pytest.approx(
        x.misfit, rel=0.03, abs=6e-4
    )


@pytest.mark.parametrize(
    ("geometry", "drive"),
    [
        (Geometry("bar", 0.06, 1e-4), "force"),
        (Geometry("layer", 1e-3, 1e-4), "displacement"),
        (Geometry("strain"), "displacement"),
    ],
)
def test_pieces_of_any_geometry_run(geometry: Geometry, drive: str, tmp_path: Path) -> None:
    path, law = ramps(), LawModel(Channel(8.0, (5.0,), (4.0,), 3.0).spectrum())
    phases = (Phase("force" if drive == "force" else "displacement", len(path.time)),)
    load = replace(path, force=10.0 * path.displacement, phases=phases, geometry=geometry)
    record = replace(answered(load, law, 0.0), time=path.time + 7.0)
    (tmp_path / "piece.toml").write_text(identify(record, law="chain-2", poisson=0.25).scene)
    run = tmp_path / "run"
    assert main(["run", str(tmp_path / "piece.toml"), "--output", str(run), "--quiet"]) == 0
    probes = open_record(run).probes
    shown = probes["probe.end.displacement_x" if drive == "force" else "support.wall.force_x"]
    steady = np.abs(np.diff(record.displacement, 2, append=0.0, prepend=0.0)) < 1e-6  # the force jumps elsewhere
    places = np.ones(len(record.time), bool) if drive == "force" else steady
    expected = record.observed[places]
    assert np.interp(record.time[places] - 7.0, probes["time"], shown) == pytest.approx(
        expected, abs=2e-3 * np.abs(expected).max()
    )


def test_a_piece_with_friction_runs(tmp_path: Path) -> None:
    record = replace(ramps(), geometry=Geometry("bar", 0.06, 1e-4))
    found = identify(answered(record, FrictionModel(200.0, 20.0, 200.0, 2.0), 0.0), law="friction")
    (tmp_path / "piece.toml").write_text(found.scene)
    run = tmp_path / "run"
    assert main(["run", str(tmp_path / "piece.toml"), "--solver", "truss", "--output", str(run), "--quiet"]) == 0
    probes = open_record(run).probes
    left = np.interp(record.time, probes["time"], probes["support.wall.force_x"]) - found.curves[0].measured
    steady = np.abs(np.diff(record.displacement, 2, append=0.0, prepend=0.0)) < 1e-6
    assert np.abs(left[steady]).max() < 0.01 * np.abs(found.curves[0].measured).max()


def test_a_result_is_written_once_and_whole(found: Identified, tmp_path: Path) -> None:
    folder = found.save(tmp_path / "out")
    data = json.loads((folder / "result.json").read_text())
    assert data["parameters"][0]["name"] == "k1" and data["law"]["model"] == "generalized-voigt"
    assert len(data["curves"][0]["model"]) == 966 and np.shape(data["correlations"]) == (4, 4)
    assert (folder / "law.toml").read_text() == found.to_toml()
    with pytest.raises(RheotwinError, match="not an empty folder"):
        found.save(folder)


def test_same_seed_same_bits() -> None:
    first, again = (
        identify(
            answered(ramps(), LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum()), 0.01), law="bank", seed=5
        ).to_data()
        for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize(
    ("geometry", "unit", "factor"),
    [(Geometry("bar", 0.06, 1e-4), "Pa", 600.0), (Geometry("layer", 1e-3, 1e-4), "Pa", 10.0)],
)
def test_geometry_makes_moduli(geometry: Geometry, unit: str, factor: float) -> None:
    record = replace(answered(ramps(), LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum()), 1e-4), geometry=geometry)
    result = identify(record, law="bank-1", poisson=0.25)
    assert result.value("k_inf") == pytest.approx(8.0 * factor, rel=1e-3) and result.parameters[0].unit == unit
    assert result.parameters[2].unit == "s"
    young = 2.5 if geometry.kind == "layer" else 1.0
    assert result.law is not None and result.law.table()["equilibrium"] == pytest.approx(8.0 * factor * young, rel=1e-3)


def test_two_rates_are_fitted_together_and_a_third_predicted() -> None:
    law = LawModel(Channel(8.0, (5.0, 3.0), (4.0, 40.0), 0.0).spectrum())
    records = [answered(ramps(rate), law, 0.005, seed) for seed, rate in enumerate((0.01, 0.002, 0.05))]
    result = identify(records[:2], law="bank", blind=records[2:])
    assert result.model == "bank-2" and [curve.fitted for curve in result.curves] == [True, True, False]
    assert result.curves[2].misfit == pytest.approx(0.005, rel=0.15)
    blind = result.curves[2]
    truth = respond(law, records[2])
    assert np.mean(np.abs(truth - blind.model) <= blind.high - blind.low) > 0.95
    assert [result.value(name) for name in ("g1", "tau1", "g2", "tau2")] == pytest.approx(
        [5.0, 4.0, 3.0, 40.0], rel=0.1
    )


def test_creep_under_force_is_identified() -> None:
    path = ramps()
    record = TimeRecord.driven(path.time, 0.0 * path.time, 10.0 * path.displacement, "force", "creep")
    law = LawModel(Channel.voigt_chain((10.0, 20.0), (30.0, 300.0)).spectrum())
    result = identify(answered(record, law, 0.002), law="chain")
    assert result.model == "chain-2" and result.curves[0].quantity == "displacement"
    assert [result.value(name) for name in TRUTH] == pytest.approx(list(TRUTH.values()), rel=0.05)


def test_offsets_are_found() -> None:
    law = LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum())
    record = answered(ramps(), law, 0.002)
    late = replace(record, force=np.interp(record.time - 0.13, record.time, record.force) + 0.02)
    result = identify(late, law="bank-1", offsets=("force-zero", "delay"))
    assert result.value("force-zero") == pytest.approx(0.02, abs=1e-3)
    assert result.value("delay") == pytest.approx(0.13, abs=0.02)
    assert [result.value(name) for name in ("k_inf", "g1", "tau1")] == pytest.approx([8.0, 5.0, 4.0], rel=0.03)
    pushed = replace(record, phases=(Phase("force", len(record.time)),), force=10.0 * record.displacement)
    pushed = answered(pushed, law, 0.002)
    tared = identify(replace(pushed, force=pushed.force + 0.02), law="bank-1", offsets=("force-zero",))
    assert tared.value("force-zero") == pytest.approx(0.02, abs=2e-3)
    plain = identify(late, law="bank-1")
    assert plain.curves[0].misfit > 2.0 * result.curves[0].misfit


@pytest.mark.parametrize(
    ("law", "name", "values"),
    [
        (FrictionModel(200.0, 20.0, 200.0, 2.0), "friction", {"k": 200.0, "b1": 20.0, "b2": 200.0, "alpha": 2.0}),
        (
            LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum(), power=1.6, depth=0.05),
            "power-chain-1",
            {"p": 1.6, "k0": 13.0},
        ),
        (
            LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum(), cubic=-6.0, depth=0.05),
            "cubic-bank-1",
            {"k_inf": 8.0, "cubic": -6.0},
        ),
    ],
)
def test_what_is_not_linear_is_found_unasked(
    law: LawModel | FrictionModel, name: str, values: dict[str, float]
) -> None:
    result = identify(answered(ramps(), law, 0.003))
    assert result.model == name and result.adequacy.adequate
    assert not any(row.verdict in ("chosen", "possible") for row in result.orders if row.name.startswith("chain"))
    for key, value in values.items():
        assert result.value(key) == pytest.approx(value, rel=0.05)
    assert (result.law is None) == (name != "friction")
    if name != "friction":
        with pytest.raises(RheotwinError, match="not linear"):
            result.to_toml()
    else:
        assert result.law.table()["friction"] == pytest.approx(2.0, rel=0.02)  # type: ignore[union-attr]


def test_profiles_and_bootstrap_agree_with_the_covariance_where_it_is_a_parabola() -> None:
    (row,) = judged([fit(problem("chain-2", noisy_d(1)), starts=2)], sigma_known=True)
    for i, profile in enumerate(profiles(row)):
        assert [profile.low, profile.high] == pytest.approx(
            np.exp(row.read[i] + 1.96 * row.errors[i] * np.array([-1, 1])), rel=2e-4
        )
        assert profile.rises.max() == pytest.approx(1.96**2, rel=5e-3) and 0.0 in profile.rises
    spread = bootstrap(row, 60, 4)
    assert spread.std(axis=0) == pytest.approx(row.errors, rel=0.35)
    assert np.array_equal(spread[:5], bootstrap(row, 60, 4)[:5])


def test_a_profile_sees_what_a_parabola_does_not() -> None:
    """A relaxation time of 40 s in a record of 20 s: its interval is far longer upwards, and holds the truth."""
    law = LawModel(Channel(8.0, (5.0,), (40.0,), 0.0).spectrum())
    record = answered(ramps(0.05, 18.0), law, 0.004, 2)
    (row,) = judged(
        [fit(problem("bank-1", record, (0.004 * float(np.abs(record.force).max()), 1.0)))], sigma_known=True
    )
    (profile,) = profiles(row, ["tau1"])
    up, down = np.log(profile.high / np.exp(row.read[2])), np.log(np.exp(row.read[2]) / profile.low)
    assert up > 1.2 * down and profile.low < 40.0 < profile.high


def test_a_profile_of_elements_that_are_nearly_alike() -> None:
    """Three units of one spring and 30, 300, 500 N s/m: the others follow a long way until chi2 rises by 1.96^2."""
    record = fitting.pressed(0.025, 1.0, 200.0, 400.0, 0.4)
    noisy = seen(record, respond(fitting.law(*fitting.B1), record), (3e-3, 2.5e-4), 1)
    (row,) = judged([fit(problem("chain-3", noisy, (3e-3, 2.5e-4)), starts=4)], sigma_known=True)
    (profile,) = profiles(row, ["k2"])
    best = float(np.exp(row.read[2]))
    assert 0.2 * best < profile.low < best < profile.high < 6.0 * best
    inside = (profile.values >= profile.low) & (profile.values <= profile.high)
    assert profile.rises[inside] == pytest.approx(np.minimum(profile.rises[inside], 1.96**2 + 0.02))
    assert np.all(np.diff(profile.rises[profile.values >= best]) > 0.0)
    assert np.all(np.diff(profile.rises[profile.values <= best]) < 0.0)


def test_flat_combinations_are_named_with_their_test() -> None:
    law = LawModel(Channel(8.0, (5.0,), (400.0,), 0.0).spectrum())
    record = answered(ramps(0.05, 10.0), law, 0.004)
    result = identify(record, law="bank-1", open_ended=True)
    assert any("tau1" in one.combination or "k_inf" in one.combination for one in result.flat)
    assert all("hold of" in one.remedy for one in result.flat[:1])
    assert result.orders[0].verdict.startswith("the best, but: ") and "100 %" in result.orders[0].verdict
    with pytest.raises(RheotwinError, match=r"cannot be told from its data: .* needs a hold of \d+"):
        identify(record, law="bank-1")


def test_correlated_residuals_count_as_fewer() -> None:
    rng = np.random.default_rng(0)
    white = rng.normal(size=4000)
    smooth = np.convolve(white, np.ones(20), "same")
    assert correlation_length(white) == pytest.approx(1.0, abs=0.2)
    assert correlation_length(smooth) == pytest.approx(20.0, rel=0.25)
    assert runs_probability(white) > 1e-2 and runs_probability(smooth) < 1e-9
    law = LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum())
    record = answered(ramps(), law, 0.0)
    few, many = (
        replace(record, force=record.force + 0.002 * noise[: len(record.time)]) for noise in (smooth / 20**0.5, white)
    )
    narrow, wide = (identify(one, law="bank-1").parameters[1] for one in (many, few))
    assert np.log(wide.high / wide.low) > 1.8 * np.log(narrow.high / narrow.low)


def test_a_spike_is_no_noise() -> None:
    record = answered(ramps(), LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum()), 0.03)
    assert "looks like noise" in identify(record, law="bank-1").adequacy.sentence
    spiked = replace(record, force=np.where(record.time == record.time[200], 0.0, record.force))
    assert "is not noise" in identify(spiked, law="bank-1").adequacy.sentence


def test_records_of_different_pieces_and_one_given_twice_are_refused() -> None:
    one = ramps()
    with pytest.raises(RheotwinError, match="different geometry"):
        identify([one, replace(one, geometry=Geometry("bar", 0.1, 1e-4))])
    with pytest.raises(RheotwinError, match="are one record given twice"):
        identify(one, blind=[one])
    with pytest.raises(RheotwinError, match=r"there is no law 'chian'.*did you mean"):
        identify(one, law="chian")
    pushed = replace(one, phases=(Phase("force", len(one.time)),), force=one.displacement)
    with pytest.raises(RheotwinError, match="prescribed displacements"):
        identify(pushed, law="cubic-bank-1")


def test_the_sources_procedure_loses_what_it_measured() -> None:
    found = legacy_two_element(seen(*run_d()), (100.5, 105.0), (160.0, 180.0))
    assert found.late == pytest.approx(200.0, abs=0.02) and found.slow == pytest.approx(141.26, abs=0.05)
    with pytest.raises(RheotwinError, match="held and let go"):
        legacy_two_element(ramps(), (1.0, 2.0), (3.0, 4.0))


def test_coverage_in_short() -> None:
    assert 0.85 <= fitting.covered(40).mean() <= 1.0


def test_noise_is_that_before_anything_moves() -> None:
    record = ramps()
    still = replace(
        record,
        time=np.concatenate([np.arange(-200, 0) * 0.2, record.time]),
        displacement=np.concatenate([np.zeros(200), record.displacement]),
        force=np.zeros(len(record.time) + 200),
        phases=(Phase("displacement", len(record.time) + 200),),
    )
    law = LawModel(Channel(8.0, (5.0,), (4.0,), 0.0).spectrum())
    result = identify(answered(still, law, 0.01), law="bank-1")
    assert result.provenance["sigma_known"] and result.adequacy.reduced_chi2 == pytest.approx(1.0, abs=0.3)
