"""Velocities after a step with contact: M (v' - v) = H' p, so that what touches moves with what it touches.

With P = h lambda + p the impulse of the whole step, rates u = H v - surface:

    exact       u_n >= 0, P_n >= 0, u_n P_n = 0         (u_n >= the rate of parting where the law sends back)
    compliant   P_n = h lambda_n
    friction    u_t = 0 while |P_t| <= mu_s P_n, else |P_t| = mu P_n against u_t; the regularised rule keeps its P_t

Without p the midpoint rule would reflect the velocity of what has stopped for ever.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact.laws import form
from rheotwin.constraints.contact.pairs import NODES
from rheotwin.constraints.contact.tool_motion import pack_drives
from rheotwin.fem.contact import cone, law_force
from rheotwin.fem.contact.columns import NodeColumns, compliance_stages, spread_stage, stages_alone
from rheotwin.fem.contact.law_force import Instant
from rheotwin.fem.contact.memory import Past, Pushes
from rheotwin.fem.contact.quality import ENOUGH
from rheotwin.fem.contact.rows import (
    BEGIN,
    FRAME,
    GAP,
    LAW,
    MOVED,
    PARTING,
    POINT,
    SLOT,
    TOOL,
    Rows,
    along_nodes,
    along_tool,
    copy_row,
    push_tools,
    room_for_rows,
)
from rheotwin.fem.contact.step import MISSING, SOFT, ContactStep, Solved, law_numbers
from rheotwin.fem.model import Model
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage

WORK, MISSED = range(2)
"""Entries of `Impact.told`: work [J] of the impulses p on tools, which driven ones take from outside; by how much the
worst contact misses its law [m/s]."""


class Impact:
    """Ends the steps of `step`; `columns` are those of the inverse mass, None without inertia.

    With `ease` (size,), the inverse of a lumped mass [1/kg], no columns are needed.
    """

    def __init__(
        self, model: Model, step: ContactStep, columns: NodeColumns | None, ease: Array | None, h: float
    ) -> None:
        self._model, self._step, self._columns, self._h = model, step, columns, h
        self._ease = None if ease is None else np.ascontiguousarray(step.at_near(ease))
        self._velocity, self._out, self._missing = (
            np.zeros((len(step.near), 3)),
            np.zeros(model.size),
            np.zeros(MISSING, int),
        )
        self.told, self._before, self.rate = np.zeros(2), *np.zeros((2, len(model.tools), 4))
        self._after, self._impulse = Past.none(step.slots), np.zeros(0)
        self._bound: tuple[Any, ...] = ()

    def end(self, velocity: Array, rate: Array) -> tuple[Array, Past, Pushes]:
        """Return the velocity (size,) [m/s], histories and forces after a step in which tools had `rate` (T, 4) so far.

        `self.rate` is that after it, and `self.told` what was done.
        """
        step, d = self._step, self._model.dimension
        self._before[:], self.rate[:], self.told[:], self._out[:] = rate, rate, 0.0, 0.0
        feature = step.past.feature.copy()
        if step.count == 0:
            return velocity, Past.none(step.slots)._replace(feature=feature), Pushes.none()
        self._velocity[:, :d] = step.at_near(velocity)
        for array in self._after:
            array[:] = 0
        while not self._finished():
            assert self._columns is not None
            self._columns.know(self._missing)
        struck = velocity.copy()
        if self._ease is not None:
            struck.reshape(-1, d)[step.near] = self._velocity[:, :d]
        elif self._columns is not None:
            struck[self._columns.order] += self._out
        history = Past._make(array.copy() for array in self._after)._replace(feature=feature)
        return struck, history, self._pushes()

    def _pushes(self) -> Pushes:
        """Return the forces of the step; moments are those of forces at nodes."""
        step, rows = self._step, self._step.solved.rows
        impulse = self._impulse[: step.count * step.k].reshape(-1, step.k)
        pushing = np.flatnonzero(impulse.any(axis=1))
        push = np.einsum("nk,nkac->nac", impulse[pushing] / self._h, rows.push[pushing])
        who, place = rows.who[pushing], rows.place[pushing]
        point = place[:, POINT : POINT + 3] + place[:, GAP, None] * rows.push[pushing, 0, FRAME]
        return Pushes(step.near[np.maximum(who[:, :NODES], 0)], push[:, :NODES], who[:, TOOL], point, push[:, FRAME])

    def _finished(self) -> bool:
        """Run the program as far as the columns known allow."""
        step, kept = self._step, None if self._columns is None else self._columns.kept
        if not self._bound or self._bound[1] is not step.problem or self._bound[2] is not kept:
            self._bound = Program(self._stages(), 0.0, Clock()), step.problem, kept
        self._bound[0].run(0, 1)
        return self._bound[0].ended_by is None

    def _stages(self) -> list[Stage]:
        step, k, h, best, laws = self._step, self._step.k, self._h, self._step.solved, self._step.laws
        room = len(step.problem.law)
        picked, which = room_for_rows(room, k), np.zeros(room, np.int64)
        impulse = self._impulse = np.zeros(room * k)
        p, tools = step.problem._replace(count=picked.count), pack_drives(self._model.tools).inverse_mass
        force, solving = p.force, list[Stage]()
        if self._columns is not None:
            near = (picked, step.near, self._columns)
            if self._ease is not None:
                solving = stages_alone(picked, self._ease, tools, p.w)
                move = Stage(_move_alone, (picked, force, self._ease, self._velocity))
            else:
                solving = compliance_stages(*near, tools, self._missing, p.w, share=False)
                move = spread_stage(*near, force, self._model.size, self._out)
            # no law is compliant here, but this way the stages are those of the step
            enough = ENOUGH * self._model.problem.extent / h
            instant = Instant(h, 1.0, False) if laws[:, SOFT].any() else None
            solving += [
                Stage(_load, (picked, p.w, p.free, p.force, self._velocity, impulse, which, self._before)),
                *cone.cone_stages(p, k, enough, instant),
                Stage(_account, (picked, p.force, p.course, impulse, which, tools, self._before, self.rate, self.told)),
                move,
            ]
        given, regular = law_numbers(laws, h), laws[:, form.SLIP_SPEED] > 0.0
        given[laws[:, SOFT] > 0.0, law_force.KIND] = law_force.GIVEN
        for column in (law_force.KINETIC, law_force.STATIC, law_force.CREEP):
            given[regular, column] = 0.0
        names, past = form.names_in(laws), step.past
        return [
            Stage(_pick, (best, laws, given, picked, p.law, impulse, which, h, len(solving))),
            *solving,
            Stage(_remembering(names), (best, laws, past.active, past.integral, self._after, impulse, h)),
        ]


@compiled(inside=True, vectors=True)
def _pick(
    best: Solved, laws: Array, given: Array, picked: Rows, numbers: Array, impulse: Array, which: Indices, h: float,
    ahead: int,
) -> int:  # fmt: skip
    """List the contacts with impulses that velocities decide: exact ones, exact friction and bounces."""
    rows, k, count = best.rows, best.rows.push.shape[1], 0
    for i in range(rows.count[0]):
        for e in range(k):
            impulse[i * k + e] = h * best.force[i * k + e]
        law, pressed = rows.who[i, LAW], best.force[i * k] > 0.0
        soft, rubs = laws[law, SOFT] > 0.0, given[law, law_force.KINETIC] > 0.0
        if rows.place[i, PARTING] > 0.0 or (pressed and (rubs or not soft)):
            copy_row(rows, i, picked, count)
            which[count] = i
            for c in range(law_force.NUMBERS):
                numbers[count, c] = given[law, c]
            numbers[count, law_force.SLID] = 1.0 if best.state[i] == cone.SLIDING else 0.0
            count += 1
    picked.count[0] = count
    return 0 if count > 0 else ahead


@compiled(inside=True, vectors=True)
def _load(
    rows: Rows, w: Array, free: Array, force: Array, velocity: Array, impulse: Array, which: Indices, rate: Array
) -> None:
    """Write the rates without any impulse of the step, and begin with those it has."""
    k = rows.push.shape[1]
    for i in range(rows.count[0]):
        for e in range(k):
            force[i * k + e] = impulse[which[i] * k + e]
    for i in range(rows.count[0]):
        for e in range(k):
            rest = along_nodes(rows, i, e, velocity) - along_tool(rows, i, e, rate)
            if e == 0:
                rest -= rows.place[i, PARTING]
            for b in range(k * rows.count[0]):
                rest -= w[i * k + e, b] * force[b]
            free[i * k + e] = rest


@compiled(inside=True, vectors=True)
def _account(
    rows: Rows, force: Array, course: Array, impulse: Array, which: Indices, ease: Array, before: Array, rate: Array,
    told: Array,
) -> None:  # fmt: skip
    """Note the impulses found, leave those on top of the step's in `force`, and give tools their part of these."""
    k = rows.push.shape[1]
    for i in range(rows.count[0]):
        for e in range(k):
            c, whole = i * k + e, force[i * k + e]
            force[c], impulse[which[i] * k + e] = whole - impulse[which[i] * k + e], whole
    push_tools(rows, force, ease, rate)
    told[MISSED] = course[cone.DEFECT]
    for i in range(rows.count[0]):
        for e in range(k):
            both = along_tool(rows, i, e, before) + along_tool(rows, i, e, rate)
            told[WORK] += 0.5 * force[i * k + e] * both


@compiled(inside=True, vectors=True)
def _move_alone(rows: Rows, f: Array, ease: Array, velocity: Array) -> None:
    """Change velocities (N, 3) by impulses on nodes with `ease` (N, d)."""
    k = rows.push.shape[1]
    for i in range(rows.count[0]):
        for a in range(NODES):
            node = rows.who[i, a]
            if node < 0:
                break
            for e in range(k):
                for c in range(ease.shape[1]):
                    velocity[node, c] += ease[node, c] * rows.push[i, e, a, c] * f[i * k + e]


@cache
def _remembering(names: tuple[str, ...]) -> Any:
    """Return the stage that writes histories after a step of `h` [s] with laws of these names.

    J = int g dt since a contact began, at most 0; all others end.
    """
    stays = form.stays_of(names)

    @compiled(inside=True, vectors=True)
    def remember(
        best: Solved, laws: Array, active: Flags, integral: Array, after: Past, impulse: Array, h: float
    ) -> None:
        rows, k = best.rows, best.rows.push.shape[1]
        for i in range(rows.count[0]):
            slot, begin = rows.who[i, SLOT], rows.place[i, BEGIN]
            end, law = begin + rows.place[i, MOVED], form.law_of(laws, rows.who[i, LAW])
            # A gap that closes within the step is negative on a straight path for the share g1/(g1 - g0) of it.
            grown = -0.5 * h * end * end / (begin - end) if begin > 0.0 and end < 0.0 else 0.0
            if active[slot]:
                grown = integral[slot] + 0.5 * h * (begin + end)
            after.active[slot] = stays(law, end, h * best.force[i * k], active[slot])
            after.sliding[slot] = best.state[i] == cone.SLIDING
            after.integral[slot] = min(grown, 0.0) if after.active[slot] else 0.0
            for e in range(k):
                after.force[slot, e] = best.force[i * k + e]

    return remember
