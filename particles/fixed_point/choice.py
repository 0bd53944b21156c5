"""Words that the program chooses: the shortest whose run stays close to double precision, tried on the scene itself.

The papers' 16 bits with 8 after the point come first, then words with points of their own for every class of signal. A
trial runs the whole scene in words and compares positions with those of the float form at some times,

    error = max over times of mean |x - x_float|  /  max over times of mean |x_float - rest|

What is announced is what the run will do: words have no chance in them.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import WIDEST, Format
from rheotwin.particles.fixed_point.model import OPTIONS
from rheotwin.particles.fixed_point.prepare import (
    FixedPointOptions,
    Modelled,
    Prepared,
    fill_memories,
    modelled,
    prepare,
)
from rheotwin.particles.fixed_point.ranges import own_points
from rheotwin.particles.fixed_point.stepping import Overflow, Stepping
from rheotwin.problem import Problem

WORDS = (16, 18, 20, 22, 24, 28, WIDEST)
"""Lengths that are tried."""
LOST = 0.5
"""Error beyond which words show no motion of the scene's."""


@dataclass(frozen=True)
class Trial:
    """A whole run in words against the float form: `error` over the mean displacement, and the first overflow."""

    error: float
    overflow: Overflow | None

    @property
    def lost(self) -> bool:
        """Whether words lose the motion: without an overflow it is the dead band, or rounding all one way."""
        return self.overflow is None and self.error > LOST

    @property
    def remarks(self) -> list[str]:
        """Say what is wrong."""
        if self.overflow is not None:
            return [f"words will overflow in {self.overflow}"]
        if self.lost:
            return [f"words lose the motion, {100.0 * self.error:.3g} % of the mean displacement are error"]
        return []


def tried(prepared: Prepared) -> Trial:
    """Run a scene whose ranges are known; an overflow ends it."""
    ranges, units, form = prepared.ranges, prepared.constants.units, prepared.constants.form
    assert ranges is not None
    circuit, away, travel = Stepping(prepared), 0.0, 0.0
    for first, last in pairwise([0, *(step for step, _ in ranges.samples)]):
        if (overflow := circuit.take_safely(last - first)) is not None:
            return Trial(np.inf, overflow)
        exact = dict(ranges.samples)[last]
        found = form.value(circuit.body.position) * units.length
        away = max(away, float(np.linalg.norm(found - exact, axis=1).mean()))
        travel = max(travel, float(np.linalg.norm(exact - prepared.model.points, axis=1).mean()))
    return Trial(away / travel if travel > 0.0 else away, None)


def is_open(options: FixedPointOptions) -> bool:
    """Tell whether the program is to choose: neither point nor units are given, nor what only the papers have."""
    given = (options.fraction, options.points, options.time_unit, options.length_unit, options.mass_unit)
    papers = options.h_const != "eq218" or not options.tem_wmod or options.overflow != "wrap"
    return all(one is None for one in given) and options.analyse and not papers


def settled(prepared: Prepared) -> dict[str, Any]:
    """Return the options that give these words and units."""
    form, units, points = (getattr(prepared.constants, name) for name in ("form", "units", "points"))
    return {
        "word": form.word,
        "fraction": form.fraction,
        "points": None if points is None else astuple(points),
        "tem_round": prepared.constants.tem_round,
        "time_unit": units.time,
        "length_unit": units.length,
        "mass_unit": units.mass,
    }


def choose(problem: Problem, options: FixedPointOptions) -> tuple[Prepared, Trial | None]:
    """Put a problem into words, those asked for or chosen ones, and try them where the float run is known."""
    if not is_open(options):
        prepared = prepare(problem, options)
        return prepared, tried(prepared) if prepared.ranges is not None else None
    return shortest_words(problem, options)


def with_own_points(base: Modelled, options: FixedPointOptions, word: int) -> Prepared:
    """Return a model in words of a length with points of their own."""
    form = Format(word, word // 2)
    assert base.ranges is not None
    if base.ranges.peaks["v"] == 0.0:
        raise RheotwinError(f"{OPTIONS}: nothing moves in the scene, so nothing tells which words do; leave `word` out")
    units, points = own_points(base.ranges, form)
    found = {"word": word, "fraction": form.fraction, "points": astuple(points), "tem_round": True}
    found |= {"time_unit": units.time, "length_unit": units.length, "mass_unit": units.mass}
    options = FixedPointOptions.model_validate(options.model_dump() | found)
    return fill_memories(base.model, options, base.step, base.ranges)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value)) if isinstance(value, tuple) else f"{value:g}"


def in_papers_form(prepared: Prepared, problem: Problem) -> Prepared:
    """Return a scene with the papers' points to choose formats from; its Voigt edges have a series dashpot again."""
    if prepared.options.points is None:
        return prepared
    left_out = dict.fromkeys(("word", "fraction", "points", "time_unit", "length_unit", "mass_unit"))
    options = prepared.options.model_copy(update=left_out | {"tem_round": False})
    model, step, ranges = modelled(problem, options)
    return replace(prepared, model=model, step=step, ranges=ranges, options=options)


def remedy(problem: Problem, options: FixedPointOptions) -> str:
    """Say which words and units would do, found by trial."""
    left_out = dict.fromkeys(("word", "fraction", "points", "time_unit", "length_unit", "mass_unit"))
    papers: dict[str, object] = {"h_const": "eq218", "tem_wmod": True, "overflow": "wrap", "analyse": True}
    try:
        found, trial = shortest_words(problem, options.model_copy(update=left_out | papers))
    except RheotwinError as error:
        return str(error)
    chosen = ", ".join(f"{name} = {_toml(value)}" for name, value in settled(found).items() if value)
    return (
        f"{chosen} would do, with an error of {100.0 * trial.error:.2g} % of the mean displacement; they are chosen "
        "where these options are left out"
    )


def shortest_words(problem: Problem, options: FixedPointOptions) -> tuple[Prepared, Trial]:
    """Return the shortest words within the tolerance; refuse where the longest ones are not."""
    best, why = np.inf, ""
    if options.word in (None, Format().word):
        try:
            prepared = prepare(problem, options)
            if (trial := tried(prepared)).error <= options.tolerance:
                return prepared, trial
        except RheotwinError as error:
            why = str(error)
    # Any points will do for the model, whose Voigt edges need no series dashpot then, and its ranges.
    base = modelled(problem, options.model_copy(update={"points": (0,) * 5}))
    for word in WORDS if options.word is None else (options.word,):
        try:
            prepared = with_own_points(base, options, word)
        except RheotwinError as error:
            why = str(error)
            continue
        if (trial := tried(prepared)).error <= options.tolerance:
            return prepared, trial
        best = min(best, trial.error)
    found = f"the best of them is off by {100.0 * best:.3g} %" if np.isfinite(best) else why or "all overflow"
    raise RheotwinError(
        f"{OPTIONS}: no words of up to {options.word or WIDEST} bits follow the scene within "
        f"{100.0 * options.tolerance:g} % of its mean displacement, {found}; raise `tolerance`"
        + ("" if options.word is None else ", leave `word` out")
        + ("" if options.surface_period is None else ", take a shorter `surface_period`")
        + ("" if options.host_period is None else ", take a shorter `host_period`")
        + " or take a longer step"
    )
