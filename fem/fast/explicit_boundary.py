"""Supports, driven components and loads in an explicit step; contact is that of `explicit_contact`.

Component c of node i is number i d + c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.lumped import Contact
from rheotwin.constraints.contact.pack import contact_of, exact_tools
from rheotwin.constraints.motion import Motion
from rheotwin.constraints.packed import Tables, pack_tables, table_value
from rheotwin.constraints.tools import RigidTool
from rheotwin.kernels.compiled import compiled
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
    `reaction` (N d,) [N]: force of the supports; `touching`: contact with what it exerted.
    """

    external: Array
    exerted: Array
    reaction: Array
    touching: Touching


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
    contact = contact_of(exact_tools(tools), tools, points, ease, spacing, extent)
    return Boundary(nodes, _pack_held(owners, motions), _pack_loads(loads, points.shape[1]), contact)


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
