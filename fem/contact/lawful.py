"""Contact as a part of an implicit stepper: it bends the step, the velocities after it and the account."""

from __future__ import annotations

from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.setup import POSE_SIZE, ContactSetup, poses_at
from rheotwin.fem.contact.columns import NodeColumns
from rheotwin.fem.contact.free_tools import FreeTools, backward_euler
from rheotwin.fem.contact.impact import MISSED, WORK, Impact
from rheotwin.fem.contact.law_force import Instant
from rheotwin.fem.contact.memory import Contacts, Memory, Past, Pushes
from rheotwin.fem.contact.rows import FRAME, NODE, SLOT, TOOL
from rheotwin.fem.contact.step import BY_EXACT, DAMPED, RUBBED, STORED, ContactStep
from rheotwin.fem.model import SAME_TIME, Model
from rheotwin.fem.state import State, kinetic_energy
from rheotwin.fem.steppers.schemes import Scheme


def setup_of(model: Model) -> ContactSetup:
    """Return the contact of a model; tools of a scene without laws for it are exact and frictionless."""
    return model.problem.contact or ContactSetup.exact(len(model.tools))


class ExactTools:
    """Tools of a scene without laws: contacts of a step are handed on, who takes velocities for those of supports."""

    def __init__(self, model: Model, h: float, columns: NodeColumns) -> None:
        self._model = model
        self._step = ContactStep(model, setup_of(model), columns, Instant(h, 1.0, False), 1.0, lenient=True)
        self._keys = np.concatenate([np.zeros(0, np.int64), *map(self._key, range(len(model.tools)), self._candidates)])

    @property
    def _candidates(self) -> list[Indices]:
        return [tool.candidates for tool in self._model.tools]

    def _key(self, tool: Any, node: Indices) -> Indices:
        """Return one number for pairs of a tool and a node."""
        return np.asarray(tool * len(self._model.points) + node)

    def step(self, state: State, du: Array, *, begin: float, end: float) -> tuple[Array, Contacts]:
        """Return the increment with contact for one without, and the contacts."""
        if not self._model.tools:
            return du, Contacts.none()
        step, known, tools = self._step, state.contacts, self._model.tools
        before, pose = (poses_at(tools, time) for time in (begin, end))
        past = Past.none(step.slots)
        past.force[np.isin(self._keys, self._key(known.tool, known.node)), 0] = known.multiplier
        memory = Memory(Pushes.none(), past, before, before, before)
        du, _ = step.solve(state.u, du, memory, pose, end, (du, du, before))
        rows, pressing = step.solved.rows, np.flatnonzero(step.pressing)
        order = pressing[np.argsort(rows.who[pressing, SLOT])]
        who = rows.who[order]
        return du, Contacts(who[:, TOOL], step.near[who[:, NODE]], rows.push[order, 0, FRAME], step.solved.force[order])


class LawfulContact:
    """Contact of a model whose scene has laws for it, in steps of `h` [s] of a scheme."""

    def __init__(
        self, model: Model, scheme: Scheme, h: float, columns: NodeColumns, mass: NodeColumns | None, ease: Array | None
    ) -> None:
        """Prepare; `columns` are those of the inverse of the step's matrix, see `Impact` for the others."""
        self._model, self._scheme, self._h = model, scheme, h
        rule = (scheme.inertia, scheme.velocity, scheme.acceleration) if scheme.dynamic else backward_euler(h)
        self._tools = FreeTools(model.tools, scheme.load_share, *rule, slack=SAME_TIME * model.problem.scene.duration)
        instant = Instant(h, scheme.load_share, scheme.dynamic and scheme.load_share == 0.5)
        self._step = ContactStep(model, setup_of(model), columns, instant, rule[0][0])
        self._impact = Impact(model, self._step, mass, ease, h)
        self._pose = np.zeros((len(model.tools), POSE_SIZE))
        self.save, self.restore = self._step.save, self._step.restore

    def memory(self, state: State) -> Memory:
        """Return what contact remembers of a state, from its beginning if this is the first step."""
        if state.touch is None:
            state.touch = Memory.at_start(self._model.tools, self._step.slots)
        return state.touch

    def step(self, state: State, du: Array, *, begin: float, end: float) -> tuple[Array, Contacts]:
        """Return the increment with contact for one without; no contact of the exact kind is left."""
        memory = self.memory(state)
        pose = self._tools.predicted(memory, begin, end)
        on_du, on_v, on_a = self._scheme.velocity
        velocity = on_du * du + on_v * state.v + on_a * state.acceleration
        motion = state.v, velocity, self._tools.rates(memory, pose, end)[0]
        du, self._pose = self._step.solve(state.u, du, memory, pose, end, motion)
        return du, Contacts.none()

    @property
    def nodes(self) -> Indices:
        """Rows of the model that take part in the contacts of the step."""
        node = self._step.solved.rows.who[: self._step.count, NODE:TOOL]
        return np.asarray(self._step.near[np.unique(node[node >= 0])])

    def enter_work(self, state: State) -> None:
        """Book what contact took of the work from outside, on top of what the bodies felt of it."""
        taken, ledger = self._step.work.course, state.ledger
        ledger.external += float(taken[STORED : RUBBED + 1].sum()) - self.memory(state).stored
        ledger.dissipated += float(taken[DAMPED])
        ledger.impact += float(taken[BY_EXACT])
        ledger.friction += float(taken[RUBBED])

    def struck(self, state: State, velocity: Array, end: float, *, account: bool) -> Array:
        """Return the velocity after impacts; with it the step is over, and `state` remembers its contacts."""
        memory, impact, step = self.memory(state), self._impact, self._step
        rate, second = self._tools.rates(memory, self._pose, end)
        struck, memory.history, memory.pushes = impact.end(velocity, rate)
        if account:
            work = float(impact.told[WORK])
            loss = kinetic_energy(self._model, velocity) - kinetic_energy(self._model, struck)
            state.ledger.external += work
            state.ledger.impact += loss + work
        step.quality.enter(self._h * float(impact.told[MISSED]), 0.0, end, step.names())
        memory.stored = float(step.work.course[STORED])
        memory.second = second + self._scheme.acceleration_per_velocity * (impact.rate - rate)
        memory.pose, memory.rate = self._pose, impact.rate.copy()
        return struck

    def statistics(self) -> dict[str, Any]:
        """Return the contacts of the last step, and how well they were solved in all of them."""
        return {"contacts": int(np.count_nonzero(self._step.pressing))} | self._step.quality.entries()
