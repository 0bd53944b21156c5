"""What a truss tells about contact by laws: force and moment on tools, and how many contacts there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.lumped import Contact
from rheotwin.problem import Problem

Array = NDArray[np.float64]


def tool_reactions(problem: Problem, contact: Contact) -> dict[str, Array]:
    """Return the force (d,) [N] of the bodies on each tool and its moment about the tool's centre [N m].

    Moments have one component in 2D and three in 3D; there is none in 1D.
    """
    found, dimension = {}, problem.dimension
    for row, tool in enumerate(problem.tools):
        found[f"tool.{tool.name}"] = contact.exerted.tool_force[row, :dimension].copy()
        moment = contact.exerted.tool_moment[row]
        if dimension > 1:
            found[f"tool.{tool.name}.moment"] = (moment if dimension == 3 else moment[2:]).copy()
    return found


def contact_statistics(contact: Contact | None) -> dict[str, Any]:
    """Return the contacts that push and the rounds of impulses in the last step, and in steps that needed any.

    Steps whose rounds ended before the contacts had settled are `contacts_loose`.
    """
    if contact is None:
        return {}
    now, most, rounds, steps, loose, _ = (int(number) for number in contact.contacts.impulses.visits)
    return {
        "active_contacts": int(contact.exerted.active[0]),
        "contact_rounds": now,
        "most_contact_rounds": most,
        "mean_contact_rounds": rounds / max(1, steps),
        "contacts_loose": loose,
    }
