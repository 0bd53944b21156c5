"""Contact in a step of nodes with lumped masses, for the compiled loops of both backends.

With supports held and all other forces in the velocities, but before places move by h v:

    tools move, candidates are looked at where the step would take them, the pairs found are settled, velocities of
    the touched nodes change, impacts shift their places

Contacts are found and settled in the problem's own node numbers, in three dimensions and in double precision, wherever
and however the loop keeps its nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.contact.detect import FINE, find_body_pairs
from rheotwin.constraints.contact.exerted import Exerted, account
from rheotwin.constraints.contact.impact import Shifts, place_impacts
from rheotwin.constraints.contact.near_tools import find_near_tools
from rheotwin.constraints.contact.search import Search
from rheotwin.constraints.contact.settle import Contacts, look_ahead, settle
from rheotwin.constraints.contact.surface import ContactSurface
from rheotwin.constraints.contact.tool_motion import finish_tools, predict_tools
from rheotwin.constraints.packed import Tools

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Contact(NamedTuple):
    """All that contact needs in a loop; `near` (n,) are the nodes that can touch anything.

    `places` (N,) says where a loop keeps each node, which matters to `keep_apart` only.
    `begin`, `end` (N, 3) [m] and `velocity` (N, 3) [m/s] are scratch in the problem's numbering, `before` (N, 3) [m] is
    where the last step began. Contacts of tools are
    listed out to `reach` (T,) [m]; `outer` (T,) [m] bounds their size; `hits` are candidates not ruled out by that.
    `bodies` is None where only tools touch. `full` (1,) is 1 once a list had no room.
    """

    contacts: Contacts
    shifts: Shifts
    exerted: Exerted
    tools: Tools
    near: Indices
    places: Indices
    before: Array
    begin: Array
    end: Array
    velocity: Array
    reach: Array
    outer: Array
    hits: Indices
    bodies: Any
    full: Indices


class BodyContact(NamedTuple):
    """Surfaces that touch each other or themselves; contacts are listed out to `region` [m].

    `soft` ones, of laws with springs, are looked at where the step begins: their forces then have no moment there,
    which is what this order of steps needs to keep angular momentum. Others have to know where the step ends.
    """

    surface: ContactSurface
    search: Search
    region: float
    first_slot: int
    soft: bool


@njit(cache=True)
def _find_body_pairs(bodies: Any, contact: Contact, h: float) -> None:
    if bodies is not None:
        history = contact.contacts.history
        found = find_body_pairs(
            bodies.surface,
            bodies.search,
            contact.before if bodies.soft else contact.begin,
            contact.begin if bodies.soft else contact.end,
            bodies.region,
            bodies.first_slot,
            history.feature,
            history.active,
            contact.contacts.pairs,
        )
        if found != FINE:
            contact.full[0] = 1
        if bodies.soft:
            look_ahead(contact.contacts, contact.velocity, h)


@njit(cache=True)
def keep_apart(contact: Contact, x: Array, v: Array, reaction: Array, end: float, h: float, kick: float) -> None:
    """Change places (n, 3) [m], velocities (n, 3) [m/s] and reactions of supports (n, 3) [N] by the contact of a step.

    The step of `h` [s] ends at `end` [s] and moves places by h v; forces act for `kick` [s].
    """
    contacts = contact.contacts
    motion, drives = contacts.tools.motion, contacts.tools.drives
    predict_tools(contact.tools.tables, drives, motion, end, h, kick)
    if contact.bodies is not None:
        contact.before[:] = contact.begin
        _fetch(contact.near, contact.places, x, v, h, contact.begin, contact.end, contact.velocity)
    find_near_tools(
        contact.tools, motion.end, contact.reach, contact.outer, contact.places, x, v, h, contact.hits, contact.end,
        contact.velocity, contacts.pairs,
    )  # fmt: skip
    _find_body_pairs(contact.bodies, contact, h)
    settle(contacts, contact.velocity, h, kick)
    place_impacts(contacts, contact.shifts, contact.velocity, h)
    account(contacts, contact.velocity, contact.exerted, h, kick)
    _give_back(contact, x, v, reaction)
    finish_tools(drives, motion, h)


@njit(cache=True)
def _fetch(near: Indices, places: Indices, x: Array, v: Array, h: float, begin: Array, end: Array, u: Array) -> None:
    """Copy places and velocities of the near nodes, and where the step would take them."""
    for i in near:
        place = places[i]
        for c in range(3):
            begin[i, c] = x[place, c]
            u[i, c] = v[place, c]
            end[i, c] = begin[i, c] + h * u[i, c]


@njit(cache=True)
def _give_back(contact: Contact, x: Array, v: Array, reaction: Array) -> None:
    """Take velocities, shifts and forces of the touched nodes to the loop; what supports hold, they bear."""
    touched, places, shifts, u = contact.exerted.touched, contact.places, contact.shifts.nodes, contact.velocity
    force, ease = contact.exerted.node_force, contact.contacts.lumped.ease
    for row in range(contact.exerted.count[0]):
        i = touched[row]
        place = places[i]
        for c in range(3):
            v[place, c] = u[i, c]
            x[place, c] += shifts[i, c]
            shifts[i, c] = 0.0
            if ease[i, c] == 0.0:
                reaction[place, c] -= force[i, c]
