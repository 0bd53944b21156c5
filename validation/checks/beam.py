"""Silicone cantilever let go: frequency, damping and rest against tracked markers.

With the authors' modulus nothing is fitted. In the second pair of checks one number is, Young's modulus (and for the
damping the relaxation time of a Voigt law), from the beam under its own weight; the loaded beam is then predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from rheotwin.arrays import Indices
from rheotwin.problem import Problem
from rheotwin.validation.checks.check import Check, Compute, Values, check
from rheotwin.validation.checks.running import (
    Data,
    box_scene,
    displacements,
    problem_of,
    refined,
    side,
    start,
    with_data,
)
from rheotwin.validation.experiments import datasets as data
from rheotwin.validation.metrics import RingDown, ring_down

SETTLED = 0.15
"""After release [s]: higher modes have died out in the measured paths."""
DURATION, SAMPLES = 0.8, 80
MESHES = (2, 3, 4)
"""Cells across the height, a quarter of those along; the coarser ones say how uncertain the last is."""
CIRCUIT_RELAXATION = 0.001
"""Of the circuit's beam [s]: damps by 2.4 %, half of what was measured, and lowers the frequency by 0.03 %."""
MILLI, PERCENT = 1e3, 100.0


@dataclass(frozen=True)
class Model:
    """How the beam is modelled."""

    solver: str
    cell: str
    poisson: float
    options: Data = field(default_factory=dict)
    relaxation: float = 0.0
    """Viscosity over modulus [s]: explicit Euler needs some."""


MODELS = {
    "fem": Model("fem", "hex", data.BEAM_POISSON, {"formulation": "b-bar", "step": 0.002}),
    "truss": Model("truss", "tet", 0.45),
    "shear-volume": Model("shear-volume", "tet", 0.45),
    "lattice": Model("truss", "hex", 0.25),
    "fixed-point": Model("fixed-point", "hex", 0.25, relaxation=CIRCUIT_RELAXATION),
}


def beam_problem(model: Model, *, load: float, relaxation: float = 0.0, across: int = 4) -> Problem:
    """Return the beam with the authors' modulus, held flat at time zero; `load` [N] is mass on its upper tip edge.

    `relaxation` [s] is viscosity over modulus of a Voigt law, `across` counts cells across the height.
    """
    law: Data = {"model": "elastic", "young": data.BEAM_YOUNG, "poisson": model.poisson}
    if relaxation:
        law |= {"model": "voigt", "viscosity": relaxation * data.BEAM_YOUNG}
    size = [data.BEAM_LENGTH, data.BEAM_WIDTH, data.BEAM_HEIGHT]
    more: Data = {
        "density": data.BEAM_DENSITY,
        "gravity": [0.0, 0.0, -data.GRAVITY],
        "supports": {"clamp": side("left")},
    }
    scene = box_scene(law, size=size, cells=[4 * across, across, across], cell=model.cell, duration=DURATION, **more)
    problem = problem_of(scene)
    close = 1e-9
    edge = (problem.points[:, 0] > data.BEAM_LENGTH - close) & (problem.points[:, 2] > data.BEAM_HEIGHT - close)
    return replace(problem, masses=problem.masses + edge * load / data.GRAVITY / edge.sum())


@cache
def released(name: str, load: float, relaxation: float = 0.0, across: int = 4) -> RingDown:
    """Return how the middle of the tip rings [m] after release from the flat shape."""
    relaxation = relaxation or MODELS[name].relaxation
    problem = beam_problem(MODELS[name], load=load, relaxation=relaxation, across=across)
    tip = _middle_of_tip(problem)
    times = np.linspace(0.0, DURATION, SAMPLES + 1)[1:]
    simulation = start(problem, MODELS[name].solver, **MODELS[name].options)
    return ring_down(times, displacements(simulation, problem, times)[:, tip, 2].mean(axis=1), creep=False)


def _middle_of_tip(problem: Problem) -> Indices:
    """Return the node in the middle of the tip, or the four around it."""
    middle = [data.BEAM_LENGTH, data.BEAM_WIDTH / 2, data.BEAM_HEIGHT / 2]
    apart = np.linalg.norm(problem.points - middle, axis=1)
    return np.asarray(np.flatnonzero(apart < apart.min() + 1e-9), dtype=np.int64)


@cache
def _observed(test: str) -> RingDown:
    motion = data.read_clamped_beam(test)
    late = motion.times > motion.release + SETTLED
    return ring_down(motion.times[late], motion.height[late, 0])


def as_measured() -> Values:
    """Return means of both repeats [Hz, 1, mm], marker 1; the markers at rest are those of the last quarter second."""
    values: dict[str, float] = {}
    for load in ("gravity", "load52"):
        rings = [_observed(f"{load}_{repeat}") for repeat in "ab"]
        values[f"frequency, {load}"] = float(np.mean([ring.frequency for ring in rings]))
        values[f"damping, {load}"] = PERCENT * float(np.mean([ring.damping for ring in rings]))
    values["frequency ratio"] = values["frequency, load52"] / values["frequency, gravity"]
    rest = {test: data.read_clamped_beam(test).at_rest[0, 0] for test in data.BEAM_TESTS}
    values["sinking under the load"] = MILLI * float(
        np.mean([rest["gravity_a"], rest["gravity_b"]]) - np.mean([rest["load52_a"], rest["load52_b"]])
    )
    return values


def as_published(name: str, across: int = 4) -> Values:
    """Return what the authors' modulus gives, nothing fitted [Hz, mm]."""
    alone, loaded = released(name, 0.0, across=across), released(name, data.BEAM_LOAD, across=across)
    return {
        "frequency, gravity": alone.frequency,
        "frequency, load52": loaded.frequency,
        "frequency ratio": loaded.frequency / alone.frequency,
        "sinking under the load": MILLI * (alone.rest - loaded.rest),
    }


def fitted(name: str, across: int = 4) -> Values:
    """Return the modulus that gives the measured frequency of the beam alone [kPa], and what then follows [Hz, mm].

    A linear beam needs no second run: frequencies go with the root of the modulus, deflections with its inverse.
    """
    seen, free = as_measured(), as_published(name, across)
    stiffer = (seen["frequency, gravity"] / free["frequency, gravity"]) ** 2
    return {
        "Young's modulus": 1e-3 * data.BEAM_YOUNG * stiffer,
        "frequency, load52": free["frequency, load52"] * float(np.sqrt(stiffer)),
        "sinking under the load": free["sinking under the load"] / stiffer,
    }


def damped(across: int = 4) -> Values:
    """Return the damping of the loaded beam [%] by a Voigt law fitted to that of the beam alone, zeta = omega tau/2."""
    seen = as_measured()
    relaxation = (
        2.0 * seen["damping, gravity"] / PERCENT / (2.0 * np.pi * released("fem", 0.0, across=across).frequency)
    )
    return {
        "damping, gravity": PERCENT * released("fem", 0.0, relaxation, across).damping,
        "damping, load52": PERCENT * released("fem", data.BEAM_LOAD, relaxation, across).damping,
    }


def in_words() -> Values:
    """Return how the circuit's beam, in words it chose itself, differs from the same edges in floating point [%, %]."""
    circuit, truss = (released(name, 0.0, CIRCUIT_RELAXATION) for name in ("fixed-point", "lattice"))
    return {
        "frequency": PERCENT * (circuit.frequency / truss.frequency - 1.0),
        "rest": PERCENT * (circuit.rest / truss.rest - 1.0),
    }


def _check(identity: str, compute: Compute, name: str, **more: Any) -> Check:
    return check(f"measured.beam{identity}", with_data(data.BEAM, compute), name=f"beam-{name}", **more)


CHECKS = {
    "measured": (
        _check("", as_measured, "data", quick=True, solvers=()),
        *(
            _check(
                f"/{kind}-{name}",
                partial(refined, partial(compute, name), MESHES),
                f"{kind}-{name}",
                solvers=(model.solver,),
            )
            for kind, compute in (("published", as_published), ("fitted", fitted))
            for name, model in MODELS.items()
        ),
        _check("/damping", partial(refined, damped, MESHES), "damping"),
        _check("/words", in_words, "words", solvers=("fixed-point", "truss")),
    )
}
