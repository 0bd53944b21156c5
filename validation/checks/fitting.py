"""Laws fitted to made records of the source's runs, with and without noise, and the source's own procedure beside them.

Runs are sampled every 0.1 s as in the source; noise is 3 mN and 0.05 mm, or 1 % of the peaks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from rheotwin.arrays import Array
from rheotwin.materials import Channel
from rheotwin.validation.checks.check import Check, Compute, Values, check
from rheotwin.validation.checks.running import named
from rheotwin.validation.identification import Identified, OscillationRecord, identify, identify_oscillation
from rheotwin.validation.identification.candidate import LAWS
from rheotwin.validation.identification.fit import Problem, fit, fitted, solve
from rheotwin.validation.identification.legacy import Legacy, dashpot, equal_spring, largest_admissible
from rheotwin.validation.identification.order import NORMAL, Judged, judged
from rheotwin.validation.identification.record import Phase, TimeRecord
from rheotwin.validation.identification.response import LawModel, respond

MASS, STEP = 0.05, 0.1
"""Mass [kg] of the end that is let go; time between samples [s]."""
DEPTH, RAMP, RELEASE, END = 0.045, 6.1, 96.5, 180.0
"""Run D: stroke [m], its duration, time of release and end [s]."""
D = (10.0, 20.0), (30.0, 300.0)
B1 = (10.0,) * 3, (30.0, 300.0, 500.0)
NOISE = 3e-3, 5e-5
"""Standard deviations of force [N] and displacement [m]."""
SEEDS = 400
NAMES = ("k1", "b1", "k2", "b2")
READ = Legacy(40.0 / 3.0, 22.044, 140.0, 196.0)
"""What the source reads from run D (table 5.5)."""


def law(ks: tuple[float, ...], bs: tuple[float, ...]) -> LawModel:
    """Return a chain to compute with."""
    return LawModel(Channel.voigt_chain(ks, bs).spectrum())


def pressed(depth: float, ramp: float, release: float, end: float, step: float = STEP) -> TimeRecord:
    """Return the times and the path of a piece that is pressed, held and let go; nothing is seen yet."""
    time = np.asarray(step * np.arange(round(end / step) + 1), dtype=float)
    held = round(release / step) + 1
    x = -depth * np.minimum(time / ramp, 1.0)
    return TimeRecord(
        "run", time, x, 0.0 * x, (Phase("displacement", held), Phase("free", len(time))), mass=MASS
    )  # fmt: skip


def seen(record: TimeRecord, shown: Array, noise: tuple[float, float] = (0.0, 0.0), seed: int = 0) -> TimeRecord:
    """Return the record with what a law shows, and noise."""
    rng = np.random.default_rng(seed)
    force, x = (shown + sigma * rng.normal(size=len(shown)) for sigma in noise)
    pushed = record.observed_force
    return replace(
        record, force=np.where(pushed, force, 0.0), displacement=np.where(pushed, record.displacement, x), sigma=noise
    )


@cache
def run_d() -> tuple[TimeRecord, Array]:
    """Return the times of run D and what it shows."""
    record = pressed(DEPTH, RAMP, RELEASE, END)
    return record, respond(law(*D), record)


def noisy_d(seed: int) -> TimeRecord:
    """Return run D as it would be measured."""
    return seen(*run_d(), NOISE, seed)


def problem(name: str, record: TimeRecord, noise: tuple[float, float] = NOISE) -> Problem:
    """Return a law of one order to be fitted to a record."""
    (candidate,) = LAWS[name]
    return Problem(candidate, (record,), (noise,))


def without_noise() -> Values:
    """Compute ID-30, from random starts."""
    found = fit(problem("chain-2", seen(*run_d())))
    return named("{}", NAMES, np.exp(found.problem.candidate.read(found.unknowns)))


def truth() -> Array:
    """Return the unknowns of run D."""
    return LAWS["chain-2"][0].unknowns(law(*D).bank)


def standard_errors() -> Values:
    """Compute ID-31, at the truth."""
    (found,) = judged([fitted(problem("chain-2", noisy_d(0)), truth())], sigma_known=True)
    return named("{}", NAMES, found.errors)


def orders(record: TimeRecord, noise: tuple[float, float]) -> Values:
    """Return the order of the chain of least BIC."""
    rows = judged([fit(problem(f"chain-{n}", record, noise)) for n in (1, 2, 3, 4)], sigma_known=True)
    return {"n": 1.0 + int(np.argmin([row.bic for row in rows]))}


def three_units() -> Values:
    """Compute ID-33."""
    record = pressed(0.025, 1.0, 200.0, 400.0)
    shown = respond(law(*B1), record)
    noise = 0.01 * float(np.abs(shown[record.observed_force]).max()), 0.01 * 0.025
    return orders(seen(record, shown, noise, 1), noise)


@cache
def covered(seeds: int) -> Array:
    """Return which 95 % intervals hold the truth (seeds, 4); the fits begin there."""
    right = np.log([10.0, 30.0, 20.0, 300.0])
    rows = []
    for seed in range(seeds):
        noisy = problem("chain-2", noisy_d(seed))
        found = Judged(fitted(noisy, solve(noisy, truth(), 1e-9)), (1.0, 1.0), True)
        rows.append(np.abs(found.read - right) <= NORMAL * found.errors)
    return np.array(rows)


def coverage(seeds: int) -> Values:
    """Compute ID-34, and the same over more seeds."""
    return named("{}", NAMES, covered(SEEDS)[:seeds].mean(axis=0))


def critical() -> Values:
    """Compute ID-11, with K = 13.3333."""
    record, shown = run_d()
    after = record.time - RELEASE
    return {"b": largest_admissible(READ.spring, DEPTH, after, np.where(after > 0.0, shown, DEPTH))}


def foam() -> Values:
    """Compute ID-25 from plateau, late and first slope of the source."""
    spring = equal_spring(11.55616, DEPTH)
    return {"K": spring, "b_late": dashpot(spring, -0.0327, MASS), "b_1": dashpot(spring, -2.16, MASS)}


def as_read() -> Values:
    """Compute S6; the largest error of the force is that of its jump at the start."""
    record, shown = run_d()
    left = respond(READ.model, record) - shown
    force, x = left[record.observed_force], 1e3 * left[~record.observed_force]
    jump = (READ.model.bank.viscosity - law(*D).bank.viscosity) * DEPTH / RAMP
    return {
        "force rms": float(np.sqrt(np.mean(force**2))),
        "force max": float(max(np.abs(force).max(), abs(jump))),
        "displacement rms": float(np.sqrt(np.mean(x**2))),
        "displacement max": float(np.abs(x).max()),
        "hold time constant": float(READ.model.bank.times[0]),
        "late rate": READ.spring / READ.slow,
    }


def read_from_noise() -> Values:
    """Compute ID-35: mean over ten seeds."""
    rows = []
    for seed in range(10):
        record = noisy_d(seed)
        left = respond(READ.model, record) - record.observed
        pushed = record.observed_force
        rows.append([np.mean((left[pushed] / NOISE[0]) ** 2), np.mean((left[~pushed] / NOISE[1]) ** 2)])
    return named("{}", ("force", "displacement"), np.mean(rows, axis=0))


def smooth_friction() -> Values:
    """Compute ID-22: run C with alpha tanh(w/w_s) in the place of friction, which creeps."""
    k, b1, b2, alpha, depth = 200.0, 100.0, 1000.0, 2.0, 0.025

    def held(width: float) -> float:
        def slip(pull: float) -> float:
            return float(brentq(lambda w: (b1 + b2) * w + alpha * np.tanh(w / width) - pull, -1.0, 1.0, xtol=1e-16))

        spring = np.zeros(1)
        for speed, span in ((depth, (0.0, 1.0)), (0.0, (1.0, 20.0))):
            rate = lambda _, x, v=speed: [v - slip(b1 * v + k * x[0])]  # noqa: E731
            spring = solve_ivp(rate, span, spring, method="Radau", rtol=1e-9, atol=1e-13).y[:, -1]
        w = slip(k * spring[0])
        return k * float(spring[0]) - b1 * w

    return {f"1e-{n}": held(10.0**-n) for n in (3, 4, 5)}


FIVE = Channel.prony(1.0, (4.0, 2.0, 3.0, 1.0, 2.0), (0.01, 0.1, 1.0, 10.0, 100.0))
"""Five times over four decades."""


def sparse(seeds: int) -> Values:
    """Return the worst relative errors of the five times and moduli, and the most terms, over seeds.

    Data over seven decades with noise of 1 % of each: 141 storage and loss moduli; 2000 stresses after a sudden step.
    """
    omega, time = np.logspace(-3.5, 3.5, 141), np.concatenate([[0.0], np.logspace(-3.5, 3.5, 2000)])
    z, stress = FIVE.complex_modulus(omega), FIVE.relaxation(time)
    found: dict[str, float] = {}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        storage, loss = (part * rng.normal(1.0, 0.01, len(omega)) for part in (z.real, z.imag))
        over_frequency = identify_oscillation(OscillationRecord("made", omega, storage, loss))
        noisy = stress * rng.normal(1.0, 0.01, len(time))
        over_time = identify(TimeRecord.driven(time, np.ones_like(time), noisy), law="spectrum")
        for over, one in (("frequency", over_frequency), ("time", over_time)):
            for quantity, error in _errors(one).items():
                name = f"{quantity}, over {over}"
                found[name] = max(found.get(name, 0.0), error)
    return found


def _errors(one: Identified) -> dict[str, float]:
    """Return the number of terms, and relative errors of the times nearest to the five and of their moduli."""
    assert one.law is not None
    times, strengths = np.array(one.law.channel.times), np.array(one.law.channel.strengths)
    nearest = [int(np.argmin(np.abs(np.log(times / tau)))) for tau in FIVE.times]
    return {
        "times": float(np.abs(times[nearest] / FIVE.times - 1.0).max()),
        "moduli": float(np.abs(strengths[nearest] / FIVE.strengths - 1.0).max()),
        "terms": float(len(times)),
    }


def _check(number: str, compute: Compute, name: str, *, quick: bool = True) -> Check:
    return check(f"identification.{number}", compute, name=name, quick=quick, solvers=())


CHECKS = {
    "identification": (
        _check("ID-11", critical, "legacy-critical"),
        _check("ID-22", smooth_friction, "friction-smooth"),
        _check("ID-25", foam, "legacy-foam"),
        _check("ID-30", without_noise, "fit-without-noise"),
        _check("ID-31", standard_errors, "fit-standard-errors"),
        _check("ID-32", lambda: orders(noisy_d(0), NOISE), "fit-order-2", quick=False),
        _check("ID-33", three_units, "fit-order-3", quick=False),
        _check("ID-34", partial(coverage, 200), "fit-coverage-200", quick=False),
        _check("coverage", partial(coverage, SEEDS), "fit-coverage-400", quick=False),
        _check("sparse", partial(sparse, 1), "fit-sparse-once"),
        _check("sparse", partial(sparse, 5), "fit-sparse", quick=False),
        _check("ID-35", read_from_noise, "legacy-noise"),
        _check("S6", as_read, "legacy-run-d"),
    )
}
