"""Contact with laws as a part of an implicit stepper: it bends the step, the velocities after it and the account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import ContactSetup
from rheotwin.fem.contact.columns import NodeColumns
from rheotwin.fem.contact.exact import Contacts
from rheotwin.fem.contact.free_tools import FreeTools, backward_euler
from rheotwin.fem.contact.history import booked, later
from rheotwin.fem.contact.impact import Respond, strike
from rheotwin.fem.contact.law_force import Instant
from rheotwin.fem.contact.memory import Memory, Pushes
from rheotwin.fem.contact.step import ContactStep
from rheotwin.fem.contact.touched import Motion, Touched
from rheotwin.fem.model import SAME_TIME, Model
from rheotwin.fem.state import State, kinetic_energy
from rheotwin.fem.steppers.scheme import Scheme

Array = NDArray[np.float64]


class LawfulContact:
    """Contact of a model whose scene has laws for it, in steps of `h` [s] of a scheme."""

    def __init__(
        self, model: Model, setup: ContactSetup, scheme: Scheme, h: float, columns: NodeColumns, respond: Respond | None
    ) -> None:
        """Prepare; `respond` maps impulses to velocity changes, None without inertia."""
        self._model, self._scheme, self._h, self._respond = model, scheme, h, respond
        rule = (scheme.inertia, scheme.velocity, scheme.acceleration) if scheme.dynamic else backward_euler(h)
        self._tools = FreeTools(model.tools, scheme.load_share, *rule, slack=SAME_TIME * model.problem.scene.duration)
        middle = scheme.dynamic and scheme.load_share == 0.5
        instant = Instant(h, scheme.load_share, middle)
        self._step = ContactStep(model, setup, columns, instant, rule[0][0])
        self._touched: Touched | None = None
        self._pose = np.zeros((len(model.tools), 4))

    def memory(self, state: State) -> Memory:
        """Return what contact remembers of a state, from its beginning if this is the first step."""
        if state.touch is None:
            state.touch = Memory.at_start(self._model.tools, self._step.search.slots)
        return state.touch

    def step(self, state: State, du: Array, *, begin: float, end: float) -> tuple[Array, Contacts]:
        """Return the increment with contact for one without; no contact of the exact kind is left."""
        memory = self.memory(state)
        pose = self._tools.predicted(memory, begin, end)
        on_du, on_v, on_a = self._scheme.velocity
        velocity = on_du * du + on_v * state.v + on_a * state.acceleration
        free = Motion(du, pose, velocity, self._tools.rates(memory, pose, end)[0])
        start = Motion(du, memory.pose, state.v, memory.rate)
        motion, self._touched = self._step.solve(state.u, start, free, memory, end)
        self._pose = motion.pose
        return motion.du, Contacts.none()

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Rows of the model that take part in the contacts of the step."""
        return np.zeros(0, np.int64) if self._touched is None else self._touched.rows.nodes

    def enter_work(self, state: State) -> None:
        """Book what contact took of the work from outside, on top of what the bodies felt of it."""
        memory, ledger = self.memory(state), state.ledger
        taken = booked(self._step.laws, self._touched, memory.stored)
        ledger.external += taken.stored - memory.stored + taken.damped + taken.closed + taken.rubbed
        ledger.dissipated += taken.damped
        ledger.impact += taken.closed
        ledger.friction += taken.rubbed

    def struck(self, state: State, velocity: Array, end: float, *, account: bool) -> Array:
        """Return the velocity after impacts; with it the step is over, and `state` remembers its contacts."""
        memory, touched = self.memory(state), self._touched
        rate, second = self._tools.rates(memory, self._pose, end)
        impulse = None
        if touched is not None:
            chosen = self._decided_by_velocity(touched)
            impulse = self._h * touched.multiplier
            if self._respond is not None and chosen.any():
                found = strike(self._model, self._step.laws, touched.kept(chosen), velocity, rate, self._pose,
                               self._tools.inverse_mass, self._respond, self._h)  # fmt: skip
                if account:
                    loss = kinetic_energy(self._model, velocity) - kinetic_energy(self._model, found.velocity)
                    state.ledger.external += found.work
                    state.ledger.impact += loss + found.work
                self._step.quality.enter(self._h * found.defect, 0.0, end, self._step.pressing(touched))
                velocity, impulse[chosen] = found.velocity, found.impulse
                second = second + self._scheme.acceleration_per_velocity * (found.rate - rate)
                rate = found.rate
        memory.stored = booked(self._step.laws, touched, memory.stored).stored
        memory.history = later(memory.history, self._step.laws, touched, self._h)
        memory.pushes = _pushes(touched, impulse, self._h)
        memory.pose, memory.rate, memory.second = self._pose, rate, second
        return velocity

    def _decided_by_velocity(self, touched: Touched) -> NDArray[np.bool_]:
        """Tell which contacts have impulses that velocities decide: exact ones, and exact friction."""
        laws, law = self._step.laws, touched.rows.law
        soft = laws.soft[law]
        rubs = (laws.friction[law] > 0.0) & (laws.slip_speed[law] == 0.0)
        return np.asarray((touched.parting > 0.0) | ((touched.multiplier[:, 0] > 0.0) & (~soft | rubs)))

    def statistics(self) -> dict[str, Any]:
        """Return the contacts of the last step, and how well they were solved in all of them."""
        count = 0 if self._touched is None else int(np.count_nonzero(self._touched.multiplier[:, 0] > 0.0))
        return {"contacts": count} | self._step.quality.entries()

    def save(self) -> dict[str, Array]:
        """Return the lists of the search."""
        return self._step.search.save()

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
        self._step.search.restore(saved)


def _pushes(touched: Touched | None, impulse: Array | None, h: float) -> Pushes:
    if touched is None or impulse is None:
        return Pushes.none()
    pushing = np.any(impulse != 0.0, axis=1)
    rows = touched.rows.kept(pushing)
    force = impulse[pushing] / h
    places = rows.point + rows.gap[:, None] * rows.frame[:, 0]  # moments are those of forces at nodes
    return Pushes(rows.node, rows.on_nodes(force), rows.tool, places, rows.forces(force))
