"""The circuit's equations in double precision: what the circuit would do with words without end.

Spec fpga-fixed-point.md section 1, explicit Euler, every slope at the start of the step:

    ld = e.(v_j - v_i)    lvd = A lam + B ld    f = c2 (lvd - ld)    lam += h lvd    x += h v    v += h a
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.packed import table_value
from rheotwin.kernels.blocks import STEP, TIME
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.particles.boundary import Held, Loads, apply_loads
from rheotwin.particles.fixed_point.model import CircuitModel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

SIGNALS = ("x", "length", "v", "ld", "lvd", "lambda", "f", "F", "F_ext", "a")
"""What the reference keeps the largest absolute value of; x, v and the rest lane by lane, forces F as sums."""


class FloatBody(NamedTuple):
    """State of the float form: positions and velocities (N, 3) [m, m/s], lam = lv - L (M,) [m], peaks of SIGNALS."""

    position: Array
    velocity: Array
    lam: Array
    peaks: Array


class FloatParts(NamedTuple):
    """Constants of the float form in SI units: edges (M, 2), A [1/s], B, c2 [N s/m] (M,), 1/m (N, 3), weight [N]."""

    edges: Indices
    A: Array
    B: Array
    c2: Array
    inverse_mass: Array
    rest: Array
    weight: Array
    held: Held
    loads: Loads


def float_parts(model: CircuitModel) -> FloatParts:
    """Return the constants of the float form."""
    sum_c = model.c1 + model.c2
    return FloatParts(
        edges=model.edges,
        A=-model.k1 / sum_c,
        B=model.c2 / sum_c,
        c2=model.c2,
        inverse_mass=1.0 / model.mass,
        rest=model.points,
        weight=model.weight,
        held=model.held,
        loads=model.loads,
    )


def float_body(model: CircuitModel) -> FloatBody:
    """Return the float form at rest."""
    shape = model.points.shape
    return FloatBody(model.points.copy(), np.zeros(shape), np.zeros(len(model.edges)), np.zeros(len(SIGNALS)))


@compiled
def _add_edges(parts: FloatParts, body: FloatBody, force: Array, h: float) -> None:
    x, v, lam, peaks = body
    for e in range(parts.edges.shape[0]):
        i, j = parts.edges[e, 0], parts.edges[e, 1]
        dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        ux, uy, uz = v[j, 0] - v[i, 0], v[j, 1] - v[i, 1], v[j, 2] - v[i, 2]
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        rate = (dx * ux + dy * uy + dz * uz) / length
        voigt_rate = parts.A[e] * lam[e] + parts.B[e] * rate
        f = parts.c2[e] * (voigt_rate - rate)
        pull = f / length
        force[j, 0] += pull * dx
        force[j, 1] += pull * dy
        force[j, 2] += pull * dz
        force[i, 0] -= pull * dx
        force[i, 1] -= pull * dy
        force[i, 2] -= pull * dz
        lam[e] += h * voigt_rate
        peaks[1] = max(peaks[1], length)
        peaks[3] = max(peaks[3], abs(rate))
        peaks[4] = max(peaks[4], abs(voigt_rate))
        peaks[5] = max(peaks[5], abs(lam[e]))
        peaks[6] = max(peaks[6], abs(f))


@compiled
def _move_points(parts: FloatParts, body: FloatBody, external: Array, force: Array, h: float) -> None:
    x, v, _, peaks = body
    for node in range(x.shape[0]):
        for c in range(3):
            a = force[node, c] * parts.inverse_mass[node, c]
            x[node, c] += h * v[node, c]
            v[node, c] += h * a
            peaks[0] = max(peaks[0], abs(x[node, c]))
            peaks[2] = max(peaks[2], abs(v[node, c]))
            peaks[8] = max(peaks[8], abs(external[node, c]))
            peaks[7] = max(peaks[7], abs(force[node, c]))  # of held points too: their sums would count as overflows
            peaks[9] = max(peaks[9], abs(a))


@compiled
def drive_held(held: Held, rest: Array, x: Array, v: Array, end: float, h: float) -> None:
    """Give held components the velocity that takes them to where their motion is at `end` [s]."""
    target, current = held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, target)
        v[node, c] = (rest[node, c] + target[c] - x[node, c]) / h


@compiled
def _copy(source: Array, target: Array) -> None:
    for node in range(source.shape[0]):
        for c in range(3):
            target[node, c] = source[node, c]


def run_reference(parts: FloatParts, body: FloatBody, first: int, count: int, h: float) -> None:
    """Take `count` steps of `h` [s] from step number `first`; peaks grow with every step."""
    external, force, clock = np.empty_like(body.position), np.empty_like(body.position), Clock()
    stages = [
        Stage(drive_held, (parts.held, parts.rest, body.position, body.velocity, clock.end, STEP)),
        Stage(_copy, (parts.weight, external)),
        Stage(apply_loads, (parts.loads, TIME, external)),
        Stage(_copy, (external, force)),
        Stage(_add_edges, (parts, body, force, STEP)),
        Stage(_move_points, (parts, body, external, force, STEP)),
    ]
    Program(stages, h, clock).run(first, count)
