"""Contact of finite-element bodies in implicit steps: `lawful` says what a stepper sees, `step` what a step does."""

from rheotwin.fem.contact.columns import NodeColumns
from rheotwin.fem.contact.memory import Contacts

__all__ = ["Contacts", "NodeColumns"]
