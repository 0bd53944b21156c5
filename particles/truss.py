"""The truss solver: particles joined by rheological edges, explicit, compiled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from rheotwin.errors import RheotwinError
from rheotwin.particles.kernel import Edges, State, advance
from rheotwin.particles.network import TrussNetwork, build_network, network_stable_step
from rheotwin.particles.packing import pack_held, pack_loads, pack_nodes, pack_tools
from rheotwin.particles.virial import nodal_volumes, virial_stress
from rheotwin.problem import Problem
from rheotwin.schedule import step_dividing
from rheotwin.solver import ALL_CELLS, ALL_LAWS, ALL_TOOLS, RUNAWAY, Capabilities
from rheotwin.tensors import von_mises

Array = NDArray[np.float64]


class TrussOptions(BaseModel):
    """Options of the truss solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(default=None, gt=0.0, description="step [s]; default: `safety` times the stable step")
    safety: float = Field(default=0.5, gt=0.0, le=1.0, description="share of the stable step used by default")
    unstable: Literal["refuse", "substep"] = Field(
        default="refuse", description="what to do with a step above the stable one"
    )


class TrussSimulation:
    """A truss on its way; positions, velocities and arm states live in (N, 3) and (arms, M) arrays."""

    def __init__(self, problem: Problem, options: TrussOptions) -> None:
        self._problem = problem
        self._network = build_network(problem)
        self.stable_step = network_stable_step(problem, self._network)
        self.step_size = _chosen_step(problem, options, self.stable_step)
        self.step_count = 0
        self._nodes = pack_nodes(problem, RUNAWAY * problem.extent)
        self._held, self._loads, self._tools = pack_held(problem), pack_loads(problem), pack_tools(problem)
        self._edges = _kernel_edges(self._network, self.step_size)
        count = len(problem.points)
        self._state = State(
            positions=self._nodes.rest.copy(),
            velocities=np.zeros((count, 3)),
            arms=np.zeros((self._network.arms, len(self._network.edges))),
            force=np.zeros((count, 3)),
            contact_force=np.zeros((len(self._tools.candidate), 3)),
            reaction=np.zeros((count, 3)),
        )
        self._nodal_volumes = nodal_volumes(problem)

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return self.step_count * self.step_size

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._state.positions[:, : self._problem.dimension]

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._state.velocities[:, : self._problem.dimension]

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps."""
        wanted = round(until / self.step_size) - self.step_count
        self.step_count += advance(
            self.step_count,
            max(0, min(wanted, max_steps)),
            self.step_size,
            self._edges,
            self._state,
            self._nodes,
            self._held,
            self._loads,
            self._tools,
        )

    def _tensions(self) -> tuple[Array, Array, Array]:
        """Return edge vectors (M, 3), tension of the relaxing arms and total tension [N]."""
        x, v, network = self._state.positions, self._state.velocities, self._network
        start, end = network.edges.T
        vectors = x[end] - x[start]
        lengths = np.linalg.norm(vectors, axis=1)
        rates = np.sum((v[end] - v[start]) * vectors, axis=1) / lengths
        memory = np.sum(network.arm_stiffness * self._state.arms, axis=0)
        spring = network.stiffness * (lengths - network.rest_length)
        return vectors, memory, spring + memory + network.viscosity * rates

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        vectors, memory, tension = self._tensions()
        stress = virial_stress(vectors, tension, self._network.edges, self._nodal_volumes)
        contact = np.zeros_like(self._state.positions)
        np.add.at(contact, self._tools.candidate, self._state.contact_force)
        return {
            "displacement": self._state.positions - self._nodes.rest,
            "velocity": self._state.velocities.copy(),
            "stress": stress,
            "von_mises_stress": von_mises(stress),
            "memory_stress": virial_stress(vectors, memory, self._network.edges, self._nodal_volumes),
            "contact_force": contact,
        }

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support."""
        dimension, offset = self._problem.dimension, self._tools.offset
        found = {
            f"tool.{tool.name}": -self._state.contact_force[offset[k] : offset[k + 1], :dimension].sum(axis=0)
            for k, tool in enumerate(self._problem.tools)
        }
        for item in self._problem.prescribed:
            force = np.zeros(dimension)
            force[list(item.components)] = -self._state.reaction[np.ix_(item.nodes, item.components)].sum(axis=0)
            found[f"support.{item.name}"] = force
        return found

    def energy(self) -> dict[str, float]:
        """Return kinetic and stored energy [J]: m v^2/2 and k dd^2/2 + sum kappa z^2/2."""
        x, network = self._state.positions, self._network
        lengths = np.linalg.norm(x[network.edges[:, 1]] - x[network.edges[:, 0]], axis=1)
        spring = 0.5 * np.sum(network.stiffness * (lengths - network.rest_length) ** 2)
        arms = 0.5 * np.sum(network.arm_stiffness * self._state.arms**2)
        kinetic = 0.5 * np.sum(self._nodes.mass[:, None] * self._state.velocities**2)
        return {"kinetic": float(kinetic), "stored": float(spring + arms)}

    def statistics(self) -> dict[str, Any]:
        """Return the size of the truss and how well its springs match the law."""
        return {
            "scheme": "semi-implicit Euler, internal variables first",
            "edges": len(self._network.edges),
            "material_match": self._network.matches,
        }

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        state = {name: array.copy() for name, array in self._state._asdict().items()}
        return state | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        if float(state["step_size"]) != self.step_size:
            raise RheotwinError(
                f"checkpoint: it was written with a step of {float(state['step_size'])!r} s but this run uses "
                f"{self.step_size!r} s; resume with the options of the original run"
            )
        for name, array in self._state._asdict().items():
            array[...] = state[name]
        self.step_count = int(state["step_count"])


def _chosen_step(problem: Problem, options: TrussOptions, stable: float) -> float:
    """Return the step: as asked or a share of the stable one, rounded down to divide the output times."""
    wanted = options.step if options.step is not None else options.safety * min(stable, problem.scene.duration)
    if wanted > stable:
        if options.unstable == "refuse":
            raise RheotwinError(
                f"solvers.truss.step: {wanted:.6g} s is above the stable step of {stable:.6g} s; "
                f"choose at most {0.9 * stable:.3g}, leave it out, or set unstable = \"substep\""
            )
        wanted = options.safety * stable
    return step_dividing(problem.tick, wanted)


def _kernel_edges(network: TrussNetwork, h: float) -> Edges:
    """Precompute exp(-A h) and (1 - exp(-A h))/A of every arm."""
    return Edges(
        start=np.ascontiguousarray(network.edges[:, 0]),
        end=np.ascontiguousarray(network.edges[:, 1]),
        rest_length=network.rest_length,
        stiffness=network.stiffness,
        viscosity=network.viscosity,
        arm_stiffness=network.arm_stiffness,
        arm_decay=np.exp(-network.arm_rate * h),
        arm_gain=-np.expm1(-network.arm_rate * h) / network.arm_rate,
    )


class TrussSolver:
    """Plug-in: three-element (and any other) edges on a truss or lattice, explicit, numba."""

    name: ClassVar[str] = "truss"
    description: ClassVar[str] = "particles joined by rheological edges; explicit, compiled, rotation-exact"
    options: ClassVar[type[BaseModel]] = TrussOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS,
        tools=ALL_TOOLS,
    )

    def start(self, problem: Problem, options: BaseModel) -> TrussSimulation:
        """Set up the truss at time zero."""
        assert isinstance(options, TrussOptions)
        return TrussSimulation(problem, options)
