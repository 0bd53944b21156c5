"""The papers' first-order system of a body with supports, contact and volume constraints (spec 2.2; 5.5 to 5.23).

    u' = v,     w_a' = -w_a/tau_a + g_a e(v)
    [ M   -A ] [v']   [ f - sum J (g_inf e(u) + sum_a w_a + eta e(v)) ]
    [-A^T  0 ] [L ] = [ A^T (2 om v + om^2 u) - (s'' + 2 om s' + om^2 s) ]

in the form without the surplus identity rows of the print (E13). A has a unit column for every held component with
the motion s of its support, the normal of every contact, and the gradient of every further constraint. The three
are eliminated in this order by Schur complements, see `constraints.stabilisation`. L are the forces of reaction.

The state of a body is one vector y = (u, v, W_ext, W_diss, w): the work done from outside and the energy lost to
dashpots are integrated by the rule itself, so that their balance is as accurate as the motion.

Which nodes touch which tools during an explicit step, and what happens when they meet (spec 2.2, 8).

A node enters when its gap is gone, leaves when its tool would have to pull. At the meeting, and at a kink in the
tool's motion, impact is inelastic: the smallest impulses p >= 0 along the normals after which nothing moves into a
tool, S p + g' >= 0, p . (S p + g') = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.sparse import csr_matrix, vstack

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.links import LinkConstraints
from rheotwin.constraints.motion import motion_rates
from rheotwin.constraints.stabilisation import (
    INDEPENDENT,
    REGULARISATION,
    ConstrainedInertia,
    Constraint,
    FactorisedInertia,
    GapMotion,
    Inertia,
    LumpedInertia,
    gap_motion,
    stabilised_demand,
)
from rheotwin.constraints.tools import tool_gaps
from rheotwin.constraints.unilateral import solve_contact
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact import Contacts
from rheotwin.fem.linear import Choice, factorise
from rheotwin.fem.links import link_report
from rheotwin.fem.model import Model
from rheotwin.fem.state import State, internal_force
from rheotwin.fem.steppers.impulses import contact_rows
from rheotwin.tensors import padded

CONTACT_GAP = 1e-10
"""Gap, as a share of the body's size, below which a node touches: rounding of a tool that starts on the surface."""
NEAR = 1e-12
"""Share of the largest compliance below which a contact counts as unable to move."""


@dataclass(frozen=True)
class Touching:
    """Pairs of a tool and a node (row)."""

    tool: Indices
    node: Indices

    @classmethod
    def none(cls) -> Touching:
        """Return the empty set."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def kept(self, chosen: Flags) -> Touching:
        """Return the chosen pairs."""
        return Touching(self.tool[chosen], self.node[chosen])

    def motion(self, model: Model, time: float, u: Array, v: Array, *, after: bool, slack: float) -> GapMotion:
        """Return gaps and their rates in the state (u, v)."""
        shape = model.points.shape
        points = padded(model.points[self.node] + u.reshape(shape)[self.node])
        velocities = padded(v.reshape(shape)[self.node])
        count = len(self.node)
        out = GapMotion(np.empty(count), np.empty((count, 3)), np.empty(count), np.empty(count))
        for index in np.unique(self.tool):
            mine = self.tool == index
            part = gap_motion(model.tools[index], time, points[mine], velocities[mine], after=after, slack=slack)
            for target, values in zip(vars(out).values(), vars(part).values(), strict=True):
                target[mine] = values
        return out


def touching_pairs(model: Model, time: float, u: Array, before: Contacts) -> tuple[Touching, Flags]:
    """Return the pairs without a gap at `time` [s], those of the last step included, and which of them are new."""
    positions = padded(model.points + u.reshape(model.points.shape))
    known = set(zip(before.tool.tolist(), before.node.tolist(), strict=True))
    pairs = set(known)
    for index, tool in enumerate(model.tools):
        gaps, _ = tool_gaps(tool, time, positions[tool.candidates])
        near = tool.candidates[gaps <= CONTACT_GAP * model.problem.extent]
        pairs.update((index, int(node)) for node in near)
    ordered = sorted(pairs)
    if not ordered:
        return Touching.none(), np.zeros(0, dtype=bool)
    tools, nodes = (np.array(column, dtype=np.int64) for column in zip(*ordered, strict=True))
    return Touching(tools, nodes), np.array([pair not in known for pair in ordered])


class Pressing:
    """The forces or impulses of contacts with normals `rows` on a body of the inverse mass `base`.

    A node that its support holds along the normal cannot give way: there the support wins over the tool. Where
    several contacts press one node along one direction, a share of NEAR on the diagonal decides between them.
    """

    def __init__(self, base: Inertia, rows: csr_matrix) -> None:
        self._base, self.rows, self.columns = base, rows, csr_matrix(rows.T)
        coupling = base.coupling(rows, rows)
        schur = coupling if isinstance(coupling, np.ndarray) else coupling.toarray()
        own = schur.diagonal()
        self._movable = np.flatnonzero(own > NEAR * own.max(initial=0.0))
        square = schur[np.ix_(self._movable, self._movable)]
        shift = NEAR * own[self._movable].sum() / max(1, len(self._movable))
        self._square = 0.5 * (square + square.T) + shift * np.eye(len(square))

    def multipliers(self, demand: Array, *, unilateral: bool) -> Array:
        """Return L of S L + b = 0, or of S L + b >= 0 with L >= 0 and L . (S L + b) = 0."""
        out = np.zeros(len(demand))
        if len(self._movable):
            solve = solve_contact if unilateral else _solve_equal
            out[self._movable] = solve(self._square, demand[self._movable])
        return out

    def changes(self, multipliers: Array) -> Array:
        """Return M^-1 A L: accelerations [m/s2] of forces or velocity changes [m/s] of impulses."""
        return self._base.accelerations(self.columns @ multipliers)


def _solve_equal(square: Array, demand: Array) -> Array:
    return np.asarray(-np.linalg.solve(square, demand))


SLACK = 1e-9
"""Share of a step within which a time counts as that of a kink in a motion."""


@dataclass(frozen=True)
class Response:
    """What the saddle-point system answers at one instant."""

    acceleration: Array
    """v' (size,) [m/s2]."""
    support: Array
    """L of the held components that have mass, in their order [N]."""
    contact: Array
    """L of the contacts [N]."""
    pressed: Array
    """Force (size,) [N] of the contacts."""
    inner: Array
    """Force (size,) [N] of volume constraints, which push inside bodies only."""


class FirstOrderSystem:
    """Right-hand side of the first-order system; om = `frequency` [1/s] stabilises all constraints."""

    def __init__(
        self, model: Model, h: float, frequency: float, extra: Sequence[Constraint], choice: Choice, *, account: bool
    ) -> None:
        self.model, self.frequency, self.extra, self._account = model, frequency, tuple(extra), account
        self._links = sum(item.count for item in self.extra if isinstance(item, LinkConstraints))
        self._link_share = INDEPENDENT if self._links and link_report(model).independent else REGULARISATION
        self._slack = SLACK * h
        mass = model.mass.diagonal()
        require_mass(model)
        self.held = np.flatnonzero(model.held & (mass > 0.0))
        rows = csr_matrix(
            (np.ones(len(self.held)), (np.arange(len(self.held)), self.held)), (len(self.held), model.size)
        )
        self.inertia, self.supported = _inertias(model, mass, rows, choice)
        self.supports = ConstrainedInertia(self.inertia, rows)
        self._last: tuple[bytes, Pressing] | None = None
        self._memories = [[memory.shape for memory in body] for body in State.at_rest(model).memories]
        self._ends = np.cumsum([int(np.prod(shape)) for body in self._memories for shape in body], dtype=np.int64)

    def packed(self, state: State) -> Array:
        """Return y."""
        memories = [memory.ravel() for body in state.memories for memory in body]
        return np.concatenate([state.u, state.v, [state.ledger.external, state.ledger.dissipated], *memories])

    def unpack(self, y: Array, state: State) -> None:
        """Write y into a state."""
        n = self.model.size
        state.u, state.v = y[:n].copy(), y[n : 2 * n].copy()
        state.ledger.external, state.ledger.dissipated = float(y[2 * n]), float(y[2 * n + 1])
        state.memories = [[memory.copy() for memory in body] for body in self._memories_of(y)]

    def _memories_of(self, y: Array) -> list[list[Array]]:
        """Return the histories in y, as views, body by body."""
        pieces = iter(np.split(y[2 * self.model.size + 2 :], self._ends))
        return [[next(pieces).reshape(shape) for shape in shapes] for shapes in self._memories]

    def rate(self, y: Array, time: float, touching: Touching, *, after: bool) -> Array:
        """Return y' with all of `touching` kept in contact."""
        model, n = self.model, self.model.size
        u, v, memories = y[:n], y[n : 2 * n], self._memories_of(y)
        loads = model.applied(time)
        answer = self.respond(loads - internal_force(model, u, v, memories), u, v, time, touching, after=after)
        out = np.empty_like(y)
        out[:n], out[n : 2 * n] = v, answer.acceleration
        out[2 * n : 2 * n + 2] = self._powers(v, memories, loads, answer) if self._account else 0.0
        grown = chain(*self._memories_of(out))
        for (term, rows), memory, target in zip(model.terms, chain(*memories), grown, strict=True):
            if len(memory):
                strengths, times = np.array(term.channel.strengths), np.array(term.channel.times)
                target[:] = strengths[:, None] * term.measure(v[rows]) - memory / times[:, None]
        return out

    def respond_to(self, y: Array, time: float, touching: Touching, *, after: bool, unilateral: bool) -> Response:
        """Return the answer to a state; `unilateral` lets contacts that would pull go."""
        n = self.model.size
        u, v = y[:n], y[n : 2 * n]
        force = self.model.applied(time) - internal_force(self.model, u, v, self._memories_of(y))
        return self.respond(force, u, v, time, touching, after=after, unilateral=unilateral)

    def respond(
        self,
        force: Array,
        u: Array,
        v: Array,
        time: float,
        touching: Touching,
        *,
        after: bool,
        unilateral: bool = False,
    ) -> Response:
        """Solve the saddle-point system for the force [N] of everything but constraints."""
        place, speed, acceleration = self.support_motion(time, after=after)
        demand = stabilised_demand(u[self.held] - place, v[self.held] - speed, -acceleration, self.frequency)
        volumes = self._volumes(u, v)

        def supported(total: Array) -> tuple[Array, Array]:
            free, support = self.supports.response(self.inertia.accelerations(total), demand)
            free[self.held] = -demand  # what rounding leaves of it, where a light body is held by large forces
            return free, support

        def without_contact(total: Array) -> tuple[Array, Array, Array]:
            free, support = supported(total)
            if volumes is None:
                return free, support, np.zeros_like(total)
            constrained, wanted = volumes
            multipliers = constrained.multipliers(free, wanted)
            extra = constrained.columns @ multipliers
            inside = len(multipliers) - self._links  # these come first, links last
            inner = constrained.columns[:, :inside] @ multipliers[:inside]
            return *supported(total + extra), np.asarray(inner)

        found, support, inner = without_contact(force)
        contact, pressed = np.zeros(0), np.zeros_like(force)
        if len(touching.node):
            gaps = touching.motion(self.model, time, u, v, after=after, slack=self._slack)
            pressing = self.pressing(touching, gaps.normal, None if volumes is None else volumes[0])
            wanted = stabilised_demand(gaps.gap, gaps.rate, gaps.second, self.frequency) + pressing.rows @ found
            contact = pressing.multipliers(wanted, unilateral=unilateral)
            pressed = pressing.columns @ contact
            found, support, inner = without_contact(force + pressed)
        return Response(found, support, contact, pressed, inner)

    def support_motion(self, time: float, *, after: bool) -> tuple[Array, Array, Array]:
        """Return s, s' and s'' of the held components at `time` [s]."""
        model, motions = self.model, [item.motion for item in self.model.problem.prescribed]
        rates = [motion_rates(motion, time, after=after, slack=self._slack) for motion in motions]
        speed, acceleration = (model.followed([rate[k] for rate in rates])[self.held] for k in range(2))
        return model.prescribed(time)[self.held], speed, acceleration

    def pressing(self, touching: Touching, normal: Array, volumes: ConstrainedInertia | None) -> Pressing:
        """Return the contact problem of pairs with normals (n, 3); a tool that does not turn poses the same again."""
        if volumes is not None:
            return Pressing(volumes, contact_rows(self.model, touching.node, normal))
        key = touching.node.tobytes() + normal.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, Pressing(self.supported, contact_rows(self.model, touching.node, normal))
        return self._last[1]

    def yielding(self, u: Array, v: Array) -> ConstrainedInertia | None:
        """Return the inverse mass of what supports and further constraints leave free, if there are any of these."""
        volumes = self._volumes(u, v)
        return None if volumes is None else volumes[0]

    def _volumes(self, u: Array, v: Array) -> tuple[ConstrainedInertia, Array] | None:
        """Return the further constraints in the present shape, with what they demand."""
        if not self.extra:
            return None
        positions = self.model.points + u.reshape(self.model.points.shape)
        velocities = v.reshape(self.model.points.shape)
        gradients = [constraint.gradient(positions) for constraint in self.extra]
        demands = [
            stabilised_demand(
                constraint.value(positions), gradient @ v, constraint.curvature(positions, velocities), self.frequency
            )
            for constraint, gradient in zip(self.extra, gradients, strict=True)
        ]
        rows = vstack(gradients, format="csr")
        share: float | Array = REGULARISATION
        if self._links:
            share = np.repeat([REGULARISATION, self._link_share], [rows.shape[0] - self._links, self._links])
        constrained = ConstrainedInertia(self.supported, rows, regularisation=share)
        return constrained, np.concatenate(demands)

    def _powers(self, v: Array, memories: list[list[Array]], loads: Array, answer: Response) -> tuple[float, float]:
        """Return the power [W] done from outside, and lost in dashpots: sum eta e'Je + w'Jw/(g tau)."""
        done = float((loads + answer.pressed) @ v + answer.support @ v[self.held])
        lost = 0.0
        for (term, rows), memory in zip(self.model.terms, chain(*memories), strict=True):
            channel = term.channel
            if channel.viscosity:
                measure = term.measure(v[rows])
                lost += channel.viscosity * term.product(measure, measure)
            for strength, time, w in zip(channel.strengths, channel.times, memory, strict=True):
                lost += term.product(w, w) / (strength * time)
        return done, lost


def require_mass(model: Model) -> None:
    """Refuse unknowns without mass."""
    if np.any(model.mass.diagonal()[model.free] <= 0.0):
        raise RheotwinError(
            "solvers.fem.stepper: explicit rules need a mass on every unknown, which the bubbles of mini elements and "
            "the out-of-plane strains of plane stress with unequal Poisson ratios have not; choose the stepper "
            '"midpoint"'
        )


def _inertias(model: Model, mass: Array, rows: csr_matrix, choice: Choice) -> tuple[Inertia, Inertia]:
    """Return the inverse mass without and with supports at rest."""
    if model.lumped:
        inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0.0)
        return LumpedInertia(inverse), LumpedInertia(np.where(model.held, 0.0, inverse))
    whole = FactorisedInertia(factorise(model.mass, choice).solve)
    return whole, ConstrainedInertia(whole, rows)
