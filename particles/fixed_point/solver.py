"""The fixed-point solver: the papers' circuit of 16-bit words, to the bit, on scenes of trusses."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import astuple
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel
from scipy.sparse import diags

from rheotwin.arrays import Array
from rheotwin.constraints.contact.lumped import warn_of_loose_contacts
from rheotwin.constraints.contact.setup import POSE_SIZE
from rheotwin.errors import RheotwinError, Stopped
from rheotwin.particles.base import contact_forces, contact_statistics, support_forces, tool_reactions
from rheotwin.particles.fixed_point.body import CircuitBody
from rheotwin.particles.fixed_point.choice import announced, remedy, settled
from rheotwin.particles.fixed_point.circuit import Tem, tem_of
from rheotwin.particles.fixed_point.model import OPTIONS
from rheotwin.particles.fixed_point.prepare import FixedPointOptions, Prepared
from rheotwin.particles.fixed_point.ranges import dead_band
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.particles.fixed_point.timing import Machine, cycles, depth_of
from rheotwin.particles.virial import edge_motion, edge_virial, nodal_strain, nodal_volumes, out_of_plane_ratio
from rheotwin.problem import Problem
from rheotwin.schedule import time_of
from rheotwin.solver import ALL_CELLS, ALL_CONTACT, ALL_LAWS, SOLID_TOOLS, Capabilities, check_same_step
from rheotwin.tensors import von_mises

UNITS = "units"
"""Name in a checkpoint of the units of time, length and mass, and the format."""


class FixedPointSimulation:
    """The circuit on its way; what it reports is what its words stand for, in SI units."""

    def __init__(self, problem: Problem, options: FixedPointOptions, whole: Problem | None = None) -> None:
        self._problem, self._whole = problem, whole or problem
        self._options = options
        self._prepared, self._trial = announced(problem, options)
        self._circuit = Stepping(self._prepared)
        self._warned = False
        self._circuit.take(0)  # compiles what there is to compile

    @property
    def prepared(self) -> Prepared:
        """Model, units and constants of the run."""
        return self._prepared

    @property
    def body(self) -> CircuitBody:
        """The words in the memories."""
        return self._circuit.body

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._prepared.step, self.step_count)

    @property
    def step_count(self) -> int:
        """Steps taken."""
        return self._circuit.step_count

    @property
    def step_size(self) -> float:
        """Length of a step [s]; the circuit's own constant differs from it by what its bits leave."""
        return float(self._prepared.step)

    @property
    def stable_step(self) -> float:
        """Largest stable step [s] of the float form."""
        return self._prepared.model.bound.step

    def settled(self) -> dict[str, Any]:
        """Return the options that the analysis of ranges chose."""
        return settled(self._prepared) | {"analyse": False}

    def _metres(self, words: Any) -> Array:
        form, units = self._prepared.constants.form, self._prepared.constants.units
        return np.asarray(form.value(words) * units.length)

    def _speeds(self, words: Any) -> Array:
        form, units = self._prepared.constants.form, self._prepared.constants.units
        return np.asarray(form.value(words) * units.velocity)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        placed = self._metres(self.body.position) + self._prepared.model.centre
        return placed[:, : self._problem.dimension]

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._speeds(self._circuit.settled.velocity)[:, : self._problem.dimension]

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = round(until / self.step_size) - self.step_count
        count = max(0, min(wanted, max_steps))
        self._step_to(count)
        if self._circuit.there is not None:
            warn_of_loose_contacts(self._circuit.there.contact, "fixed-point")

    def _step_to(self, count: int) -> None:
        form = self._prepared.constants.form
        if self._options.stop:
            if (overflow := self._circuit.take_safely(count)) is not None:
                said = f"{OPTIONS}: words of {form} overflow in {overflow}"
                raise Stopped(f"{said}; {remedy(self._whole, self._options)}", time=overflow.time)
            return
        self._circuit.take(count)
        lost = {name: count for name, count in self._circuit.overflow_counts.items() if count}
        if lost and not self._warned:
            self._warned = True
            warnings.warn(
                f"{OPTIONS}: words overflow by t = {self.time:.4g} s in {', '.join(lost)}; {form.word + 1} bits with "
                f"{form.fraction} after the point, or larger units, may do (`rheotwin circuit` tells)",
                stacklevel=2,
            )

    def _edges(self) -> Tem:
        """Return what the element module puts out from the words as they are, without changing them."""
        return tem_of(self._circuit.settled, self._prepared.constants)

    def _tensions(self) -> tuple[Array, Array]:
        """Return the memory's share of the edges' tension and all of it [N], in the order of the network."""
        model, constants = self._prepared.model, self._prepared.constants
        found = self._edges()
        tension = -constants.form.value(found.force) * constants.units.force
        dashpot = model.viscosity * self._speeds(found.rate) / 2.0**constants.point.rate
        network = model.network.edge_constants
        relaxes = network.arm_stiffness[:, model.order].sum(axis=0) > 0.0
        dashpot += network.stiffness[model.order] * self._metres(found.length - self.body.rest) * relaxes
        memory, total = (np.zeros(len(model.network.edges)) for _ in range(2))
        memory[model.order], total[model.order] = np.where(relaxes, tension - dashpot, 0.0), tension
        return memory, total

    @cached_property
    def _averages(self) -> tuple[Any, Any, Array]:
        problem, network = self._problem, self._prepared.model.network
        average = diags(1.0 / nodal_volumes(problem)) @ network.node_share
        return average, nodal_strain(problem), out_of_plane_ratio(problem)

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        model, problem = self._prepared.model, self._problem
        average, strain, out_of_plane = self._averages
        place, speed = self._metres(self.body.position), self._speeds(self._circuit.settled.velocity)
        displacement = place - model.points
        vectors, *_ = edge_motion(place, speed, model.network.edges)
        stresses = []
        for tension in self._tensions():
            stress = average @ edge_virial(vectors, model.network.rest_length, tension)
            stress[:, 2] += out_of_plane * (stress[:, 0] + stress[:, 1])
            stresses.append(stress)
        return {
            "displacement": displacement,
            "velocity": speed,
            "stress": stresses[1],
            "strain": strain(displacement[:, : problem.dimension]),
            "von_mises_stress": von_mises(stresses[1]),
            "memory_stress": stresses[0],
            "contact_force": self._pressed(),
        }

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] that the bodies exert on each support.

        That is what pulls at held points. Where supports move it is that at the start of the last step, less mass times
        acceleration from the step before, as `truss` has it.
        """
        constants, circuit, problem = self._prepared.constants, self._circuit, self._problem
        force = circuit.forces
        acceleration = np.zeros(force.shape)
        if self._prepared.model.moves_supports:
            before, after, force = circuit.watched
            acceleration = self._speeds(after - before) / self.step_size
        newton = constants.form.value(force) * constants.units.force - problem.masses[:, None] * acceleration
        there = circuit.there
        tools = {} if there is None else tool_reactions(problem, there.contact)
        return tools | support_forces(problem, self._prepared.model.held, newton + self._pressed())

    def _pressed(self) -> Array:
        """Return the force of contact (N, 3) [N] on each node, of the last turn."""
        there = self._circuit.there
        return np.zeros_like(self._prepared.model.points) if there is None else contact_forces(there.contact)

    def tool_poses(self) -> Array:
        """Return where the tools are: (T, 4) [m, m, m, rad]."""
        there = self._circuit.there
        if there is None:
            return np.array([tool.motion.at(self.time) for tool in self._problem.tools]).reshape(-1, POSE_SIZE)
        return np.asarray(there.contact.contacts.tools.motion.pose.copy())

    def energy(self) -> dict[str, float]:
        """Return kinetic and stored energy [J]: m v^2/2 and k1 (lv - L)^2/2, or k d^2/2 of all parts of a chain."""
        speed, model = self._speeds(self._circuit.settled.velocity), self._prepared.model
        kinetic = 0.5 * np.sum(self._problem.masses[:, None] * speed**2)
        k, words = model.k1, self.body.lam
        if model.chain is not None:
            k, words = model.chain.k, np.concatenate([words, self._edges().last[None]])
        stored = 0.5 * np.sum(k * self._prepared.constants.lam_metres(words) ** 2)
        return {"kinetic": float(kinetic), "stored": float(stored)}

    def statistics(self) -> dict[str, Any]:
        """Return words, units and constants, how full the words get, and what was lost on the way."""
        prepared, constants = self._prepared, self._prepared.constants
        units, form, band = constants.units, constants.form, dead_band(constants)
        machine = Machine(edge_depth=depth_of(constants))
        found: dict[str, Any] = {
            "edges": len(prepared.model.edges),
            "material_match": prepared.model.network.matches,
            "kernel": self._circuit.kernel,
            "word": form.word,
            "fraction": form.fraction,
            "time_unit_s": units.time,
            "length_unit_m": units.length,
            "mass_unit_kg": units.mass,
            "circuit_step_s": float(constants.H.value) * units.time,
            "circuit_cycles_per_step": cycles(machine, len(prepared.model.points), len(prepared.model.edges)),
            "dead_band_m_per_s": band.velocity,
            "share_in_dead_band": band.share(self._speeds(self._circuit.settled.velocity)),
            "overflows": self._circuit.overflow_counts,
        }
        found["circuit_seconds_per_step"] = found["circuit_cycles_per_step"] / machine.clock
        if prepared.ranges is not None:
            shares = prepared.ranges.shares(units, form, constants.points)
            found["range_used"] = {k: round(v, 4) for k, v in shares.items()}
            found["remarks"] = prepared.remarks
        if constants.points is not None:
            found["points"] = list(astuple(constants.points))
        if self._trial is not None:
            found["announced_error"] = self._trial.error
        if self._circuit.there is not None:
            found |= contact_statistics(self._circuit.there.contact)
            found |= {"surface_points": len(self._circuit.there.near), "steps_per_turn": prepared.host.turns}
        return found

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        return self._circuit.save() | {UNITS: self._scales(), "step_size": np.array(self.step_size)}

    def _scales(self) -> Array:
        """Return units, format and points."""
        chosen = settled(self._prepared)
        units = [chosen[name] for name in ("time_unit", "length_unit", "mass_unit", "word", "fraction")]
        return np.array([*units, *(chosen["points"] or ())])

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state; words mean nothing in other units."""
        check_same_step(state, self.step_size)
        if not np.array_equal(state[UNITS], self._scales()):
            time, length, mass = (f"{value:g}" for value in state[UNITS][:3])
            points = f", points = {state[UNITS][5:].astype(int).tolist()}" if len(state[UNITS]) > 5 else ""
            raise RheotwinError(
                f"checkpoint: its words are in other units; resume with time_unit = {time}, length_unit = {length}, "
                f"mass_unit = {mass}, word = {state[UNITS][3]:.0f} and fraction = {state[UNITS][4]:.0f}{points} of "
                f"{OPTIONS}"
            )
        self._circuit.restore(state)


class FixedPointSolver:
    """Plug-in: the circuit of 16-bit words, bit for bit."""

    name: ClassVar[str] = "fixed-point"
    description: ClassVar[str] = (
        "the papers' circuit of 16-bit words on a truss, bit for bit; tools and contact by the host beside it"
    )
    options: ClassVar[type[BaseModel]] = FixedPointOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS,
        tools=SOLID_TOOLS,
        contact=ALL_CONTACT,
        parts=True,
        moving_start=False,
    )

    def __init__(self) -> None:
        self._whole: Problem | None = None

    def start(self, problem: Problem, options: BaseModel) -> FixedPointSimulation:
        """Set up the circuit at time zero."""
        assert isinstance(options, FixedPointOptions)
        return FixedPointSimulation(problem, options, self._whole)

    def settle(self, problem: Problem, options: BaseModel) -> tuple[BaseModel, dict[str, Any]]:
        """Return the options of all phases of a scene whose supports come and go, and what is announced of them."""
        assert isinstance(options, FixedPointOptions)
        self._whole = problem
        prepared, trial = announced(problem, options)
        chosen = options.model_copy(update=settled(prepared) | {"step": float(prepared.step), "analyse": False})
        return chosen, {} if trial is None else {"announced_error": trial.error}
