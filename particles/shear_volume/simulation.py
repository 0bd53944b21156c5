"""A body of shear and volume elements on its way: state, results, energy and checkpoints around the compiled loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.loose import warn_of_loose_contacts
from rheotwin.constraints.contact.lumped import look_back
from rheotwin.constraints.contact.pack import grown, restore_contact, save_contact
from rheotwin.particles.boundary_report import contact_forces, reactions, tool_poses
from rheotwin.particles.chosen_step import chosen_step
from rheotwin.particles.contact_report import contact_statistics
from rheotwin.particles.packing import pack_boundary, pack_held
from rheotwin.particles.rest_check import check_rest_shape
from rheotwin.particles.shear_volume.elements import find_elements
from rheotwin.particles.shear_volume.forces import Forces, add_element_forces
from rheotwin.particles.shear_volume.incompressible.setup import build_incompressible, require_plane_strain
from rheotwin.particles.shear_volume.loop import shear_volume_steps
from rheotwin.particles.shear_volume.options import OPTIONS, ShearVolumeOptions
from rheotwin.particles.shear_volume.pack import pack_forces, rest_state
from rheotwin.particles.shear_volume.results import Stresses, smallest_ratio, stored
from rheotwin.particles.shear_volume.seed_matrices import seed_matrices
from rheotwin.particles.shear_volume.stability import recovery_step, stable_step
from rheotwin.particles.shear_volume.state import copied, flat, take_over
from rheotwin.particles.steps import Surroundings
from rheotwin.particles.virial import strain_ratio
from rheotwin.problem import Problem
from rheotwin.schedule import time_of
from rheotwin.solver import RUNAWAY, check_same_step
from rheotwin.strain import VertexStrain, vertex_strain
from rheotwin.tensors import padded, von_mises

Array = NDArray[np.float64]


class ShearVolumeSimulation:
    """Positions and velocities are (N, 3); memories of elements lie in chunks (see `lanes`)."""

    def __init__(self, problem: Problem, options: ShearVolumeOptions) -> None:
        self._problem, self._options = problem, options
        rest = padded(problem.points)
        check_rest_shape(problem)
        require_plane_strain(problem, options)
        self._elements = elements = find_elements(problem, options)
        bound = stable_step(problem, elements, seed_matrices(elements, rest))
        self.stable_step = bound.step
        self._step = chosen_step(
            problem, options, bound, lambda: options.safety * min(bound.step, problem.scene.duration), OPTIONS
        )
        self.step_size = float(self._step)
        self.step_count = 0
        self._held = pack_held(problem)
        self._boundary = pack_boundary(problem, RUNAWAY * problem.extent)
        self._forces = pack_forces(elements, rest, self.step_size, bound.step, recovery_step(problem, elements))
        self._incompressible = build_incompressible(problem, options, self._boundary, self.step_size)
        self._pressure = None if self._incompressible is None else self._incompressible.packed
        self._state = rest_state(
            self._forces,
            rest,
            candidates=len(self._boundary.tools.candidate),
            multipliers=0 if self._incompressible is None else self._incompressible.count,
        )
        self._bind()
        self.advance(0.0, 0)  # compiles the loop, so that set-up and not the first step pays for it

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step, self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._state.positions[:, : self._problem.dimension]

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._state.velocities[:, : self._problem.dimension]

    def _bind(self) -> None:
        """Bind state and boundary, as they are now, to the program that steps them."""
        around = Surroundings(self._boundary, self._state)
        self._steps = shear_volume_steps(self._forces, self._pressure, around, self.step_size)

    def _take(self, count: int) -> int:
        look_back(self._boundary.contact, self.velocities)
        return self._steps(self.step_count, count)

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = round(until / self.step_size) - self.step_count
        count = max(0, min(wanted, max_steps))
        contact = self._boundary.contact
        if contact is None or contact.bodies is None:
            self.step_count += self._take(count)
            warn_of_loose_contacts(contact, "shear-volume")
            return
        before = self.save()
        taken = self._take(count)
        while contact.full[0]:  # lists of neighbours outgrew their room: take the steps again with more
            contact = grown(contact)
            self._boundary = self._boundary._replace(contact=contact)
            self.restore(before)
            self._bind()
            taken = self._take(count)
        self.step_count += taken
        warn_of_loose_contacts(contact, "shear-volume")

    def internal_force(self, positions: Array) -> Array:
        """Return the forces (N, d) [N] of all elements at positions (N, d) [m] at rest, with arms as they are."""
        x, dimension = padded(positions), self._problem.dimension
        force = np.zeros_like(x)
        add_element_forces(self._still, copied(self._state), x, np.zeros_like(x), 0.0, force)
        return force[:, :dimension]

    @cached_property
    def _still(self) -> Forces:
        """Elements whose arms stay as they are."""
        return pack_forces(self._elements, padded(self._problem.points), 0.0)

    @cached_property
    def _stresses(self) -> Stresses:
        return Stresses(self._problem, self._elements)

    @cached_property
    def _strains(self) -> tuple[VertexStrain, ...]:
        """Maps from the displacements of each body to the strains of its cells, made when first asked for."""
        problem = self._problem
        return tuple(vertex_strain(b.mesh, b.cell, out_of_plane=strain_ratio(b, problem)) for b in problem.bodies)

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        stress = self._stresses.of(self._state, memory_only=False)
        if self._incompressible is not None:
            stress[:, :3] -= self._incompressible.pressure(self._state.multipliers, self._problem)[:, None]
        displacement = self._state.positions - self._boundary.nodes.rest
        flat_displacement = displacement[:, : self._problem.dimension]
        pairs = zip(self._strains, self._problem.bodies, strict=True)
        return {
            "displacement": displacement,
            "velocity": self._state.velocities.copy(),
            "stress": stress,
            "strain": np.concatenate([strain.of(flat_displacement[body.nodes]) for strain, body in pairs]),
            "von_mises_stress": von_mises(stress),
            "memory_stress": self._stresses.of(self._state, memory_only=True),
            "contact_force": contact_forces(self._boundary, self._state),
        }

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support."""
        return reactions(self._problem, self._boundary, self._held, self._state)

    def energy(self) -> dict[str, float]:
        """Return kinetic and stored energy [J]; the papers' shear elements store none that could be told."""
        kinetic = 0.5 * np.sum(self._boundary.nodes.mass[:, None] * self._state.velocities**2)
        return {"kinetic": float(kinetic), "stored": float(stored(self._forces, self._state, self._elements))}

    def statistics(self) -> dict[str, Any]:
        """Return which elements there are, and how much of their measure the smallest one has kept."""
        counts = {name: len(kind) for name, kind in self._elements.kinds.items() if len(kind)}
        return {
            "scheme": "semi-implicit Euler, internal variables first",
            "elements": counts,
            "smallest_volume_ratio": smallest_ratio(self._elements, self._state.positions),
            "divided_steps": int(self._state.divided[0]),
            **({} if self._incompressible is None else self._incompressible.statistics()),
            **contact_statistics(self._boundary.contact),
        }

    def tool_poses(self) -> Array:
        """Return where the tools are: (T, 4) [m, m, m, rad]."""
        return tool_poses(self._problem, self._boundary, self.time)

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        state: dict[str, Any] = {name: array.copy() for name, array in flat(self._state).items()}
        if self._boundary.contact is not None:
            state |= save_contact(self._boundary.contact)
        return state | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        take_over(self._state, state)
        if self._boundary.contact is not None:
            contact = restore_contact(self._boundary.contact, state)
            if contact is not self._boundary.contact:
                self._boundary = self._boundary._replace(contact=contact)
                self._bind()
        self.step_count = int(state["step_count"])
