"""Which descriptions and steppers of the finite-element solver do which contact."""

from __future__ import annotations

from rheotwin.errors import RheotwinError
from rheotwin.fem.options import FemOptions
from rheotwin.problem import Problem
from rheotwin.solver import asked_of_contact

LAWFUL = ("midpoint", "cayley", "generalized-alpha", "quasi-static", "static", "central-difference")
"""Steppers that do all contact."""
BOUNCING = ("midpoint", "cayley", "central-difference")
"""Those that know restitution."""
SOLID = ("box", "mesh")


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
