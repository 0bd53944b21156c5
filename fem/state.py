"""What a finite-element model carries from step to step, and where its energy went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.fem.contact import Contacts
from rheotwin.fem.contact.memory import PREFIX, Memory
from rheotwin.fem.model import Model

VECTORS = ("u", "v", "rate", "acceleration")
"""What a state has for every component of its model."""


@dataclass
class Ledger:
    """Work since time zero [J]: done from outside, taken by dashpots, lost in impacts."""

    external: float = 0.0
    dissipated: float = 0.0
    impact: float = 0.0
    absorbed: float = 0.0
    """Work of internal forces, for rules that find dissipation as what is not stored of it."""
    friction: float = 0.0
    """Dissipated by friction of contacts."""

    def entries(self) -> dict[str, float]:
        """Return what was dissipated, lost in impacts and done from outside [J]."""
        return {"dissipated": self.dissipated, "impact": self.impact, "external": self.external}

    def defect(self, kinetic: float, stored: float) -> float:
        """Return what is amiss [J]: work from outside that is neither kinetic nor stored, dissipated nor lost."""
        return self.external - kinetic - stored - self.dissipated - self.impact - self.friction


@dataclass
class State:
    """Displacements u [m], velocities v [m/s], what laws remember and the contacts of the last step.

    `rate` [m/s] is the velocity that the last step put into viscous stresses, `acceleration` [m/s2] the one it put
    into inertia: stresses and reactions at the end of a step use these.
    """

    u: Array
    v: Array
    rate: Array
    acceleration: Array
    memories: list[list[Array]]
    """Per body, as `Body.at_rest` lists them."""
    contacts: Contacts = field(default_factory=Contacts.none)
    ledger: Ledger = field(default_factory=Ledger)
    touch: Memory | None = None
    """Contact with laws, once it has begun."""

    @classmethod
    def at_rest(cls, model: Model) -> State:
        """Return the state at time zero: no displacement, no history, the velocities of the problem."""
        u, v, rate, acceleration = (np.zeros(model.size) for _ in VECTORS)
        v += model.start_velocities()
        return cls(u, v, rate, acceleration, [body.at_rest() for body in model.bodies])

    def copy(self) -> State:
        """Return an independent copy."""
        vectors = {name: getattr(self, name).copy() for name in VECTORS}
        memories = [[memory.copy() for memory in body] for body in self.memories]
        touch = self.touch and self.touch.copy()
        return State(**vectors, memories=memories, contacts=self.contacts, ledger=replace(self.ledger), touch=touch)

    def internal_force(self, model: Model) -> Array:
        """Return the nodal forces (size,) [N] of the stress at the end of the last step."""
        return internal_force(model, self.u, self.rate, self.memories)

    def take_over(self, other: State) -> None:
        """Become the same as `other`."""
        for name, value in vars(other).items():
            setattr(self, name, value)

    def save(self) -> dict[str, Array]:
        """Return copies of all arrays by name."""
        arrays = {name: getattr(self, name) for name in VECTORS} | {"work": np.array(astuple(self.ledger))}
        arrays |= {f"contact_{item.name}": getattr(self.contacts, item.name) for item in fields(Contacts)}
        for b, memories in enumerate(self.memories):
            arrays |= {f"memory_{b}_{k}": memory for k, memory in enumerate(memories)}
        if self.touch is not None:
            arrays |= self.touch.save()
        return {name: np.array(array) for name, array in arrays.items()}

    @classmethod
    def restored(cls, model: Model, saved: Mapping[str, Array]) -> State:
        """Return the state that `save` wrote."""

        def read(name: str) -> Any:
            return np.array(saved[name])

        counts = [len(body.at_rest()) for body in model.bodies]
        return cls(
            **{name: read(name) for name in VECTORS},
            memories=[[read(f"memory_{b}_{k}") for k in range(count)] for b, count in enumerate(counts)],
            contacts=Contacts(**{item.name: read(f"contact_{item.name}") for item in fields(Contacts)}),
            ledger=Ledger(*(float(value) for value in saved["work"])),
            touch=Memory.restored(saved) if f"{PREFIX}pose" in saved else None,
        )


def kinetic_energy(model: Model, v: Array) -> float:
    """Return v'Mv/2 [J]."""
    return 0.5 * float(v @ (model.mass @ v))


def stored_energy(model: Model, state: State) -> float:
    """Return what springs and arms of all bodies store [J]."""
    bodies = zip(model.parts(), state.memories, strict=True)
    return sum(body.stored(state.u[rows], memories) for (body, rows), memories in bodies)


def internal_force(model: Model, u: Array, rate: Array, memories: Sequence[Sequence[Array]]) -> Array:
    """Return the nodal forces (size,) [N] of the stress."""
    bodies = zip(model.parts(), memories, strict=True)
    return np.concatenate([body.internal_force(u[rows], rate[rows], own) for (body, rows), own in bodies])
