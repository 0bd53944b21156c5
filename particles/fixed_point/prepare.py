"""From a problem and options to words in memories: step, units, constants, body, host, and what is to be said before.

The host is the computer beside the circuit, which itself knows one constant force per point. Gravity and constant loads
are written once; loads over time and motions of supports once a step or once a period, through the second port of the
RAMs. A held component has 1/m = 0 in the mass module, so it keeps the velocity it was given until the next writing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.constraints.motion import table_value
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.element_match import Method
from rheotwin.particles.fixed_point.arithmetic import WIDEST, Format
from rheotwin.particles.fixed_point.body import CircuitBody, circuit_body
from rheotwin.particles.fixed_point.model import OPTIONS, CircuitModel, build_model, choose_step, contact_limit
from rheotwin.particles.fixed_point.parameters import CircuitConstants, Points, Units, circuit_constants
from rheotwin.particles.fixed_point.ranges import Ranges, analyse, remarks, suggest_units
from rheotwin.particles.fixed_point.touching import Lasting, nothing_lasts
from rheotwin.particles.steps import Held, Loads, apply_loads
from rheotwin.problem import Problem

PAPERS = Format()


class FixedPointOptions(BaseModel):
    """Options of the fixed-point solver; units left out are chosen from the range of the scene."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None, gt=0.0, description="step [s]; default: `safety` times the stable step of explicit Euler"
    )
    safety: float = Field(default=0.5, gt=0.0, le=1.0, description="share of the stable step used by default")
    match: Method = Field(
        default="element", description="springs from the law, as for `truss`; `edge`: the law's numbers are each edge's"
    )
    word: int | None = Field(
        default=None, ge=8, le=WIDEST, description="bits of a word; the papers' 16 unless the program chooses"
    )
    fraction: int | None = Field(
        default=None, ge=2, le=WIDEST - 2, description="bits after the point; the papers' 8 unless the program chooses"
    )
    points: tuple[int, int, int, int, int] | None = Field(
        default=None,
        description="bits after the point of directions and of 1/l, how many more of lambda, accelerations and rates; "
        "forces are direct then; default: the papers' circuit, unless the program chooses",
    )
    tolerance: float = Field(
        default=0.03,
        gt=0.0,
        description="error against double precision, over the mean displacement, that chosen words may have",
    )
    stop: bool = Field(
        default=True, description="end the run where a word overflows, or before it where words lose the motion"
    )
    time_unit: float | None = Field(
        default=None, gt=0.0, allow_inf_nan=False, description="one circuit unit of time [s], the papers' r"
    )
    length_unit: float | None = Field(
        default=None, gt=0.0, allow_inf_nan=False, description="one circuit unit of length [m]; the papers have 1"
    )
    mass_unit: float | None = Field(
        default=None, gt=0.0, allow_inf_nan=False, description="one circuit unit of mass [kg]; the papers have 1"
    )
    analyse: bool = Field(
        default=True,
        description="run the scene in double precision first: chooses units, warns about ranges and the dead band",
    )
    h_const: Literal["eq218", "printed", "plain8"] = Field(
        default="eq218",
        description="bits of the step constant: `eq218` all there are, `printed` one less, `plain8` those of the word",
    )
    tem_wmod: bool = Field(default=True, description="give A, B and C2 the best point of their own")
    tem_round: bool = Field(default=False, description="round products of constants in the element module")
    euler_round: bool = Field(default=True, description="round products with the step and 1/m; truncation drifts")
    sqrt: Literal["floor", "cordic"] = Field(
        default="floor", description="square root: `floor` exact, `cordic` as in the papers, at most one digit off"
    )
    overflow: Literal["wrap", "saturate"] = Field(
        default="wrap", description="what a word does that overflows; `saturate` makes sums depend on their order"
    )
    host_period: float | None = Field(
        default=None,
        gt=0.0,
        description="time [s] between two writings of the host: positions of held points, loads; default: every step; "
        "the papers' host writes local points every 0.001 s",
    )
    surface_period: float | None = Field(
        default=None,
        gt=0.0,
        description="time [s] between two turns of contact: the host reads the surface, settles it with tools and "
        "bodies, and writes velocities and forces; default: every step; the papers' host takes 0.033 s",
    )
    host_latency: float = Field(default=0.0, ge=0.0, allow_inf_nan=False, description="age [s] of what the host writes")
    series_time: float = Field(
        default=10.0,
        gt=0.0,
        allow_inf_nan=False,
        description="flow of the series dashpot that a voigt edge needs here, as relaxation time over the duration",
    )


class Host(NamedTuple):
    """What is written and in which units: rest (N, 3) [m], weight (N, 3) [N], raw words per metre, m/s and newton.

    Words beyond `highest` are held there and counted in `clipped`. What is written is `latency` [s] old.
    """

    held: Held
    loads: Loads
    rest: Array
    weight: Array
    words_per_metre: float
    words_per_speed: float
    words_per_newton: float
    highest: int
    every: int
    """Steps between two writings."""
    latency: float
    external: Array
    left: Array
    clipped: Indices
    lasting: Lasting
    """What contact leaves from one turn to the next."""
    turns: int
    """Steps between two turns of contact."""


def make_host(
    model: CircuitModel, units: Units, form: Format, every: int = 1, latency: float = 0.0, turns: int = 1
) -> Host:
    """Return the host of a problem in circuit units, which writes every so many steps."""
    return Host(
        held=model.held,
        loads=model.loads,
        rest=model.points,
        weight=model.weight,
        words_per_metre=form.one / units.length,
        words_per_speed=form.one / units.velocity,
        words_per_newton=form.one / units.force,
        highest=form.highest,
        every=every,
        latency=latency,
        external=np.empty_like(model.points),
        left=np.empty(3),
        clipped=np.zeros(1, dtype=np.int64),
        lasting=nothing_lasts(len(model.points)),
        turns=turns,
    )


def writes_every_step(model: CircuitModel) -> bool:
    """Tell whether the host has anything to do after the first step."""
    return model.moves_supports or any(np.ptp(load.factor.values) > 0.0 for load in model.problem.loads)


@compiled
def _word(value: float, host: Host) -> int:
    """Round half up, and stay in range."""
    raw = np.floor(value + 0.5)
    if raw > host.highest:
        host.clipped[0] += 1
        return host.highest
    if raw < -host.highest - 1:
        host.clipped[0] += 1
        return -host.highest - 1
    return int(raw)


class Memories(NamedTuple):
    """Where the words of position, velocity and force of every point lie: places (N, 3) in each flat array."""

    places: Indices
    position: Integers
    velocity: Integers
    force: Integers


def memories_of(body: CircuitBody) -> Memories:
    """Return the memories of a body itself."""
    places = np.arange(body.position.size).reshape(body.position.shape)
    return Memories(places, body.position.reshape(-1), body.velocity.reshape(-1), body.force.reshape(-1))


@compiled
def write_forces(host: Host, there: Memories, time: float) -> None:
    """Write weights, loads at `time` [s] and what presses."""
    for node in range(host.external.shape[0]):
        for c in range(3):
            host.external[node, c] = host.weight[node, c] + host.lasting.force[node, c]
    apply_loads(host.loads, time, host.external)
    for node in range(there.places.shape[0]):
        for c in range(3):
            there.force[there.places[node, c]] = _word(host.external[node, c] * host.words_per_newton, host)


@compiled
def read_surface(
    host: Host, there: Memories, near: Indices, ease: Array, centre: Array, number: int, turn: float, h: float,
    x: Array, v: Array, before: Array, begun: Array, end: Array,
) -> None:  # fmt: skip
    """Read places and velocities of the near points before turn `number` of `turn` [s], without what pressed up to it.

    The circuit's own steps make it `h` [s].
    """
    end[0] = (number + 1) * turn - host.latency
    for node in near:
        for c in range(3):
            x[node, c] = there.position[there.places[node, c]] / host.words_per_metre + centre[c]
            v[node, c] = there.velocity[there.places[node, c]] / host.words_per_speed
            v[node, c] -= h * ease[node, c] * host.lasting.force[node, c]
            before[node, c], begun[node, c] = x[node, c], v[node, c]


@compiled
def _keep_force(lasting: Lasting, node: int, ease: Array, begun: Array, v: Array, jump: float, h: float) -> None:
    """Let the force last that was missing in the last turn, along the change of velocity, if it does push."""
    along = 0.0
    if jump > 0.0 and lasting.touched[node]:
        for c in range(3):
            if ease[node, c] > 0.0:
                missing = (lasting.written[node, c] - begun[node, c]) / (ease[node, c] * h)
                along += missing * (v[node, c] - begun[node, c]) / jump
    for c in range(3):
        lasting.force[node, c] = max(along, 0.0) * (v[node, c] - begun[node, c]) / jump if jump > 0.0 else 0.0
        lasting.written[node, c] = v[node, c]
    lasting.touched[node] = jump > 0.0


@compiled
def write_surface(
    host: Host, there: Memories, near: Indices, ease: Array, centre: Array, number: int, turn: float, h: float,
    x: Array, v: Array, before: Array, begun: Array,
) -> None:  # fmt: skip
    """Write velocities of points that touch, places that impacts have shifted, and what is to press until next turn."""
    for node in near:
        jump = 0.0
        for c in range(3):
            jump += (v[node, c] - begun[node, c]) ** 2
            if x[node, c] != before[node, c]:
                there.position[there.places[node, c]] = _word((x[node, c] - centre[c]) * host.words_per_metre, host)
        for c in range(3):
            if jump > 0.0:
                there.velocity[there.places[node, c]] = _word(v[node, c] * host.words_per_speed, host)
        if host.turns > 1:
            _keep_force(host.lasting, node, ease, begun, v, np.sqrt(jump), h)
    if host.turns > 1:
        write_forces(host, there, number * turn - host.latency)


@compiled
def write_before(host: Host, there: Memories, number: int, h: float) -> None:
    """Write forces before step `number` of `h` [s], and velocities that take held components to their next place."""
    if number % host.every:
        return
    time, span = number * h - host.latency, host.every * h
    write_forces(host, there, time)
    held, target, current = host.held, host.held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, time, host.left)
            table_value(held.tables, current, time + span, target)
        # From the motion itself: a difference of words would be as coarse as one of them over a step.
        there.velocity[there.places[node, c]] = _word((target[c] - host.left[c]) / span * host.words_per_speed, host)


@compiled
def write_after(host: Host, there: Memories, number: int, h: float) -> None:
    """Put held components where their motion is after step `number` of `h` [s], to the word."""
    if (number + 1) % host.every:
        return
    time = (number + 1) * h - host.latency
    held, target, current = host.held, host.held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, time, target)
        goal = (host.rest[node, c] + target[c]) * host.words_per_metre
        there.position[there.places[node, c]] = _word(goal, host)


def write_first(host: Host, body: CircuitBody, h: float) -> None:
    """Write what holds for the first step, and refuse what does not fit."""
    host.clipped[0] = 0
    write_before(host, memories_of(body), 0, h)
    body.velocity[:] = 0
    if host.clipped[0]:
        raise RheotwinError(
            f"{OPTIONS}: a load or the first step of a support does not fit the words of the circuit (largest force "
            f"{np.abs(host.external).max():.4g} N, words end at {host.highest / host.words_per_newton:.4g} N); take a "
            "larger mass_unit, length_unit or smaller time_unit"
        )


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
    until: float | None = None
    """When the supports change for the first time [s], None if they never do."""

    @property
    def remarks(self) -> list[str]:
        """What the words cannot hold or see, known before the run if the ranges are."""
        return remarks(self.ranges, self.model, self.constants) if self.ranges is not None else []


def make_format(options: FixedPointOptions) -> Format:
    """Return the words asked for, or those of the papers."""
    word, fraction = options.word or PAPERS.word, options.fraction or PAPERS.fraction
    if fraction > word - 2:
        raise RheotwinError(
            f"{OPTIONS}.fraction: {fraction} bits after the point leave no range in {word}; choose at most {word - 2}"
        )
    return Format(word, fraction)


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
        points=None if options.points is None else Points(*options.points),
    )
    ends, parts = model.edges.T, None if model.chain is None else len(model.chain.k)
    body = circuit_body(model.points, *ends, units=units, lengths=model.lengths, parts=parts, form=form)
    every, turns = (max(1, round((T or 0.0) / float(step))) for T in (options.host_period, options.surface_period))
    _check_turns(model, turns * float(step))
    host = make_host(model, units, form, every, options.host_latency, turns)
    write_first(host, body, float(step))
    return Prepared(model, options, step, ranges, constants, body, host)


def _check_turns(model: CircuitModel, turn: float) -> None:
    """Refuse turns [s] so far apart that the springs of a contact law throw points off."""
    if turn >= (limit := contact_limit(model.problem)):
        raise RheotwinError(
            f"{OPTIONS}.surface_period: contact settled every {turn:.3g} s throws points off the springs of its law, "
            f"which allow {limit:.3g} s (K T^2/m < 4); choose less, or softer contact"
        )


class Modelled(NamedTuple):
    """A model before it is put into words; ranges are None without the analysis."""

    model: CircuitModel
    step: Fraction
    ranges: Ranges | None


def relaxing_of(problem: Problem, options: FixedPointOptions) -> float:
    """Return the time [s] in which the series dashpot of a Voigt edge relaxes its spring."""
    return options.series_time * problem.scene.duration if options.points is None else np.inf


def modelled(problem: Problem, options: FixedPointOptions) -> Modelled:
    """Return model, step and ranges; with points of their own Voigt edges have no series dashpot."""
    model = build_model(problem, match=options.match, relaxing=relaxing_of(problem, options))
    step = choose_step(model, options.step, options.safety)
    return Modelled(model, step, analyse(model, float(step)) if options.analyse else None)


def prepare(problem: Problem, options: FixedPointOptions) -> Prepared:
    """Make a problem ready for the circuit, with the analysis of its ranges unless it is switched off."""
    model, step, ranges = modelled(problem, options)
    return fill_memories(model, options, step, ranges)


def with_format(prepared: Prepared, **changes: object) -> Prepared:
    """Return the same scene in other words or units, with the papers' points; the ranges are known already."""
    changes = {"points": None} | changes
    options = FixedPointOptions.model_validate(prepared.options.model_dump() | changes)
    return replace(fill_memories(prepared.model, options, prepared.step, prepared.ranges))
