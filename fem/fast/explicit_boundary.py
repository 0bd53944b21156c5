"""Supports, driven components, loads and contact in an explicit step.

Component c of node i is number i d + c.

Contact is that of lumped masses, between the flat vectors of the loop. It sees places rest + u and velocities of the
nodes that can touch anything, in three dimensions; what it changes goes back to u, v and to the forces of the step. In
scenes with laws of contact all contacts are left as pairs, and the energy they take is booked: with the normal and
tangential impulses J and T and the means of the gap's rate and the slip before and after the kick,

    -J g' of exact laws and impacts,   -J g' of springs and dampers,   -T . slip of friction

so that the account of the loop, which takes the same means, closes to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.exerted import Exerted
from rheotwin.constraints.contact.laws.form import SHIFT, STIFFNESS, kinds_that
from rheotwin.constraints.contact.lumped import Contact, contact_stages
from rheotwin.constraints.contact.mobility import PRESSED, RATE, TANGENT, Giving, motion_of
from rheotwin.constraints.contact.pack import contact_of
from rheotwin.constraints.contact.pairs import LISTED, History
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.grabs import Grabs, pack_grabs, pull
from rheotwin.constraints.motion import Motion, Tables, pack_tables, table_value
from rheotwin.constraints.tools import RigidTool
from rheotwin.kernels.blocks import STEP, TIME, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.tensors import padded

Load = tuple[Indices, Array, Motion]
"""Nodes (n,), their shares (n, d) [N], and the factor over time."""


class Held(NamedTuple):
    """Held components, their column in the motion table each follows, and that table."""

    component: Indices
    column: Indices
    motion: Indices
    tables: Tables


class Loads(NamedTuple):
    """Loaded components, their share of the force [N] and the factor table each follows."""

    component: Indices
    share: Array
    motion: Indices
    tables: Tables


class Nodes(NamedTuple):
    """Constants per component (N d,): rest position [m], mass [kg], weight [N], 1 where free and 0 where held."""

    dimension: int
    rest: Array
    mass: Array
    weight: Array
    free: Array
    runaway: float


class Boundary(NamedTuple):
    """Everything that acts from outside."""

    nodes: Nodes
    held: Held
    loads: Loads
    contact: Contact
    grabs: Grabs


class Touching(NamedTuple):
    """Contact beside the loop: `places`, `velocities` [m, m/s] and `supported` [N] (N, 3) are scratch.

    `taken` (4,) [J] is what contact took since time zero, where the loop `accounts` for its laws.
    """

    contact: Contact
    places: Array
    velocities: Array
    supported: Array
    taken: Array
    accounts: bool


def touching(contact: Contact, *, accounts: bool) -> Touching:
    """Return contact, of which steps get a copy, with its scratch."""
    places, velocities, supported = (np.zeros_like(contact.begin) for _ in range(3))
    return Touching(independent(contact), places, velocities, supported, np.zeros(4), accounts)


def independent(item: Any) -> Any:
    """Return a copy of nested tuples of arrays that shares none of them."""
    if isinstance(item, np.ndarray):
        return item.copy()
    if isinstance(item, tuple):
        return type(item)._make(independent(part) for part in item)  # type: ignore[attr-defined]
    return item


class Outside(NamedTuple):
    """What the outside did in the last step, and scratch of the loop.

    `external` (N d,) [N]: weight and loads; `exerted` (N d,) [N]: what supports and tools add to it;
    `reaction` (N d,) [N]: force of the supports; `touching`: contact with what it exerted; `pulled` (G, 4) [N, J]: what
    hands did.
    """

    external: Array
    exerted: Array
    reaction: Array
    touching: Touching
    pulled: Array


def pack_boundary(
    *,
    points: Array,
    masses: Array,
    weight: Array,
    owners: Indices,
    motions: Sequence[Motion],
    loads: Sequence[Load],
    tools: Sequence[RigidTool],
    runaway: float,
    extent: float,
    spacing: float = 0.0,
    grabs: Grabs | None = None,
) -> Boundary:
    """Flatten supports, loads and tools of points (N, d) [m] with masses (N d,) [kg] and weights (N d,) [N].

    `owners` (N, d) names the motion a component follows, negative where it is free; tables of motions have one
    column per component. `runaway` [m] is the excursion that counts as diverged, `extent` [m] that of the bodies and
    `spacing` [m] the smallest of their nodes. Tools are exact and frictionless.
    """
    nodes = Nodes(
        dimension=points.shape[1],
        rest=points.ravel().copy(),
        mass=np.array(masses, dtype=float),
        weight=np.array(weight, dtype=float),
        free=(owners < 0).ravel().astype(float),
        runaway=runaway,
    )
    ease = padded((owners < 0) / nodes.mass.reshape(points.shape))
    contact = contact_of(ContactSetup.exact(len(tools)), tools, points, ease, spacing, extent)
    held_by_hand = pack_grabs((), ease) if grabs is None else grabs
    return Boundary(nodes, _pack_held(owners, motions), _pack_loads(loads, points.shape[1]), contact, held_by_hand)


def _pack_held(owners: Indices, motions: Sequence[Motion]) -> Held:
    """List held components by the motion they follow, so that a step looks at each table once."""
    component = np.flatnonzero(owners.ravel() >= 0)
    motion = owners.ravel()[component]
    order = np.argsort(motion, kind="stable")
    return Held(component[order], component[order] % owners.shape[1], motion[order], pack_tables(motions, 3))


def _pack_loads(loads: Sequence[Load], dimension: int) -> Loads:
    components = [(nodes[:, None] * dimension + np.arange(dimension)).ravel() for nodes, _, _ in loads]
    return Loads(
        component=np.concatenate([np.zeros(0, np.int64), *components]).astype(np.int64),
        share=np.concatenate([np.zeros(0), *(shares.ravel() for _, shares, _ in loads)]),
        motion=np.repeat(np.arange(len(loads)), [len(c) for c in components]).astype(np.int64),
        tables=pack_tables([factor for _, _, factor in loads], 1),
    )


def no_outside(boundary: Boundary) -> Outside:
    """Return the arrays of a step before any was taken."""
    size = boundary.nodes.rest.size
    return Outside(
        external=boundary.nodes.weight.copy(),
        exerted=np.zeros(size),
        reaction=np.zeros(size),
        touching=touching(boundary.contact, accounts=False),
        pulled=boundary.grabs.done.copy(),
    )


@compiled(nogil=True)
def load_nodes(loads: Loads, weight: Array, external: Array, time: float) -> None:
    """Write weight and loads at `time` [s] into `external`; only loaded components ever change."""
    factor, current = loads.tables.current, -1
    for k in range(loads.component.size):
        external[loads.component[k]] = weight[loads.component[k]]
    for k in range(loads.component.size):
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        external[loads.component[k]] += factor[0] * loads.share[k]


@compiled
def only_weight(weight: Array, external: Array) -> None:
    """Begin the sum of what acts from outside, to which hands add."""
    for q in range(weight.size):
        external[q] = weight[q]


def pull_stages(boundary: Boundary, outside: Outside, u: Array, v: Array, end: Now, kick: Now) -> list[Stage]:
    """Return the stage in which hands change v (N d,) and the forces of the step."""
    rest, x, now, external = (
        array.reshape(-1, boundary.nodes.dimension) for array in (boundary.nodes.rest, u, v, outside.external)
    )
    return [Stage(pull, (boundary.grabs, outside.pulled, rest, x, now, external, TIME, end, STEP, kick))]


@compiled(nogil=True)
def hold(
    held: Held, mass: Array, reaction: Array, exerted: Array, u: Array, v: Array, end: float, h: float, kick: float
) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    current = -1
    for k in range(held.component.size):
        q = held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, held.tables.current)
        wanted = (held.tables.current[held.column[k]] - u[q]) / h
        reaction[q] = mass[q] * (wanted - v[q]) / kick
        exerted[q] = reaction[q]
        v[q] = wanted


CLOSED, BY_SPRINGS, RUBBED, OUTSIDE = range(4)
"""Entries of `taken` [J]: by exact contacts and impacts, by springs and dampers, by friction; then the account of work
from outside at the last look, in which all contact forces count as done from outside."""


@compiled
def look_back(near: Indices, places: Indices, before: Array, dimension: int, v: Array) -> None:
    """Keep the velocities (N d,) [m/s] before the kick of a step, of the nodes that can touch anything."""
    for i in near:
        for c in range(dimension):
            before[i, c] = v[places[i] * dimension + c]


def touch_stages(nodes: Nodes, outside: Outside, u: Array, v: Array, end: Now, kick: Now) -> list[Stage]:
    """Return the stages that change u, v (N d,) and the forces of the step by contact; the step ends at `end` [s]."""
    touching, d = outside.touching, nodes.dimension
    contact, scratch = touching.contact, (touching.places, touching.velocities, touching.supported)
    if contact.idle:
        return []
    contacts, exerted = contact.contacts, contact.exerted
    around = (nodes.rest, nodes.free, outside.exerted, d, u, v)
    mine = (contact.tools.candidate, contacts.history, exerted, contact.places)
    stages = [
        Stage(_bring, (contact.near, contact.places, *scratch, *around)),
        *contact_stages(contact, *scratch, Now(np.full(1, np.inf)), end, kick, looks=False),
        Stage(_take, (*mine, Now(exerted.duration), outside.reaction, *scratch, *around)),
    ]
    if not touching.accounts:
        return stages
    pairs, rows, hard = contacts.pairs, contacts.impulses.rows, ~kinds_that(contacts.laws, "soft")
    motion = contacts.tools.motion
    giving = Giving(contacts.impulses.pushed, contacts.tools.drives.inverse_mass, motion.velocity, motion.pose)
    moved = (contact.before_kick, contact.velocity, touching.taken)
    listed = (pairs.count, pairs.node, pairs.weight, pairs.normal, pairs.tool, rows)
    return [*stages, Stage(_book, (*listed, giving, hard, *moved))]


@compiled
def _bring(
    near: Indices, place_of: Indices, x: Array, velocities: Array, supported: Array, rest: Array, free: Array,
    exerted: Array, d: int, u: Array, v: Array,
) -> None:  # fmt: skip
    """Copy the nodes that can touch anything."""
    for i in near:
        place = place_of[i]
        for c in range(d):
            q = place * d + c
            x[place, c] = rest[q] + u[q]
            velocities[place, c] = v[q]
            supported[place, c] = 0.0
            exerted[q] *= 1.0 - free[q]


@compiled(inside=True)
def _take(
    candidate: Indices, history: History, done: Exerted, place_of: Indices, duration: float, reaction: Array, x: Array,
    velocities: Array, supported: Array, rest: Array, free: Array, exerted: Array, d: int, u: Array, v: Array,
) -> None:  # fmt: skip
    """Take back what contact has changed: at nodes with pairs, and at those whose forces are read from impulses."""
    for row in range(done.filled[0] + history.filled[LISTED]):
        lone, slot = row >= done.filled[0], -1
        if lone:
            slot = history.listed[row - done.filled[0]]
            if slot >= candidate.shape[0] or done.marked[candidate[slot]]:
                continue
        i = candidate[slot] if lone else done.touched[row]
        place = place_of[i]
        for c in range(d):
            q = place * d + c
            u[q] += x[place, c] - (rest[q] + u[q])
            v[q] = velocities[place, c]
            exerted[q] += free[q] * (history.impulse[slot, c] / duration if lone else done.node_force[i, c])
            reaction[q] += supported[place, c]


@compiled
def _book(
    count: Indices, node: Indices, weight: Array, normal: Array, tools: Indices, rows: Array, giving: Giving,
    hard: NDArray[np.bool_], before: Array, after: Array, taken: Array,
) -> None:  # fmt: skip
    """Add the energy that the contacts of the step took, with velocities (N, 3) [m/s] before and after its kick."""
    for p in range(count[0]):
        if rows[p, PRESSED] == 0.0:
            continue
        n, t = normal[p], rows[p, TANGENT : TANGENT + 3]
        bx, by, bz = motion_of(p, node, weight, rows, before, giving, 1.0)
        mx, my, mz = motion_of(p, node, weight, rows, after, giving, 1.0)
        mx, my, mz = 0.5 * (mx + bx), 0.5 * (my + by), 0.5 * (mz + bz)
        rate = mx * n[0] + my * n[1] + mz * n[2]
        taken[CLOSED if hard[tools[p]] else BY_SPRINGS] -= rows[p, PRESSED] * rate  # NO_TOOL: the last law
        taken[RUBBED] -= t[0] * mx + t[1] * my + t[2] * mz


def tool_forces(contact: Contact) -> Array:
    """Return the force [N] of exact tools on each candidate (K, 3)."""
    count = len(contact.tools.candidate)
    return np.asarray(contact.contacts.history.impulse[:count] / contact.exerted.duration[0])


def spring_energy(contact: Contact, h: float) -> float:
    """Return K (g - shift)^2/2 [J] of the pairs of a step of `h` [s] that pushed, with their gaps where it began."""
    contacts, count = contact.contacts, int(contact.contacts.pairs.count[0])
    rows, law = contacts.impulses.rows[:count], contacts.laws[contacts.pairs.tool[:count]]  # NO_TOOL: the last law
    depth = np.minimum(contacts.pairs.gap[:count] - h * rows[:, RATE] - law[:, SHIFT], 0.0)
    return float(0.5 * np.sum(law[:, STIFFNESS] * depth**2))
