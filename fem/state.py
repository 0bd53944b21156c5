"""What a finite-element model carries from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rheotwin.fem.contact import Contacts
from rheotwin.fem.contact.memory import PREFIX, Memory
from rheotwin.fem.ledger import Ledger
from rheotwin.fem.model import Model

Array = NDArray[np.float64]


@dataclass
class State:
    """Displacements u [m], velocities v [m/s], histories w and the contacts of the last step.

    `rate` [m/s] is the velocity that the last step put into viscous stresses, `acceleration` [m/s2] the one it put
    into inertia: stresses and reactions at the end of a step use these.
    """

    u: Array
    v: Array
    rate: Array
    acceleration: Array
    memories: list[list[Array]]
    """Per body and term: (arms, state size)."""
    contacts: Contacts = field(default_factory=Contacts.none)
    ledger: Ledger = field(default_factory=Ledger)
    touch: Memory | None = None
    """Contact with laws, once it has begun."""

    @classmethod
    def at_rest(cls, model: Model) -> State:
        """Return the state of rest: no displacement, no history."""
        u, v, rate, acceleration = (np.zeros(model.size) for _ in range(4))
        memories = [
            [np.zeros((len(term.channel.times), term.state_size)) for term in body.terms] for body in model.bodies
        ]
        return cls(u, v, rate, acceleration, memories)

    def copy(self) -> State:
        """Return an independent copy."""
        memories = [[memory.copy() for memory in body] for body in self.memories]
        ledger = replace(self.ledger)
        u, v, rate, acceleration = (vector.copy() for vector in (self.u, self.v, self.rate, self.acceleration))
        return State(u, v, rate, acceleration, memories, self.contacts, ledger, self.touch and self.touch.copy())

    def save(self) -> dict[str, Array]:
        """Return copies of all arrays by name."""
        arrays = {
            "u": self.u,
            "v": self.v,
            "rate": self.rate,
            "acceleration": self.acceleration,
            "contact_tool": self.contacts.tool,
            "contact_node": self.contacts.node,
            "contact_normal": self.contacts.normal,
            "contact_multiplier": self.contacts.multiplier,
            "work": np.array(astuple(self.ledger)),
        }
        for b, memories in enumerate(self.memories):
            arrays |= {f"memory_{b}_{k}": memory for k, memory in enumerate(memories)}
        if self.touch is not None:
            arrays |= self.touch.save()
        return {name: np.array(array) for name, array in arrays.items()}

    @classmethod
    def restored(cls, model: Model, saved: Mapping[str, Array]) -> State:
        """Return the state that `save` wrote."""
        u, v, rate, acceleration = (np.array(saved[name]) for name in ("u", "v", "rate", "acceleration"))
        state = cls(u, v, rate, acceleration, memories=[])
        state.memories = [
            [np.array(saved[f"memory_{b}_{k}"]) for k in range(len(body.terms))] for b, body in enumerate(model.bodies)
        ]
        state.contacts = Contacts(
            tool=np.array(saved["contact_tool"], dtype=np.int64),
            node=np.array(saved["contact_node"], dtype=np.int64),
            normal=np.array(saved["contact_normal"]),
            multiplier=np.array(saved["contact_multiplier"]),
        )
        if f"{PREFIX}pose" in saved:
            state.touch = Memory.restored(saved)
        state.ledger = Ledger(*(float(value) for value in saved["work"]))
        return state


def kinetic_energy(model: Model, v: Array) -> float:
    """Return v'Mv/2 [J]."""
    return 0.5 * float(v @ (model.mass @ v))


def stored_energy(model: Model, state: State) -> float:
    """Return sum (g_inf e'Je + sum_a w'Jw/g_a)/2 [J]."""
    total = 0.0
    for (body, rows), memories in zip(model.parts(), state.memories, strict=True):
        for term, memory in zip(body.terms, memories, strict=True):
            if term.channel.equilibrium:
                measure = term.measure(state.u[rows])
                total += 0.5 * term.channel.equilibrium * term.product(measure, measure)
            for strength, w in zip(term.channel.strengths, memory, strict=True):
                total += 0.5 / strength * term.product(w, w)
    return total


def internal_force(model: Model, state: State) -> Array:
    """Return sum J (g_inf e + sum w + eta e') (size,) [N] at the end of the last step."""
    force = np.zeros(model.size)
    for (body, rows), memories in zip(model.parts(), state.memories, strict=True):
        for term, memory in zip(body.terms, memories, strict=True):
            deformed = term.channel.equilibrium * state.u[rows] + term.channel.viscosity * state.rate[rows]
            force[rows] += term.force(term.measure(deformed) + memory.sum(axis=0))
    return force
