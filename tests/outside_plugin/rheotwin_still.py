"""The limit of infinite stiffness: a body that is held stays where it is, a free one falls without turning.
The smallest solver that does something true; copy it to start one of your own."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from rheotwin.errors import RheotwinError
from rheotwin.problem import Problem
from rheotwin.schedule import step_dividing
from rheotwin.solver import ALL_CELLS, ALL_LAWS, Capabilities, check_same_step

Array = NDArray[np.float64]


class StillOptions(BaseModel):
    """Options of the solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(default=None, gt=0.0, description="step [s]; default: 1/100 of the duration")


class StillSimulation:
    """Bodies as points: displacement and velocity (bodies, d); only free components change."""

    stable_step = float("inf")

    def __init__(self, problem: Problem, options: StillOptions) -> None:
        for support in problem.prescribed:
            if support.motion.moves:
                raise RheotwinError(f"supports.{support.name}: a still body cannot be driven; leave the motion out")
        self._problem = problem
        wanted = options.step if options.step is not None else 1e-2 * problem.scene.duration
        self._step: Fraction = step_dividing(problem.tick, wanted)
        self.step_size, self.step_count = float(self._step), 0
        bodies, d = len(problem.bodies), problem.dimension
        self._owner = np.repeat(np.arange(bodies), [body.mesh.p.shape[1] for body in problem.bodies])
        self._mass = np.bincount(self._owner, weights=problem.masses, minlength=bodies)
        self._held = np.zeros((bodies, d), dtype=bool)
        for support in problem.prescribed:
            self._held[self._owner[support.nodes[0]], list(support.components)] = True
        self._moved, self._speed = np.zeros((bodies, d)), np.zeros((bodies, d))

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return float(self._step * self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return np.asarray(self._problem.points + self._moved[self._owner])

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return np.asarray(self._speed[self._owner])

    def _force(self, time: float) -> Array:
        """Return weight and applied forces (bodies, d) [N] at `time` [s]."""
        force: Array = self._mass[:, None] * self._problem.gravity
        for load in self._problem.loads:
            force[self._owner[load.nodes[0]]] += load.factor.at(time)[0] * load.shares.sum(axis=0)
        return force

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps: v' = v + h F/m, x' = x + h (v + v')/2."""
        h = self.step_size
        for _ in range(max(0, min(round(until / h) - self.step_count, max_steps))):
            middle = float(self._step * (2 * self.step_count + 1) / 2)
            change = np.where(self._held, 0.0, h * self._force(middle) / self._mass[:, None])
            self._moved += h * (self._speed + 0.5 * change)
            self._speed += change
            self.step_count += 1

    def fields(self) -> dict[str, Array]:
        """Return the nodal results: no strain, no stress, no contact."""
        count, d = self._problem.points.shape
        displacement, velocity = np.zeros((count, 3)), np.zeros((count, 3))
        displacement[:, :d], velocity[:, :d] = self._moved[self._owner], self.velocities
        return {
            "displacement": displacement,
            "velocity": velocity,
            "stress": np.zeros((count, 6)),
            "strain": np.zeros((count, 6)),
            "von_mises_stress": np.zeros(count),
            "memory_stress": np.zeros((count, 6)),
            "contact_force": np.zeros((count, 3)),
        }

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] on each support: supports of a body share what it carries equally."""
        force, carriers = self._force(self.time), np.zeros(self._held.shape)
        for support in self._problem.prescribed:
            carriers[self._owner[support.nodes[0]], list(support.components)] += 1.0
        found = {}
        for support in self._problem.prescribed:
            body, parts = self._owner[support.nodes[0]], list(support.components)
            share = np.zeros(self._problem.dimension)
            share[parts] = force[body, parts] / carriers[body, parts]
            found[f"support.{support.name}"] = share
        return found

    def energy(self) -> dict[str, float]:
        """Return energies [J]; a rigid body stores none."""
        return {"kinetic": float(0.5 * np.sum(self._mass[:, None] * self._speed**2)), "stored": 0.0}

    def statistics(self) -> dict[str, Any]:
        return {"scheme": "exact parabola", "degrees_of_freedom": int((~self._held).sum())}

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        return {
            "moved": self._moved.copy(),
            "speed": self._speed.copy(),
            "step_count": np.array(self.step_count),
            "step_size": np.array(self.step_size),
        }

    def restore(self, state: Mapping[str, Array]) -> None:
        check_same_step(state, self.step_size)
        self._moved, self._speed = np.array(state["moved"]), np.array(state["speed"])
        self.step_count = int(state["step_count"])


class StillSolver:
    """Plug-in: rigid bodies that are held or fall."""

    name: ClassVar[str] = "still"
    version: ClassVar[str] = "0.3.0"
    description: ClassVar[str] = "bodies of infinite stiffness: they stay or fall, and never deform"
    options: ClassVar[type[BaseModel]] = StillOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}), cells=ALL_CELLS, laws=ALL_LAWS, tools=frozenset()
    )

    def start(self, problem: Problem, options: BaseModel) -> StillSimulation:
        assert isinstance(options, StillOptions)
        return StillSimulation(problem, options)
