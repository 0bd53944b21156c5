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
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.couple import take_couples_back
from rheotwin.constraints.contact.detect import FINE, find_body_pairs
from rheotwin.constraints.contact.exerted import Exerted, account, nothing_yet
from rheotwin.constraints.contact.history import forget_others
from rheotwin.constraints.contact.impact import Shifts, place_impacts
from rheotwin.constraints.contact.lone import meet_tools
from rheotwin.constraints.contact.lone_block import Block
from rheotwin.constraints.contact.near_tools import NearTools, note_way, renew
from rheotwin.constraints.contact.search import Look, Search
from rheotwin.constraints.contact.settle import look_ahead, settle
from rheotwin.constraints.contact.surface import ContactSurface
from rheotwin.constraints.contact.tool_motion import finish_tools, predict_tools
from rheotwin.constraints.packed import Tools
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Contact(NamedTuple):
    """All that contact needs in a loop; `near` (n,) are the nodes that can touch anything.

    `places` (N,) says where a loop keeps each node. `begin`, `end` (N, 3) [m] and `velocity` (N, 3) [m/s] are scratch
    in the problem's numbering, `before` (N, 3) [m] is where the last step began. Contacts of tools are listed out to
    `reach` (T,) [m], from the candidates in `close`, lone ones settled by the `block`; coordinates are good for
    `rounding` [m]. `bodies` is None where only tools touch. `full` (1,) is 1 once a list had no room. `before_kick`
    (N, 3) [m/s] are the velocities before the forces of a step have acted, of use where a law `bounces`.
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
    close: NearTools
    block: Block
    rounding: float
    bodies: Any
    full: Indices
    before_kick: Array
    bounces: bool


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


@compiled(inside=True, merged=True)
def _find_body_pairs(bodies: Any, contact: Contact, h: float) -> None:
    if bodies is not None:
        _list_body_pairs(bodies, contact)
        if bodies.soft:
            look_ahead(contact.contacts, contact.velocity, h)


@compiled(inside=True, allocates=True)
def _list_body_pairs(bodies: Any, contact: Contact) -> None:
    """List the pairs of bodies; new lists of neighbours allocate."""
    history = contact.contacts.history
    look = Look(
        contact.before if bodies.soft else contact.begin,
        contact.begin if bodies.soft else contact.end,
        bodies.region,
        bodies.first_slot,
        history.feature,
        history.active,
        False,  # in compiled code there are no defaults
    )
    if find_body_pairs(bodies.surface, bodies.search, look, contact.contacts.pairs) != FINE:
        contact.full[0] = 1


@compiled
def keep_apart(contact: Contact, x: Array, v: Array, reaction: Array, end: float, h: float, kick: float) -> None:
    """Change places (n, 3) [m], velocities (n, 3) [m/s] and reactions of supports (n, 3) [N] by the contact of a step.

    The step of `h` [s] ends at `end` [s] and moves places by h v; forces act for `kick` [s]. All contacts are left as
    pairs, with the rows of `mobility` and the velocities of their nodes.
    """
    _begin(contact, x, v, end, h, kick)
    _find_body_pairs(contact.bodies, contact, h)
    _finish(contact, x, v, reaction, h, kick)


def contact_stages(contact: Contact, x: Array, v: Array, reaction: Array, fastest: Now, end: Now) -> list[Stage]:
    """Return the stages that do the same in a step whose forces act all of it, but settle lone contacts on the spot.

    `fastest` [m/s] bounds the speed of all nodes in v, infinite where nobody knows. Places change by these steps alone
    until `forget_list`, and velocities by forces alone until the next step. What only bodies need, that touch each
    other, is there where they can.
    """
    contacts, bodies, exerted = contact.contacts, contact.bodies, contact.exerted
    tools, u, square = contacts.tools, contact.velocity, np.zeros(1)
    alone = contact._replace(bodies=None)
    moving = (contact.close, contact.tools, tools.motion.end, contact.reach, x, v, STEP, fastest, contact.rounding)
    stages = [
        Stage(predict_tools, (contact.tools.tables, tools.drives, tools.motion, end, STEP, STEP)),
        Stage(renew, moving),
        Stage(_open, (exerted, contacts.pairs.count, contacts.impulses.visits, STEP)),
    ]
    if bodies is not None:
        stages += [Stage(_fetch, (alone, x, v, STEP)), Stage(_list_body_pairs, (bodies, alone))]
        stages += [Stage(look_ahead, (contacts, u, STEP))] if bodies.soft else []
    stages += [Stage(meet_tools, (alone, x, v, STEP, STEP, True), into=square)]
    coupled = [
        Stage(settle, (contacts, u, contact.before_kick, STEP, STEP)),
        Stage(place_impacts, (contacts, contact.shifts, u, STEP)),
    ]
    if bodies is not None:
        kept = (contacts, contact.shifts, contact.begin, u, exerted)
        coupled += [Stage(take_couples_back, (*kept, bodies.surface.dimension, STEP))]
    coupled += [
        Stage(account, (contacts, u, exerted, STEP, STEP)),
        Stage(_hand_back, (alone, x, v, reaction, square, STEP)),
    ]
    return [
        *stages,
        Stage(_pass_without_pairs, (contacts.pairs.count, len(coupled))),
        *coupled,
        Stage(forget_others, (contacts.history,)),
        Stage(finish_tools, (tools.drives, tools.motion, STEP)),
        Stage(_note, (contact.close, fastest, square, STEP)),
        *([Stage(_look_back, (alone, v))] if contact.bounces else []),
    ]


@compiled
def _open(exerted: Exerted, count: Indices, visits: Indices, kick: float) -> None:
    """Clear what the last step has left."""
    nothing_yet(exerted)
    exerted.duration[0], count[0], visits[0] = kick, 0, 0


@compiled
def _pass_without_pairs(count: Indices, ahead: int) -> int:
    """Skip so many stages where all contacts have been settled on the spot."""
    return 0 if count[0] > 0 else ahead


@compiled
def _hand_back(contact: Contact, x: Array, v: Array, reaction: Array, square: Array, h: float) -> None:
    """Take velocities, shifts and forces to the loop; `square` (1,) [m2/s2] grows to what bounds the speed there."""
    square[0] = max(square[0], _give_back(contact, x, v, reaction, h))


@compiled
def _note(close: NearTools, fastest: float, square: Array, h: float) -> None:
    """Note how far candidates move in the step."""
    note_way(close, h * max(fastest, np.sqrt(square[0])))


@compiled(inside=True)
def _look_back(contact: Contact, v: Array) -> None:
    """Keep the velocities (n, 3) [m/s] with which the next step begins."""
    before, places = contact.before_kick, contact.places
    for i in contact.near:
        for c in range(3):
            before[i, c] = v[places[i], c]


def look_back(contact: Contact | None, velocities: Array) -> None:
    """Keep the velocities (N, d) [m/s], in the problem's numbering, with which the next step begins."""
    if contact is not None and contact.bounces:
        contact.before_kick[:, : velocities.shape[1]] = velocities


@compiled(inside=True, merged=True)
def _begin(contact: Contact, x: Array, v: Array, end: float, h: float, kick: float) -> None:
    """Move the tools and look at where the step would take everything."""
    contacts, close = contact.contacts, contact.close
    motion, drives = contacts.tools.motion, contacts.tools.drives
    predict_tools(contact.tools.tables, drives, motion, end, h, kick)
    renew(close, contact.tools, motion.end, contact.reach, x, v, h, np.inf, contact.rounding)
    nothing_yet(contact.exerted)
    contacts.pairs.count[0] = 0
    contacts.impulses.visits[0] = 0
    if contact.bodies is not None:
        _fetch(contact, x, v, h)


@compiled(inside=True, merged=True)
def _finish(contact: Contact, x: Array, v: Array, reaction: Array, h: float, kick: float) -> None:
    """Settle what touches, and account for it."""
    contacts = contact.contacts
    contact.exerted.duration[0] = kick
    meet_tools(contact, x, v, h, kick, False)
    if contacts.pairs.count[0] > 0:
        settle(contacts, contact.velocity, contact.before_kick, h, kick)
        place_impacts(contacts, contact.shifts, contact.velocity, h)
        _take_couples_back(contact.bodies, contact, kick)
        account(contacts, contact.velocity, contact.exerted, h, kick)
        _give_back(contact, x, v, reaction, h)
    forget_others(contacts.history)
    finish_tools(contacts.tools.drives, contacts.tools.motion, h)
    note_way(contact.close, np.inf)  # nobody knows how fast nodes are: lists are for one step


@compiled(inside=True)
def _take_couples_back(bodies: Any, contact: Contact, kick: float) -> None:
    if bodies is not None:
        dimension, speed = bodies.surface.dimension, contact.velocity
        take_couples_back(contact.contacts, contact.shifts, contact.begin, speed, contact.exerted, dimension, kick)


@compiled(inside=True)
def _fetch(contact: Contact, x: Array, v: Array, h: float) -> None:
    """Copy places and velocities of the near nodes, and where the step would take them."""
    places, before, begin, end, u = contact.places, contact.before, contact.begin, contact.end, contact.velocity
    for i in contact.near:
        place = places[i]
        for c in range(3):
            before[i, c] = begin[i, c]
            begin[i, c] = x[place, c]
            u[i, c] = v[place, c]
            end[i, c] = begin[i, c] + h * u[i, c]


@compiled(inside=True)
def _give_back(contact: Contact, x: Array, v: Array, reaction: Array, h: float) -> float:
    """Take velocities, shifts and forces of the touched nodes to the loop; what supports hold, they bear.

    Returns a bound of the squared speed [m2/s2] at which they move in the step, shifts included.
    """
    touched, places, shifts, u = contact.exerted.touched, contact.places, contact.shifts.nodes, contact.velocity
    force, ease = contact.exerted.node_force, contact.contacts.lumped.ease
    largest = 0.0
    for row in range(contact.exerted.filled[0]):
        i = touched[row]
        place, fast, far = places[i], 0.0, 0.0
        for c in range(3):
            fast += u[i, c] * u[i, c]
            far += shifts[i, c] * shifts[i, c]
            v[place, c] = u[i, c]
            x[place, c] += shifts[i, c]
            shifts[i, c] = 0.0
            if ease[i, c] == 0.0:
                reaction[place, c] -= force[i, c]
        largest = max(largest, fast if far == 0.0 else 2.0 * (fast + far / (h * h)))
    return largest
