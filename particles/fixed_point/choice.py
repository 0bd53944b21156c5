"""Words that the program chooses: the shortest whose run stays close to double precision, tried on the scene itself.

The papers' 16 bits with 8 after the point come first, then words with points of their own for every class of signal. A
trial runs the whole scene in words and compares positions with those of the float form at some times,

    error = max over times of mean |x - x_float|  /  max over times of mean |x_float - rest|

What is announced is what the run will do: words have no chance in them.
"""

from __future__ import annotations

import warnings
from dataclasses import astuple, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, Stopped
from rheotwin.particles.fixed_point.arithmetic import WIDEST, Format
from rheotwin.particles.fixed_point.model import OPTIONS
from rheotwin.particles.fixed_point.phased import first_phase, modelled_in_phases, words_in_phases
from rheotwin.particles.fixed_point.prepare import (
    FixedPointOptions,
    Modelled,
    Prepared,
    fill_memories,
    modelled,
)
from rheotwin.particles.fixed_point.ranges import bursts, own_points
from rheotwin.particles.fixed_point.stepping import Overflow, Stepping
from rheotwin.phases import borders
from rheotwin.problem import Problem
from rheotwin.schedule import time_of
from rheotwin.tensors import padded

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


class _Gap:
    """The error over the times compared so far, of positions [m] from the circuit's centre."""

    def __init__(self, prepared: Prepared, enough: float) -> None:
        assert prepared.ranges is not None
        rest, samples = prepared.model.points, prepared.ranges.samples
        self._travel = max((self._apart(exact, rest) for _, exact in samples), default=0.0)
        self._enough, self.error = enough, 0.0

    @staticmethod
    def _apart(one: Array, other: Array) -> float:
        return float(np.linalg.norm(one - other, axis=1).mean())

    def is_enough(self, found: Array, exact: Array) -> bool:
        """Compare at one more time; tell whether the error is already beyond what is of interest."""
        gap = self._apart(found, exact)
        self.error = max(self.error, gap / self._travel if self._travel > 0.0 else gap)
        return self.error > self._enough


def tried(prepared: Prepared, enough: float = np.inf) -> Trial:
    """Run a scene whose ranges are known; an overflow ends it, and an error beyond `enough`."""
    assert prepared.ranges is not None
    circuit, gap = Stepping(prepared), _Gap(prepared, enough)
    for (first, _), (last, exact) in pairwise([(0, prepared.model.points), *prepared.ranges.samples]):
        if (overflow := circuit.take_safely(last - first)) is not None:
            return Trial(np.inf, overflow)
        found = prepared.constants.form.value(circuit.body.position) * prepared.constants.units.length
        if gap.is_enough(found, exact):
            break
    return Trial(gap.error, None)


def tried_on(prepared: Prepared, problem: Problem, enough: float = np.inf) -> Trial:
    """Run a scene, through its phases where supports come and go."""
    if prepared.until is None:
        return tried(prepared, enough)
    from rheotwin.particles.fixed_point.solver import FixedPointSolver

    assert prepared.ranges is not None
    chosen = prepared.options.model_copy(update=settled(prepared) | {"step": float(prepared.step)})
    run, gap = words_in_phases(problem, chosen, FixedPointSolver()), _Gap(prepared, enough)
    for last, exact in prepared.ranges.samples:
        time = time_of(prepared.step, last)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.advance(time, last)
        if lost := tuple(name for name, many in run.statistics()["overflows"].items() if many):
            return Trial(np.inf, Overflow(last, time, lost))
        if gap.is_enough(padded(run.positions) - prepared.model.centre, exact):
            break
    return Trial(gap.error, None)


def modelled_as(problem: Problem, options: FixedPointOptions) -> Modelled:
    """Return model, step and ranges of a scene, in phases where supports come and go."""
    if options.analyse and borders(problem):
        return modelled_in_phases(problem, options)
    return modelled(first_phase(problem) if borders(problem) else problem, options)


def prepared_as(problem: Problem, options: FixedPointOptions) -> Prepared:
    """Make a scene ready for the circuit, up to where its supports change."""
    base = modelled_as(problem, options)
    return until_border(fill_memories(base.model, options, base.step, base.ranges), problem)


def until_border(prepared: Prepared, problem: Problem) -> Prepared:
    """Note when supports change for the first time."""
    times = borders(problem)
    return replace(prepared, until=times[0]) if times else prepared


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
        prepared = prepared_as(problem, options)
        return prepared, tried_on(prepared, problem) if prepared.ranges is not None else None
    return shortest_words(problem, options)


def coarse(prepared: Prepared) -> bool:
    """Tell whether words are too coarse for the forces of tools."""
    return prepared.ranges is not None and bursts(prepared.ranges, prepared.constants) > 0.0


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
    model, step, ranges = modelled_as(problem, options)
    return replace(prepared, model=model, step=step, ranges=ranges, options=options)


def announced(problem: Problem, options: FixedPointOptions) -> tuple[Prepared, Trial | None]:
    """Choose words, say what there is to be said of them, and end a run that has no chance before it begins."""
    prepared, trial = choose(problem, options)
    said = [*prepared.remarks, *([] if trial is None else trial.remarks)]
    if trial is not None and trial.lost and options.stop:
        raise Stopped(f"{OPTIONS}: {'; '.join(said)}; {remedy(problem, options)}", time=0.0)
    for remark in said:
        warnings.warn(f"{OPTIONS}: {remark}", stacklevel=3)
    return prepared, trial


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
    why = ""
    if options.word in (None, Format().word):
        try:
            prepared = prepared_as(problem, options)
            fits = not coarse(prepared)
            if fits and (trial := tried_on(prepared, problem, options.tolerance)).error <= options.tolerance:
                return prepared, trial
        except RheotwinError as error:
            why = str(error)
    # Any points will do for the model, whose Voigt edges need no series dashpot then, and its ranges.
    base = modelled_as(problem, options.model_copy(update={"points": (0,) * 5}))
    words = WORDS if options.word is None else (options.word,)
    for word in words:
        try:
            prepared = until_border(with_own_points(base, options, word), problem)
        except RheotwinError as error:
            why = str(error)
            continue
        if coarse(prepared):
            why = "; ".join(prepared.remarks)
            continue
        enough = np.inf if word == words[-1] else options.tolerance
        if (trial := tried_on(prepared, problem, enough)).error <= options.tolerance:
            return prepared, trial
        why = f"the longest are off by {100.0 * trial.error:.3g} %"
        if trial.overflow is not None:
            why = f"the longest overflow in {trial.overflow}"
    raise RheotwinError(
        f"{OPTIONS}: no words of up to {options.word or WIDEST} bits follow the scene within "
        f"{100.0 * options.tolerance:g} % of its mean displacement, {why}; raise `tolerance`"
        + ("" if options.word is None else ", leave `word` out")
        + ("" if options.surface_period is None else ", take a shorter `surface_period`")
        + ("" if options.host_period is None else ", take a shorter `host_period`")
        + " or take a longer step"
    )
