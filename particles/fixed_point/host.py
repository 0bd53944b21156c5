"""What the computer beside the circuit writes into its memories: loads that change, and points on moving supports.

The circuit itself knows one constant force per point. Gravity and constant loads are written once; loads over time and
motions of supports once a step, as the papers' host does through the second port of its RAMs. A held component has
1/m = 0 in the mass module, so it keeps the velocity it was given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.packed import table_value
from rheotwin.errors import RheotwinError
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.boundary import Held, Loads, apply_loads
from rheotwin.particles.fixed_point.arithmetic import Format
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.model import OPTIONS, CircuitModel
from rheotwin.particles.fixed_point.parameters import Units

Array = NDArray[np.float64]


class Host(NamedTuple):
    """What is written and in which units: rest (N, 3) [m], weight (N, 3) [N], raw words per metre, m/s and newton.

    Words beyond `highest` are held there and counted in `clipped`.
    """

    held: Held
    loads: Loads
    rest: Array
    weight: Array
    words_per_metre: float
    words_per_speed: float
    words_per_newton: float
    highest: int
    external: Array
    left: Array
    clipped: NDArray[np.int64]


def make_host(model: CircuitModel, units: Units, form: Format) -> Host:
    """Return the host of a problem in circuit units."""
    return Host(
        held=model.held,
        loads=model.loads,
        rest=model.points,
        weight=model.weight,
        words_per_metre=form.one / units.length,
        words_per_speed=form.one / units.velocity,
        words_per_newton=form.one / units.force,
        highest=form.highest,
        external=np.empty_like(model.points),
        left=np.empty(3),
        clipped=np.zeros(1, dtype=np.int64),
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

    places: NDArray[np.int64]
    position: NDArray[np.int32]
    velocity: NDArray[np.int32]
    force: NDArray[np.int32]


def memories_of(body: CircuitBody) -> Memories:
    """Return the memories of a body itself."""
    places = np.arange(body.position.size).reshape(body.position.shape)
    return Memories(places, body.position.reshape(-1), body.velocity.reshape(-1), body.force.reshape(-1))


@compiled
def write_before(host: Host, there: Memories, time: float, h: float) -> None:
    """Write the forces at `time` [s] and the velocities that take held components to where they belong after `h`."""
    for node in range(host.external.shape[0]):
        for c in range(3):
            host.external[node, c] = host.weight[node, c]
    apply_loads(host.loads, time, host.external)
    for node in range(there.places.shape[0]):
        for c in range(3):
            there.force[there.places[node, c]] = _word(host.external[node, c] * host.words_per_newton, host)
    held, target, current = host.held, host.held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, time, host.left)
            table_value(held.tables, current, time + h, target)
        # From the motion itself: a difference of words would be as coarse as one of them over a step.
        there.velocity[there.places[node, c]] = _word((target[c] - host.left[c]) / h * host.words_per_speed, host)


@compiled
def write_after(host: Host, there: Memories, time: float) -> None:
    """Put held components where their motion is at `time` [s], to the word."""
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
    write_before(host, memories_of(body), 0.0, h)
    body.velocity[:] = 0
    if host.clipped[0]:
        raise RheotwinError(
            f"{OPTIONS}: a load or the first step of a support does not fit the words of the circuit (largest force "
            f"{np.abs(host.external).max():.4g} N, words end at {host.highest / host.words_per_newton:.4g} N); take a "
            "larger mass_unit, length_unit or smaller time_unit"
        )
