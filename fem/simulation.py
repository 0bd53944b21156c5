"""A finite-element model on its way: state, step, results, energy and checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from scipy.sparse import block_diag, csc_matrix, csr_matrix, diags
from scipy.sparse.linalg import spsolve

from rheotwin.fem.contact import Contacts, ContactSolver, NodeColumns
from rheotwin.fem.linear import factorise
from rheotwin.fem.midpoint import BodyStep, prepare, stress_state
from rheotwin.fem.system import body_system
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing, time_of
from rheotwin.solver import RUNAWAY, check_same_step
from rheotwin.tensors import padded, von_mises

Array = NDArray[np.float64]


class FemOptions(BaseModel):
    """Options of the finite-element solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(default=None, gt=0.0, description="step [s]; default: 1/1000 of the duration")
    mass: Literal["lumped", "consistent"] = Field(default="lumped", description="mass matrix")
    split: Literal["bulk-shear", "lame"] = Field(
        default="bulk-shear",
        description="moduli that relax separately; `lame` is the papers' rule per constant",
    )
    linear_solver: Literal["auto", "splu", "pardiso"] = Field(default="auto", description="direct solver")


class FemSimulation:
    """A finite-element model on its way; vectors run node-major over all bodies."""

    stable_step = float("inf")

    def __init__(self, problem: Problem, options: FemOptions) -> None:
        self._problem = problem
        self._dimension = problem.dimension
        wanted = options.step if options.step is not None else 1e-3 * problem.scene.duration
        require_reachable(wanted, problem.scene.duration, "solvers.fem.step")
        self._step_fraction = step_dividing(problem.tick, wanted)
        self.step_size = float(self._step_fraction)
        self.step_count = 0
        self._bodies = self._prepare_bodies(options)
        self._mass = block_diag([body.system.mass for body in self._bodies], format="csr")
        matrix = block_diag([body.matrix for body in self._bodies], format="csr")
        self._held = (problem.owners >= 0).ravel()
        self._free = np.flatnonzero(~self._held)
        self._held_columns = matrix[self._free][:, np.flatnonzero(self._held)]
        self._factor = factorise(matrix[self._free][:, self._free], options.linear_solver)
        self._solve_mass = _mass_solver(self._mass, self._free, options)
        self._mass_columns = NodeColumns(self._solve_mass, self._dimension, problem.points.size)
        self._lumped = options.mass == "lumped"
        self._weight = self._mass @ np.tile(problem.gravity, len(problem.points))
        columns = NodeColumns(self._solve_free, self._dimension, problem.points.size)
        self._contact = ContactSolver(problem.tools, columns)
        self._contacts = Contacts.none()
        self._u, self._v, self._rate, self._acceleration = (np.zeros(problem.points.size) for _ in range(4))
        self._memories = [
            [np.zeros((len(c.gain), body.system.mass.shape[0])) for c in body.channels] for body in self._bodies
        ]

    def _prepare_bodies(self, options: FemOptions) -> list[BodyStep]:
        consistent = options.mass == "consistent"
        return [
            prepare(
                body_system(body, self._problem, split=options.split, consistent_mass=consistent),
                self.step_size,
            )
            for body in self._problem.bodies
        ]

    def _parts(self) -> Iterator[tuple[BodyStep, slice, list[Array]]]:
        """Iterate over the bodies: matrices, rows in the global vectors, internal variables."""
        d = self._dimension
        rows = (slice(body.nodes.start * d, body.nodes.stop * d) for body in self._problem.bodies)
        return zip(self._bodies, rows, self._memories, strict=True)

    def _solve_free(self, right: Array) -> Array:
        """Solve for the free components with the held ones at zero."""
        out = np.zeros_like(right)
        out[self._free] = self._factor.solve(right[self._free])
        return out

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step_fraction, self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._problem.points + self._u.reshape(-1, self._dimension)

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._v.reshape(-1, self._dimension)

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = round(until / self.step_size) - self.step_count
        for _ in range(max(0, min(wanted, max_steps))):
            self._step()
            if not np.abs(self._u).max() <= RUNAWAY * self._problem.extent:
                break  # the run loop says where; stopping here makes the time it names independent of chunks

    def _loads(self, time: float) -> Array:
        """Return weight and applied forces [N] at `time` [s]."""
        force = self._weight.reshape(-1, self._dimension).copy()
        for load in self._problem.loads:
            np.add.at(force, load.nodes, load.factor.at(time)[0] * load.shares)
        return np.asarray(force).ravel()

    def _held_displacement(self, time: float) -> Array:
        """Return the displacement that the supports prescribe at `time` [s], zero elsewhere."""
        target = np.zeros((len(self._problem.points), self._dimension))
        for item in reversed(self._problem.prescribed):
            target[np.ix_(item.nodes, np.array(item.components))] = item.motion.at(time)[list(item.components)]
        return target.ravel()

    def _step(self) -> None:
        """Take one step of the exponential midpoint rule with held components and contact."""
        h, end = self.step_size, (self.step_count + 1) * self.step_size
        right = self._loads(end - 0.5 * h)
        for body, rows, memories in self._parts():
            right[rows] += body.history_force(self._u[rows], self._v[rows], memories)
        du = np.where(self._held, self._held_displacement(end) - self._u, 0.0)
        du[self._free] = self._factor.solve(right[self._free] - self._held_columns @ du[self._held])
        du, self._contacts = self._contact.step(padded(self.positions), du, end)
        self._update(du)

    def _update(self, du: Array) -> None:
        """Accept an increment: u, v and w move on, and the rate du/h of this step is kept for forces and stresses.

        The midpoint velocity 2 du/h - v of a stiff viscous mode alternates about du/h (v, -v, v, ...), so forces
        that used it would alternate too; du/h is the velocity the scheme itself put into the viscous stress.
        """
        self._rate = du / self.step_size
        velocity = self._after_impulses(2.0 * self._rate - self._v)
        self._acceleration = (velocity - self._v) / self.step_size
        self._u += du
        self._v = velocity
        for body, rows, memories in self._parts():
            body.update_memories(du[rows], memories)
        self.step_count += 1

    def _after_impulses(self, velocity: Array) -> Array:
        """Return v' with held and touching components at the rate of what holds them: M (v' - v) = N p.

        The impulses p act on those components alone, so the momentum of the others is balanced for any mass
        matrix. Without them the midpoint rule would reflect the velocity of a stopped node for ever; with them,
        impact is inelastic, as it is for a rigid tool on a soft body.
        """
        change = np.where(self._held, self._rate - velocity, 0.0)
        velocity = velocity + change - self._solve_mass(self._mass @ change)
        if len(self._contacts.node):
            normals = self._contact_normals()
            touched = self._contacts
            response = (
                self._solve_mass(normals) if self._lumped else self._mass_columns.along(touched.node, touched.normal)
            )
            missing = normals.T @ (self._rate - velocity)
            velocity = velocity + response @ spsolve(csc_matrix(normals.T @ response), missing)
        return np.asarray(velocity)

    def _contact_normals(self) -> csc_matrix:
        """Return N (size, contacts): each contact's normal on the free components of its node."""
        d, count = self._dimension, len(self._contacts.node)
        rows = self._contacts.node[:, None] * d + np.arange(d)
        values = np.where(self._held[rows], 0.0, self._contacts.normal[:, :d])
        columns = np.repeat(np.arange(count), d)
        return csc_matrix((values.ravel(), (rows.ravel(), columns)), shape=(self._u.size, count))

    def _residual(self) -> Array:
        """Return M a + f_int - f_ext (N d,) [N] at the end of the step: what supports and tools exert."""
        residual = self._mass @ self._acceleration - self._loads(self.time)
        for body, rows, memories in self._parts():
            for term, memory in zip(body.system.terms, memories, strict=True):
                residual[rows] += term.matrix @ stress_state(term, self._u[rows], self._rate[rows], memory)
        return np.asarray(residual)

    def _contact_forces(self) -> Array:
        """Return the force (n, 3) [N] of each contact on its node: N p = residual on free components, p >= 0."""
        if not len(self._contacts.node):
            return np.zeros((0, 3))
        normals = self._contact_normals()
        sizes = spsolve(csc_matrix(normals.T @ normals), normals.T @ self._residual())
        return np.asarray(np.maximum(sizes, 0.0)[:, None] * self._contacts.normal)

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support."""
        forces, found = self._contact_forces()[:, : self._dimension], {}
        held = self._residual().reshape(-1, self._dimension)
        np.subtract.at(held, self._contacts.node, forces)
        for index, tool in enumerate(self._problem.tools):
            found[f"tool.{tool.name}"] = -forces[self._contacts.tool == index].sum(axis=0)
        for index, item in enumerate(self._problem.prescribed):
            found[f"support.{item.name}"] = -np.where(self._problem.owners == index, held, 0.0).sum(axis=0)
        return found

    def energy(self) -> dict[str, float]:
        """Return kinetic and stored energy [J]: v'Mv/2 and sum (g_inf u'Ju + sum_a w'Jw/g_a)/2."""
        stored = 0.0
        for body, rows, memories in self._parts():
            u = self._u[rows]
            for term, memory in zip(body.system.terms, memories, strict=True):
                stored += 0.5 * term.channel.equilibrium * float(u @ (term.matrix @ u))
                for strength, w in zip(term.channel.strengths, memory, strict=True):
                    stored += 0.5 / strength * float(w @ (term.matrix @ w))
        return {"kinetic": 0.5 * float(self._v @ (self._mass @ self._v)), "stored": stored}

    def _nodal_stress(self, memory_only: bool) -> Array:
        stress = np.zeros((len(self._problem.points), 6))
        for body, rows, memories in self._parts():
            nodes = slice(rows.start // self._dimension, rows.stop // self._dimension)
            for term, memory in zip(body.system.terms, memories, strict=True):
                state = (
                    memory.sum(axis=0) if memory_only else stress_state(term, self._u[rows], self._rate[rows], memory)
                )
                stress[nodes] += (body.system.strain @ state).reshape(-1, 6) @ term.stress_map.T
        return stress

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        stress = self._nodal_stress(memory_only=False)
        contact = np.zeros((len(self._problem.points), 3))
        np.add.at(contact, self._contacts.node, self._contact_forces())
        return {
            "displacement": padded(self._u.reshape(-1, self._dimension)),
            "velocity": padded(self.velocities),
            "stress": stress,
            "von_mises_stress": von_mises(stress),
            "memory_stress": self._nodal_stress(memory_only=True),
            "contact_force": contact,
        }

    def statistics(self) -> dict[str, Any]:
        """Return the scheme and the linear solver."""
        return {
            "scheme": "exponential midpoint",
            "unknowns": len(self._free),
            "linear_solver": self._factor.solver,
        }

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        state = {
            "u": self._u,
            "v": self._v,
            "rate": self._rate,
            "acceleration": self._acceleration,
            "contact_tool": self._contacts.tool,
            "contact_node": self._contacts.node,
            "contact_normal": self._contacts.normal,
            "contact_multiplier": self._contacts.multiplier,
        }
        for b, memories in enumerate(self._memories):
            state |= {f"memory_{b}_{k}": memory for k, memory in enumerate(memories)}
        copies = {name: np.array(array) for name, array in state.items()}
        return copies | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        self._u, self._v = np.array(state["u"]), np.array(state["v"])
        self._rate, self._acceleration = np.array(state["rate"]), np.array(state["acceleration"])
        self._contacts = Contacts(
            tool=np.array(state["contact_tool"], dtype=np.int64),
            node=np.array(state["contact_node"], dtype=np.int64),
            normal=np.array(state["contact_normal"]),
            multiplier=np.array(state["contact_multiplier"]),
        )
        for b, memories in enumerate(self._memories):
            self._memories[b] = [np.array(state[f"memory_{b}_{k}"]) for k in range(len(memories))]
        self.step_count = int(state["step_count"])


def _mass_solver(mass: csr_matrix, free: NDArray[np.int64], options: FemOptions) -> Callable[[Any], Any]:
    """Return the map from impulses [N s] to velocity changes [m/s] of the free components, held ones at rest."""
    if options.mass == "lumped":
        inverse = np.zeros(mass.shape[0])
        inverse[free] = 1.0 / mass.diagonal()[free]
        lumped = diags(inverse)
        return lambda impulse: lumped @ impulse
    factor = factorise(mass[free][:, free], options.linear_solver)

    def solve(impulse: Array) -> Array:
        change = np.zeros_like(impulse)
        change[free] = factor.solve(impulse[free])
        return change

    return solve
