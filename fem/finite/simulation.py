"""A finite-element model at large rotation and large strain, on the run's grid of steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import Diverged, RheotwinError
from rheotwin.fem.finite import results
from rheotwin.fem.finite.body import Inverted
from rheotwin.fem.finite.model import DESCRIPTIONS, build_model
from rheotwin.fem.finite.newton import Limits, NotConverged
from rheotwin.fem.finite.state import restored_state, state_at_rest
from rheotwin.fem.finite.step import HALVINGS, Effort, carry
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing, time_of
from rheotwin.solver import RUNAWAY, check_same_step

Array = NDArray[np.float64]


class FiniteOptions(Protocol):
    """What this simulation reads from the options of the finite-element solver."""

    @property
    def step(self) -> float | None:
        """Step [s]; default: 1/1000 of the duration."""

    @property
    def kinematics(self) -> str:
        """Description of the motion: "corotational" or "total-lagrangian"."""

    @property
    def inertia(self) -> bool:
        """Whether the mass counts; without it every step ends in equilibrium."""

    @property
    def newton_tolerance(self) -> float:
        """Residual, as a share of the largest force, at which a step is solved."""

    @property
    def newton_iterations(self) -> int:
        """Iterations before a step is halved."""


class FiniteSimulation:
    """Large rotation (corotational) or large strain (total-Lagrangian), implicit, with exact unilateral contact.

    Without inertia every step ends in equilibrium; with inertia the step is the implicit midpoint rule with
    averaged strains. A step that finds no solution is halved; after `HALVINGS` halvings the run stops.
    """

    stable_step = float("inf")

    def __init__(self, problem: Problem, options: FiniteOptions) -> None:
        if options.kinematics not in DESCRIPTIONS:
            raise RheotwinError(
                f'solvers.fem.kinematics: "{options.kinematics}" is not for large motion; choose one of '
                f"{', '.join(DESCRIPTIONS)}"
            )
        self._problem, self._description = problem, DESCRIPTIONS[options.kinematics]
        wanted = options.step if options.step is not None else 1e-3 * problem.scene.duration
        require_reachable(wanted, problem.scene.duration, "solvers.fem.step")
        self._step_fraction = step_dividing(problem.tick, wanted)
        self.step_size = float(self._step_fraction)
        self.step_count = 0
        self._model = build_model(problem, self._description, inertia=options.inertia)
        self._limits = Limits(options.newton_tolerance, options.newton_iterations)
        self._effort = Effort()
        self._state = state_at_rest(self._model)

    @property
    def time(self) -> float:
        """Time reached [s]."""
        return time_of(self._step_fraction, self.step_count)

    @property
    def positions(self) -> Array:
        """Current node positions (N, d) [m]."""
        return self._problem.points + self._state.u.reshape(self._problem.points.shape)

    @property
    def velocities(self) -> Array:
        """Current node velocities (N, d) [m/s]."""
        return self._state.v.reshape(self._problem.points.shape)

    def advance(self, until: float, max_steps: int) -> None:
        """Step towards `until` [s], at most `max_steps` steps; a step without solution leaves the last state."""
        wanted = round(until / self.step_size) - self.step_count
        for _ in range(max(0, min(wanted, max_steps))):
            end = time_of(self._step_fraction, self.step_count + 1)
            try:
                self._state = carry(self._model, self._state, self.time, end, self._limits, self._effort)
            except (NotConverged, Inverted) as fault:
                raise self._diverged(fault) from None
            self.step_count += 1
            if not np.abs(self._state.u).max() <= RUNAWAY * self._problem.extent:
                break  # the run loop says where; stopping here makes the time it names independent of chunks

    def _diverged(self, fault: NotConverged | Inverted) -> Diverged:
        """Say where and when no equilibrium was found, and what helps."""
        problem = self._problem
        if isinstance(fault, Inverted):
            body = next(body for body in self._model.bodies if body.name == fault.body)
            component, left = int(body.geometry.dofs[fault.element, 0]), ""
        else:
            component, left = fault.component, f" (residual {fault.residual:.3g} N)"
        node = component // problem.dimension
        there = problem.body_of(node)
        return Diverged(
            time=self.time,
            body=there.name,
            node=node - there.first_node,
            position=tuple(float(x) for x in problem.points[node]),
            advice=f"{fault}{left}, even with the step of {self.step_size:.4g} s halved {HALVINGS} times; reduce "
            "solvers.fem.step, slow the motions down or refine the mesh there",
        )

    def reactions(self) -> dict[str, Array]:
        """Return the force (d,) [N] the bodies exert on each tool and support."""
        return results.reactions(self._model, self._state, self.time)

    def energy(self) -> dict[str, float]:
        """Return energies [J]: kinetic, stored, dissipated, lost in impacts, work from outside, and what is amiss."""
        return results.energy(self._model, self._state)

    def fields(self) -> dict[str, Array]:
        """Return the nodal results under their common names."""
        return results.fields(self._model, self._state, self.time)

    def statistics(self) -> dict[str, Any]:
        """Return the scheme and how hard it was to solve."""
        with_mass = self._model.inertia
        return {
            "scheme": "midpoint with averaged strains" if with_mass else "equilibrium at the end of each step",
            "kinematics": self._description,
            "unknowns": int(self._model.frame.free.sum()),
            "newton_iterations": self._effort.iterations,
            "halved_steps": self._effort.halvings,
        }

    def save(self) -> dict[str, Array]:
        """Return the complete state."""
        return self._state.save() | {"step_count": np.array(self.step_count), "step_size": np.array(self.step_size)}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Take over a saved state."""
        check_same_step(state, self.step_size)
        self._state = restored_state(self._model, state)
        self.step_count = int(state["step_count"])
