"""Contact in a step of nodes with lumped masses, as stages for the programs of both backends.

With supports held and all other forces in the velocities, but before places move by h v:

    tools move, candidates are looked at where the step would take them, the pairs found are settled, velocities of
    the touched nodes change, impacts shift their places

Contacts are found and settled in the problem's own node numbers, in three dimensions and in double precision, wherever
and however the loop keeps its nodes. What a problem cannot have adds no stage: pairs, where every node touches one tool
at most and none is held; lifts without impacts; tools that give way; searches for bodies.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts
from rheotwin.constraints.contact.couple import take_couples_back
from rheotwin.constraints.contact.detect import search_stages
from rheotwin.constraints.contact.exerted import Exerted, accounting, add_to_tools, nothing_yet
from rheotwin.constraints.contact.impact import Shifts, impact_stages
from rheotwin.constraints.contact.laws.form import RESTITUTION, SLIP_SPEED, STATIC_FRICTION, kinds_that, names_in
from rheotwin.constraints.contact.lone import Late, Rigid, Wrench, friction_of, list_others, meeting
from rheotwin.constraints.contact.mobility import Giving
from rheotwin.constraints.contact.near_tools import NearTools, look_stages, note_way, room_to_see
from rheotwin.constraints.contact.pairs import count_uses, forget_others
from rheotwin.constraints.contact.rounds import VISITS, round_stages, system_of, visit_alone
from rheotwin.constraints.contact.search import Remembered, Search
from rheotwin.constraints.contact.settle import begin_with_last, find_alone, look_ahead, note_rounds, preparing
from rheotwin.constraints.contact.surface import ContactSurface
from rheotwin.constraints.contact.tool_motion import finish_tools, tool_stages
from rheotwin.constraints.tools import MESH, Tools
from rheotwin.kernels.blocks import STEP, Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Contact(NamedTuple):
    """All that contact needs in a loop; `near` (n,) are the nodes that can touch anything.

    `places` (N,) says where a loop keeps each node. `begin`, `end` (N, 3) [m] and `velocity` (N, 3) [m/s] are scratch
    in the problem's numbering, `before` (N, 3) [m] is where the last step began. Contacts of tools are listed out to
    `reach` (T,) [m], from the candidates in `close`; `response` (K, 3) [1/kg] is 1/m of the free components of those
    whose contacts can be lone, 0 of all others; coordinates are good for `rounding` [m]. `bodies` is None where only
    tools touch. `full` (1,) is not 0 once a list had no room. `before_kick` (N, 3) [m/s] are the velocities before the
    forces of a step have acted, of use where a law `bounces`.
    """

    contacts: Contacts
    shifts: Shifts
    exerted: Exerted
    tools: Tools
    near: Indices
    dimension: int
    places: Indices
    before: Array
    begin: Array
    end: Array
    velocity: Array
    reach: Array
    close: NearTools
    response: Array
    rounding: float
    bodies: Any
    full: Indices
    before_kick: Array
    bounces: bool

    @property
    def idle(self) -> bool:
        """Tell whether nothing can ever touch."""
        return len(self.near) == 0 and len(self.tools.shape) == 0


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


def contact_stages(
    contact: Contact, x: Array, v: Array, reaction: Array, fastest: Now, end: Now, kick: Any = STEP, *,
    looks: bool = True,
) -> list[Stage]:  # fmt: skip
    """Return the stages that change places (n, 3) [m], velocities (n, 3) [m/s] and reactions of supports (n, 3) [N].

    The step ends at `end` [s] and moves places by h v; forces act for `kick` [s]. `fastest` [m/s] bounds the speed of
    all nodes in v, infinite where nobody knows. Places change by these steps alone until `forget_list`, and velocities
    by forces alone until the next step. Contacts that share nothing are settled on the spot, others are left as pairs,
    with the rows of `mobility` and the velocities of their nodes. Unless it `looks`, velocities before the next kick
    are not kept here.
    """
    if contact.idle:
        return []
    contacts, bodies, exerted = contact.contacts, contact.bodies, contact.exerted
    tools, u, square, pairs = contacts.tools, contact.velocity, np.zeros(1), contacts.pairs
    stages = [
        *tool_stages(contact.tools.tables, tools.drives, tools.motion, end, kick),
        Stage(nothing_yet, (exerted, pairs.count, contacts.impulses.uses, contacts.impulses.visits, square, kick)),
    ]
    if bodies is not None:
        fetching = (contact.near, contact.places, contact.before, contact.begin, contact.end, u, x, v, STEP)
        where = (contact.before, contact.begin) if bodies.soft else (contact.begin, contact.end)
        remembered = Remembered(contacts.history.feature, contacts.history.active)
        known = (remembered, bodies.first_slot, pairs, contact.full)
        stages += [Stage(_fetch, fetching)]
        begin, last = where
        stages += search_stages(bodies.surface, bodies.search, begin, last, bodies.region, *known)
        if bodies.soft:
            stages += [Stage(look_ahead, (pairs.count, pairs.node, pairs.weight, pairs.normal, pairs.gap, u, STEP))]
    meeting_stages, listed = _meet_tools(contact, x, v, reaction, fastest, square, kick)
    stages += meeting_stages
    if listed.any():
        stages += _settle_pairs(contact, listed, x, v, reaction, square, kick)
    kept = (contact.near, contact.places, contact.before_kick, v)
    return [
        *stages,
        Stage(forget_others, (contacts.history,)),
        Stage(finish_tools, (tools.drives.free, tools.motion.pose, tools.motion.end, tools.motion.velocity, STEP)),
        Stage(note_way, (contact.close.way, fastest, square, STEP)),
        *([Stage(_look_back, kept)] if looks and contact.bounces else []),
    ]


def _meet_tools(
    contact: Contact, x: Array, v: Array, reaction: Array, fastest: Now, square: Array, kick: Any
) -> tuple[list[Stage], Flags]:
    """Return the stages that settle lone contacts and list all others, and the laws under which there can be any."""
    contacts, tools, exerted = contact.contacts, contact.tools, contact.exerted
    candidate, uses, pairs, motion = tools.candidate, contacts.impulses.uses, contacts.pairs, contacts.tools.motion
    bodies, laws = contact.bodies, contacts.laws
    shares = np.bincount(candidate, minlength=len(uses))
    if bodies is not None:
        shares[bodies.surface.vertex] += 1
    seen = [room_to_see(int(many)) for many in np.diff(tools.offset)]
    stages: list[Stage] = []
    settling, listed = [], np.zeros(len(laws), np.bool_)
    listed[-1] = bodies is not None
    if bodies is not None:
        stages += [Stage(count_uses, (pairs.node, pairs.count, uses))]
    stages += look_stages(tools, contact.close, seen, uses, contact.reach, motion.end, x, v, fastest, contact.rounding)
    ease = contacts.lumped.ease[candidate]
    for tool in range(len(tools.shape)):
        rows = slice(int(tools.offset[tool]), int(tools.offset[tool + 1]))
        alone, held = contact.response[rows].any(axis=1), ease[rows] == 0.0
        if (ease[rows].any(axis=1) & ~alone).any() or (shares[candidate[rows]] > 1).any():
            listed[tool] = True
            response = contact.response if alone.any() else None
            whose = (candidate, response, uses, tool, contact.places, v, pairs, contact.velocity)
            stages += [Stage(list_others, (seen[tool], *whose))]
        if alone.any():
            name, law = names_in(laws[tool : tool + 1])[0], laws[tool]
            rigid = Rigid(tools.geometry[tool], motion.end[tool], motion.velocity[tool])
            wrench = Wrench(exerted.tool_force[tool], exerted.tool_moment[tool], exerted.active)
            before = contact.before_kick if law[RESTITUTION] > 0.0 else None
            borne = reaction if held[alone, : contact.dimension].any() else None
            there = (seen[tool], candidate, contact.response, uses, contact.places, rigid, tuple(law.tolist()))
            change = (before, contacts.history, wrench, x, v, borne, square, STEP, kick)
            settling += [Stage(meeting(name, friction_of(law)), (*there, *change))]
    return stages + settling, listed


def _settle_pairs(
    contact: Contact, listed: Flags, x: Array, v: Array, reaction: Array, square: Array, kick: Any
) -> list[Stage]:
    """Return the stages that settle pairs under the laws `listed`, account for them, and hand back what has changed."""
    contacts, bodies, exerted, tools = contact.contacts, contact.bodies, contact.exerted, contact.contacts.tools
    pairs, laws, impulses, lumped = contacts.pairs, contacts.laws, contacts.impulses, contacts.lumped
    u, history, motion, mixing = contact.velocity, contacts.history, tools.motion, impulses.mixing
    names, strikes, integrates = names_in(laws[listed]), kinds_that(laws, "strikes"), kinds_that(laws, "integrates")
    rubs = tuple(True if laws[listed, column].any() else None for column in (STATIC_FRICTION, SLIP_SPEED))
    giving: Giving | None = None
    if tools.drives.inverse_mass.any():
        giving = Giving(impulses.pushed, tools.drives.inverse_mass, motion.velocity, motion.pose)
    # contacts of a node at tools that stand depend on no other node: few rounds will do, and nothing more is compiled
    mixes = bodies is not None or giving is not None or rubs[0] is not None
    system = system_of(pairs, impulses.rows, impulses.alone, lumped.ease, u)
    before = contact.before_kick if contact.bounces else None
    remembered = (history.active, history.sliding, history.integral)
    others = [
        Stage(
            begin_with_last,
            (system, giving, pairs.tool, pairs.slot, strikes, history.impulse, mixing.course, lumped.settled, STEP),
        ),
        *round_stages(system, giving, mixing, *rubs, mixes=mixes),
        Stage(note_rounds, (mixing.course, impulses.visits)),
    ]
    acting = (tools.geometry, motion, giving, u, before, STEP, kick)
    stages = [
        Stage(preparing(names), (pairs, *remembered, laws, impulses.rows, lumped.ease, *acting)),
        Stage(find_alone, (pairs.count, pairs.node, giving, lumped.loose, impulses.uses, impulses.alone)),
        Stage(visit_alone, (system, giving, *rubs, len(others))),
        *others,
    ]
    if strikes[listed].any():
        lifted = (contact.shifts, impulses.visits, motion.pose, lumped.settled)
        stages += impact_stages(system, giving, pairs, strikes, mixing, *lifted)
    entering = (laws, integrates, strikes, history, exerted, STEP, kick)
    accounts = [Stage(accounting(names), (system, giving, pairs.gap, pairs.tool, pairs.slot, *entering))]
    if listed[:-1].any():
        on_tools = (tools.geometry, motion.end, exerted.tool_force, exerted.tool_moment, kick)
        accounts += [Stage(add_to_tools, (system, giving, pairs.tool, pairs.point, *on_tools))]
    # springs without friction are looked at where the step begins: they leave no couple
    if bodies is not None and not (bodies.soft and laws[-1, STATIC_FRICTION] == 0.0):
        turning = (bool(strikes[-1]), mixing.memory, contact.shifts.nodes, contact.shifts.rows, lumped.loose)
        around = (exerted.node_force, contact.begin, bodies.surface.dimension == 2, kick)
        accounts = [Stage(take_couples_back, (system, pairs.tool, pairs.gap, *turning, *around)), *accounts]
    moved = (u, contact.shifts.nodes, exerted.node_force, lumped.ease)
    touched = (exerted.touched, exerted.filled, contact.places, *moved)
    stages += [*accounts, Stage(_give_back, (*touched, x, v, reaction, square, STEP))]
    return [Stage(_pass_without_pairs, (pairs.count, len(stages))), *stages]


@compiled(inside=True)
def _pass_without_pairs(count: Indices, ahead: int) -> int:
    """Skip so many stages where all contacts have been settled on the spot."""
    return 0 if count[0] > 0 else ahead


@compiled(inside=True)
def _look_back(near: Indices, places: Indices, before: Array, v: Array) -> None:
    """Keep the velocities (n, 3) [m/s] with which the next step begins."""
    for i in near:
        for c in range(3):
            before[i, c] = v[places[i], c]


def look_back(contact: Contact, velocities: Array) -> None:
    """Keep the velocities (N, d) [m/s], in the problem's numbering, with which the next step begins."""
    if contact.bounces:
        contact.before_kick[:, : velocities.shape[1]] = velocities


def late(contact: Contact) -> Late:
    """Return what pushes at tools enter after `contact_stages`."""
    laws, tools = contact.contacts.laws[:-1], contact.tools
    gives = kinds_that(laws, "soft") | kinds_that(laws, "strikes") | (laws[:, STATIC_FRICTION] > 0.0)
    driven = contact.contacts.tools.drives.inverse_mass.any(axis=1)
    return Late(
        shape=tools.shape,
        geometry=tools.geometry,
        pose=contact.contacts.tools.motion.end,
        firm=~gives & ~driven & (tools.shape != MESH),
        offset=tools.offset,
        candidate=tools.candidate,
        places=contact.places,
        ease=contact.contacts.lumped.ease,
        history=contact.contacts.history,
        exerted=contact.exerted,
        way=contact.close.way,
    )


def warn_of_loose_contacts(contact: Contact, solver: str) -> None:
    """Warn the first time that contacts of a run were left before they had settled."""
    visits = contact.contacts.impulses.visits
    if visits[4] > 0 and visits[5] == 0:
        visits[5] = 1
        warnings.warn(
            f"contact: forces between bodies did not settle in {VISITS} rounds of a step; the run goes on and "
            f"statistics count such steps as contacts_loose. Reduce solvers.{solver}.step",
            stacklevel=2,
        )


@compiled(inside=True)
def _fetch(
    near: Indices, places: Indices, before: Array, begin: Array, end: Array, u: Array, x: Array, v: Array, h: float
) -> None:
    """Copy places and velocities of the near nodes, and where the step would take them."""
    for i in near:
        place = places[i]
        for c in range(3):
            before[i, c] = begin[i, c]
            begin[i, c] = x[place, c]
            u[i, c] = v[place, c]
            end[i, c] = begin[i, c] + h * u[i, c]


@compiled(inside=True)
def _give_back(
    touched: Indices, filled: Indices, places: Indices, u: Array, shifts: Array, force: Array, ease: Array, x: Array,
    v: Array, reaction: Array, square: Array, h: float,
) -> None:  # fmt: skip
    """Take velocities, shifts and forces of the touched nodes to the loop; what supports hold, they bear.

    `square` (1,) [m2/s2] grows to a bound of the squared speed at which they move in the step, shifts included.
    """
    for row in range(filled[0]):
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
        square[0] = max(square[0], fast if far == 0.0 else 2.0 * (fast + far / (h * h)))
