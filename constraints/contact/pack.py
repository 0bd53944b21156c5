"""Pack the contact of a problem for the loops of lumped masses, and keep what of it belongs to a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.contacts import Contacts, Lumped, ToolsInStep, room_for_impulses
from rheotwin.constraints.contact.exerted import nothing_exerted
from rheotwin.constraints.contact.impact import no_shifts
from rheotwin.constraints.contact.laws.form import REGION, RESTITUTION, STATIC_FRICTION, kinds_that, normal, pack_laws
from rheotwin.constraints.contact.lumped import BodyContact, Contact
from rheotwin.constraints.contact.near_tools import near_tools
from rheotwin.constraints.contact.pairs import no_history, room_for_pairs
from rheotwin.constraints.contact.search import more_room, new_search, save_search
from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.constraints.contact.surface import slot_count, surface_of
from rheotwin.constraints.contact.tool_motion import pack_drives, tools_at_start
from rheotwin.constraints.tools import RigidTool, pack_tools
from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.tensors import padded

Array = NDArray[np.float64]
Saved = NDArray[np.generic]

REACH = 0.1
"""How far outside of tools contacts are listed at least, as a share of the smallest spacing of nodes."""
SETTLED = 1e-11
"""A round of impulses that moves nothing further than this share of the problem's extent is the last."""
ROUNDING = 1e-9
"""Coordinates are far better than this share of the problem's extent."""
PREFIX = "contact."


def pack_contact(problem: Problem) -> Contact:
    """Return the contact of a problem with lumped masses; without laws tools are exact and bodies pass each other."""
    setup = problem.contact or ContactSetup.exact(len(problem.tools))
    free = padded((problem.owners < 0).astype(float))
    return contact_of(
        setup, problem.tools, problem.points, free / problem.masses[:, None], smallest_spacing(problem),
        problem.extent, _pack_bodies(problem, setup),
    )  # fmt: skip


def contact_of(
    setup: ContactSetup, tools: Sequence[RigidTool], points: Array, ease: Array, spacing: float, extent: float,
    bodies: BodyContact | None = None,
) -> Contact:  # fmt: skip
    """Return the contact of points (N, d) [m] with 1/m (N, 3) [1/kg] of their free components.

    Contacts are listed out to a share of the `spacing` [m]; `extent` [m] is how large bodies are.
    """
    laws, packed, nodes = pack_laws((*setup.tool_laws, setup.law)), pack_tools(tools), len(points)
    slots = len(packed.candidate) if bodies is None else slot_count(bodies.surface, bodies.first_slot)
    surface = np.zeros(0, np.int64) if bodies is None else bodies.surface.vertex
    contact = Contact(
        contacts=Contacts(
            pairs=room_for_pairs(slots),
            laws=laws,
            history=no_history(slots),
            lumped=Lumped(ease, np.zeros(nodes, np.bool_), SETTLED * extent),
            tools=ToolsInStep(packed.geometry, pack_drives(tools), tools_at_start(tools)),
            impulses=room_for_impulses(slots, nodes),
        ),
        shifts=no_shifts(nodes, len(tools), slots),
        exerted=nothing_exerted(nodes, len(tools)),
        tools=packed,
        near=np.unique(np.concatenate([packed.candidate, surface])),
        dimension=points.shape[1],
        places=np.arange(nodes),
        before=padded(points),
        begin=padded(points),
        end=np.zeros((nodes, 3)),
        velocity=np.zeros((nodes, 3)),
        reach=np.maximum(laws[:-1, REGION], REACH * spacing),
        close=near_tools(packed),
        response=np.zeros((len(packed.candidate), 3)),
        rounding=ROUNDING * extent,
        bodies=bodies,
        full=np.zeros(1, np.int64),
        before_kick=np.zeros((nodes, 3)),
        bounces=bool(laws[:, RESTITUTION].any()),
    )
    return eased(contact, ease)


def eased(contact: Contact, ease: Array) -> Contact:
    """Return the contact of nodes with other 1/m (N, 3) [1/kg] of their free components.

    Contacts at tools that stand can be lone where nothing is held, or nothing acts across the normal.
    """
    loose = np.all(ease[:, : contact.dimension] > 0.0, axis=1)
    tools, laws = contact.tools, contact.contacts.laws[:-1]
    along = ~kinds_that(laws, "strikes") & (laws[:, STATIC_FRICTION] == 0.0)
    stands = ~contact.contacts.tools.drives.inverse_mass.any(axis=1)
    many = np.diff(tools.offset)
    alone = np.repeat(stands, many) & (loose[tools.candidate] | np.repeat(along, many))
    lumped = contact.contacts.lumped._replace(ease=ease, loose=loose)
    response = np.where(alone[:, None], ease[tools.candidate], 0.0)
    return contact._replace(contacts=contact.contacts._replace(lumped=lumped), response=response)


def _pack_bodies(problem: Problem, setup: ContactSetup) -> BodyContact | None:
    """Return the surfaces of bodies that can touch, None where none can."""
    surface = surface_of(problem.bodies, problem.dimension, setup)
    if surface is None:
        return None
    first_slot, soft = sum(len(tool.candidates) for tool in problem.tools), normal(setup.law.law).soft
    region = max(setup.law.region if soft else 0.0, REACH * smallest_spacing(problem))
    return BodyContact(surface, new_search(surface, padded(problem.points)), region, first_slot, soft)


def placed(contact: Contact, places: NDArray[np.int64]) -> Contact:
    """Return the contact of a loop that keeps the nodes at `places` (N,)."""
    return contact._replace(
        places=places, close=contact.close._replace(place=np.ascontiguousarray(places[contact.tools.candidate]))
    )


def grown(contact: Contact) -> Contact:
    """Return the contact with twice the room for neighbours, after a step found too little."""
    contact.full[0] = 0
    return contact._replace(bodies=contact.bodies._replace(search=more_room(contact.bodies.search)))


def smallest_spacing(problem: Problem) -> float:
    """Return the smallest distance [m] between two nodes that follow each other in a cell."""
    found = []
    for mesh in (body.mesh for body in problem.bodies):
        lengths = np.linalg.norm(mesh.p[:, mesh.t] - mesh.p[:, np.roll(mesh.t, 1, axis=0)], axis=0)
        found.append(float(lengths[mesh.t != np.roll(mesh.t, 1, axis=0)].min()))
    return min(found)


def _parts(contact: Contact) -> dict[str, Saved]:
    """Return the arrays that a step hands to the next, by name."""
    if contact.idle:
        return {}
    history, motion, exerted = contact.contacts.history, contact.contacts.tools.motion, contact.exerted
    found: dict[str, Saved] = {f"history.{name}": array for name, array in history._asdict().items()}
    found |= {f"tools.{name}": array for name, array in motion._asdict().items()}
    found |= {f"exerted.{name}": array for name, array in exerted._asdict().items()}
    found["rounds"] = contact.contacts.impulses.visits
    if contact.bodies is not None:
        search = contact.bodies.search
        found |= {f"search.{name}": getattr(search, name) for name in save_search(search)} | {"begin": contact.begin}
    return {PREFIX + name: array for name, array in found.items()}


def save_contact(contact: Contact) -> dict[str, Saved]:
    """Return copies of everything that a step hands to the next."""
    return {name: array.copy() for name, array in _parts(contact).items()}


def restore_contact(contact: Contact, saved: Mapping[str, Saved]) -> Contact:
    """Take over what `save_contact` returned; the contact returned is another one if that needs more room.

    Rounds count from zero where the checkpoint is older than their count; one that does not know how long forces acted
    has those of lone contacts among the others, one without anything of contact is of tools that remember nothing.
    """
    older = {
        "rounds": np.zeros_like(contact.contacts.impulses.visits),
        "exerted.duration": np.array([np.inf]),
        "tools.before_kick": contact.contacts.tools.motion.before_kick,
    }
    saved = {PREFIX + name: array for name, array in older.items()} | dict(saved)
    while short := [name for name, array in _parts(contact).items() if len(array) < len(saved.get(name, ()))]:
        larger = grown(contact) if contact.bodies is not None else contact
        sizes, before = _parts(larger), _parts(contact)
        for name in short:
            if len(sizes[name]) <= len(before[name]):
                raise RheotwinError(f"checkpoint: '{name}' is of another simulation; run the scene again")
        contact = larger
    for name, array in _parts(contact).items():
        if name in saved:
            array[: len(saved[name])] = saved[name]
    return contact
