"""The step of a run of particles: as asked or a share of the stable one, rounded down to divide the output times."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, Protocol

from rheotwin.errors import RheotwinError
from rheotwin.particles.steppers.bounds import StepBound
from rheotwin.problem import Problem
from rheotwin.schedule import require_reachable, step_dividing
from rheotwin.start_check import divided_for_fast_tools


class StepOptions(Protocol):
    """Options of a solver that choose its step."""

    @property
    def step(self) -> float | None:
        """Step [s], if given."""

    @property
    def safety(self) -> float:
        """Share of the stable step."""

    @property
    def unstable(self) -> Literal["refuse", "substep"]:
        """What to do with a step above the stable one."""


def chosen_step(
    problem: Problem,
    options: StepOptions,
    bound: StepBound,
    default: Callable[[], float],
    place: str = "solvers.truss",
) -> Fraction:
    """Return the step [s]; one above the stable step is refused or made smaller, as the options say.

    By default no tool passes a feature of a surface within a step.
    """
    usual = default()
    wanted = options.step if options.step is not None else divided_for_fast_tools(problem, usual)
    if wanted > bound.step:
        if options.unstable == "refuse":
            raise RheotwinError(
                f"{place}.step: {wanted:.6g} s is above the stable step of {bound.step:.6g} s, which is set by "
                f"{bound.reason}; "
                f'choose at most {0.9 * bound.step:.3g}, leave it out, or set unstable = "substep"'
            )
        wanted = options.safety * bound.step
    require_reachable(wanted, problem.scene.duration, f"{place}.step")
    return step_dividing(problem.tick, wanted)
