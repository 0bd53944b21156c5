"""Which rule in time carries a truss, what it is called, and how far it may step.

The semi-implicit step (spec section 6) has the order that keeps it conditionally stable at any series viscosity:

    (a)  internal variables advance with the current velocities, exact for constant rates
    (b)  forces of edges, cells and whatever keeps the shape, then those of constraints
    (c)  v += h F / m,   then held components and contact
    (d)  x += h v
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.kernels.blocks import STEP, TIME
from rheotwin.kernels.stage import Stage
from rheotwin.particles.forces.all_forces import Forces, force_stages
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.state import State, drift
from rheotwin.particles.steppers.first_order import euler_steps, first_order_system, rk4_steps
from rheotwin.particles.steppers.implicit import implicit_steps
from rheotwin.particles.steps import (
    SEMI_IMPLICIT_SCHEME,
    Boundary,
    Surroundings,
    add_constraint_forces,
    note_held_accelerations,
)


def general_steps(forces: Forces, around: Surroundings, h: float) -> Callable[[int, int], int]:
    """Return take(first, count), which takes steps of `h` [s] and returns how many were taken."""
    state: State = around.state
    stages = [*around.begin_forces(), *force_stages(forces, state)]
    if len(state.multipliers):
        boundary = around.boundary
        held = (forces.constraints, boundary.held, boundary.nodes, state, around.clock.end, STEP)
        exerted = (forces.constraints, boundary.nodes, state, TIME, True, STEP, state.force)
        stages += [Stage(note_held_accelerations, held), Stage(add_constraint_forces, exerted)]
    moved = Stage(drift, (state.velocities, STEP, state.positions))
    return around.bind([*stages, *around.kick(), moved, *around.last_look()], h)


StepperName = Literal["semi-implicit", "euler", "rk4", "implicit"]

STEPS_IN_A_RUN = 1000
"""Steps the duration is divided into where no bound sets the step."""

LINEAR_STATE = frozenset(
    {"positions", "velocities", "edge_arms", "cell_arms", "centre_arms", "force", "reaction", "multipliers", "touching"}
)
"""What the state of linear elements and of forces without memory consists of."""


@dataclass(frozen=True)
class Stepper:
    """A rule in time bound to a body: `take(first, count)` advances the state and returns the steps taken."""

    scheme: str
    take: Callable[[int, int], int]
    work: Array
    """Iterations of linear solves so far (1,)."""

    def statistics(self, steps: int) -> dict[str, Any]:
        """Return what a manifest should tell about `steps` steps."""
        found: dict[str, Any] = {"scheme": self.scheme}
        return found | ({"iterations_per_step": float(self.work[0] / steps)} if steps and self.work[0] else {})


def make_stepper(name: StepperName, forces: Forces, state: State, boundary: Boundary, h: float) -> Stepper:
    """Bind the rule `name` to a body; `forces` are those of a step `h` [s] of the semi-implicit rule."""
    work: Array = np.zeros(1)
    if name == "semi-implicit":
        return Stepper(SEMI_IMPLICIT_SCHEME, general_steps(forces, Surroundings(boundary, state), h), work)
    _require_linear(name, state)
    if len(boundary.grabs.node):
        raise RheotwinError(
            f'solvers.truss.stepper: {name!r} knows no hands; use stepper = "semi-implicit", or leave `grabs` out'
        )
    if name == "implicit":
        others = forces._replace(edges=_none_of(forces.edges), cells=_none_of(forces.cells))
        return Stepper(
            "linearly implicit Euler, conjugate gradients without a matrix",
            implicit_steps(forces, others, Surroundings(boundary, state), h, work),
            work,
        )
    system = first_order_system(forces, h)
    scheme, rule = {"euler": ("explicit Euler", euler_steps), "rk4": ("classical Runge-Kutta", rk4_steps)}[name]
    return Stepper(scheme, rule(system, Surroundings(boundary, state), h), work)


def _require_linear(name: StepperName, state: State) -> None:
    """Refuse internal variables whose rates only the semi-implicit rule knows."""
    for field, array in state._asdict().items():
        if field not in LINEAR_STATE and array.size > 0:
            raise RheotwinError(
                f"solvers.truss.stepper: {name!r} knows internal variables of linear laws only, not "
                f'{field.replace("_", " ")}; use stepper = "semi-implicit"'
            )


def _none_of(elements: Elements) -> Elements:
    """Return no elements of the same kind."""
    return Elements(
        corners=elements.corners[:0],
        rest=elements.rest[:0],
        stiffness=elements.stiffness[:0],
        viscosity=elements.viscosity[:0],
        arm_stiffness=np.zeros((elements.arm_stiffness.shape[0], 0)),
        arm_decay=np.zeros((elements.arm_decay.shape[0], 0)),
        arm_gain=np.zeros((elements.arm_gain.shape[0], 0)),
    )
