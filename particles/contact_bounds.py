"""What the laws of contact ask of a step: their stiffness beside that of the body, and rules in time that know them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags

from rheotwin.constraints.contact.springs import contact_stiffness, has_contact_springs, has_soft_contact
from rheotwin.errors import RheotwinError
from rheotwin.particles.steppers.bounds import StepBound
from rheotwin.particles.steppers.choose import StepperName
from rheotwin.problem import Problem

Others = list[tuple[csr_matrix, float]]


def with_contact(others: Others, problem: Problem) -> Others:
    """Add the springs of contact to the stiffness and viscosity beside the elements, each a matrix and a bound."""
    if not has_contact_springs(problem):
        return others
    stiffness = contact_stiffness(problem)
    (stiff, bound), viscous = others
    return [(csr_matrix(stiff + diags(np.repeat(stiffness, problem.dimension))), bound), viscous]


def with_contact_reason(bound: StepBound, problem: Problem) -> StepBound:
    """Say that the springs of contact are in a bound."""
    if not has_contact_springs(problem):
        return bound
    return StepBound(bound.step, f"{bound.reason}, with the contact stiffness (K h^2/m < 4) in it")


def check_contact(problem: Problem, stepper: StepperName) -> None:
    """Refuse laws of contact that a rule in time does not know.

    The explicit rules settle contact after their own step, by moving nodes; springs must not move them, and what
    sticks would creep.
    """
    if problem.contact is None or stepper == "semi-implicit":
        return
    if stepper == "implicit":
        raise RheotwinError(
            'solvers.truss.stepper: "implicit" knows exact, frictionless tools only; leave [contact] and the `contact` '
            'and `drive` of tools out, or use stepper = "semi-implicit"'
        )
    laws = (problem.contact.law, *problem.contact.tool_laws)
    if has_soft_contact(problem) or any(law.static_friction > 0.0 for law in laws):
        raise RheotwinError(
            f"solvers.truss.stepper: {stepper!r} knows the contact laws exact and impulse only, without friction; "
            'choose one of them, or stepper = "semi-implicit"'
        )
