"""The test piece as a scene in one dimension: what was done to it in the record, with the law that was identified."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array
from rheotwin.validation.identification.record import TimeRecord
from rheotwin.validation.identification.result import LawTable

STRAIGHT = 1e-9
"""Part of the largest value by which a corner of the path leaves a straight line."""
WEIGHTLESS = 1e-6
"""Mass of an end of which none is known, over stiffness times the square of the shortest step [1]."""
FINER = 20.0
"""Steps of springs in the shortest step of the record: friction is of first order in them."""


def scene_of(record: TimeRecord, law: LawTable) -> str:
    """Return a scene file of the piece: a bar between a wall and the hand that moved or loaded it.

    A sheared layer is a bar whose section carries with E what its area carries with G = E/(2 + 2 nu).
    """
    geometry, time = record.geometry, record.time - record.time[0]
    section = geometry.area / (2.0 * (1.0 + law.poisson) if geometry.modulus == "shear" else 1.0)
    first = record.phases[0]
    held = time[: first.end]
    step = float(f"{np.diff(time).min():.9g}")  # without the rounding of times
    stiff = law.channel.instantaneous + law.channel.viscosity / step
    mass = record.mass or WEIGHTLESS * stiff / geometry.factor * step**2
    lines = [
        f"# {record.name} as a scene: support.wall is the force of the record, probe.end its displacement",
        "schema = 1",
        f"title = {_text(record.name)}",
        "dimension = 1",
        f"section = {section!r}",
        f"duration = {float(time[-1])!r}",
        "units = { virtual = true }  # one element, whose mass is that of the end",
        "",
        law.to_toml(),
        "[bodies.piece]",
        'shape = "box"',
        f"size = [{geometry.length!r}]",
        "cells = [1]",
        'law = "identified"',
        f"mass = {2.0 * mass!r}",
        'mass_sharing = "equal"',
        "",
        "[supports.wall]",
        'body = "piece"',
        'where = { side = "left" }',
        "",
    ]
    if first.drive == "displacement":
        at = _corners(held, record.displacement[: first.end])
        moved = ", ".join(f"[{value!r}]" for value in record.displacement[at].tolist())
        lines += [
            "[supports.hand]",
            'body = "piece"',
            'where = { side = "right" }',
            f"motion = {{ times = {held[at].tolist()!r}, displacement = [{moved}] }}",
            *([f"until = {float(held[-1])!r}"] if len(record.phases) > 1 else []),
        ]
    else:
        at, peak = _corners(held, record.force[: first.end]), float(np.abs(record.force).max())
        lines += [
            "[forces.hand]",
            'body = "piece"',
            'where = { side = "right" }',
            f"total = [{peak!r}]",
            f"times = {held[at].tolist()!r}",
            f"factor = {(record.force[at] / peak).tolist()!r}",
        ]
    lines += ["", "[probes.end]", 'body = "piece"', f"at = [{geometry.length!r}]", ""]
    own = step / 4.0 if first.drive == "force" else step
    lines += ["[solvers]", f'fem = {{ stepper = "quasi-static", step = {own!r} }}']
    if all(phase.drive == "displacement" for phase in record.phases):
        lines += [f"truss = {{ step = {step / FINER!r} }}", ""]
    elif record.mass and law.channel.viscosity:  # 2 m/b is where explicit steps of the free end begin to grow
        stable = 1.8 * geometry.factor * mass / law.channel.viscosity
        lines += [f"truss = {{ step = {min(step / FINER, stable)!r} }}", ""]
    return "\n".join([*lines, "[output]", f"interval = {float(time[-1])!r}", f"probe_interval = {step!r}", ""])


def _text(name: str) -> str:
    return '"' + name.replace("\\", "/").replace('"', "'") + '"'


def _corners(time: Array, value: Array) -> Array:
    """Return the samples at which a path is not straight, and its ends."""
    slopes = np.diff(value) / np.diff(time)
    bend = np.abs(np.diff(slopes)) * np.minimum(np.diff(time)[1:], np.diff(time)[:-1])
    inner = 1 + np.flatnonzero(bend > STRAIGHT * max(float(np.abs(value).max()), 1e-300))
    return np.concatenate([[0], inner, [len(time) - 1]])
