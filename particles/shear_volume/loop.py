"""The compiled time loop of `shear-volume`: that of `particles.steppers.choose` with other elements.

One step, in the order that keeps the scheme stable at any relaxation time:

    (a)  arms advance to where the last step has led, exact for its constant rates; forces of elements
    (b)  v += h F / m,   then held components and contact; with patches that keep their volume their pressures too
    (c)  x += h v

Elements may be much stiffer than at rest, squeezed ones above all: where they say so the step is divided, before it is
taken, into equal halves, quarters ... of which each is looked at again.

A step that keeps volumes: pressures act like forces, and once more after supports and contact.

    (a)  f += A L            L foreseen from the last steps: supports and contact see nearly all of the pressure
    (b)  v += h f/m,         then held components and contact, as in every particle loop
    (c)  (A^T M^-1 A) P = demand - A^T v,   M^-1 without what contacts hold;   v += M^-1 A P,  L += P/h
    (d)  x += h v

In (c) contacts that push keep the velocities (b) has given them, P being what that takes. Contact with
tools that keep nodes out exactly is then looked at again, for nodes that volumes have driven into a tool and contacts
that would have to pull; if there are any, volumes and contacts are settled in turns until both hold. Without (c) each
step would leave what contact changed in it to the next, and R at 1/om^2 times the volume acceleration of the contact
forces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.lone import Late, note_more, push_again, push_late
from rheotwin.constraints.contact.lumped import late
from rheotwin.constraints.contact.pairs import LISTED
from rheotwin.constraints.rows import Rows, add_by_node, along
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.particles.shear_volume.forces import PARTS, Forces, State, element_stages
from rheotwin.particles.shear_volume.pressure import (
    Pressure,
    answer,
    curvature_changes,
    forget_nodes,
    list_contact,
    look_at_volumes,
    renew_demand,
    solve_pressures,
)
from rheotwin.particles.state import Nodes, drift
from rheotwin.particles.steps import Surroundings

LEARNT = 0.1
"""Share of its last change in what is foreseen of a multiplier: less follows later, more takes noise for a trend."""
LOOKS = 20
"""Most solutions of one step in which velocities jump or nodes come and go at tools."""


def foreseen_pressure(pressure: Pressure, around: Surroundings, before: Array) -> list[Stage]:
    """Return the stages of (a), after a step of `before` (1,) [s].

    Multipliers are (2, C) [Pa m^(3-d)]: pressures L, and their mean change in a step.
    """
    state = around.state
    moving = (state.positions, state.velocities, Now(before), STEP)
    return [Stage(look_at_volumes, (pressure, *moving)), Stage(_foresee, (pressure, state.multipliers, state.force))]


def kept_volumes(pressure: Pressure, around: Surroundings) -> list[Stage]:
    """Return the stages of (c)."""
    smooth, state, boundary = np.zeros(1, np.bool_), around.state, around.boundary
    return [
        Stage(_keep_volumes, (pressure, late(boundary.contact), boundary.nodes, state, STEP), into=smooth),
        Stage(_learn, (pressure.last, Now(smooth), state.multipliers)),
    ]


@compiled
def _foresee(pressure: Pressure, multipliers: Array, force: Array) -> None:
    for m in range(multipliers.shape[1]):
        pressure.last[m] = multipliers[0, m]
        multipliers[0, m] += multipliers[1, m]
    add_by_node(pressure.rows, multipliers[0], force)


@compiled
def _learn(last: Array, smooth: bool, multipliers: Array) -> None:
    for m in range(multipliers.shape[1]):
        change = multipliers[0, m] - last[m]
        learnt = multipliers[1, m] + LEARNT * (change - multipliers[1, m])
        multipliers[1, m] = learnt if smooth else 0.0  # a jump says nothing about the steps after it


@compiled(inside=True)
def _keep_volumes(pressure: Pressure, late: Late, nodes: Nodes, state: State, h: float) -> bool:
    """Change velocities so that all patches have their rates, and contacts and held components keep theirs.

    Returns whether one solution was enough, as it is unless something jumps.
    """
    log, way, smooth, x, v = pressure.log, 0.0, True, state.positions, state.velocities
    log.steps[0] += 1.0
    for look in range(LOOKS):
        # in turns from the second on: released contacts that were solved for together could start a cycle
        contacts = _list_contacts(pressure, late) if look == 0 else 0
        work, largest = _solve_and_push(pressure, contacts, late, nodes, state, h)
        log.iterations[0] += work
        log.most[0] = max(log.most[0], work)
        log.looks[0] += 1.0
        way += h * largest
        if look + 1 == LOOKS:
            break
        again = False
        if curvature_changes(pressure, v, h):
            again = renew_demand(pressure, x, v, h)
        if work > 0:
            corrected = push_again(late, x, v, state.reaction, h)
            way += corrected
            again = again or corrected > (h * pressure.frequency) ** 2 * pressure.tolerance * pressure.length
        if not again:
            break
        smooth = False
    note_more(late, way)
    return smooth


@compiled(inside=True)
def _list_contacts(pressure: Pressure, late: Late) -> int:
    """List contacts with tools that push; return how many there are."""
    touching, history, candidate, found = pressure.touching, late.history, late.candidate, 0
    for row in range(history.filled[LISTED]):
        k = history.listed[row]
        if k < candidate.shape[0]:
            mobile = pressure.rows.inverse_mass
            found += list_contact(touching, found, k, late.places[candidate[k]], history.impulse[k], mobile)
    forget_nodes(touching, found)
    return found


@compiled(inside=True)
def _solve_and_push(
    pressure: Pressure, contacts: int, late: Late, nodes: Nodes, state: State, h: float
) -> tuple[int, float]:
    """Bring rates to those demanded; return the iterations, and the largest change of a velocity [m/s]."""
    rows, impulse, touching = pressure.rows, pressure.impulse, pressure.touching
    for m in range(impulse.shape[0]):
        rows.residual[m] = pressure.demand[m] - along(rows, m, state.velocities)
    work = solve_pressures(pressure, contacts, h)
    if work == 0:
        return 0, 0.0
    for m in range(impulse.shape[0]):
        state.multipliers[0, m] += impulse[m] / h
    rows.push[:] = 0.0
    add_by_node(rows, impulse, rows.push)
    answer(touching, contacts, rows.inverse_mass, rows.push)
    largest = _take_up(rows, nodes, state, h)
    for j in range(contacts):
        n, size = touching.normal[j], touching.impulse[j]
        x, v = state.positions, state.velocities
        push_late(late, touching.candidate[j], size * n[0], size * n[1], size * n[2], x, v, h)
    return work, largest


@compiled(inside=True)
def _take_up(rows: Rows, nodes: Nodes, state: State, h: float) -> float:
    """Change velocities by the impulses in `push`, of which supports bear their part; return the largest change."""
    v, largest = state.velocities, 0.0
    for node in rows.touched:
        square = 0.0
        for c in range(3):
            change = rows.inverse_mass[node, c] * rows.push[node, c]
            v[node, c] += change
            square += change * change
            if nodes.free[node, c] == 0.0:
                state.reaction[node, c] -= rows.push[node, c] / h
        largest = max(largest, square)
    return float(np.sqrt(largest))


FINEST = 1024
"""Most parts of a step."""
LONGEST = 4.0
"""How many times as long as this part the last one counts at most: after a shock it tells nothing."""


@compiled
def _begin(done: Indices) -> None:
    """Nothing of the step is done yet."""
    done[0] = 0


@compiled
def _look(clock: Array, h: float, done: Indices, parts: Array) -> None:
    """Let the clock show what is done of the step of `h` [s]; no element has said how stiff it is there."""
    clock[0] = (clock[3] + done[0] / FINEST) * h
    for kind in range(parts.shape[0]):
        parts[kind] = 0.0


@compiled
def _divide(clock: Array, h: float, done: Indices, parts: Array, last: Array, before: Array) -> None:
    """Let the clock show the next part of the step: the largest power of two, in FINEST parts, that is short enough.

    What is left divides into such parts. `before` (1,) becomes the length of the part before [s].
    """
    size, most = FINEST - done[0], 0.0
    for kind in range(parts.shape[0]):
        most = max(most, parts[kind])
    if most > 1.0 or done[0] > 0:
        size = FINEST
        while size > 1 and (size * most > FINEST or done[0] % size != 0):
            size //= 2
    before[0] = last[0] if last[0] > 0.0 else h
    done[0] += size
    clock[1] = h * (size / FINEST)
    clock[2] = (clock[3] + done[0] / FINEST) * h


@compiled
def _stagger(mass: Array, velocities: Array, force: Array, before: float, part: float) -> None:
    """Bring velocities from the middle of the last part [s] to where the next one expects them.

    Velocities lag half a step behind positions. Steps get shorter as elements are squeezed and longer as they spring
    back: taken over as they are, velocities gain energy both times.
    """
    lag = 0.5 * (min(before, LONGEST * part) - part)
    if lag != 0.0:
        for node in range(len(mass)):
            for c in range(3):
                velocities[node, c] += lag / mass[node] * force[node, c]


@compiled
def _end(done: Indices, h: float, part: float, last: Array, divided: Indices, back: int) -> int:
    """Note the part of the step that is over; jump back to the look at the next one unless it was the last."""
    last[0] = 0.0 if part == h else part
    if done[0] < FINEST:
        return back
    divided[0] += 1 if part < h else 0
    return 0


def shear_volume_steps(forces: Forces, pressure: Any, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state, clock, nodes = around.state, around.clock, around.boundary.nodes
    x, v, force = state.positions, state.velocities, state.force
    done, parts, before = np.zeros(1, np.int64), np.zeros(PARTS), np.zeros(1)
    stages = [
        Stage(_look, (clock.values, h, done, parts)),
        *around.begin_forces(),
        *element_stages(forces, state, x, v, state.part, force, parts),
        Stage(_divide, (clock.values, h, done, parts, state.part, before)),
    ]
    if not any(group.viscous for group in forces.groups.values()):
        stages += [Stage(_stagger, (nodes.mass, v, force, Now(before), STEP))]
    stages += [
        *([] if pressure is None else foreseen_pressure(pressure, around, before)),
        *around.kick(),
        *([] if pressure is None else kept_volumes(pressure, around)),
        Stage(drift, (v, STEP, x)),
    ]
    end = Stage(_end, (done, h, STEP, state.part, state.divided, -1 - len(stages)))
    return around.bind([Stage(_begin, (done,)), *stages, end, *around.last_look()], h)
