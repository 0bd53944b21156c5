"""What keeps volumes in the compiled loop: patches, their rows, and the pressures of a step.

    (A^T M^-1 A + eps) P = demand - A^T v,   matrix-free, M^-1 without the motion that contacts take,

by conjugate gradients with the diagonal as preconditioner. They stop at residuals that leave volumes right, not at
those that leave pressures right to the last digit: what a step misses, the next one makes good.

Contacts that push while volumes are kept: nodes that may not move along normals, taken out of the motion exactly.

    M^-1 becomes  M^-1 - M^-1 n (n^T M^-1 n)^-1 n^T M^-1    at a node held along n,
    and what the pressures P need from there is the impulse  -(n^T M^-1 A P)/(n^T M^-1 n)

As rows of their own among those of the patches the contacts would cost a third more iterations. Where two tools hold
one node, the second direction is made orthogonal to the first in M^-1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.measure import MeasureConstraints
from rheotwin.constraints.measure_rows import Measures, fill_measures, fill_values, pack_measures
from rheotwin.constraints.rows import Rows, accelerate, along, collect, fill_diagonal, room_for_rows, turn_rows
from rheotwin.kernels.compiled import compiled

FIXED = 1e-9
"""A patch that keeps less than this share of its mobility cannot follow any more."""


class Touching(NamedTuple):
    """Room for contacts: which `candidate` of contact, its `node`, `normal` (3), and the `direction` n (3) taken out.

    `before` is the contact at the same node that was listed before, or -1, and direction = normal - share times the
    direction there. `own` is n^T M^-1 n [1/kg], `impulse` along normals [N s]. `last` (N,) tells, while contacts are
    listed, the last one at each node, counted from 1.
    """

    candidate: Indices
    node: Indices
    normal: Array
    direction: Array
    before: Indices
    share: Array
    own: Array
    impulse: Array
    last: Indices


def room_for_touching(room: int, nodes: int) -> Touching:
    """Return room for as many contacts at `nodes`."""
    candidate, node, before = (np.zeros(room, np.int64) for _ in range(3))
    share, own, impulse = (np.zeros(room) for _ in range(3))
    normal, direction = np.zeros((room, 3)), np.zeros((room, 3))
    return Touching(candidate, node, normal, direction, before, share, own, impulse, np.zeros(nodes, np.int64))


@compiled
def list_contact(touching: Touching, found: int, k: int, node: int, force: Array, inverse_mass: Array) -> int:
    """Put candidate `k` behind `found` others, with the direction of its `force` (3,); return how many were added.

    None without a force, at a node that is held there anyway, and beyond two at one node.
    """
    size = np.sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2])
    before = touching.last[node] - 1
    if size == 0.0 or (before >= 0 and touching.before[before] >= 0):
        return 0
    normal, direction, mixed = touching.normal[found], touching.direction[found], 0.0
    for c in range(3):
        normal[c] = force[c] / size
        direction[c] = normal[c]
    free = _product(normal, normal, inverse_mass[node])
    if before >= 0:
        mixed = _product(normal, touching.direction[before], inverse_mass[node]) / touching.own[before]
        for c in range(3):
            direction[c] -= mixed * touching.direction[before, c]
    own = _product(direction, direction, inverse_mass[node])
    if not own > FIXED * free:
        return 0
    touching.candidate[found], touching.node[found], touching.before[found] = k, node, before
    touching.share[found], touching.own[found], touching.last[node] = mixed, own, found + 1
    return 1


@compiled
def _product(a: Array, b: Array, inverse_mass: Array) -> float:
    return float(a[0] * b[0] * inverse_mass[0] + a[1] * b[1] * inverse_mass[1] + a[2] * b[2] * inverse_mass[2])


@compiled
def forget_nodes(touching: Touching, count: int) -> None:
    """Make ready for another list: `last` is only for its making."""
    for j in range(count):
        touching.last[touching.node[j]] = 0


@compiled
def take_out(touching: Touching, count: int, inverse_mass: Array, change: Array) -> None:
    """Take from changes of velocity (N, 3) what goes along the normals of the first `count` contacts."""
    for j in range(count):
        node, n = touching.node[j], touching.direction[j]
        way = (n[0] * change[node, 0] + n[1] * change[node, 1] + n[2] * change[node, 2]) / touching.own[j]
        for c in range(3):
            change[node, c] -= way * inverse_mass[node, c] * n[c]


@compiled(allocates=True)
def reduce_mobility(touching: Touching, count: int, rows: Rows, diagonal: Array) -> None:
    """Put the diagonal of A^T M^-1 A without the motion along normals into `diagonal`; zero where nothing is left."""
    turned = rows.turned
    for i in range(diagonal.shape[0]):
        diagonal[i] = rows.diagonal[i]
    for j in range(count):
        node = touching.node[j]
        place = np.searchsorted(rows.touched, node)
        for k in range(turned.start[place], turned.start[place + 1]):
            along = _product(turned.gradient[k], touching.direction[j], rows.inverse_mass[node])
            diagonal[turned.row[k]] -= along * along / touching.own[j]
    for i in range(diagonal.shape[0] if count > 0 else 0):
        if diagonal[i] < FIXED * rows.diagonal[i]:
            diagonal[i] = 0.0


@compiled
def answer(touching: Touching, count: int, inverse_mass: Array, push: Array) -> None:
    """Find the impulses of the first `count` contacts under impulses `push` (N, 3) [N s], and add them there."""
    for j in range(count):
        node, n = touching.node[j], touching.direction[j]
        touching.impulse[j] = -_product(n, push[node], inverse_mass[node]) / touching.own[j]
        for c in range(3):
            push[node, c] += touching.impulse[j] * n[c]
    for j in range(count):
        if touching.before[j] >= 0:
            touching.impulse[touching.before[j]] -= touching.share[j] * touching.impulse[j]


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
    for node in range(v.shape[0]):  # `before[:] = v` takes seconds to compile
        for axis in range(3):
            pressure.before[node, axis] = v[node, axis]
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
    for i in range(impulse.shape[0]):
        direction[i] = scratch[i]
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
