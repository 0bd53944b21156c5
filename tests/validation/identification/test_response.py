"""Exact answers against the closed forms of the catalogue (ID-01 to ID-21) and integrated differential equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rheotwin.arrays import Array
from rheotwin.materials import Channel
from rheotwin.validation.identification import Phase, TimeRecord
from rheotwin.validation.identification.response import FrictionModel, LawModel, respond
from rheotwin.validation.references import catalogue

D = (10.0, 20.0), (30.0, 300.0)


def chain(ks: tuple[float, ...], bs: tuple[float, ...]) -> LawModel:
    return LawModel(Channel.voigt_chain(ks, bs).spectrum())


def press(depth: float, ramp: float, hold: float, *later: float, mass: float = 0.0) -> TimeRecord:
    """Ramp and hold until `hold`, samples in between as in the source, then let go and look at `later`."""
    held = np.unique([0.0, 1e-9, 0.5 * ramp, ramp, ramp + 1e-9, 5.0, 10.0, 20.0, 40.0, hold])
    held = held[held <= hold]
    time = np.concatenate([held, later])
    x = -depth * np.minimum(time / ramp, 1.0)
    phases = (Phase("displacement", len(held)), *([Phase("free", len(time))] if later else []))
    return TimeRecord("press", time, x, np.zeros_like(x), phases, mass=mass)


def at(record: TimeRecord, found: Array, *times: float) -> list[float]:
    return [float(found[np.flatnonzero(np.isclose(record.time, time, rtol=0.0, atol=1e-12))[0]]) for time in times]


def expected(number: str, *only: str) -> list[float]:
    quantities = catalogue().quantities(f"identification.ID-{number}", only)
    return [quantity.reference for quantity in quantities]


def test_run_d_is_that_of_the_closed_forms() -> None:
    times = (97.0, 100.0, 110.0, 130.0, 160.0, 180.0)
    record = press(0.045, 6.1, 96.5, *times, mass=0.05)
    found = respond(chain(*D), record)
    forces = at(record, -found, 6.1, 6.1 + 1e-9, 20.0, 40.0, 96.5)
    assert forces == pytest.approx(expected("02"), rel=1e-6)
    assert at(record, found, *times[:4]) == pytest.approx(expected("05"), abs=5.1e-9)
    assert np.log(-np.array(at(record, found, 160.0, 180.0))) == pytest.approx(expected("06"), abs=5.1e-6)
    k_inf, b_0, r, g = expected("10")
    assert respond(LawModel(Channel(k_inf, (g,), (1.0 / r,), b_0).spectrum()), record) == pytest.approx(found, rel=1e-6)


def test_lengths_of_the_units_follow_from_the_force() -> None:
    record = press(0.045, 6.1, 96.5)
    f = respond(chain(*D), record)
    for number, time in (("01", 6.1 + 1e-9), ("04", 96.5)):
        (force,) = at(record, f, time)
        (k1, k2), (b1, b2) = D
        x1, _ = np.linalg.solve([[k1, b1], [k2, b2]], [force, k2 * -0.045 - force])  # both units carry f, rates cancel
        assert [x1, -0.045 - x1] == pytest.approx(expected(number), abs=5.1e-8)
    long = press(0.045, 6.1, 2000.0)
    assert -respond(chain(*D), long)[-1] == pytest.approx(expected("03")[0], rel=1e-6)


@pytest.mark.parametrize(
    ("number", "ks", "bs", "hold"),
    [
        ("12", (15.0, 15.0), (30.0, 300.0), 100.0),
        ("13", (15.0, 15.0), (3.0, 300.0), 100.0),
        ("15", (10.0,) * 3, (30.0, 300.0, 500.0), 200.0),
        ("16", (10.0,) * 3, (60.0, 300.0, 600.0), 200.0),
    ],
)
def test_presses_of_the_source(number: str, ks: tuple[float, ...], bs: tuple[float, ...], hold: float) -> None:
    record = press(0.025, 1.0, hold)
    found = at(record, -respond(chain(ks, bs), record), 1e-9, 1.0, 1.0 + 1e-9, hold)
    names = ("f(0+)", "f(1-)", "f(1+)", f"f({hold:g})")
    # 1e-9 s after a change of speed, the force has changed by 1e-9 of itself
    assert found == pytest.approx(expected(number, *names), rel=1.1e-6)


def test_friction_keeps_a_plateau_and_a_length() -> None:
    stuck, free = FrictionModel(200.0, 100.0, 1000.0, 2.0), FrictionModel(200.0, 100.0, 1000.0, 0.0)
    record = press(0.025, 1.0, 20.0, 30.0)
    pulled = replace(record, displacement=-record.displacement)
    assert respond(stuck, pulled) == pytest.approx(-respond(stuck, record), rel=1e-14)
    times = (1e-9, 1.0, 1.0 + 1e-9, 5.0, 20.0)
    found = respond(stuck, record)
    assert at(record, -found, *times) == pytest.approx(expected("18")[:5], rel=1e-6)
    assert at(record, found, 30.0) == pytest.approx(expected("19"), rel=1e-6)
    found = respond(free, record)
    assert at(record, -found, *times[1:]) == pytest.approx(expected("20"), abs=5.1e-7)
    assert at(record, found, 30.0) == pytest.approx(expected("21"), rel=1e-6)


def test_without_friction_it_is_the_linear_law() -> None:
    rng = np.random.default_rng(1)
    time = np.sort(rng.uniform(0.0, 30.0, 60))
    x = np.cumsum(rng.normal(size=60))
    for drive in ("displacement", "force"):
        record = TimeRecord.driven(time, x, 30.0 * np.cumsum(rng.normal(size=60)), drive)  # type: ignore[arg-type]
        linear = respond(LawModel(Channel.three_element(200.0, 100.0, 1000.0).spectrum()), record)
        assert respond(FrictionModel(200.0, 100.0, 1000.0, 0.0), record)[1:] == pytest.approx(linear[1:], rel=1e-9)


def test_friction_follows_its_differential_equation_back_and_forth() -> None:
    """Sticking and sliding on a path that turns: small explicit steps of first order approach it."""
    k, b1, b2, alpha = 200.0, 100.0, 1000.0, 2.0
    time = np.linspace(0.0, 8.0, 17)
    x = 0.03 * np.sin(1.3 * time)
    exact = respond(FrictionModel(k, b1, b2, alpha), TimeRecord.driven(time, x, 0.0 * x))
    errors = []
    for parts in (200, 400):
        spring, found = 0.0, [0.0]
        for i in range(16):
            h = 0.5 / parts
            v = (x[i + 1] - x[i]) / 0.5
            for step in range(parts + 1):
                g = b1 * v + k * spring
                f = g if abs(g) <= alpha else (g + b1 / b2 * alpha * np.sign(g)) / (1.0 + b1 / b2)
                if step < parts:
                    spring += h * (v - np.sign(f) * max(abs(f) - alpha, 0.0) / b2)
            found.append(f)
        errors.append(np.abs(np.array(found) - exact)[1:].max())
    assert errors[1] < 2e-3 and errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("mass", [0.0, 0.05, 500.0])
def test_any_path_is_that_of_an_integrator(mass: float) -> None:
    """Uneven samples, let go underdamped (m = 500 kg), heavily damped or without mass: Radau agrees to 1e-6."""
    k_inf, g, tau, b_0 = 6.0, np.array([2.0, 5.0]), np.array([0.4, 11.0]), 4.0
    time = np.array([0.0, 0.7, 1.0, 2.5, 4.0, 4.1, 6.0, 9.0])
    x = np.array([0.0, 0.3, -0.2, 0.4, 0.4, 0.0, 0.0, 0.0])
    record = TimeRecord("free", time, x, 0.0 * x, (Phase("displacement", 5), Phase("free", 8)), mass=mass)
    model = LawModel(Channel(k_inf, tuple(g), tuple(tau), b_0).spectrum())
    q, forces = np.zeros(2), [0.0]
    for i in range(4):
        v = (x[i + 1] - x[i]) / (time[i + 1] - time[i])
        slopes = lambda t, q, i=i, v=v: (x[i] + v * (t - time[i]) - q) / tau  # noqa: E731
        q = solve_ivp(slopes, time[i : i + 2], q, method="Radau", rtol=1e-9, atol=1e-12).y[:, -1]
        forces.append((k_inf + g.sum()) * x[i + 1] - g @ q + b_0 * v)

    def fall(_: float, s: Array) -> list[float]:
        pull = (k_inf + g.sum()) * s[0] - g @ s[2:]
        v = s[1] if mass else -pull / b_0
        return [v, -(pull + b_0 * v) / mass if mass else 0.0, *((s[0] - s[2:]) / tau)]

    free = solve_ivp(fall, (4.0, 9.0), [0.4, 0.0, *q], method="Radau", rtol=1e-10, atol=1e-12, t_eval=time[5:]).y[0]
    assert respond(model, record) == pytest.approx([*forces, *free], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("viscosity", [0.0, 3.0])
def test_force_driven_is_the_inverse_of_displacement_driven(viscosity: float) -> None:
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.uniform(0.5, 2.0, 40))
    f = np.concatenate([[0.0], np.cumsum(rng.normal(size=39))])
    model = LawModel(Channel(5.0, (2.0, 7.0), (0.5, 9.0), viscosity).spectrum())
    record = TimeRecord.driven(time, 0.0 * f, f, "force")
    x = respond(model, record)
    # x is not straight in between: on twenty thousand samples it is nearly
    fine = np.union1d(time, np.linspace(time[0], time[-1], 20_000))
    load = np.interp(fine, time, f)
    path = respond(model, TimeRecord.driven(fine, 0.0 * fine, load, "force"))
    assert path[np.searchsorted(fine, time)] == pytest.approx(x, rel=1e-9, abs=1e-12)
    back = respond(model, TimeRecord.driven(fine, path, 0.0 * path))
    assert back == pytest.approx(load, abs=3e-3 * np.abs(f).max())


def test_a_power_acts_before_the_bank_and_a_cubic_beside_it() -> None:
    time = np.linspace(0.0, 10.0, 6)
    x = np.array([0.0, 1.0, 2.0, -2.0, -1.0, 0.5])
    bank = Channel(5.0, (2.0,), (3.0,), 0.0).spectrum()
    record = TimeRecord.driven(time, np.sign(x) * 2.0 * np.abs(x / 2.0) ** 1.5, 0.0 * x)
    straight = respond(LawModel(bank), record)
    assert respond(LawModel(bank, power=1.5, depth=2.0), TimeRecord.driven(time, x, 0.0 * x)) == pytest.approx(straight)
    plain = TimeRecord.driven(time, x, 0.0 * x)
    beside = respond(LawModel(bank, cubic=-0.4, depth=2.0), plain) - respond(LawModel(bank), plain)
    assert beside == pytest.approx(-0.1 * x**3)
    pushed = TimeRecord.driven(time, 0.0 * x, x, "force")
    y = respond(LawModel(bank), pushed)
    assert respond(LawModel(bank, power=2.0, depth=0.7), pushed) == pytest.approx(
        np.sign(y) * np.sqrt(0.7 * np.abs(y)), rel=1e-9
    )
