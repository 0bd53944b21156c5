"""Range analysis: how large every signal of a scene grows, and the units and points in which its words hold them best.

The float form of the circuit runs the scene and keeps the peaks. With R = 2^(word-1-fraction) and a margin, a unit of
length s, time r and mass M must keep

    x/s, length/s, v r/s, a r^2/s, F r^2/(M s) < R     A r, B, c2 r/M < R (their own point: 2^(word-2))

and every unit as small as that allows wastes nothing, except that

    inverse   1/l has `fraction` bits: edges longer than 2^fraction/SHORT units lose more than SHORT^-1 of e
    step      h/r keeps at least STEP_BITS bits: the time unit is at most h 2^(word - STEP_BITS)

Where signals have points of their own (`own_points`) neither of the two holds: s, r and M let positions, velocities and
forces fill their words; lambda, rates and accelerations are shifted until they do; directions have all bits but two,
and 2^n/l those that the shortest edge leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import floor, log2, log10

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.model import (
    OPTIONS,
    SIGNALS,
    CircuitModel,
    FloatBody,
    float_body,
    float_parts,
    run_reference,
)
from rheotwin.particles.fixed_point.parameters import CircuitConstants, Points, Units
from rheotwin.particles.fixed_point.touching import pressing, touching

MARGIN = 0.8
"""Share of the range that the peaks of the float form may take: the circuit's own errors come on top."""
SHORT = 16
SHORT_WORD, LONGEST_DIRECTION = 16, 30
STEP_BITS = 7
FINEST = 16.0
"""What tools have to change of velocities in a step, in dead bands."""
SAMPLES = 20
"""Times at which the float form is remembered."""
LARGEST_RUN = 3_000_000_000
"""Edges times steps that a range analysis may take (about half a minute)."""
OF_PAIR = 20
"""What looking for contact between two bodies costs, over the edges of all (six small bodies: 5 ms a step)."""
OF_UNITS = {
    "x": "length",
    "length": "length",
    "v": "velocity",
    "ld": "velocity",
    "lvd": "velocity",
    "vr": "velocity",
    "lambda": "length",
    "f": "force",
    "F": "force",
    "F_ext": "force",
}
"""Unit of every signal but the acceleration, whose unit is velocity over time."""


@dataclass(frozen=True)
class Ranges:
    """Largest absolute value [SI] of every signal in a run of `steps` steps of `step` [s] in double precision."""

    peaks: dict[str, float]
    step: float
    steps: int
    end: FloatBody = field(repr=False)
    """State of the float form at the end."""
    samples: tuple[tuple[int, Array], ...] = field(default=(), repr=False)
    """Steps and the positions (N, 3) [m] there."""
    pressed: float = 0.0
    """Largest acceleration [m/s2] at these steps that tools give to the points they press."""

    def in_units(self, units: Units) -> dict[str, float]:
        """Return the peaks in circuit units."""
        found = {name: self.peaks[name] / getattr(units, unit) for name, unit in OF_UNITS.items()}
        return found | {"a": self.peaks["a"] * units.time / units.velocity}

    def shares(self, units: Units, form: Format, points: Points | None = None) -> dict[str, float]:
        """Return how much of the range of its word every signal takes; above 1 it overflows."""
        limit = (form.highest + 1) / form.one
        finer = (
            {}
            if points is None
            else {"lambda": points.lam, "a": points.acceleration} | dict.fromkeys(("ld", "lvd"), points.rate)
        )
        return {name: peak * 2.0 ** finer.get(name, 0) / limit for name, peak in self.in_units(units).items()}


def analyse(model: CircuitModel, step: float) -> Ranges:
    """Run the whole scene in double precision and keep the peaks."""
    steps = check_length(model, step)
    body, parts, samples, there = float_body(model), float_parts(model), [], touching(model.problem)
    pressed = 0.0
    for first, last in pairwise(sample_steps(steps)):
        run_reference(parts, body, first, last - first, step, there)
        samples.append((last, body.position.copy()))
        pressed = max(pressed, pressing(there, model.problem))
    return ranges_of(body, step, steps, samples, pressed)


def check_length(model: CircuitModel, step: float) -> int:
    """Return the steps of a scene, or refuse to take so many."""
    steps, contact = round(model.problem.scene.duration / step), model.problem.contact
    bodies = len(model.problem.bodies) if contact is not None and contact.between_bodies else 1
    if steps * len(model.edges) * (1 + OF_PAIR * bodies * (bodies - 1) // 2) > LARGEST_RUN:
        among = f" with contact among {bodies} bodies" if bodies > 1 else ""
        raise RheotwinError(
            f"{OPTIONS}: a range analysis of {steps} steps of {len(model.edges)} edges{among} would take too long; "
            "give `time_unit`, `length_unit` and `mass_unit` and set `analyse = false`"
        )
    return steps


def sample_steps(steps: int) -> list[int]:
    """Return the steps, from zero, at which the float form is remembered."""
    found: list[int] = np.unique(np.linspace(0, steps, min(SAMPLES, steps) + 1).round().astype(int)).tolist()
    return found


def ranges_of(body: FloatBody, step: float, steps: int, samples: list[tuple[int, Array]], pressed: float) -> Ranges:
    """Return the ranges that a run has ended with, or refuse one that diverges."""
    peaks = dict(zip(SIGNALS, body.peaks.tolist(), strict=True))
    lost = next((name for name, peak in peaks.items() if not np.isfinite(peak)), None)
    if lost is not None:
        raise RheotwinError(
            f"{OPTIONS}: the scene diverges in double precision already ({lost} has no bound); reduce the step of "
            f"{step:.4g} s or the loads"
        )
    return Ranges(peaks, step, steps, body, tuple(samples), pressed)


def rounded_up(value: float) -> float:
    """Return the next number with two digits: units that people can read, and that rounding does not move.

    >>> rounded_up(0.01234)
    0.013
    """
    if value <= 0.0:
        return 1.0
    power = floor(log10(value)) - 1
    digits = -int(-(value * (1.0 - 1e-9)) // 10.0**power)
    return float(f"{digits}e{power}")


def rounded_down(value: float) -> float:
    """Return the number with two digits below."""
    power = floor(log10(value)) - 1
    return float(f"{int(value * (1.0 + 1e-9) // 10.0**power)}e{power}")


def suggest_units(
    ranges: Ranges,
    model: CircuitModel,
    form: Format,
    *,
    own_points: bool,
    length: float | None = None,
    time: float | None = None,
    mass: float | None = None,
) -> Units:
    """Return the units that use the words best; those given stay.

    `own_points`: constants have the best point of their own (`tem_wmod`).
    """
    limit = (form.highest + 1) / form.one
    room = MARGIN * limit
    constants = 2.0 ** (form.word - 2) if own_points else limit
    peaks = ranges.peaks
    s = length or rounded_up(
        max(peaks["x"] / room, peaks["length"] / room, float(np.mean(model.lengths)) * SHORT / form.one)
    )
    moving = max(peaks["v"], peaks["vr"], peaks["ld"], peaks["lvd"], 1e-300)
    r = time or rounded_down(
        min(
            room * s / moving,
            np.sqrt(room * s / max(peaks["a"], 1e-300)),
            MARGIN * constants / max(model.fastest, 1e-300),
            ranges.step * 2.0 ** (form.word - STEP_BITS),
        )
    )
    strongest = max(peaks["F"], peaks["f"], peaks["F_ext"], 1e-300)
    lightest = float(model.mass.min()) if np.isfinite(model.mass).any() else 1.0
    M = mass or rounded_up(
        max(
            strongest * r**2 / (room * s),
            float(np.max(model.c2 if model.chain is None else model.viscosity)) * r / (MARGIN * constants),
            lightest * 2.0 ** (STEP_BITS - form.word),
        )
    )
    return Units(time=r, length=s, mass=M)


def own_points(ranges: Ranges, form: Format) -> tuple[Units, Points]:
    """Return units and points with which every class of signal fills its words."""
    peaks = {name: max(peak, 1e-300) for name, peak in ranges.peaks.items()}
    room = MARGIN * (form.highest + 1) / form.one
    s = rounded_up(max(peaks["x"], peaks["length"]) / room)
    r = rounded_down(room * s / max(peaks["v"], peaks["vr"], peaks["ld"], peaks["lvd"]))
    M = rounded_up(max(peaks["F"], peaks["f"], peaks["F_ext"]) * r**2 / (room * s))
    bits, widest = form.word - 2, 30 if form.word <= SHORT_WORD else 62

    def spare(peak: float) -> int:
        return floor(log2(room / peak))

    shortest = MARGIN * form.one / (s * peaks["inverse"])
    points = Points(
        direction=min(bits, LONGEST_DIRECTION),
        inverse=int(np.clip(form.word - 1 + floor(log2(shortest)), bits, widest)),
        lam=int(np.clip(spare(peaks["lambda"] / s), 0, bits)),
        acceleration=int(np.clip(spare(peaks["a"] * r**2 / s), -bits, bits)),
        rate=int(np.clip(spare(max(peaks["ld"], peaks["lvd"]) * r / s), 0, bits)),
    )
    return Units(time=r, length=s, mass=M), points


@dataclass(frozen=True)
class DeadBand:
    """What the step constant rounds away: a point slower than `velocity` [m/s] stands still.

    A net acceleration below `acceleration` [m/s2] changes no velocity; `raw` is both in units of the last place.
    """

    raw: int
    velocity: float
    acceleration: float

    def share(self, velocities: Array) -> float:
        """Return the share of points that move, but slower than the band in every direction (N, 3) [m/s]."""
        fastest = np.abs(velocities).max(axis=1)
        return float(np.mean((fastest > 0.0) & (fastest <= self.velocity)))


def dead_band(constants: CircuitConstants) -> DeadBand:
    """Return the band: |X| <= `raw` gives H X = 0; where products truncate only X = 0 does below zero."""
    H, w = int(np.asarray(constants.H.raw)), constants.H.w
    half = (1 << w) >> 1 if constants.euler_round else 1 << w
    raw = -(-half // H) - 1
    units, one = constants.units, constants.form.one
    return DeadBand(raw, raw / one * units.velocity, raw / one * units.velocity / units.time)


def bursts(ranges: Ranges, constants: CircuitConstants) -> float:
    """Return by how much words are too coarse for the forces of tools, 0 where they are not.

    To round places in a step is to change velocities by up to the dead band: a tool that changes them by less touches
    in some steps only, and then all the harder.
    """
    share = FINEST * dead_band(constants).velocity / (ranges.pressed * ranges.step) if ranges.pressed > 0.0 else 0.0
    return share if share > 1.0 else 0.0


def remarks(ranges: Ranges, model: CircuitModel, constants: CircuitConstants) -> list[str]:
    """Say in sentences what of a scene the words cannot hold or cannot see; nothing where all is well."""
    units, form = constants.units, constants.form
    found = []
    shares = ranges.shares(units, form, constants.points)
    worst = max(shares, key=lambda name: shares[name])
    if shares[worst] > 1.0:
        bits = int(np.ceil(np.log2(shares[worst])))
        more = f"{worst} grows to {shares[worst]:.3g} times the range of {form}: {form.word + bits} bits with "
        better = units
        if constants.points is None:
            better = suggest_units(ranges, model, form, own_points=constants.A.w != form.fraction)
        found.append(
            f"{more}{form.fraction} would do"
            + (
                f", or time_unit = {better.time:g}, length_unit = {better.length:g}, mass_unit = {better.mass:g}"
                if better != units
                else ""
            )
        )
    band = dead_band(constants)
    peak = ranges.peaks["v"]
    if 0.0 < peak < 4.0 * band.velocity:
        bits = int(np.ceil(np.log2(8.0 * band.velocity / peak)))
        found.append(
            f"points slower than {band.velocity:.3g} m/s stand still and the fastest one has {peak:.3g} m/s: take a "
            f"longer step, a length_unit {2**bits} times smaller, or {form.word + bits} bits with "
            f"{form.fraction + bits}"
        )
    if 0.0 < ranges.peaks["a"] < 4.0 * band.acceleration:
        found.append(
            f"accelerations below {band.acceleration:.3g} m/s2 change no velocity and the largest one is "
            f"{ranges.peaks['a']:.3g} m/s2: take a larger time_unit or a longer step"
        )
    if share := bursts(ranges, constants):
        found.append(
            f"tools press with {ranges.pressed:.3g} m/s2, little beside what rounded places amount to in a step, so "
            f"that forces on them come in bursts: take {form.word + int(np.ceil(np.log2(share)))} bits"
        )
    return found
