"""Contact by laws in an explicit step: that of lumped masses, between the flat vectors of the loop.

Contact sees places rest + u and velocities of the nodes that can touch anything, in three dimensions; what it changes
goes back to u, v and to the forces of the step. Beside that the energy it takes is booked per pair: with the normal
and tangential impulses J and T and the means of the gap's rate and the slip before and after the kick,

    -J g' of exact laws and impacts,   -J g' of springs and dampers,   -T . slip of friction

so that the account of the loop, which takes the same means, closes to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.lumped import Contact, keep_apart
from rheotwin.constraints.contact.mobility import PRESSED, RATE, TANGENT, motion_of
from rheotwin.constraints.contact.packed_law import EXACT, IMPULSE, KIND, SHIFT, STIFFNESS
from rheotwin.constraints.contact.pairs import NO_TOOL
from rheotwin.fem.fast.explicit_packing import Nodes, Outside
from rheotwin.kernels.compiled import compiled

Array = NDArray[np.float64]

CLOSED, BY_SPRINGS, RUBBED, OUTSIDE = range(4)
"""Entries of `taken` [J]: by exact contacts and impacts, by springs and dampers, by friction; then the account of work
from outside at the last look, in which all contact forces count as done from outside."""


class Lawful(NamedTuple):
    """Contact of a problem beside the loop: `places`, `velocities` [m, m/s] and `supported` [N] (N, 3) are scratch.

    `taken` (4,) [J] is what contact took since time zero.
    """

    contact: Contact
    places: Array
    velocities: Array
    supported: Array
    taken: Array


def lawful(contact: Contact, nodes: int) -> Lawful:
    """Return contact with its scratch for a loop over so many nodes."""
    places, velocities, supported = (np.zeros((nodes, 3)) for _ in range(3))
    return Lawful(contact, places, velocities, supported, np.zeros(4))


def independent(item: Any) -> Any:
    """Return a copy of nested tuples of arrays that shares none of them."""
    if isinstance(item, np.ndarray):
        return item.copy()
    if isinstance(item, tuple):
        return type(item)._make(independent(part) for part in item)  # type: ignore[attr-defined]
    return item


@compiled
def look_back(laws: Any, dimension: int, v: Array) -> None:
    """Keep the velocities (N d,) [m/s] before the kick of a step, of the nodes that can touch anything."""
    for i in laws.contact.near:
        for c in range(dimension):
            laws.contact.before_kick[i, c] = v[laws.contact.places[i] * dimension + c]


@compiled
def settle_laws(
    laws: Lawful, nodes: Nodes, outside: Outside, u: Array, v: Array, end: float, h: float, kick: float
) -> None:
    """Change u, v (N d,) and the forces of the step by the contact of a step of `h` [s] that ends at `end` [s]."""
    contact, d = laws.contact, nodes.dimension
    for i in contact.near:
        place = contact.places[i]
        for c in range(d):
            q = place * d + c
            laws.places[place, c] = nodes.rest[q] + u[q]
            laws.velocities[place, c] = v[q]
            laws.supported[place, c] = 0.0
            outside.exerted[q] *= 1.0 - nodes.free[q]
    keep_apart(contact, laws.places, laws.velocities, laws.supported, end, h, kick)
    touched, force = contact.exerted.touched, contact.exerted.node_force
    for row in range(contact.exerted.filled[0]):
        i = touched[row]
        place = contact.places[i]
        for c in range(d):
            q = place * d + c
            u[q] += laws.places[place, c] - (nodes.rest[q] + u[q])
            v[q] = laws.velocities[place, c]
            outside.exerted[q] += nodes.free[q] * force[i, c]
            outside.reaction[q] += laws.supported[place, c]
    _book(contact.contacts, contact.before_kick, contact.velocity, laws.taken)


@compiled
def _book(contacts: Contacts, before: Array, after: Array, taken: Array) -> None:
    """Add the energy that the contacts of the step took, with velocities (N, 3) [m/s] before and after its kick."""
    pairs, rows, pushed, laws = contacts.pairs, contacts.impulses.rows, contacts.impulses.pushed, contacts.laws
    tool_v = contacts.tools.motion.velocity
    for p in range(pairs.count[0]):
        if rows[p, PRESSED] == 0.0:
            continue
        n, t = pairs.normal[p], rows[p, TANGENT : TANGENT + 3]
        bx, by, bz = motion_of(p, pairs.node, pairs.weight, rows, pushed, before, tool_v, 1.0)
        mx, my, mz = motion_of(p, pairs.node, pairs.weight, rows, pushed, after, tool_v, 1.0)
        mx, my, mz = 0.5 * (mx + bx), 0.5 * (my + by), 0.5 * (mz + bz)
        rate = mx * n[0] + my * n[1] + mz * n[2]
        kind = laws[laws.shape[0] - 1 if pairs.tool[p] == NO_TOOL else pairs.tool[p], KIND]
        taken[CLOSED if kind in (EXACT, IMPULSE) else BY_SPRINGS] -= rows[p, PRESSED] * rate
        taken[RUBBED] -= t[0] * mx + t[1] * my + t[2] * mz


def spring_energy(contact: Contact, h: float) -> float:
    """Return K (g - shift)^2/2 [J] of the pairs of a step of `h` [s] that pushed, with their gaps where it began."""
    contacts, count = contact.contacts, int(contact.contacts.pairs.count[0])
    rows, law = contacts.impulses.rows[:count], contacts.laws[contacts.pairs.tool[:count]]  # NO_TOOL: the last law
    depth = np.minimum(contacts.pairs.gap[:count] - h * rows[:, RATE] - law[:, SHIFT], 0.0)
    return float(0.5 * np.sum(law[:, STIFFNESS] * depth**2))
