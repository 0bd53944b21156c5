"""A finite-element model on its way: steps on the run's grid, results, energy and checkpoints."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

from rheotwin.arrays import Array
from rheotwin.constraints.contact.setup import poses_at
from rheotwin.constraints.grabs import Grabs, hand_reactions
from rheotwin.constraints.motion import Tables
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import LinearBody
from rheotwin.fem.contact.memory import Pushes, tool_reactions
from rheotwin.fem.links import link_report, link_tensions, require_no_links, without_links
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State, kinetic_energy, stored_energy
from rheotwin.fem.steppers import CentralDifference, default_step, make_stepper
from rheotwin.fem.steppers.choose import LAWFUL, foreseen_solver, require_contact
from rheotwin.fem.steppers.impulses import contact_normals
from rheotwin.problem import Problem, on_supports
from rheotwin.schedule import require_reachable, step_dividing, time_of
from rheotwin.solver import (
    ALL_CELLS,
    ALL_CONTACT,
    ALL_LAWS,
    EDGE_LAWS,
    LARGE_LAWS,
    RUNAWAY,
    SOLID_TOOLS,
    YIELDING_LAWS,
    Capabilities,
    check_same_step,
)
from rheotwin.tensors import padded, von_mises

MIDDLE = 1e-6
"""Distance from the middle of an edge, as a share of its length, that is rounding."""


class FemSimulation:
    """A finite-element model on its way, whatever its kinematics and its rule in time."""

    def __init__(self, problem: Problem, options: FemOptions) -> None:
        self._problem, self._options = problem, options
        self._model = build_model(problem, options)
        wanted = options.step if options.step is not None else default_step(self._model, options)
        require_reachable(wanted, problem.scene.duration, "solvers.fem.step")
        self._step_fraction = step_dividing(problem.tick, wanted)
        self.step_size = float(self._step_fraction)
        self.step_count = 0
        self._stepper = make_stepper(self._model, self.step_size, options)
        self._state = State.at_rest(self._model)
        self._links = link_report(self._model) if problem.links else None
        if self._links is not None and self._links.dependent:
            warnings.warn(str(self._links.sentence()), stacklevel=2)
        self._lawful = problem.contact is not None and options.kinematics == "small" and options.stepper in LAWFUL

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]."""
        return self._stepper.stable_step

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step_fraction, self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._problem.points + self._model.at_vertices(self._state.u)

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._model.at_vertices(self._state.v)

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = max(0, min(round(until / self.step_size) - self.step_count, max_steps))
        if isinstance(self._stepper, CentralDifference):  # one compiled call for all steps
            self.step_count += self._stepper.advance(self._state, self.step_count, wanted)
            return
        for _ in range(wanted):
            end = time_of(self._step_fraction, self.step_count + 1)
            self._stepper.step(self._state, self.time, end)  # which may find no solution
            self.step_count += 1
            if not np.abs(self._state.u).max() <= RUNAWAY * self._problem.extent:
                break  # the run loop says where; stopping here makes the time it names independent of chunks

    @property
    def live_arrays(self) -> Callable[[], tuple[Grabs, Tables]]:
        """What a hand writes into while steps are taken; only the explicit stepper has it."""
        if not isinstance(self._stepper, CentralDifference):
            raise AttributeError("live_arrays")
        return self._stepper.live_arrays

    def _outside_and_links(self) -> tuple[Array, Array]:
        """Return what supports and tools exert, M a + f_int - f_ext (rows, d) [N], and the multipliers of links."""
        model, state = self._model, self._state
        residual = model.mass @ state.acceleration - model.applied(self.time) + state.internal_force(model)
        multipliers = np.zeros(0)
        if isinstance(self._stepper, CentralDifference) and len(self._stepper.pulled):
            residual = residual - self._stepper.pulled_nodes()
        if model.problem.links:
            others = contact_normals(model, state.contacts)
            # contacts by laws are known; what exact ones exert is found together with the links
            known = self._pushes().on_nodes(len(model.points))[:, : model.dimension] if self._lawful else 0.0 * residual
            residual, multipliers = without_links(model, state.u, residual, known.ravel(), others)
        return np.asarray(residual).reshape(-1, model.dimension), multipliers

    def _contact_forces(self) -> Array:
        """Return the force (n, 3) [N] of each contact on its node: N p = residual on free components, p >= 0."""
        contacts = self._state.contacts
        if not len(contacts.node):
            return np.zeros((0, 3))
        normals = contact_normals(self._model, contacts)
        sizes = spsolve(csc_matrix(normals.T @ normals), normals.T @ self._outside_and_links()[0].ravel())
        return np.asarray(np.maximum(sizes, 0.0)[:, None] * contacts.normal)

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support; with `contact` moments on tools, too."""
        model, pushes = self._model, self._pushes()
        held, multipliers = self._outside_and_links()
        np.subtract.at(held, pushes.node, pushes.push[:, :, : model.dimension])
        tools = tool_reactions(model.tools, pushes, self.tool_poses(), model.dimension)
        if self._problem.contact is None:
            tools = {f"tool.{tool.name}": tools[f"tool.{tool.name}"] for tool in model.tools}
        prescribed = self._problem.prescribed
        forces = (-np.where(model.owners == index, held, 0.0).sum(axis=0) for index in range(len(prescribed)))
        supports = on_supports(prescribed, forces)
        if isinstance(self._stepper, CentralDifference):
            tools |= hand_reactions(self._problem.grabs, self._stepper.pulled, model.dimension)
        return tools | supports | link_tensions(model, self._state.u, multipliers)

    def _pushes(self) -> Pushes:
        """Return the contacts of the last step with their forces at its end, or over the step where they have laws."""
        if self._lawful:
            return Pushes.none() if self._state.touch is None else self._state.touch.pushes
        contacts = self._state.contacts
        places = padded(self._model.points + self._state.u.reshape(self._model.points.shape))
        force = self._contact_forces()
        return Pushes(contacts.node[:, None], force[:, None], contacts.tool, places[contacts.node], force)

    def tool_poses(self) -> Array:
        """Return the poses (T, 4) [m, m, m, rad] of the tools."""
        touch = self._state.touch
        if touch is not None:
            return touch.pose.copy()
        return poses_at(self._problem.tools, self.time)

    def energy(self) -> dict[str, float]:
        """Return energies [J]: kinetic, stored; if followed, dissipated, lost in impacts, done from outside, amiss.

        Springs of contacts count as stored; a scene with laws of contact has what friction dissipated besides.
        """
        kinetic = kinetic_energy(self._model, self._state.v) if self._options.inertia else 0.0
        stored = stored_energy(self._model, self._state)
        if self._state.touch is not None:
            stored += self._state.touch.stored
        found = {"kinetic": kinetic, "stored": stored}
        if not self._options.accounts:
            return found
        found |= self._state.ledger.entries()
        if self._lawful:
            found["friction"] = self._state.ledger.friction
        if self._options.balances:
            found["defect"] = self._state.ledger.defect(kinetic, stored)
        return found

    def _stress(self, *, memory_only: bool) -> Array:
        """Return the stresses (N, 6) [Pa] of all bodies, or what memories hold of them."""
        state = self._state
        found = [
            body.vertex_stress(state.u[rows], state.rate[rows], memories, memory_only=memory_only)
            for (body, rows), memories in zip(self._model.parts(), state.memories, strict=True)
        ]
        return np.concatenate(found)

    def point_stresses(self) -> Iterator[tuple[LinearBody, Array]]:
        """Yield the bodies at small strain with their stress (points, 6) [Pa] at the quadrature points."""
        state = self._state
        for (body, at), own in zip(self._model.parts(), state.memories, strict=True):
            assert isinstance(body, LinearBody)
            yield body, body.point_stress(state.u[at], state.rate[at], own)

    def cell_stress(self) -> Array:
        """Return the stress (C, 6) [Pa] of the cells of all bodies."""
        state = self._state
        parts = zip(self._model.parts(), state.memories, strict=True)
        return np.concatenate([body.cell_stress(state.u[at], state.rate[at], own) for (body, at), own in parts])

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        stress = self._stress(memory_only=False)
        contact, rows = self._pushes().on_nodes(len(self._model.points)), self._model.vertex_rows
        strains = [body.vertex_strain(self._state.u[own]) for body, own in self._model.parts()]
        return {
            "displacement": padded(self._model.at_vertices(self._state.u)),
            "velocity": padded(self.velocities),
            "stress": stress,
            "strain": np.concatenate(strains),
            "von_mises_stress": von_mises(stress),
            "memory_stress": self._stress(memory_only=True),
            "contact_force": np.where(rows[:, None] >= 0, contact[rows], 0.0),
        }

    def statistics(self) -> dict[str, Any]:
        """Return the scheme and the linear solver."""
        meshes = self._problem.refinement
        found = self._stepper.statistics() | ({} if meshes is None else {"refinement": dict(meshes)})
        return found | ({} if self._links is None else self._links.entries())

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


def _require_no_energies(problem: Problem, options: FemOptions) -> None:
    """Refuse energies of large strain where the strain is taken for small."""
    for body in problem.bodies:
        for place, law, _ in body.laws:
            if law.name in LARGE_LAWS:
                raise RheotwinError(
                    f"{place}: {law.name} is an energy of large strain, of which kinematics = "
                    f'"{options.kinematics}" knows nothing; choose "total-lagrangian"'
                )


def _require_ties(problem: Problem, options: FemOptions) -> None:
    """Refuse what does not know nodes that hang on edges of coarser cells."""
    for body in problem.bodies:
        if not len(body.hanging):
            continue
        place = f"bodies.{body.name}.finer"
        for name, value in (("order", 1), ("formulation", "displacement")):
            if getattr(options, name) != value:
                raise RheotwinError(
                    f"{place}: {name} = {getattr(options, name)!r} knows no nodes that hang on edges of coarser cells; "
                    f"choose {value!r}, or leave `finer` out"
                )
        if problem.links or (problem.contact is not None and problem.contact.between_bodies):
            raise RheotwinError(f"{place}: rigid links and bodies that touch know no hanging nodes; leave `finer` out")
        if problem.dimension == 3 and np.abs(body.hanging.ratio - 0.5).max() > MIDDLE:
            raise RheotwinError(
                f"{place}: in space a cell meets cells half its size at the least, or nodes inside its sides would "
                "open a crack; leave a layer of cells between the levels"
            )


class FemSolver:
    """Plug-in: elements of order 1 and 2 and mixed ones on scikit-fem meshes, all laws, small and large strain."""

    name: ClassVar[str] = "fem"
    description: ClassVar[str] = "finite elements (scikit-fem) for small and large strain, implicit or explicit, mixed"
    options: ClassVar[type[BaseModel]] = FemOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS | LARGE_LAWS | YIELDING_LAWS | EDGE_LAWS - {"tabulated"},
        tools=SOLID_TOOLS,
        planes=frozenset({"strain", "stress", "axisymmetric"}),
        hanging_nodes=True,
        links=True,
        contact=ALL_CONTACT,
        incompressible=True,
        grabs=True,
        parts=True,
        cell_stress=True,
    )

    def adapted(self, problem: Problem, options: BaseModel) -> Problem:
        """Return the problem on the meshes that the option `refine` asks for."""
        from rheotwin.fem.refine import refined_problem

        assert isinstance(options, FemOptions)
        return problem if options.refine is None else refined_problem(problem, options)

    def linear_solver(self, problem: Problem, options: BaseModel) -> str:
        """Return the linear solver that a run will take, and why."""
        assert isinstance(options, FemOptions)
        return foreseen_solver(build_model(problem, options), options)

    def start(self, problem: Problem, options: BaseModel) -> FemSimulation:
        """Assemble and factorise at time zero."""
        assert isinstance(options, FemOptions)
        _require_ties(problem, options)
        require_contact(problem, options)
        if problem.grabs and options.stepper != "central-difference":
            raise RheotwinError(
                f"solvers.fem.stepper: {options.stepper!r} knows no points held by a hand; choose the stepper "
                '"central-difference", or leave `grabs` out'
            )
        if options.kinematics != "total-lagrangian":
            _require_no_energies(problem, options)
        if options.kinematics != "small":
            require_no_links(problem, f"kinematics = {options.kinematics!r}", 'kinematics = "small"')
        return FemSimulation(problem, options)
