"""A finite-element model on its way: steps on the run's grid, results, energy and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State, internal_force, kinetic_energy, stored_energy
from rheotwin.fem.steppers import CentralDifference, default_step, make_stepper
from rheotwin.fem.steppers.impulses import contact_normals
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing, time_of
from rheotwin.solver import RUNAWAY, check_same_step
from rheotwin.tensors import padded, von_mises

Array = NDArray[np.float64]


class FemSimulation:
    """A small-strain finite-element model on its way."""

    def __init__(self, problem: Problem, options: FemOptions) -> None:
        self._problem, self._options = problem, options
        self._model = build_model(problem, options.discretisation)
        wanted = options.step if options.step is not None else default_step(self._model, options)
        require_reachable(wanted, problem.scene.duration, "solvers.fem.step")
        self._step_fraction = step_dividing(problem.tick, wanted)
        self.step_size = float(self._step_fraction)
        self.step_count = 0
        self._stepper = make_stepper(self._model, self.step_size, options)
        self._state = State.at_rest(self._model)

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]."""
        return self._stepper.stable_step

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step_fraction, self.step_count)

    def _at_vertices(self, vector: Array) -> Array:
        """Return the rows (N, d) of a vector that belong to the problem's nodes."""
        return np.asarray(vector.reshape(-1, self._model.dimension)[self._model.vertex_rows])

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._problem.points + self._at_vertices(self._state.u)

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._at_vertices(self._state.v)

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = max(0, min(round(until / self.step_size) - self.step_count, max_steps))
        if isinstance(self._stepper, CentralDifference):  # one compiled call for all steps
            self.step_count += self._stepper.advance(self._state, self.step_count, wanted)
            return
        for _ in range(wanted):
            begin = self.time
            self.step_count += 1
            self._stepper.step(self._state, begin, self.time)
            if not np.abs(self._state.u).max() <= RUNAWAY * self._problem.extent:
                break  # the run loop says where; stopping here makes the time it names independent of chunks

    def _residual(self) -> Array:
        """Return M a + f_int - f_ext (rows, d) [N] at the end of the step: what supports and tools exert."""
        model, state = self._model, self._state
        residual = model.mass @ state.acceleration - model.applied(self.time) + internal_force(model, state)
        return np.asarray(residual).reshape(-1, model.dimension)

    def _contact_forces(self) -> Array:
        """Return the force (n, 3) [N] of each contact on its node: N p = residual on free components, p >= 0."""
        contacts = self._state.contacts
        if not len(contacts.node):
            return np.zeros((0, 3))
        normals = contact_normals(self._model, contacts)
        sizes = spsolve(csc_matrix(normals.T @ normals), normals.T @ self._residual().ravel())
        return np.asarray(np.maximum(sizes, 0.0)[:, None] * contacts.normal)

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support."""
        model, contacts = self._model, self._state.contacts
        forces = self._contact_forces()[:, : model.dimension]
        held = self._residual()
        np.subtract.at(held, contacts.node, forces)
        found = {}
        for index, tool in enumerate(self._problem.tools):
            found[f"tool.{tool.name}"] = -forces[contacts.tool == index].sum(axis=0)
        for index, item in enumerate(self._problem.prescribed):
            found[f"support.{item.name}"] = -np.where(model.owners == index, held, 0.0).sum(axis=0)
        return found

    def energy(self) -> dict[str, float]:
        """Return energies [J]: kinetic, stored; if followed, dissipated, lost in impacts, done from outside, amiss."""
        kinetic = kinetic_energy(self._model, self._state.v) if self._options.inertia else 0.0
        stored = stored_energy(self._model, self._state)
        found = {"kinetic": kinetic, "stored": stored}
        if not self._options.accounts:
            return found
        found |= self._state.ledger.entries()
        if self._options.balances:
            found["defect"] = self._state.ledger.defect(kinetic, stored)
        return found

    def _vertex_stress(self, *, memory_only: bool) -> Array:
        state, found = self._state, []
        for (body, rows), memories in zip(self._model.parts(), state.memories, strict=True):
            states = [memory.sum(axis=0) for memory in memories]
            if not memory_only:
                for k, term in enumerate(body.terms):
                    channel = term.channel
                    now = channel.equilibrium * state.u[rows] + channel.viscosity * state.rate[rows]
                    states[k] = states[k] + term.measure(now)
            found.append(body.vertex_stress(states))
        return np.concatenate(found)

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        stress = self._vertex_stress(memory_only=False)
        contact = np.zeros((len(self._model.points), 3))
        np.add.at(contact, self._state.contacts.node, self._contact_forces())
        strains = [body.vertex_strain(self._state.u[rows]) for body, rows in self._model.parts()]
        return {
            "displacement": padded(self._at_vertices(self._state.u)),
            "velocity": padded(self.velocities),
            "stress": stress,
            "strain": np.concatenate(strains),
            "von_mises_stress": von_mises(stress),
            "memory_stress": self._vertex_stress(memory_only=True),
            "contact_force": contact[self._model.vertex_rows],
        }

    def statistics(self) -> dict[str, Any]:
        """Return the scheme and the linear solver."""
        return self._stepper.statistics()

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        counters = {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}
        return self._state.save() | self._stepper.save() | counters

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        self._state = State.restored(self._model, state)
        self._stepper.restore(state)
        self.step_count = int(state["step_count"])
