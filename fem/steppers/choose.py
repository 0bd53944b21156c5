"""From an option to a stepper, and what a stepper is: it takes a state over one step of the run's grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

from rheotwin.arrays import Array
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.constraints.rank import RankReport, rank_report
from rheotwin.constraints.stabilisation import Constraint
from rheotwin.errors import RheotwinError
from rheotwin.fem.links import model_links, require_no_links
from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers.adaptive import AdaptiveStepper
from rheotwin.fem.steppers.central_difference import CentralDifference, largest_stable_step
from rheotwin.fem.steppers.equilibrium import quasi_static, require_long_term_moduli, static
from rheotwin.fem.steppers.explicit_rules import EXPLICIT_EULER, RUNGE_KUTTA, stable_step
from rheotwin.fem.steppers.explicit_stepper import ExplicitStepper
from rheotwin.fem.steppers.generalized_alpha import generalized_alpha
from rheotwin.fem.steppers.implicit import ImplicitStepper
from rheotwin.fem.steppers.midpoint import cayley, midpoint
from rheotwin.fem.steppers.newton import NewtonStepper
from rheotwin.fem.steppers.scheme import Scheme
from rheotwin.start_check import divided_for_fast_tools

EXPLICIT_RULES = {"euler": EXPLICIT_EULER, "rk4": RUNGE_KUTTA}
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


def volume_constraints(model: Model, kind: PatchKind) -> tuple[Sequence[Constraint], Sequence[RankReport]]:
    """Return the constraints of every body, and what they leave of its freedom."""
    if any(body.space.axisymmetric for body in model.bodies):
        raise RheotwinError(
            "solvers.fem.incompressible: volume constraints do not know rings; choose another stepper for "
            'plane = "axisymmetric"'
        )
    constraints, reports = [], []
    for body, first in zip(model.bodies, model.first_rows, strict=True):
        space = patches(kind, body.space.mesh.t.T + first, model.points)
        constraint = measure_constraints(space, model.points)
        constraints.append(constraint)
        reports.append(rank_report(kind, constraint.gradient(model.points), model.held))
    return constraints, reports


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
