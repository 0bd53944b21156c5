"""Steps of an implicit rule: its constant matrix, held components, contact, update of the state, energy account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import block_array, block_diag, csr_matrix, vstack

from rheotwin.arrays import Array
from rheotwin.fem.body import Term
from rheotwin.fem.contact import Contacts, NodeColumns
from rheotwin.fem.contact.lawful import ExactTools, LawfulContact, setup_of
from rheotwin.fem.contact.step import near_nodes
from rheotwin.fem.fast.solids import SolidStiffness, joined
from rheotwin.fem.linear import Choice, Factor, Kind, Unknowns, WarmStart, factorise
from rheotwin.fem.links import LinkSolver
from rheotwin.fem.model import Model, require_held
from rheotwin.fem.state import State, kinetic_energy
from rheotwin.fem.steppers.impulses import Impulses
from rheotwin.fem.steppers.schemes import ChannelStep, Scheme, end_step

SYMMETRIC = 1e-12
"""Share of the largest entry by which a symmetric tangent may differ from its transpose."""


@dataclass(frozen=True)
class StepMatrix:
    """The operator on all components and its inverse on the free ones."""

    model: Model
    mass_factor: float
    stiffnesses: tuple[float, ...]
    """kappa per term of the model."""
    factor: Factor
    extra: int
    """Rows behind the displacements: pressures of mixed terms."""
    warm: WarmStart | None = None
    """Earlier solutions on the free components, kept where the solver iterates."""

    def apply(self, x: Array) -> Array:
        """Return (m M + sum kappa J) x on all components."""
        out = self.mass_factor * (self.model.mass @ x) if self.mass_factor else np.zeros_like(x)
        for (term, rows), stiffness in zip(self.model.terms, self.stiffnesses, strict=True):
            out[rows] += stiffness * term.force(term.measure(x[rows]))
        return np.asarray(out)

    def solve(self, right: Array) -> Array:
        """Solve for the free components with the held ones at zero; `right` is (size,) or (size, n)."""
        free = self.model.free
        reduced = right[free]
        if self.extra:
            reduced = np.concatenate([reduced, np.zeros((self.extra, *right.shape[1:]))])
        out = np.zeros_like(right)
        out[free] = self.factor.solve(reduced)[: len(free)]
        return out

    def next(self, right: Array, u: Array) -> Array:
        """Return the increment du of one step of a run that stands at `u`.

        An iterative solver looks for u + du, starting from what it has found before: its tolerance is then a share of
        the forces of the whole deformation, not of an increment that may be next to nothing.
        """
        if self.warm is None:
            return self.solve(right)
        free = self.model.free
        whole = right[free] + self.warm.matrix @ u[free]
        solution = self.factor.solve(whole, self.warm.guess(whole))
        self.warm.remember(solution)
        out = np.zeros_like(right)
        out[free] = solution - u[free]
        return out


def step_matrix(
    model: Model,
    mass_factor: float,
    stiffnesses: tuple[float, ...],
    choice: Choice,
    *,
    remember: bool = True,
    added: csr_matrix | None = None,
) -> StepMatrix:
    """Assemble and factorise; `remember` lets an iterative solver start from what it has found before.

    `added` is the tangent of laws at points, which `apply` leaves out.
    """
    solids = _joined_solids(model, mass_factor, stiffnesses) if added is None else None
    if solids is not None:
        factor = factorise(solids, choice, nodes=Unknowns(model.points, model.free))
        warm = WarmStart(factor.matrix) if remember and factor.matrix is not None else None
        return StepMatrix(model, mass_factor, stiffnesses, factor, 0, warm)
    blocks, gradients, masses, kappas = [], [], [csr_matrix((0, 0))], iter(stiffnesses)
    for body, _ in model.parts():
        block, mixed = mass_factor * body.mass, []
        for term, kappa in zip(body.terms, kappas, strict=False):
            if term.matrix is not None:
                block = block + kappa * term.matrix.tocsr()
            elif term.augmentation is not None and kappa:
                mixed.append((term.augmentation, kappa))
        blocks.append(block)
        # One size for stiffnesses and areas, whatever the units: pivots are judged by their size.
        size, rows = float(np.abs(block.diagonal()).max()), [csr_matrix((0, body.space.size))]
        for term_rows, kappa in mixed:
            scale = size / float(np.abs(term_rows.gradient.data).max())
            rows.append(scale * term_rows.gradient)
            masses.append(scale**2 / kappa * term_rows.mass)
        gradients.append(vstack(rows, format="csr"))
    free = model.free
    whole = block_diag(blocks, format="csr") if added is None else (block_diag(blocks, format="csr") + added).tocsr()
    matrix = whole[free][:, free]
    extra = sum(pressure.shape[0] for pressure in masses)
    if added is not None:
        kind: Kind = "unsymmetric" if is_skew(added) else "indefinite"
        factor = factorise(matrix, choice, kind=kind, nodes=Unknowns(_places(model), free))
    elif extra:
        gradient = block_diag(gradients, format="csr")[:, free]
        matrix = block_array([[matrix, gradient.T], [gradient, -block_diag(masses)]], format="csr")
        factor = factorise(matrix, choice, kind="indefinite", nodes=Unknowns(_places(model), free))
    else:
        factor = factorise(matrix, choice, nodes=Unknowns(model.points, free))
    warm = WarmStart(factor.matrix) if remember and factor.matrix is not None else None
    return StepMatrix(model, mass_factor, stiffnesses, factor, extra, warm)


def is_skew(tangent: csr_matrix) -> bool:
    """Tell whether a tangent of laws at points is symmetric up to rounding only in part."""
    return float(abs(tangent - tangent.T).max()) > SYMMETRIC * float(abs(tangent).max())


def _places(model: Model) -> Array:
    """Return the points (rows, d) [m], no numbers for rows that are no nodes."""
    found = model.points.copy()
    for body, first in zip(model.bodies, model.first_rows, strict=True):
        found[first + body.space.nodes : first + body.space.rows] = np.nan
    return found


def _joined_solids(model: Model, mass_factor: float, stiffnesses: tuple[float, ...]) -> SolidStiffness | None:
    """Return m M + sum kappa J as one operator, where all cells are straight solids and the mass is a diagonal."""
    parts, kappas = [], iter(stiffnesses)
    for body, rows in model.parts():
        solids = body.space.solids
        if solids is None or (mass_factor and not model.lumped):
            return None
        lame, shear = np.zeros(len(solids.nodes)), np.zeros(len(solids.nodes))
        for term, kappa in zip(body.terms, kappas, strict=False):
            if not isinstance(term.matrix, SolidStiffness):
                return None
            lame[term.cells] += kappa * term.matrix.lame
            shear[term.cells] += kappa * term.matrix.shear
        parts.append((solids, rows.start // 3, lame, shear))
    found = joined(parts, model.size // 3)
    return replace(found, diagonal=mass_factor * model.mass.diagonal()) if mass_factor else found


def _coefficients(scheme: Scheme, term: Term, h: float) -> ChannelStep:
    """Return the coefficients of a channel; that of a rigid term holds at the end of the step."""
    return end_step(term.channel, h) if term.rigid else scheme.channel(term.channel)


class ImplicitStepper:
    """Takes steps of one scheme; its matrix is factorised here, once."""

    stable_step = float("inf")

    def __init__(
        self,
        model: Model,
        scheme: Scheme,
        h: float,
        choice: Choice,
        *,
        account: bool = True,
        remember: bool = True,
        added: csr_matrix | None = None,
    ) -> None:
        self._model, self._scheme, self._h, self._account = model, scheme, h, account
        if not scheme.dynamic:
            require_held(model)
        self._channels = tuple(_coefficients(scheme, term, h) for term, _ in model.terms)
        self._choice, self._remember = choice, remember
        self._matrix = self._prepared(added)
        near = near_nodes(model, setup_of(model))
        self._impulses = Impulses(model, choice, h, near) if scheme.dynamic else None
        self._columns = columns = NodeColumns(lambda x: self._matrix.solve(x), model.dimension, model.size, near)
        self._lawful: LawfulContact | None = None
        if model.problem.contact is not None:
            mass = (None, None) if self._impulses is None else (self._impulses.columns, self._impulses.ease)
            self._lawful = LawfulContact(model, scheme, h, columns, *mass)
        self._contact = self._lawful or ExactTools(model, h, columns)
        impulse = None if self._impulses is None else self._impulses.answer
        self._links = LinkSolver(model, columns, scheme.load_share, impulse) if model.problem.links else None

    def _prepared(self, added: csr_matrix | None) -> StepMatrix:
        """Return the matrix of a step with the tangent of laws at points."""
        stiffnesses = tuple(channel.stiffness for channel in self._channels)
        mass, remember = self._scheme.inertia[0], self._remember
        return step_matrix(self._model, mass, stiffnesses, self._choice, remember=remember, added=added)

    def statistics(self) -> dict[str, Any]:
        """Return scheme and linear solver."""
        extra = {"pressures": self._matrix.extra} if self._matrix.extra else {}
        size = {"scheme": self._scheme.name, "unknowns": len(self._model.free)}
        contacts = {} if self._lawful is None else self._lawful.statistics()
        return size | extra | contacts | self._matrix.factor.describe()

    def save(self) -> dict[str, Array]:
        """Return what an iterative solver starts from."""
        warm, lists = self._matrix.warm, {} if self._lawful is None else self._lawful.save()
        return lists if warm is None else lists | {"warm_start": warm.save()}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
        if self._matrix.warm is not None:
            self._matrix.warm.restore(saved["warm_start"])
        if self._lawful is not None:
            self._lawful.restore(saved)

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` over one step."""
        model = self._model
        loads = model.applied(begin + self._scheme.load_share * (end - begin))
        history = self._history_force(state)
        right = loads + history
        du = np.where(model.held, model.prescribed(end) - state.u, 0.0)
        if np.any(du):
            right = right - self._matrix.apply(du)
        du = du + self._matrix.next(right, state.u)
        touch = partial(self._contact.step, state, begin=begin, end=end)
        du, contacts = touch(du) if self._links is None else self._links.step(state.u, du, touch)
        if self._account:
            self._enter_work(state, du, contacts, loads, history)
        self._accept(state, du, contacts, end)

    def _terms(self, state: State) -> Iterator[tuple[Term, slice, ChannelStep, Array]]:
        """Iterate over terms with their components, coefficients and histories."""
        bodies = zip(self._model.bodies, state.memories, strict=True)
        histories = (memories[: len(body.terms)] for body, memories in bodies)
        for (term, rows), factors, memory in zip(self._model.terms, self._channels, chain(*histories), strict=True):
            yield term, rows, factors, memory

    def _balanced(self, term: Term, factors: ChannelStep, state: State, rows: slice, memory: Array) -> Array:
        """Return e_u u + sum e_w w + e_v v + e_a a, the part of the balanced stress known before the step."""
        known = factors.on_displacement * state.u[rows]
        if factors.on_velocity or factors.on_acceleration:
            known = known + factors.on_velocity * state.v[rows] + factors.on_acceleration * state.acceleration[rows]
        return term.measure(known) + factors.on_memory @ memory

    def _history_force(self, state: State) -> Array:
        """Return M (m_v v + m_a a) - sum J (...): everything on the right but the loads [N]."""
        _, on_v, on_a = self._scheme.inertia
        right = np.zeros(self._model.size)
        if self._scheme.dynamic:
            right += self._model.mass @ (on_v * state.v + on_a * state.acceleration)
        for term, rows, factors, memory in self._terms(state):
            right[rows] -= term.force(self._balanced(term, factors, state, rows, memory))
        return right

    def _accept(self, state: State, du: Array, contacts: Contacts, end: float) -> None:
        """Move the state on by `du`."""
        scheme, h = self._scheme, self._h
        rate = du / h
        velocity, acceleration = (
            by_du * du + by_v * state.v + by_a * state.acceleration
            for by_du, by_v, by_a in (scheme.velocity, scheme.acceleration)
        )
        impulses = self._impulses
        if impulses is not None:
            # A support's own velocity, not du/h: that belongs to mid-step and would make the next step's
            # viscous and inertial forces of order 1.
            target = np.where(self._model.held, self._model.prescribed_rate(end), rate)
            struck = impulses.after(velocity, target, contacts)
            if self._links is not None:
                struck = self._links.struck(state.u + du, struck, lambda v: impulses.after(v, target, contacts))
            acceleration = acceleration + scheme.acceleration_per_velocity * (struck - velocity)
            if self._account:
                loss = kinetic_energy(self._model, velocity) - kinetic_energy(self._model, struck)
                state.ledger.impact += loss
            velocity = struck
        if self._lawful is not None:
            struck = self._lawful.struck(state, velocity, end, account=self._account)
            acceleration = acceleration + scheme.acceleration_per_velocity * (struck - velocity)
            velocity = struck
        state.u += du
        state.v, state.acceleration = velocity, acceleration
        state.rate = velocity if scheme.rate_is_velocity else rate
        state.contacts = contacts
        for term, rows, factors, memory in self._terms(state):
            before = memory.copy() if self._account else None
            memory *= factors.decay[:, None]
            if len(memory):
                memory += factors.gain[:, None] * term.measure(du[rows])
            if before is not None:
                state.ledger.dissipated += self._dissipated(term, du[rows], before, memory)

    def _dissipated(self, term: Term, du: Array, before: Array, after: Array) -> float:
        """Return h (w_mid' J w_mid/(g tau) + eta (du/h)' J (du/h)) [J] with w_mid the mean of the step."""
        channel, total = term.channel, 0.0
        for strength, time, first, last in zip(channel.strengths, channel.times, before, after, strict=True):
            middle = 0.5 * (first + last)
            total += self._h * term.product(middle, middle) / (strength * time)
        if channel.viscosity:
            measure = term.measure(du)
            total += channel.viscosity / self._h * term.product(measure, measure)
        return total

    def _taken_up(self, state: State, du: Array) -> float:
        """Return the work [J] of internal forces: springs and memories by the trapezoidal rule, dashpots at du/h."""
        total = 0.0
        for term, rows, factors, memory in self._terms(state):
            change, channel = term.measure(du[rows]), term.channel
            later = factors.decay @ memory + factors.gain.sum() * change
            solid = channel.equilibrium * (term.measure(state.u[rows]) + 0.5 * change)
            solid = solid + 0.5 * (memory.sum(axis=0) + later)
            total += term.product(solid + channel.viscosity / self._h * change, change)
        return total

    def _enter_work(self, state: State, du: Array, contacts: Contacts, loads: Array, history: Array) -> None:
        """Add the work of loads, supports and tools: f'du + r'du with r the forces on held and touched components.

        Without inertia it is what the bodies take up between two equilibria: forces at the end of each step alone
        would overstate the work of a load that grows by half a step.
        """
        if not self._scheme.dynamic:
            state.ledger.external += self._taken_up(state, du)
            if self._lawful is not None:
                self._lawful.enter_work(state)
            return
        exerted = self._matrix.apply(du) - history - loads
        if self._links is not None:
            exerted -= self._links.force
        outside = self._model.held.copy()
        d = self._model.dimension
        touched = contacts.node if self._lawful is None else self._lawful.nodes
        outside[(touched[:, None] * d + np.arange(d)).ravel()] = True
        state.ledger.external += float(loads @ du + exerted[outside] @ du[outside])
        if self._lawful is not None:
            self._lawful.enter_work(state)
