"""Central differences with exponential memory: explicit, order 2 but for eta (spec 2.3, integrator 4).

    v(t + h/2) = v(t - h/2) + h M^-1 (f - sum J s),   u += h v,   s = g_inf u + sum w + eta v

with w exact for constant v. Stable below `stable_step`; masses lumped. All steps up to the next output are one
call of a compiled loop. Between calls the state's `rate` is the velocity of the last half step, which is what the
dashpots feel; its `v`, `acceleration` and contacts belong to the full step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.contact.lumped import Contact, warn_of_loose_contacts
from rheotwin.constraints.contact.mobility import PRESSED, TANGENT
from rheotwin.constraints.contact.pack import (
    eased,
    grown,
    pack_contact,
    restore_contact,
    save_contact,
    smallest_spacing,
)
from rheotwin.constraints.contact.springs import contact_stiffness, has_contact_springs
from rheotwin.constraints.grabs import Grabs, pack_grabs
from rheotwin.constraints.motion import Tables, at_rest
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact import Contacts
from rheotwin.fem.contact.memory import Memory, Past, Pushes
from rheotwin.fem.fast.explicit_boundary import (
    BY_SPRINGS,
    CLOSED,
    OUTSIDE,
    RUBBED,
    Boundary,
    Touching,
    pack_boundary,
    spring_energy,
    tool_forces,
    touching,
)
from rheotwin.fem.fast.explicit_loop import ExplicitModel, ExplicitState
from rheotwin.fem.fast.explicit_terms import Terms, stable_step
from rheotwin.fem.model import FREE, Model
from rheotwin.fem.state import State, stored_energy
from rheotwin.solver import RUNAWAY
from rheotwin.tensors import padded


def pushes_of(contact: Contact, kick: float) -> Pushes:
    """Return the pairs that pushed for `kick` [s], on the rows of the model."""
    pairs, count = contact.contacts.pairs, int(contact.contacts.pairs.count[0])
    rows = contact.contacts.impulses.rows[:count]
    chosen = np.flatnonzero(rows[:, PRESSED] > 0.0)
    node, rows = pairs.node[chosen], rows[chosen]
    impulse = rows[:, PRESSED, None] * pairs.normal[chosen] + rows[:, TANGENT : TANGENT + 3]
    there = node >= 0
    weight = np.where(there, pairs.weight[chosen], 0.0)
    return Pushes(
        node=np.where(there, contact.places[node], 0),
        push=weight[:, :, None] * (impulse / kick)[:, None, :],
        tool=pairs.tool[chosen],
        point=pairs.point[chosen] + pairs.gap[chosen, None] * pairs.normal[chosen],
        force=impulse / kick,
    )


def pack_model_contact(model: Model) -> Contact | None:
    """Return the contact of a model, on its own masses and supports; None where the problem has no laws."""
    if model.problem.contact is None:
        return None
    contact = pack_contact(model.problem)
    rows, d = model.vertex_rows, model.dimension
    if len(rows) != len(model.points):
        raise RheotwinError(
            "solvers.fem.order: contact by laws with central differences is between vertices that hang on no edge; "
            'choose order = 1 without `finer`, or the stepper "midpoint"'
        )
    free = model.owners[rows] == FREE
    ease = np.zeros((len(rows), 3))
    ease[:, :d] = free / model.mass.diagonal().reshape(-1, d)[rows]
    contact = eased(contact, ease)
    contact.response[:] = 0.0  # the account of energy, and results, ask for pairs
    return contact._replace(places=rows)


def contact_springs(model: Model) -> Array | None:
    """Return the stiffness (N d,) [N/m] that contact adds to components; None without springs."""
    if not has_contact_springs(model.problem):
        return None
    stiffness = contact_stiffness(model.problem)
    found = np.zeros(model.points.shape)
    found[model.vertex_rows] = stiffness[:, None]
    return found.ravel()


TAKEN, PULLED = "contact_taken", "pulled"
"""Names of the energy that contact took and of what hands did, among what is saved."""


class CentralDifference:
    """Takes explicit steps of `h` [s]; `account` keeps the account of energy."""

    def __init__(self, model: Model, h: float, *, account: bool = True) -> None:
        self._model, self._h, self._account = model, h, account
        boundary, springs = explicit_boundary(model), contact_springs(model)
        self._full_pull = boundary.grabs.done.copy()
        self._explicit = ExplicitModel.build(boundary, explicit_terms(model), h, springs=springs)
        if h > self.stable_step:
            raise RheotwinError(
                f"solvers.fem.step: {h:.6g} s is above the stable step of {self.stable_step:.6g} s; "
                f'choose at most {0.9 * self.stable_step:.3g}, leave it out, or choose the stepper "midpoint"'
            )
        self._world = self._explicit.start()
        contact = pack_model_contact(model)
        if contact is not None:
            self._put(touching(contact, accounts=True))
        self._explicit.advance(self._world, 0, 0, account=account)  # compiles now, not in the first step

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]."""
        return self._explicit.stable_step

    def statistics(self) -> dict[str, Any]:
        """Return scheme and size, and how often contacts were left before they had settled."""
        contact = self._touching.contact
        loose = {} if contact.idle else {"contacts_loose": int(contact.contacts.impulses.visits[4])}
        return {
            **loose,
            "scheme": "central differences",
            "unknowns": len(self._model.free),
            "products_per_step": self._explicit.terms,
        }

    @property
    def pulled(self) -> Array:
        """What hands do at the full step (G, 4): force [N], and work up to the half step behind [J]."""
        return self._full_pull

    def pulled_nodes(self) -> Array:
        """Return the forces (N d,) [N] of the hands on the nodes at the full step."""
        grabs, found = self._explicit.boundary.grabs, np.zeros(self._model.points.shape)
        for row, force in enumerate(self.pulled[:, : self._model.dimension]):
            np.add.at(found, grabs.places[grabs.node[row]], grabs.weight[row][:, None] * force)
        return found.ravel()

    def live_arrays(self) -> tuple[Grabs, Tables]:
        """Return the points hands hold and the motions of tools, as the next step will read them."""
        return self._explicit.boundary.grabs, self._touching.contact.tools.tables

    @property
    def _touching(self) -> Touching:
        return self._world.outside.touching

    def _put(self, touching: Touching) -> None:
        """Let the loop work on these contacts."""
        self._world = ExplicitState(self._world.motion, self._world.outside._replace(touching=touching))

    def save(self) -> dict[str, Array]:
        """Return what contact remembers; all else that lasts is in the state."""
        touching = self._touching
        saved: dict[str, Array] = {name: np.array(array) for name, array in save_contact(touching.contact).items()}
        saved |= {PULLED: self._world.outside.pulled.copy()} if len(self.pulled) else {}
        return saved | ({TAKEN: touching.taken.copy()} if touching.accounts else {})

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""
        touching = self._touching
        if len(self.pulled):
            self.pulled[:] = self._world.outside.pulled[:] = saved[PULLED]
        if touching.accounts:
            touching.taken[:] = saved[TAKEN]
        contact = restore_contact(touching.contact, saved)
        if contact is not touching.contact:
            self._put(touching._replace(contact=contact))

    def _make_room(self) -> None:
        """Give lists of neighbours twice their room."""
        self._put(self._touching._replace(contact=grown(self._touching.contact)))

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` over one step."""
        self.advance(state, round(begin / self._h), 1)

    def advance(self, state: State, first: int, count: int) -> int:
        """Take `state` over `count` steps from step number `first`; return steps taken, fewer if it ran away."""
        if count <= 0:
            return 0
        before = self.save()
        taken = self._take(state, first, count)
        full = self._explicit.at_full_step(self._world, first + taken)
        while _lacks_room(self._world) or _lacks_room(full):  # take the steps again with more
            self._make_room()
            self.restore(before)
            taken = self._take(state, first, count)
            full = self._explicit.at_full_step(self._world, first + taken)
        self._leave(state, full, first + taken)
        warn_of_loose_contacts(self._touching.contact, "fem")
        return taken

    def _take(self, state: State, first: int, count: int) -> int:
        """Take the loop's arrays over the steps from `state`; return steps taken."""
        self._enter(state, first)
        return self._explicit.advance(self._world, first, count, account=self._account, opened=True)

    def _memories(self, state: State) -> list[tuple[Array, Array]]:
        """Pair the state's histories with their place in the compiled loop's arms."""
        found, size = [], self._model.size
        for (_, rows), memories in zip(self._model.parts(), state.memories, strict=True):
            for k, memory in enumerate(memories):
                place = slice(k * size + rows.start, k * size + rows.stop)
                found.append((memory, self._world.motion.memory[: len(memory), place]))
        return found

    def _enter(self, state: State, first: int) -> None:
        """Copy the state into the loop's arrays."""
        motion = self._world.motion
        motion.displacement[:] = state.u
        motion.velocity[:] = state.rate if first > 0 else state.v
        for memory, place in self._memories(state):
            place[:] = memory
        touching = self._touching
        given = touching.taken[OUTSIDE] if touching.accounts else state.ledger.external
        motion.work[:] = given, state.ledger.absorbed
        self._explicit.refresh(self._world)

    def _leave(self, state: State, full: ExplicitState, step: int) -> None:
        """Copy the loop's arrays into the state, and what the kick ahead says about the full step."""
        before, after = self._world.motion.velocity, full.motion.velocity
        self.pulled[:] = full.outside.pulled
        state.u[:] = self._world.motion.displacement
        state.rate[:] = before
        state.v[:] = after
        forces = full.outside.external + full.outside.exerted - full.motion.force
        state.acceleration[:] = self._explicit.operator.inverse_mass * forces
        for memory, place in self._memories(state):
            memory[:] = place
        state.contacts = self._contacts(full)
        if self._account:
            state.ledger.external, state.ledger.absorbed = (float(work) for work in full.motion.work)
            state.ledger.dissipated = state.ledger.absorbed - stored_energy(self._model, state)
        if self._touching.accounts:
            self._leave_laws(state, full, self._h if step > 0 else 0.5 * self._h)

    def _leave_laws(self, state: State, full: ExplicitState, kick: float) -> None:
        """Copy tools and the pairs of the kick ahead into the state, and book what contact took."""
        laws, ahead = self._touching, full.outside.touching
        motion = laws.contact.contacts.tools.motion
        state.touch = Memory(
            pushes=pushes_of(ahead.contact, kick),
            history=Past.none(0),
            pose=motion.pose.copy(),
            rate=motion.velocity.copy(),
            second=np.zeros_like(motion.pose),
            stored=spring_energy(ahead.contact, self._h),
        )
        if self._account:
            ledger, taken = state.ledger, 0.5 * (laws.taken + ahead.taken)  # half of the kick ahead belongs to the step
            laws.taken[OUTSIDE] = ledger.external
            ledger.impact, ledger.friction = float(taken[CLOSED]), float(taken[RUBBED])
            ledger.dissipated += float(taken[BY_SPRINGS]) - state.touch.stored
            ledger.external += float(taken[:OUTSIDE].sum())  # the work of tools, of which contact took this

    def _contacts(self, full: ExplicitState) -> Contacts:
        """Return the touched pairs of the kick ahead; those under laws are in `State.touch`."""
        touching = full.outside.touching
        tools, force = touching.contact.tools, tool_forces(touching.contact)
        pushed = np.flatnonzero(np.any(force != 0.0, axis=1) & (not touching.accounts))
        tool = np.searchsorted(tools.offset, pushed, side="right") - 1
        multiplier = np.linalg.norm(force[pushed], axis=1)
        normal = force[pushed] / multiplier[:, None]
        return Contacts(tool.astype(np.int64), tools.candidate[pushed], normal, multiplier)


def _lacks_room(world: ExplicitState) -> bool:
    """Tell whether a list of neighbours had too little room."""
    return bool(world.outside.touching.contact.full[0])


def explicit_boundary(model: Model) -> Boundary:
    """Flatten what acts on a model from outside; needs lumped masses."""
    if not model.lumped:
        raise RheotwinError(
            'solvers.fem.mass: central differences need lumped masses; choose mass = "lumped" or another stepper'
        )
    if np.any(model.mass.diagonal()[model.free] <= 0.0):
        raise RheotwinError(
            "solvers.fem.stepper: central differences need a mass at every unknown, which neither bubbles (mini) nor "
            'the out-of-plane strains of plane stress with unequal Poisson ratios have; choose the stepper "midpoint"'
        )
    motions = [item.motion for item in model.problem.prescribed]
    owned = model.owners[model.vertex_rows] == FREE
    ease = padded(owned / model.mass.diagonal().reshape(-1, model.dimension)[model.vertex_rows])
    return pack_boundary(
        grabs=pack_grabs(model.problem.grabs, ease, model.vertex_rows),
        points=model.points,
        masses=model.mass.diagonal(),
        weight=model.weight,
        # What no support but symmetry holds (the axis of a ring) follows one motion more, that of rest.
        owners=np.where(model.held.reshape(model.owners.shape) & (model.owners < FREE), len(motions), model.owners),
        motions=[*motions, at_rest(model.dimension)],
        loads=[(load.rows, load.shares, load.factor) for load in model.loads],
        tools=model.tools,
        runaway=RUNAWAY * model.problem.extent,
        extent=model.problem.extent,
        spacing=smallest_spacing(model.problem),
    )


def explicit_terms(model: Model) -> list[Terms]:
    """Return matrices and channels of every body; refuses terms without a matrix or with histories elsewhere."""
    for term, rows in model.terms:
        if term.matrix is None:
            raise RheotwinError(
                "solvers.fem.stepper: central differences cannot take mixed elements, whose volume has no "
                'finite stiffness to bound the step; choose the stepper "midpoint"'
            )
        if term.state_size != rows.stop - rows.start:
            raise RheotwinError(
                'solvers.fem.history: central differences keep histories at the nodes; choose history = "nodal"'
            )
    return [[(m.tocsr(), t.channel) for t in body.terms if (m := t.matrix) is not None] for body in model.bodies]


def largest_stable_step(model: Model) -> float:
    """Return the largest stable step [s] of a model, to choose one from."""
    boundary, bodies = explicit_boundary(model), explicit_terms(model)
    sizes = [rows.stop - rows.start for _, rows in model.parts()]
    return stable_step(
        bodies, np.split(boundary.nodes.mass, np.cumsum(sizes)[:-1]), model.dimension, contact_springs(model)
    )
