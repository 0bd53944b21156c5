"""From an option to a stepper, what a stepper is (it takes a state over one step), and which do which contact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import LinearBody
from rheotwin.fem.finite.body import FiniteBody
from rheotwin.fem.linear import Kind, choose
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
from rheotwin.fem.steppers.yielding import YieldingStepper
from rheotwin.plausibility import divided_for_fast_tools
from rheotwin.problem import Problem
from rheotwin.solver import asked_of_contact

STEPS = 1000
"""Steps of a run whose stepper is stable at any step, unless the scene says otherwise."""
SAFETY = 0.5
"""Share of the stable step that an explicit stepper takes unless the scene says otherwise."""
LAWFUL = ("midpoint", "cayley", "generalized-alpha", "quasi-static", "static", "central-difference")
"""Steppers that do all contact."""
BOUNCING = ("midpoint", "cayley", "central-difference")
"""Those that know restitution."""
SOLID = ("box", "mesh")
"""Shapes of tools that those alone know."""


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
    yielding = any(isinstance(body, LinearBody) and body.points for body in model.bodies)
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
    if yielding:
        return YieldingStepper(model, scheme, h, options.linear_solver, account=options.accounts)
    return ImplicitStepper(model, scheme, h, options.linear_solver, account=options.accounts)


def foreseen_solver(model: Model, options: FemOptions) -> str:
    """Return the linear solver that steps of a model will take, and why; nothing is factorised."""
    if options.stepper == "central-difference" or (options.stepper in EXPLICIT_RULES and model.lumped):
        return "none, as nothing is solved for"
    if options.linear_solver != "auto":
        return f"{options.linear_solver}, asked for"
    kind: Kind = "spd"
    unknowns, dimension = len(model.free), model.dimension
    for body in model.bodies:
        if isinstance(body, FiniteBody):
            unknowns -= sum(part.own.size * len(part.dofs) for part in body.parts)
            if any(part.pressure is not None and part.pressure.shared for part in body.parts):
                return "{}, {}".format(*choose(unknowns, None, "indefinite"))
            if options.inertia or any(not part.law.symmetric for part in body.parts):
                kind = "unsymmetric"
        else:
            pressures = [term.augmentation.mass.shape[0] for term in body.terms if term.augmentation is not None]
            unknowns += sum(pressures)
            kind = "indefinite" if pressures or (isinstance(body, LinearBody) and body.points) else kind
    return "{}, {}".format(*choose(unknowns, dimension, kind))


def require_contact(problem: Problem, options: FemOptions) -> None:
    """Refuse contact that the chosen kinematics or stepper does not do."""
    if problem.contact is None:
        return
    if options.kinematics == "small" and options.stepper in LAWFUL:
        _require_bounces(problem, options.stepper)
        return
    asked = [(place, word) for place, word in asked_of_contact(problem) if word != "exact"]
    shapes = ((f"tools.{name}.shape", tool.shape) for name, tool in problem.scene.tools.items())
    asked += [(place, shape) for place, shape in shapes if shape in SOLID]
    if not asked:
        return
    place, word = asked[0]
    small = options.kinematics == "small"
    who = f'stepper = "{options.stepper}"' if small else f'kinematics = "{options.kinematics}"'
    raise RheotwinError(
        f"{place}: {word} contact is beyond {who}, which knows exact frictionless tools only; choose "
        f'kinematics = "small" with one of the steppers {", ".join(LAWFUL)}'
    )


def _require_bounces(problem: Problem, stepper: str) -> None:
    """Refuse restitution where a step has no velocity, or remembers the acceleration of an impact."""
    assert problem.contact is not None
    laws = (*problem.contact.tool_laws, *[problem.contact.law] * problem.contact.between_bodies)
    if stepper not in BOUNCING and any(law.restitution > 0.0 for law in laws):
        raise RheotwinError(
            f'contact.restitution: stepper = "{stepper}" sends nothing back; choose {" or ".join(BOUNCING)}, or '
            "restitution = 0"
        )
