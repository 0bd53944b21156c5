"""What keeps volumes in the compiled loop: patches, their rows, and the pressures of a step.

    (A^T M^-1 A + eps) P = demand - A^T v,   matrix-free, M^-1 without the motion that contacts take,

by conjugate gradients with the diagonal as preconditioner. They stop at residuals that leave volumes right, not at
those that leave pressures right to the last digit: what a step misses, the next one makes good.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.measure import MeasureConstraints
from rheotwin.constraints.measure_rows import Measures, fill_measures, fill_values, pack_measures
from rheotwin.constraints.rows import Rows, accelerate, along, collect, fill_diagonal, room_for_rows, turn_rows
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.shear_volume.touching import Touching, reduce_mobility, room_for_touching, take_out

SHARE = 1e-9
"""eps of every row as a share of its diagonal. It bounds pressures that no motion feels; R errs by eps L/om^2, which
with the 1e-6 of `constraints.stabilisation` would be as much as the volumes are asked to keep."""

MOST = 500
"""Most iterations of one step; only constraints that contradict each other need them."""


class Log(NamedTuple):
    """What statistics say: iterations of all steps, most of one solution, steps, solutions, largest |R|/S0."""

    iterations: Array
    most: Array
    steps: Array
    looks: Array
    error: Array


class Pressure(NamedTuple):
    """Constraints of C patches on N nodes; `frequency` is om [1/s].

    `touching` are the contacts that hold meanwhile; `allowed` (C,) are accelerations of R that may be missed [m^d/s2];
    `length` [m] is that of a patch, volumes keep to `tolerance`. `before` (N, 3) are velocities when the step began
    [m/s]. The rest is room for R, Q, rates, the R that a step is to end with, mobilities and impulses.
    """

    measures: Measures
    rows: Rows
    touching: Touching
    frequency: float
    allowed: Array
    value: Array
    curvature: Array
    demand: Array
    target: Array
    found: Array
    scratch: Array
    mobility: Array
    impulse: Array
    last: Array
    before: Array
    length: float
    tolerance: float
    log: Log


ROOM = ("value", "curvature", "demand", "target", "found", "scratch", "mobility", "impulse", "last")


def pack_pressure(
    constraints: MeasureConstraints,
    inverse_mass: Array,
    candidates: Indices,
    *,
    frequency: float,
    tolerance: float,
    dimension: int,
) -> Pressure:
    """Pack patches of a body of `dimension` d on nodes of `inverse_mass` (N, 3) [1/kg], zero where held.

    Contacts may act on the nodes `candidates`. Volumes keep to `tolerance`, a share of each: where R''
    is wrong by r in every step, or part of a step, R = r/om^2 is left.
    """
    count = constraints.count
    start, node = constraints.node_rows
    rows = room_for_rows(start, node, inverse_mass, np.full(count, SHARE))
    return Pressure(
        measures=pack_measures(constraints),
        rows=rows,
        touching=room_for_touching(len(candidates), len(inverse_mass)),
        frequency=frequency,
        allowed=tolerance * frequency**2 * constraints.rest,
        **{name: np.zeros(count) for name in ROOM},
        before=np.zeros_like(inverse_mass),
        length=float(np.mean(constraints.rest)) ** (1.0 / dimension),
        tolerance=tolerance,
        log=Log(*(np.zeros(1) for _ in Log._fields)),
    )


@compiled(contract=True, allocates=True)
def look_at_volumes(pressure: Pressure, x: Array, v: Array, before: float, h: float) -> None:
    """Fill the rows at positions and velocities (N, 3).

    Rates that a step of `h` [s] has to end with, for R'' + 2 om R' + om^2 R = 0, after one of `before` = g [s]:

        A^T v+ = A^T v - h (2 om (A^T v - g Q/2) + om^2 R) - (g + h) Q/2

    Positions have followed v for the last step, so that (R - R_before)/g is not A^T v but, half a step earlier,
    A^T v - g Q/2. Without that half step R would settle at -h Q/om instead of zero.
    """
    measures, rows, om, log = pressure.measures, pressure.rows, pressure.frequency, pressure.log
    value, curvature, demand, target = pressure.value, pressure.curvature, pressure.demand, pressure.target
    pressure.before[:] = v
    fill_measures(measures, x, v, rows.gradient, value, curvature)
    turn_rows(rows)
    fill_diagonal(rows)
    worst = 0.0
    for m in range(value.shape[0]):
        rate = along(rows, m, v)
        middle = rate - 0.5 * before * curvature[m]
        demand[m] = middle - h * (2.0 * om * middle + om * om * value[m] + 0.5 * curvature[m])
        target[m] = value[m] + h * (demand[m] + 0.5 * h * curvature[m])
        worst = max(worst, abs(value[m]) / measures.rest[m])
    log.error[0] = max(log.error[0], worst)


@compiled
def curvature_changes(pressure: Pressure, v: Array, h: float) -> bool:
    """Tell whether velocities (N, 3) have changed so much in a step of `h` [s] that h^2 Q/2 is that of others.

    Of order one over the length of a patch: 2 |v| |v - v before| h^2/2 against what R may be.
    """
    before, speed, jump = pressure.before, 0.0, 0.0
    for node in range(v.shape[0]):
        own, change = 0.0, 0.0
        for c in range(3):
            own += v[node, c] * v[node, c]
            change += (v[node, c] - before[node, c]) ** 2
        speed, jump = max(speed, own), max(jump, change)
    return bool(np.sqrt(speed * jump) * (h / pressure.length) ** 2 > pressure.tolerance)


@compiled
def renew_demand(pressure: Pressure, x: Array, v: Array, h: float) -> bool:
    """Take from the rates demanded what R after the step, looked at exactly, is beside R + h demand + h^2 Q/2.

    Returns whether that was more than what may stay.
    """
    ahead, found, demand, target = pressure.rows.push, pressure.found, pressure.demand, pressure.target
    for node in range(x.shape[0]):
        for c in range(3):
            ahead[node, c] = x[node, c] + h * v[node, c]
    fill_values(pressure.measures, ahead, found)
    more = False
    for m in range(target.shape[0]):
        miss = (found[m] - target[m]) / h
        demand[m] -= miss
        more = more or abs(miss) > h * pressure.allowed[m]
    return more


@compiled
def _precondition(diagonal: Array, residual: Array, out: Array) -> float:
    """Divide the residual by the diagonal; return the product of both."""
    total = 0.0
    for i in range(residual.shape[0]):
        out[i] = residual[i] / diagonal[i] if diagonal[i] > 0.0 else 0.0
        total += residual[i] * out[i]
    return total


@compiled
def _enough(residual: Array, allowed: Array, diagonal: Array, h: float) -> bool:
    wrong = 0
    for i in range(residual.shape[0]):  # counted to the end: without a way out the loop runs in vectors
        wrong += 1 if diagonal[i] > 0.0 and abs(residual[i]) > h * allowed[i] else 0
    return wrong == 0


@compiled(allocates=True)
def solve_pressures(pressure: Pressure, contacts: int, h: float) -> int:
    """Put impulses (C,) into `impulse` that bring `rows.residual` to `h` times what is `allowed`; return iterations.

    The first `contacts` of `touching` hold.
    """
    rows, touching, impulse, allowed = pressure.rows, pressure.touching, pressure.impulse, pressure.allowed
    diagonal, scratch = pressure.mobility, pressure.scratch
    residual, direction, image = rows.residual, rows.direction, rows.image
    impulse[:] = 0.0
    reduce_mobility(touching, contacts, rows, diagonal)
    if _enough(residual, allowed, diagonal, h):
        return 0
    rho = _precondition(diagonal, residual, scratch)
    direction[:] = scratch
    for iteration in range(MOST):
        accelerate(rows, direction)
        take_out(touching, contacts, rows.inverse_mass, rows.push)
        collect(rows, direction, image)
        energy = 0.0
        for i in range(impulse.shape[0]):
            energy += direction[i] * image[i]
        if not energy > 0.0:
            return iteration
        step, before = rho / energy, rho
        for i in range(impulse.shape[0]):
            impulse[i] += step * direction[i]
            residual[i] -= step * image[i]
        if _enough(residual, allowed, diagonal, h):
            return iteration + 1
        rho = _precondition(diagonal, residual, scratch)
        for i in range(impulse.shape[0]):
            direction[i] = scratch[i] + rho / before * direction[i]
    return MOST
