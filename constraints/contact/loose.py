"""Steps of lumped masses whose contacts did not settle in as many rounds as there are: warned of once in a run."""

from __future__ import annotations

import warnings

from rheotwin.constraints.contact.lumped import Contact
from rheotwin.constraints.contact.rounds import VISITS


def warn_of_loose_contacts(contact: Contact | None, solver: str) -> None:
    """Warn the first time that contacts of a run were left before they had settled."""
    if contact is None:
        return
    visits = contact.contacts.impulses.visits
    if visits[4] > 0 and visits[5] == 0:
        visits[5] = 1
        warnings.warn(
            f"contact: forces between bodies did not settle in {VISITS} rounds of a step; the run goes on and "
            f"statistics count such steps as contacts_loose. Reduce solvers.{solver}.step",
            stacklevel=2,
        )
