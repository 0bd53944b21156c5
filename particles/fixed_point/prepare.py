"""From a problem and options to words in memories: step, units, constants, body, and what is to be said beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from rheotwin.errors import RheotwinError
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body
from rheotwin.particles.fixed_point.host import Host, make_host, write_first
from rheotwin.particles.fixed_point.model import OPTIONS, CircuitModel, build_model, choose_step
from rheotwin.particles.fixed_point.options import FixedPointOptions
from rheotwin.particles.fixed_point.parameters import CircuitConstants, Units, circuit_constants
from rheotwin.particles.fixed_point.ranges import Ranges, analyse, remarks, suggest_units
from rheotwin.problem import Problem


@dataclass(frozen=True)
class Prepared:
    """A problem ready for the circuit."""

    model: CircuitModel
    options: FixedPointOptions
    step: Fraction
    ranges: Ranges | None
    constants: CircuitConstants
    body: CircuitBody
    host: Host

    @property
    def remarks(self) -> list[str]:
        """What the words cannot hold or see, known before the run if the ranges are."""
        return remarks(self.ranges, self.model, self.constants) if self.ranges is not None else []


def make_format(options: FixedPointOptions) -> Format:
    """Return the words asked for."""
    if options.fraction > options.word - 2:
        raise RheotwinError(
            f"{OPTIONS}.fraction: {options.fraction} bits after the point leave no range in {options.word}; choose at "
            f"most {options.word - 2}"
        )
    return Format(options.word, options.fraction)


def choose_units(model: CircuitModel, options: FixedPointOptions, ranges: Ranges | None) -> Units:
    """Return the units asked for; those left out are suggested by the ranges."""
    given = (options.time_unit, options.length_unit, options.mass_unit)
    if ranges is not None:
        return suggest_units(
            ranges,
            model,
            make_format(options),
            own_points=options.tem_wmod,
            time=options.time_unit,
            length=options.length_unit,
            mass=options.mass_unit,
        )
    time, length, mass = given
    if time is None or length is None or mass is None:
        raise RheotwinError(
            f"{OPTIONS}.analyse: without the analysis of ranges give `time_unit`, `length_unit` and `mass_unit`"
        )
    return Units(time=time, length=length, mass=mass)


def fill_memories(model: CircuitModel, options: FixedPointOptions, step: Fraction, ranges: Ranges | None) -> Prepared:
    """Quantise a model with the options' words and units."""
    units, form = choose_units(model, options, ranges), make_format(options)
    constants = circuit_constants(
        model.law,
        model.point_mass,
        float(step),
        units,
        h_const=options.h_const,
        form=form,
        tem_wmod=options.tem_wmod,
        tem_round=options.tem_round,
        euler_round=options.euler_round,
        sqrt=options.sqrt,
        overflow=options.overflow,
    )
    body = circuit_body(
        model.points, model.edges[:, 0], model.edges[:, 1], units=units, lengths=model.lengths, form=form
    )
    host = make_host(model, units, form)
    write_first(host, body, float(step))
    return Prepared(model, options, step, ranges, constants, body, host)


def prepare(problem: Problem, options: FixedPointOptions) -> Prepared:
    """Make a problem ready for the circuit, with the analysis of its ranges unless it is switched off."""
    relaxing = options.series_time * problem.scene.duration
    model = build_model(problem, match=options.match, relaxing=relaxing)
    step = choose_step(model, options.step, options.safety)
    ranges = analyse(model, float(step)) if options.analyse else None
    return fill_memories(model, options, step, ranges)


def with_format(prepared: Prepared, **changes: object) -> Prepared:
    """Return the same scene in other words or units; the ranges are known already."""
    options = FixedPointOptions.model_validate(prepared.options.model_dump() | changes)
    return replace(fill_memories(prepared.model, options, prepared.step, prepared.ranges))
