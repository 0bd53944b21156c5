"""Implicit steps of bodies with laws at points: Newton's method around the linear step with contact.

With F(du) the nodal forces of these laws at the share of the step that the rule balances, and T = dF/d(du), a round is
the linear step of all else, contact and links included, with F_k + T_k (du - du_k):

    [m M + sum kappa J + T_k] du = f + history - F_k + T_k du_k + N lambda

What is then amiss is F(du) - F_k - T_k (du - du_k). A matrix that still serves is kept: factors and the columns that
contact knows cost more than a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import block_diag, csr_matrix

from rheotwin.arrays import Array
from rheotwin.errors import Diverged
from rheotwin.fem.body import LinearBody
from rheotwin.fem.linear import Choice
from rheotwin.fem.model import Model
from rheotwin.fem.points import PointTerm
from rheotwin.fem.state import State
from rheotwin.fem.steppers.implicit import ImplicitStepper
from rheotwin.fem.steppers.schemes import Scheme

TANGENT, CSR = "tangent_", ("data", "indices", "indptr")
"""Names under which a checkpoint has the tangent of the last steps."""
ROUNDS = 40
"""Rounds before a step is given up."""
AMISS = 1e-9
"""Share of the largest nodal force that may be amiss."""
CYCLES = 8
"""Rounds after which a new tangent is the mean with the old one: between both sides of a kink rounds would cycle."""
ROUNDING = 64.0 * float(np.finfo(float).eps)
"""Share of stiffness times displacement that rounding leaves amiss."""
SERVES = 0.05
"""Fall of what is amiss in a round, above which the matrix is made new."""


class YieldingStepper(ImplicitStepper):
    """Steps of a model some of whose laws are asked at points."""

    def __init__(self, model: Model, scheme: Scheme, h: float, choice: Choice, *, account: bool = True) -> None:
        self._rounds = self._matrices = 0
        self._force = np.zeros(model.size)
        rest = State.at_rest(model)
        self._share = scheme.load_share
        tangent = self._answer(model, rest, np.zeros(model.size), h)[1]
        super().__init__(model, scheme, h, choice, account=account, remember=False, added=tangent)
        self._tangent = tangent

    def statistics(self) -> dict[str, Any]:
        """Return scheme, linear solver and how hard the steps were to solve."""
        return super().statistics() | {"newton_rounds": self._rounds, "matrices": 1 + self._matrices}

    def save(self) -> dict[str, Array]:
        """Return the tangent that still serves, too."""
        kept = self._tangent
        return super().save() | {f"{TANGENT}{name}": np.array(getattr(kept, name)) for name in CSR}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
        super().restore(saved)
        data, indices, indptr = (np.array(saved[f"{TANGENT}{name}"]) for name in CSR)
        self._renew(csr_matrix((data, indices, indptr), shape=self._tangent.shape))

    @staticmethod
    def _points(model: Model, state: State) -> Iterator[tuple[PointTerm, slice, list[Array], int]]:
        """Iterate over laws at points, the components of their bodies, and where their memory is."""
        for (body, rows), memories in zip(model.parts(), state.memories, strict=True):
            assert isinstance(body, LinearBody)
            for k, points in enumerate(body.points, start=len(body.terms)):
                yield points, rows, memories, k

    def _answer(self, model: Model, state: State, du: Array, h: float) -> tuple[Array, csr_matrix]:
        """Return F and T of an increment, its symmetric part where contact wants a symmetric compliance."""
        force = np.zeros(model.size)
        blocks: dict[int, Any] = {rows.start: csr_matrix((rows.stop - rows.start,) * 2) for _, rows in model.parts()}
        for points, rows, memories, k in self._points(model, state):
            found = points.respond(state.u[rows], du[rows], memories[k], h, self._share)
            force[rows] += points.force(found.stress)
            blocks[rows.start] = blocks[rows.start] + points.tangent(found.modulus)
        tangent = block_diag(list(blocks.values()), format="csr")
        return force, (0.5 * (tangent + tangent.T)).tocsr() if model.tools or model.problem.contact else tangent

    def _renew(self, tangent: csr_matrix) -> None:
        """Take another tangent; the columns of its inverse are found when they are asked for."""
        self._tangent, self._matrix = tangent, self._prepared(tangent)
        self._columns.place[:] = -1
        self._matrices += 1

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` over one step."""
        model, h = self._model, self._h
        loads = model.applied(begin + self._share * (end - begin))
        history = self._history_force(state)
        touch = partial(self._contact.step, state, begin=begin, end=end)
        held = np.where(model.held, model.prescribed(end) - state.u, 0.0)
        du, before = np.zeros(model.size), np.inf
        force, tangent = self._answer(model, state, du, h)
        for round_ in range(ROUNDS):
            self._rounds += 1
            right = loads + history - force + self._tangent @ (du - held) - self._matrix.apply(held)
            new = held + self._matrix.solve(right)
            new, contacts = touch(new) if self._links is None else self._links.step(state.u, new, touch)
            expected = force + self._tangent @ (new - du)
            force, tangent = self._answer(model, state, new, h)
            off = np.where(model.held, 0.0, force - expected)
            amiss, scale = float(np.abs(off).max()), max(float(np.abs(f).max()) for f in (force, loads, history))
            du = new
            rounding = (
                ROUNDING * float(np.abs(tangent.diagonal()).max()) * float(np.abs(state.u).max() + np.abs(du).max())
            )
            if amiss <= max(AMISS * scale, rounding):
                break
            if (round_ and amiss > SERVES * before) or not np.isfinite(amiss):
                self._renew(tangent if round_ < CYCLES else 0.5 * (tangent + self._tangent))
            before = amiss
        else:
            raise self._diverged(state, off, end)
        self._force = force
        if self._account:
            self._enter_work(state, du, contacts, loads, history - force)
        u = state.u.copy()
        self._accept(state, du, contacts, end)
        self._move_on(state, u, du)

    def _move_on(self, state: State, u: Array, du: Array) -> None:
        """Let laws at points remember the step from `u`; without inertia their work comes from outside."""
        for points, rows, memories, k in self._points(self._model, state):
            memories[k], work, lost = points.after(u[rows], du[rows], memories[k], self._h)
            if self._account:
                state.ledger.dissipated += lost
                state.ledger.external += 0.0 if self._scheme.dynamic else work

    def _diverged(self, state: State, off: Array, end: float) -> Diverged:
        """Say where and when no solution was found, and what helps."""
        problem = self._model.problem
        node = int(np.argmax(self._model.at_vertices(np.abs(off)).max(axis=1)))
        body = problem.body_of(node)
        return Diverged(
            time=end,
            body=body.name,
            node=node - body.first_node,
            position=tuple(float(x) for x in problem.points[node]),
            advice=f"no solution in {ROUNDS} Newton rounds; reduce solvers.fem.step or refine the mesh there",
        )
