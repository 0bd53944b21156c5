"""From an option to a stepper, and what a stepper is: it takes a state over one step of the run's grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rheotwin.arrays import Array
from rheotwin.fem.links import require_no_links
from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers.adaptive import AdaptiveStepper
from rheotwin.fem.steppers.central_difference import CentralDifference, largest_stable_step
from rheotwin.fem.steppers.explicit_rules import EXPLICIT_RULES, stable_step
from rheotwin.fem.steppers.explicit_stepper import ExplicitStepper
from rheotwin.fem.steppers.implicit import ImplicitStepper
from rheotwin.fem.steppers.newton import NewtonStepper
from rheotwin.fem.steppers.schemes import (
    Scheme,
    cayley,
    generalized_alpha,
    midpoint,
    quasi_static,
    require_long_term_moduli,
    static,
)
from rheotwin.plausibility import divided_for_fast_tools

STEPS = 1000
"""Steps of a run whose stepper is stable at any step, unless the scene says otherwise."""
SAFETY = 0.5
"""Share of the stable step that an explicit stepper takes unless the scene says otherwise."""


class Stepper(Protocol):
    """Advances a state in place."""

    @property
    def stable_step(self) -> float:
        """Largest stable step [s]; infinity if every step is."""

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` from `begin` [s] to `end` [s], one step of the run's grid apart."""

    def statistics(self) -> dict[str, Any]:
        """Return what the manifest should tell (plain JSON values)."""

    def save(self) -> dict[str, Array]:
        """Return what the stepper itself remembers from step to step, by name."""

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over what `save` returned."""


def default_step(model: Model, options: FemOptions) -> float:
    """Return the step [s] to take where the options name none: shorter where tools would pass a feature in one."""
    return divided_for_fast_tools(model.problem, _usual_step(model, options))


def _usual_step(model: Model, options: FemOptions) -> float:
    longest = model.problem.scene.duration / STEPS
    if options.stepper == "central-difference":
        return min(longest, SAFETY * largest_stable_step(model))
    if options.stepper in EXPLICIT_RULES:
        stable = stable_step(model, EXPLICIT_RULES[options.stepper], options.linear_solver)
        return min(longest, SAFETY * stable) if stable else longest
    return longest


def make_stepper(model: Model, h: float, options: FemOptions) -> Stepper:
    """Return the stepper of the options for steps of `h` [s]."""
    if options.kinematics != "small":
        return NewtonStepper(model, options)
    if options.stepper in EXPLICIT_RULES:
        return ExplicitStepper(model, h, options)
    if options.stepper == "central-difference":
        require_no_links(model.problem, "the stepper central-difference", 'stepper = "midpoint" or "rk4"')
        return CentralDifference(model, h, account=options.accounts)
    if options.stepper == "adaptive":
        return AdaptiveStepper(model, h, options.tolerance, options.linear_solver, account=options.energy_balance)
    schemes: dict[str, Callable[[float], Scheme]] = {
        "midpoint": midpoint,
        "cayley": cayley,
        "quasi-static": quasi_static,
        "static": lambda _: static(),
        "generalized-alpha": lambda step: generalized_alpha(step, options.spectral_radius),
    }
    if options.stepper == "static":
        require_long_term_moduli(model)
    scheme = schemes[options.stepper](h)
    return ImplicitStepper(model, scheme, h, options.linear_solver, account=options.accounts)
