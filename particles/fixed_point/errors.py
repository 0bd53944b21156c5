"""Where the error of the circuit comes from, and how it depends on the length of words and the place of the point.

Each operation is held against the exact one on the same words (its own rounding, in units of the last place, LSB) and
against the law itself in exact numbers from the same positions and velocities (what has accumulated up to there).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.circuit import Tem, mpm, tem_of
from rheotwin.particles.fixed_point.model import OPTIONS, CircuitModel, float_body, float_parts, run_reference
from rheotwin.particles.fixed_point.parameters import CircuitConstants, Constant, Units
from rheotwin.particles.fixed_point.prepare import Prepared, with_format
from rheotwin.particles.fixed_point.ranges import DeadBand, Ranges, dead_band
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.particles.fixed_point.touching import touching

SAMPLES = 10
"""Times at which circuit and float form are compared, unless told otherwise."""
MOVING = 0.1
"""A point faster than this share of the fastest is one that moves."""
DRIFT = 0.5
"""A common displacement of this share of the mean error counts as drift."""


@dataclass(frozen=True)
class OperationError:
    """Error of one operation over all edges or points; `module` is "TEM" or "MPM", `circuit` its number there.

    `rms`, `mean` and `worst` are its own rounding [LSB]; `accumulated` is the rms error of its result against the law
    over the rms of the law's.
    """

    module: str
    circuit: str
    operation: str
    rms: float
    mean: float
    worst: float
    accumulated: float


def _error(module: str, circuit: str, operation: str, raw: Any, ideal: Any, law: Any) -> OperationError:
    """Hold raw results against the exact operation and against the law; all three in units of the last place."""
    own = np.asarray(raw, dtype=float) - ideal
    away = np.asarray(raw, dtype=float) - law
    size = float(np.sqrt(np.mean(np.square(law))))
    spread = float(np.sqrt(np.mean(away**2)))
    return OperationError(
        module,
        circuit,
        operation,
        rms=float(np.sqrt(np.mean(own**2))),
        mean=float(own.mean()),
        worst=float(np.abs(own).max()),
        accumulated=spread / size if size > 0.0 else 0.0,
    )


@dataclass(frozen=True)
class _Law:
    """The law in exact numbers on the same words, in units of the last place."""

    length: Array
    inverse: Array
    direction: Array
    rate: Array
    voigt_rate: Array
    force: Array
    forces: Array
    lam: Array


def _of_chain(lam: Array, last: Array, rate: Array, force: Any, A: Any, G: Any, K: Any, C: Any) -> Any:
    """Return rates and force of a chain by its constants; rates follow from `force`, or from the one found here."""
    own = (K * np.concatenate([lam, last[None]])).sum(axis=0) + C * rate
    return G * (own if force is None else force) + A * lam, own


def _law(
    found: Tem, lam: Array, rest: Array, model: CircuitModel, constants: CircuitConstants, step: float
) -> _Law:  # fmt: skip
    point, r, units = constants.point, constants.units.time, constants.units
    finer, more = 2.0**point.lam, 2.0**point.rate
    length = np.sqrt(found.square.astype(float))
    direction = found.xr / np.maximum(length, 1e-300)[:, None]
    rate = (direction * found.vr).sum(axis=1) * more
    if model.chain is not None:
        law = model.chain.scaled(units)
        (A, G), K, C = law.rates, law.springs, -law.viscosity
        numbers = A * more / finer, G * more, K / finer, C / more
        voigt_rate, force = _of_chain(lam, (length - rest) * finer - lam.sum(axis=0), rate, None, *numbers)
    else:
        share = model.share
        A = -model.k1 / (model.c1 + model.c2) * r * more / finer
        voigt_rate = A * lam + share * rate
        force = -model.k1 * share / units.stiffness / finer * lam - model.c1 * share / units.viscosity / more * rate
    moved = step / r * voigt_rate * finer / more
    return _Law(
        length,
        2.0**point.inverse / np.maximum(length, 1e-300),
        direction * 2.0**point.direction,
        rate,
        voigt_rate,
        force,
        force[:, None] * direction,
        moved,
    )


def _stacked(row: tuple[Constant, ...]) -> Array:
    """Return what each part of a chain is multiplied with (n, 1) or (n, n_e)."""
    return np.stack(np.broadcast_arrays(*(np.atleast_1d(one.value) for one in row)))


def operation_errors(
    body: CircuitBody, constants: CircuitConstants, model: CircuitModel, step: float
) -> list[OperationError]:
    """Return the errors of all rounding operations of one step of `step` [s] from a body as it is."""
    point, start, end = constants.point, body.start, body.end
    one, cut = 2.0**point.direction, 2.0 ** (point.inverse - point.direction)
    rated = 2.0 ** (point.direction - point.rate)
    x, v, lam = (np.asarray(words, dtype=np.int64) for words in (body.position, body.velocity, body.lam))
    found = tem_of(body, constants)
    law = _law(found, lam.astype(float), body.rest.astype(float), model, constants, step)
    A, B, K, C = (np.asarray(constant.value) for constant in constants.of_tem)
    H, Minv = constants.H.value, constants.Minv.value
    if (chain := constants.chain) is not None:
        numbers = [_stacked(chain.A), _stacked(chain.G), _stacked(chain.K), chain.C.value]
        voigt_rate, force = _of_chain(
            *(np.asarray(words, float) for words in (lam, found.last, found.rate, found.force)), *numbers
        )
    else:
        voigt_rate = A * lam + B * found.rate
        force = K * lam + C * found.rate if constants.direct else K * (found.voigt_rate - found.rate)
    square = np.sqrt(found.square.astype(float))
    inverse = 2.0**point.inverse / np.maximum(found.length, 1).astype(float)
    result = [
        _error("TEM", "3", "square root", found.length, square, law.length),
        _error("TEM", "3", "reciprocal", found.inverse, inverse, law.inverse),
        _error("TEM", "4", "direction e", found.direction, found.inverse[:, None] * found.xr / cut, law.direction),
        _error("TEM", "5", "rate ld", found.rate, (found.direction * found.vr).sum(axis=1) / rated, law.rate),
        _error("TEM", "6", "Voigt rate lvd", found.voigt_rate, voigt_rate, law.voigt_rate),
        _error("TEM", "7", "force f", found.force, force, law.force),
        _error("TEM", "8", "force f e", found.forces, found.force[:, None] * found.direction / one, law.forces),
        _error("TEM", "9", "step of lv - L", found.lam - lam, constants.step_of_lam.value * found.voigt_rate, law.lam),
    ]
    starts, ends, pull = np.zeros_like(x), np.zeros_like(x), np.zeros(x.shape)
    np.add.at(starts, start, found.forces)
    np.add.at(ends, end, found.forces)
    np.add.at(pull, end, law.forces)
    np.add.at(pull, start, -law.forces)
    moved = mpm(x, v, body.force, starts, ends, constants)
    inverse_mass = constants.units.mass / model.mass
    exact_step = step / constants.units.time
    exact_step_v, H_v = exact_step / 2.0**point.acceleration, constants.step_of_velocity.value
    a_law = inverse_mass * (body.force + pull) * 2.0**point.acceleration
    return [
        *result,
        _error("MPM", "1", "acceleration", moved.acceleration, Minv * moved.total, a_law),
        _error("MPM", "2", "step of v", moved.velocity - v, H_v * moved.acceleration, exact_step_v * a_law),
        _error("MPM", "3", "step of x", moved.position - x, H * v, exact_step * v),
    ]


@dataclass(frozen=True)
class Account:
    """Circuit against float form at `times` [s]; lengths in m, (T,) or (T, 3)."""

    times: Array
    mean: Array
    """Mean distance of a point from where the float form has it."""
    worst: Array
    drift: Array
    """Mean displacement of all points from the float form: what they have in common."""
    standing: Array
    """Share of points that the dead band of velocities holds while the float form moves them."""
    width: float
    """Largest side of the bodies at rest."""
    travel: Array
    """Mean displacement of the float form from rest."""
    overflows: dict[str, int]
    band: DeadBand

    @property
    def relative(self) -> Array:
        """Mean error over the width."""
        return self.mean / self.width

    @property
    def diagnosis(self) -> list[str]:
        """Say what the error is made of, where that is plain."""
        said = []
        lost = {name: count for name, count in self.overflows.items() if count}
        if lost:
            said.append("words overflowed in " + ", ".join(f"{name} ({count})" for name, count in lost.items()))
        if self.standing[-1] > 0.1:
            said.append(f"{100 * self.standing[-1]:.0f} % of the points stand still that should move: dead band")
        drift = float(np.linalg.norm(self.drift[-1]))
        if drift > DRIFT * self.mean[-1] > 0.0:
            said.append(f"all points drift together by {drift:.3g} m of a mean error of {self.mean[-1]:.3g} m")
        return said


def account(prepared: Prepared, samples: int = SAMPLES) -> Account:
    """Run a scene on the circuit and in double precision with the same step, and compare at equal intervals."""
    model, h = prepared.model, float(prepared.step)
    steps = round((prepared.until or model.problem.scene.duration) / h)
    stops = np.unique(np.linspace(0, steps, min(samples, steps) + 1).round().astype(int))
    circuit, parts, exact, there = Stepping(prepared), float_parts(model), float_body(model), touching(model.problem)
    units, one = prepared.constants.units, prepared.constants.form.one
    band, rows = dead_band(prepared.constants), []
    for first, last in pairwise(stops.tolist()):
        run_reference(parts, exact, first, last - first, h, there)
        circuit.take(last - first)
        away = circuit.body.position * (units.length / one) - exact.position
        distance = np.linalg.norm(away, axis=1)
        still = np.abs(circuit.body.velocity).max(axis=1) <= band.raw
        speed = np.abs(exact.velocity).max(axis=1)
        should = speed > MOVING * speed.max()
        travel = np.linalg.norm(exact.position - model.points, axis=1).mean()
        rows.append((last * h, distance.mean(), distance.max(), away.mean(axis=0), np.mean(still & should), travel))
    times, mean, worst, drift, standing, travels = (np.array(column) for column in zip(*rows, strict=True))
    width = float(np.ptp(model.points, axis=0).max())
    return Account(times, mean, worst, drift, standing, width, travels, circuit.overflow_counts, band)


WORDS = (12, 14, 16, 18, 20, 24)
LEAST_FRACTION, LEAST_WHOLE = 4, 3
"""Fewest bits after and before the point (with the sign) that are worth a try."""


@dataclass(frozen=True)
class FormatError:
    """What one format does to a scene: mean distance from the float form at the end, over the largest side.

    `error` is None where the constants or the shape do not fit at all; `fault` says why.
    """

    word: int
    fraction: int
    error: float | None
    of_travel: float | None
    """The same over the mean displacement: 1 is no better than a circuit that stands still."""
    overflows: int
    units: Units | None
    fault: str = ""

    def to_data(self) -> dict[str, Any]:
        """Return plain JSON values."""
        units = self.units
        return {
            "word": self.word,
            "fraction": self.fraction,
            "error": self.error,
            "error_of_travel": self.of_travel,
            "overflows": self.overflows,
            "units": None if units is None else [units.time, units.length, units.mass],
            "fault": self.fault,
        }


def _known_ranges(prepared: Prepared) -> Ranges:
    if prepared.ranges is None:
        raise RheotwinError(f"{OPTIONS}.analyse: a sweep needs the run in double precision; leave it out")
    return prepared.ranges


def format_error(prepared: Prepared, word: int, fraction: int) -> FormatError:
    """Run a scene with words of `word` bits, `fraction` after the point; units that were left open fit anew."""
    ranges = _known_ranges(prepared)
    if prepared.until is not None:
        raise RheotwinError("--sweep: it does not follow supports that come and go; leave it out")
    try:
        tried = with_format(prepared, word=word, fraction=fraction)
    except RheotwinError as error:
        return FormatError(word, fraction, None, None, 0, None, str(error))
    circuit = Stepping(tried)
    circuit.take(ranges.steps)
    units, form, model = tried.constants.units, tried.constants.form, tried.model
    away = circuit.body.position * (units.length / form.one) - ranges.end.position
    distance = float(np.linalg.norm(away, axis=1).mean())
    travel = float(np.linalg.norm(ranges.end.position - model.points, axis=1).mean())
    return FormatError(
        word,
        fraction,
        distance / float(np.ptp(model.points, axis=0).max()),
        distance / travel if travel > 0.0 else None,
        int(circuit.overflows.sum()),
        units,
    )


def sweep(
    prepared: Prepared, words: Iterable[int] = WORDS, fractions: Iterable[int] | None = None
) -> list[FormatError]:
    """Run a scene with every format: all places of the point that make sense, unless `fractions` are given."""
    given = None if fractions is None else list(fractions)
    return [
        format_error(prepared, word, fraction)
        for word in words
        for fraction in (given if given is not None else range(LEAST_FRACTION, word - LEAST_WHOLE + 1))
        if fraction <= word - 2
    ]


def usable(rows: Iterable[FormatError]) -> list[FormatError]:
    """Return those that ran without overflow, the most accurate first."""
    kept = [row for row in rows if row.error is not None and row.overflows == 0]
    return sorted(kept, key=lambda row: row.error or 0.0)


def best_of_word(rows: Iterable[FormatError], word: int) -> FormatError | None:
    """Return the best place of the point in words of a length, None where none runs without overflow."""
    kept = usable(row for row in rows if row.word == word)
    return kept[0] if kept else None


def shortest(rows: Iterable[FormatError], tolerance: float) -> FormatError | None:
    """Return the format of the shortest word with an error within `tolerance` (of the largest side), or None."""
    good = [row for row in usable(rows) if row.error is not None and row.error <= tolerance]
    return min(good, key=lambda row: (row.word, row.error), default=None)
