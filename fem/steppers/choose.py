"""From an option to a stepper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from rheotwin.constraints.patches import PatchKind
from rheotwin.constraints.rank import RankReport
from rheotwin.constraints.stabilisation import Constraint
from rheotwin.fem.finite.newton import Limits
from rheotwin.fem.links import model_links, require_no_links
from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.steppers.adaptive import AdaptiveStepper
from rheotwin.fem.steppers.cayley import cayley
from rheotwin.fem.steppers.central_difference import CentralDifference, largest_stable_step
from rheotwin.fem.steppers.explicit_euler import EXPLICIT_EULER
from rheotwin.fem.steppers.explicit_stability import stable_step
from rheotwin.fem.steppers.explicit_stepper import ExplicitStepper
from rheotwin.fem.steppers.generalized_alpha import generalized_alpha
from rheotwin.fem.steppers.implicit import ImplicitStepper
from rheotwin.fem.steppers.midpoint import midpoint
from rheotwin.fem.steppers.newton import NewtonStepper
from rheotwin.fem.steppers.protocol import Stepper
from rheotwin.fem.steppers.quasi_static import quasi_static
from rheotwin.fem.steppers.runge_kutta import RUNGE_KUTTA
from rheotwin.fem.steppers.scheme import Scheme
from rheotwin.fem.steppers.static import require_long_term_moduli, static
from rheotwin.fem.steppers.volume import volume_constraints
from rheotwin.start_check import divided_for_fast_tools

EXPLICIT_RULES = {"euler": EXPLICIT_EULER, "rk4": RUNGE_KUTTA}


def _explicit(model: Model, h: float, options: FemOptions) -> ExplicitStepper:
    constraints: Sequence[Constraint] = ()
    reports: Sequence[RankReport] = ()
    if options.constrained:
        constraints, reports = volume_constraints(model, cast(PatchKind, options.formulation))
    if model.problem.links:
        constraints = [*constraints, model_links(model)]
    return ExplicitStepper(
        model,
        EXPLICIT_RULES[options.stepper],
        h,
        frequency=options.constraint_frequency,
        extra_constraints=constraints,
        reports=reports,
        choice=options.linear_solver,
        account=options.energy_balance,
    )


STEPS = 1000
"""Steps of a run whose stepper is stable at any step, unless the scene says otherwise."""
SAFETY = 0.5
"""Share of the stable step that an explicit stepper takes unless the scene says otherwise."""


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
        limits = Limits(options.newton_tolerance, options.newton_iterations)
        return NewtonStepper(model, limits, inertia=options.inertia, description=options.kinematics)
    if options.stepper in EXPLICIT_RULES:
        return _explicit(model, h, options)
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
