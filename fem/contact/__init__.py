"""Contact of finite-element bodies: `exact` frictionless tools, and `step` for everything a contact law can ask."""

from rheotwin.fem.contact.columns import NodeColumns
from rheotwin.fem.contact.exact import Contacts, ContactSolver

__all__ = ["ContactSolver", "Contacts", "NodeColumns"]
