"""Contact by laws of a model with lumped masses: packed for the explicit loop, and the pairs of a step as results."""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.contact.lumped import Contact
from rheotwin.constraints.contact.mobility import PRESSED, TANGENT
from rheotwin.constraints.contact.pack import eased, pack_contact
from rheotwin.constraints.contact.springs import contact_stiffness, has_contact_springs
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact.memory import Pushes
from rheotwin.fem.model import FREE, Model


def pushes_of(contact: Contact, kick: float) -> Pushes:
    """Return the pairs that pushed for `kick` [s], on the rows of the model."""
    pairs, count = contact.contacts.pairs, int(contact.contacts.pairs.count[0])
    rows = contact.contacts.impulses.rows[:count]
    chosen = np.flatnonzero(rows[:, PRESSED] > 0.0)
    node, rows = pairs.node[chosen], rows[chosen]
    impulse = rows[:, PRESSED, None] * pairs.normal[chosen] + rows[:, TANGENT : TANGENT + 3]
    there = node >= 0
    weight = np.where(there, pairs.weight[chosen], 0.0)
    return Pushes(
        node=np.where(there, contact.places[node], 0),
        push=weight[:, :, None] * (impulse / kick)[:, None, :],
        tool=pairs.tool[chosen],
        point=pairs.point[chosen] + pairs.gap[chosen, None] * pairs.normal[chosen],
        force=impulse / kick,
    )


def pack_model_contact(model: Model) -> Contact | None:
    """Return the contact of a model, on its own masses and supports; None where the problem has no laws."""
    if model.problem.contact is None:
        return None
    contact = pack_contact(model.problem)
    rows, d = model.vertex_rows, model.dimension
    if len(rows) != len(model.points):
        raise RheotwinError(
            "solvers.fem.order: contact by laws with central differences is between vertices; choose order = 1 or the "
            'stepper "midpoint"'
        )
    free = model.owners[rows] == FREE
    ease = np.zeros((len(rows), 3))
    ease[:, :d] = free / model.mass.diagonal().reshape(-1, d)[rows]
    contact = eased(contact, ease)
    contact.response[:] = 0.0  # the account of energy, and results, ask for pairs
    return contact._replace(places=rows)


def contact_springs(model: Model) -> Array | None:
    """Return the stiffness (N d,) [N/m] that contact adds to components; None without springs."""
    if not has_contact_springs(model.problem):
        return None
    stiffness = contact_stiffness(model.problem)
    found = np.zeros(model.points.shape)
    found[model.vertex_rows] = stiffness[:, None]
    return found.ravel()
