"""Identified laws in scenes of their test pieces, against records and frequencies that were not used to identify them.

A layer of 10 x 0.13 mm between a glass and a grip that slides: simple shear but for free ends, which take 0.3 % of the
force. Springs and elements of shear and volume are no longer linear at a shear of 2, the law is: they are sheared by a
hundredth of the record, and their forces taken a hundred times. The latter have no stepper without inertia: the mass is
one that does not matter at the speed of the test.

The silicone's indenter is unknown: spheres of three sizes stand for it, each with the one factor of the modulus that
suits the ramp; the hold is then foretold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.materials import Channel
from rheotwin.validation.checks.check import Check, Values, check
from rheotwin.validation.checks.records import FITTED, PERCENT, RATES, adhesive, foam, loading, part, silicone
from rheotwin.validation.checks.running import Data, box_scene, path, seen, side, start, with_data
from rheotwin.validation.experiments import datasets as data
from rheotwin.validation.identification import Identified, LawTable, TimeRecord, identify
from rheotwin.validation.identification.oscillation import identify_oscillation

WIDTH, CELLS = 10e-3, (154, 2)
"""Width of the layer [m], and its cells, which are squares."""
POISSON = 0.25
"""That of springs in plane strain; a shear test does not tell it."""
FIRST_STEP = 2.0
"""Amount of shear of the adhesive's first ramp, up to which a linear bank describes it."""
LEVEL = 10.0
"""Temperature [Celsius] at which the foam is shaken."""
SHAKEN, PERIODS, PER_PERIOD = (1, 5, 9), 4, 64
"""Frequencies of the eleven, none of them used to identify; how long and how finely they are run."""


@dataclass(frozen=True)
class Piece:
    """How the layer is modelled; `share` of the record's shear, steps of the solver for each interval of the record."""

    solver: str
    cell: str
    share: float
    options: Data = field(default_factory=dict)
    substeps: int = 1


PIECES = {
    "fem": Piece("fem", "quad", 1.0, {"stepper": "quasi-static"}),
    "truss": Piece("truss", "quad", 0.01, {"stepper": "implicit"}, substeps=16),
    "shear-volume": Piece("shear-volume", "triangle", 0.01, substeps=32),
}


def sheared(piece: Piece, law: LawTable, times: Array, shear: Array, step: float) -> Array:
    """Return the shear stress (F,) [Pa] of the layer at `times` [s], straight in between; a solver's `step` [s]."""
    thick = data.OCA_THICKNESS
    motion = path(times.tolist(), [[float(thick * piece.share * x), 0.0] for x in shear])
    # waves cross a cell in two steps
    density = law.channel.relaxation(0.0) * (2.0 * step / (thick / CELLS[1])) ** 2
    scene = box_scene(
        law.table(),
        size=[WIDTH, thick],
        cells=list(CELLS),
        cell=piece.cell,
        density=float(density),
        duration=float(times[-1]),
        supports={"glass": side("bottom"), "grip": side("top", motion=motion)},
    )
    simulation = start(scene, piece.solver, step=step, **piece.options)
    forces = seen(simulation, times[1:], lambda: -float(simulation.reactions()["support.grip"][0]))
    return np.array([0.0, *forces]) / (WIDTH * piece.share)


def first_step(record: TimeRecord) -> TimeRecord:
    """Return the first ramp, and hold if there is one, of a test of the adhesive."""
    beyond = record.displacement > 1.1 * FIRST_STEP
    end = int(np.argmax(beyond))
    end = int(np.flatnonzero(record.displacement[:end] < 1.01 * FIRST_STEP)[-1]) + 1
    time, shear, stress = (column[:end] for column in (record.time, record.displacement, record.force))
    return replace(TimeRecord.driven(time, shear, stress, name=record.name), geometry=record.geometry)


@cache
def adhesive_law() -> Identified:
    """Return a linear bank of two terms from the first steps of two rates; what it foretells of the other two."""
    records = {test: first_step(adhesive(test)) for test in data.OCA_TESTS}
    blind = [records[test] for test in (data.OCA_TESTS[1], data.OCA_TESTS[4])]
    fitted = [records[test] for test in FITTED]
    return identify(fitted, law="bank-2", blind=blind, poisson=POISSON, open_ended=True)


def adhesive_piece(name: str) -> Values:
    """Return how far the layer is from two records that were not used, and from the law itself [% of the peak]."""
    piece, law = PIECES[name], adhesive_law()
    assert law.law is not None
    found = {}
    for curve in (curve for curve in law.curves if not curve.fitted):
        even = np.linspace(0.0, curve.at[-1], 10 * len(curve.at))
        test = next(test for test, rate in RATES.items() if rate == curve.record)
        record = first_step(adhesive(test))
        shear = np.interp(even, record.time, record.displacement)
        stress = sheared(piece, law.law, even, shear, even[1] / piece.substeps)
        at_samples = np.interp(record.time, even, stress)
        for word, known in (("blind", curve.measured), ("from the law,", curve.model)):
            found[f"{word} {curve.record}"] = PERCENT * float(np.sqrt(np.mean((at_samples - known) ** 2)) / known.max())
    return found


@cache
def foam_law() -> Identified:
    """Return the law at 10 Celsius from every second frequency of all temperatures."""
    record = foam()
    frequencies = np.unique(record.frequency)
    number = np.searchsorted(frequencies, record.frequency)
    return identify_oscillation(replace(part(record, number % 2 == 0), modulus="shear"), shift="free", poisson=POISSON)


def shaken(piece: Piece, law: LawTable, frequency: float) -> complex:
    """Return storage + i loss modulus [Pa] of the layer under a sine of shear, from its last two periods."""
    period = 2.0 * np.pi / frequency
    times = np.linspace(0.0, PERIODS * period, PERIODS * PER_PERIOD + 1)
    sine, cosine = np.sin(frequency * times), np.cos(frequency * times)
    stress = sheared(piece, law, times, sine, times[1] / piece.substeps)
    slow = (times / times[-1])[:, None] ** np.arange(4)
    late = slice(PER_PERIOD * PERIODS // 2, None)
    columns = np.column_stack([sine, cosine, slow])[late]
    storage, loss = np.linalg.lstsq(columns, stress[late], rcond=None)[0][:2]
    return complex(storage, loss)


def foam_piece(name: str) -> Values:
    """Return how far the layer is from storage and loss at frequencies that were not used, and from the law [%]."""
    law, record = foam_law(), foam()
    assert law.law is not None
    there = np.flatnonzero(record.temperature == LEVEL)[list(SHAKEN)]
    omega = record.frequency[there]
    found = np.array([shaken(PIECES[name], law.law, float(w)) for w in omega])
    exact = law.law.channel.complex_modulus(omega) / (2.0 * (1.0 + POISSON))
    pairs = {
        "storage": found.real / record.storage[there] - 1.0,
        "loss": found.imag / record.loss[there] - 1.0,
        "from the law": np.abs(found / exact - 1.0),
    }
    return {word: PERCENT * float(np.sqrt(np.mean(error**2))) for word, error in pairs.items()}


RADII = (0.01, 0.02, 0.04)
"""Spheres [m] that the unknown indenter may be."""
NEARLY_INCOMPRESSIBLE, BLOCK_CELLS = 0.49, (20, 40)


def hertz(stiffness: float, radius: float, depth: float) -> float:
    """Return Young's modulus [Pa] of a half space of which a sphere takes a secant stiffness [N/m] at a depth [m].

    f = 4/3 E/(1 - nu^2) sqrt(R) d^(3/2)
    """
    return float(0.75 * (1.0 - NEARLY_INCOMPRESSIBLE**2) * stiffness / np.sqrt(radius * depth))


@cache
def indented(radius: float) -> tuple[Array, Array, Array]:
    """Return times [s] of ramp and hold, force measured and force [N] of a sphere on the block, of finite elements.

    The law is a bank behind a power, which is nearly a sphere's, so its moduli go into a linear law of the scene.
    """
    record = loading(silicone("P002-1"))
    law, depth = identify(record, law="power-bank-1", open_ended=True), float(record.displacement.max())
    spring, arm = (hertz(law.value(name), radius, depth) for name in ("k_inf", "g1"))
    table = LawTable("generalized-maxwell", Channel.prony(spring, (arm,), (law.value("tau1"),)), NEARLY_INCOMPRESSIBLE)
    size = data.SILICONE_SIZE
    few = slice(None, None, 3)
    motion = path(record.time[few].tolist(), [[0.0, -float(x)] for x in record.displacement[few]])
    scene = box_scene(
        table.table(),
        size=[size / 2.0, size],
        cells=list(BLOCK_CELLS),
        cell="quad",
        plane="axisymmetric",
        duration=float(record.time[-1]),
        supports={"table": side("bottom")},
        tools={"ball": {"shape": "cylinder", "center": [0.0, size + radius], "radius": radius, "motion": motion}},
    )
    simulation = start(scene, "fem", stepper="quasi-static", step=0.1, formulation="b-bar")
    times = record.time[10::10]
    forces = seen(simulation, times, lambda: float(simulation.reactions()["tool.ball"][1]))
    return times, record.force[10::10], np.array(forces)


def silicone_piece() -> Values:
    """Return, per sphere, the factor of the modulus that suits the ramp best, and what is left of ramp and hold [%]."""
    found = {}
    for radius in RADII:
        times, measured, forces = indented(radius)
        ramp = times < 30.0
        factor = float(forces[ramp] @ measured[ramp] / (forces[ramp] @ forces[ramp]))
        left = PERCENT * (factor * forces - measured) / measured.max()
        found[f"factor, {1e3 * radius:g} mm"] = factor
        for word, rows in (("ramp", ramp), ("hold", ~ramp)):
            found[f"{word}, {1e3 * radius:g} mm"] = float(np.sqrt(np.mean(left[rows] ** 2)))
    return found


def _check(what: str, name: str, source: str, compute: Callable[[], Values], **more: Any) -> Check:
    identity = f"measured.{what}/{name}"
    return check(identity, with_data(source, compute), name=f"{what}-{name}", solvers=(name,), **more)


CHECKS = {
    "measured": (
        *(_check("adhesive", name, data.OCA, partial(adhesive_piece, name)) for name in PIECES),
        _check("silicone", "fem", data.SILICONE, silicone_piece),
        *(_check("foam", name, data.VINYL, partial(foam_piece, name)) for name in PIECES),
    )
}
