"""Particles on their way, whatever their method: time, boundary, steps, results, checkpoints.

`ParticleSimulation` is what every particle solver starts. A new method is an object of the protocol `Method`:

    step, stable_step   the length of a step, and of the longest stable one [s] (`rheotwin.particles.stability` helps)
    rest_state          a named tuple of arrays: those of `at_rest`, and the method's own memory
    bind                its stages in the order of a step (`rheotwin.particles.steps`), bound to state and boundary
    stresses, stored    its results: stress at nodes [Pa] and energy in springs [J]
    reactions           forces beside those on tools and supports
    statistics          what a user should know

Everything else is here, once. So is the state: where a loop keeps particles in places of its own, that is the state,
and the arrays in the problem's order are filled from it when somebody asks (`Steps`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.contact.exerted import lone_forces
from rheotwin.constraints.contact.lumped import Contact, look_back, warn_of_loose_contacts
from rheotwin.constraints.contact.pack import grown, restore_contact, save_contact
from rheotwin.constraints.grabs import GRAB, Grabs, hand_reactions
from rheotwin.constraints.motion import Tables
from rheotwin.fields import CELL_STRESS
from rheotwin.particles.placed import PlacedBody
from rheotwin.particles.steps import Boundary, Held, pack_boundary, pack_held
from rheotwin.particles.virial import nodal_strain
from rheotwin.problem import Problem, on_supports
from rheotwin.schedule import time_of
from rheotwin.solver import RUNAWAY, check_same_step
from rheotwin.tensors import von_mises


@dataclass(frozen=True)
class Steps:
    """A state and what steps it: take(first, count) advances it from step `first` and returns the steps taken.

    With `body` the particles lie elsewhere and the state is there; `room` then takes what is asked for in the problem's
    order, and holds what the two share.
    """

    room: Any
    take: Callable[[int, int], int]
    about: Callable[[int], dict[str, Any]] = lambda _: {}
    """about(steps): what a manifest should tell of rule and loop after so many steps."""
    body: PlacedBody | None = None

    @property
    def state(self) -> Any:
        """The state as it is now, in the problem's order, to read."""
        if self.body is not None:
            self.body.store(self.room)
        return self.room

    def look(self, name: str) -> Array:
        """Return positions or velocities (N, 3) as they are now, to read, and gather nothing else."""
        if self.body is None:
            return np.asarray(getattr(self.room, name))
        return np.asarray(getattr(self.body.copy, name)[self.body.places], dtype=float)

    def load(self, saved: Mapping[str, Array]) -> None:
        """Take over the arrays of a checkpoint; an older one need not have what is empty."""
        for name, array in flat(self.room).items():
            if array.size:
                array[...] = saved[name]
        if self.body is not None:
            self.body.load(self.room)


class Method(Protocol):
    """What one particle method is; states are named tuples of its own, of arrays and of such tuples."""

    @property
    def name(self) -> str:
        """Name of the solver."""

    @property
    def step(self) -> Fraction:
        """Length of a step [s]."""

    @property
    def stable_step(self) -> float:
        """Largest stable step [s] of the bodies at rest."""

    @property
    def holds_supports(self) -> bool:
        """Whether supports hold by forces of the method; otherwise each step puts held nodes where they belong."""

    def rest_state(self, boundary: Boundary) -> Any:
        """Return the state at rest."""

    def bind(self, state: Any, boundary: Boundary) -> Steps:
        """Bind a state and the boundary to the program that steps them; done anew when lists of contacts grow."""

    def stresses(self, state: Any) -> tuple[Array, Array]:
        """Return the memory stress and the whole stress, averaged to nodes (N, 6) [Pa]."""

    def stored(self, state: Any) -> float:
        """Return the energy in springs [J]."""

    def reactions(self, state: Any) -> dict[str, Array]:
        """Return forces [N] by name beside those on tools and supports."""

    def statistics(self, state: Any, steps: int) -> dict[str, Any]:
        """Return what a manifest should tell about the method after so many steps (plain JSON values)."""


M = TypeVar("M", bound=Method)


def at_rest(rest: Array) -> dict[str, Array]:
    """Return what every state has, at rest positions (N, 3) [m]."""
    found = {name: np.zeros_like(rest) for name in ("velocities", "force", "reaction")}
    return found | {"positions": rest.copy()}


def flat(state: Any) -> dict[str, Array]:
    """Return the arrays of a state by name, those of tuples in it as `tuple.array`."""
    found: dict[str, Array] = {}
    for name, value in state._asdict().items():
        if isinstance(value, tuple):
            found |= {f"{name}.{part}": array for part, array in flat(value).items()}
        else:
            found[name] = value
    return found


class ParticleSimulation(Generic[M]):
    """A running simulation (`rheotwin.solver.Simulation`) of the bodies of a problem by a method."""

    def __init__(self, problem: Problem, method: M) -> None:
        self._problem, self.method = problem, method
        self.step_size, self.stable_step, self.step_count = float(method.step), method.stable_step, 0
        self._held = pack_held(problem)
        put = replace(problem, prescribed=()) if method.holds_supports else problem
        self.boundary = pack_boundary(put, RUNAWAY * problem.extent)
        rest = method.rest_state(self.boundary)
        rest.velocities[:, : problem.dimension] = problem.start_velocities
        self._steps = method.bind(rest, self.boundary)
        self.advance(0.0, 0)  # compiles the loop, so that set-up and not the first step pays for it

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self.method.step, self.step_count)

    @property
    def state(self) -> Any:
        """The method's state as it is now, in the problem's order, to read."""
        return self._steps.state

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._steps.look("positions")[:, : self._problem.dimension]

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._steps.look("velocities")[:, : self._problem.dimension]

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = round(until / self.step_size) - self.step_count
        count, contact = max(0, min(wanted, max_steps)), self.boundary.contact
        before = None if contact.bodies is None else self.save()
        taken = self._take(count)
        while before is not None and self.boundary.contact.full[0]:  # lists of neighbours outgrew their room
            self._rebind(grown(self.boundary.contact))
            self.restore(before)
            taken = self._take(count)
        self.step_count += taken
        warn_of_loose_contacts(self.boundary.contact, self.method.name)

    def _take(self, count: int) -> int:
        if self.boundary.contact.bounces:
            look_back(self.boundary.contact, self.velocities)
        return self._steps.take(self.step_count, count)

    def _rebind(self, contact: Contact) -> None:
        self.boundary = self.boundary._replace(contact=contact)
        self._steps = self.method.bind(self.state, self.boundary)

    @cached_property
    def _strain(self) -> Callable[[Array], Array]:
        return nodal_strain(self._problem)

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        state = self.state
        memory, stress = self.method.stresses(state)
        displacement = state.positions - self.boundary.nodes.rest
        return {
            "displacement": displacement,
            "velocity": state.velocities.copy(),
            "stress": stress,
            "strain": self._strain(displacement[:, : self._problem.dimension]),
            "von_mises_stress": von_mises(stress),
            "memory_stress": memory,
            "contact_force": contact_forces(self.boundary.contact),
        }

    def cell_stress(self) -> Array:
        """Return the stress (C, 6) [Pa] of the cells of all bodies, for methods that have it."""
        found: Array = getattr(self.method, CELL_STRESS)(self.state)
        return found

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support, and what the method adds."""
        state, problem = self.state, self._problem
        found = tool_reactions(problem, self.boundary.contact)
        found |= hand_reactions(problem.grabs, self.boundary.grabs.done, problem.dimension)
        return found | support_forces(problem, self._held, -state.reaction) | self.method.reactions(state)

    def energy(self) -> dict[str, float]:
        """Return kinetic energy, m v^2/2, and what the method stores [J]; with hands, their work and that of tools."""
        state = self.state
        kinetic = 0.5 * np.sum(self.boundary.nodes.mass[:, None] * state.velocities**2)
        found = {"kinetic": float(kinetic), "stored": float(self.method.stored(state))}
        grabs = self.boundary.grabs
        works = {"hand": float(grabs.done[:, 3].sum()), "tools": float(grabs.by_tools[0])}
        return found | (works if len(grabs.node) else {})

    def statistics(self) -> dict[str, Any]:
        """Return what the manifest should tell about rule, loop, contact and method."""
        about, contact = self._steps.about(self.step_count), contact_statistics(self.boundary.contact)
        return about | contact | self.method.statistics(self.state, self.step_count)

    def tool_poses(self) -> Array:
        """Return where the tools are: (T, 4) [m, m, m, rad]."""
        return np.asarray(self.boundary.contact.contacts.tools.motion.pose.copy())

    def live_arrays(self) -> tuple[Grabs, Tables]:
        """Return the points hands hold and the motions of tools, as the next step will read them."""
        return self.boundary.grabs, self.boundary.contact.tools.tables

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        found: dict[str, Any] = {name: array.copy() for name, array in flat(self.state).items()}
        found |= save_contact(self.boundary.contact)
        found |= {name: array.copy() for name, array in self._of_hands().items()}
        return found | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        self._steps.load(state)
        contact = restore_contact(self.boundary.contact, state)
        if contact is not self.boundary.contact:
            self._rebind(contact)
        for name, array in self._of_hands().items():
            array[...] = state[name]
        self.step_count = int(state["step_count"])

    def _of_hands(self) -> dict[str, Array]:
        """Return what hands have done, for checkpoints."""
        grabs = self.boundary.grabs
        return {f"{GRAB}done": grabs.done, f"{GRAB}by_tools": grabs.by_tools} if len(grabs.node) else {}


def support_forces(problem: Problem, held: Held, pull: Array) -> dict[str, Array]:
    """Return the force (d,) [N] on each support, from the forces (N, d) [N] of nodes on what holds them."""
    supports = np.zeros((len(problem.prescribed), problem.dimension))
    np.add.at(supports, (held.motion, held.component), pull[held.node, held.component])
    return on_supports(problem.prescribed, supports)


def tool_reactions(problem: Problem, contact: Contact) -> dict[str, Array]:
    """Return the force (d,) [N] of the bodies on each tool and its moment about the tool's centre [N m].

    Moments have one component in 2D and three in 3D; there is none in 1D, nor in records of scenes without laws.
    """
    found, dimension = {}, problem.dimension
    for row, tool in enumerate(problem.tools):
        found[f"tool.{tool.name}"] = contact.exerted.tool_force[row, :dimension].copy()
        moment = contact.exerted.tool_moment[row]
        if dimension > 1 and problem.contact is not None:
            found[f"tool.{tool.name}.moment"] = (moment if dimension == 3 else moment[2:]).copy()
    return found


def contact_forces(contact: Contact) -> Array:
    """Return the contact force on each node (N, 3) [N]."""
    total = contact.exerted.node_force.copy()
    np.add.at(total, *lone_forces(contact.contacts, contact.exerted, contact.tools.candidate))
    return total


def contact_statistics(contact: Contact) -> dict[str, Any]:
    """Return the contacts that push and the rounds of impulses in the last step, and in steps that needed any.

    Steps whose rounds ended before the contacts had settled are `contacts_loose`.
    """
    if contact.idle:
        return {}
    now, most, rounds, steps, loose, _ = (int(number) for number in contact.contacts.impulses.visits)
    return {
        "active_contacts": int(contact.exerted.active[0]),
        "contact_rounds": now,
        "most_contact_rounds": most,
        "mean_contact_rounds": rounds / max(1, steps),
        "contacts_loose": loose,
    }
