"""From an option to a stepper."""

from __future__ import annotations

from collections.abc import Callable

from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.steppers.cayley import cayley
from rheotwin.fem.steppers.generalized_alpha import generalized_alpha
from rheotwin.fem.steppers.implicit import ImplicitStepper
from rheotwin.fem.steppers.midpoint import midpoint
from rheotwin.fem.steppers.protocol import Stepper
from rheotwin.fem.steppers.quasi_static import quasi_static
from rheotwin.fem.steppers.scheme import Scheme


def make_stepper(model: Model, h: float, options: FemOptions) -> Stepper:
    """Return the stepper of the options for steps of `h` [s]."""
    schemes: dict[str, Callable[[float], Scheme]] = {
        "midpoint": midpoint,
        "cayley": cayley,
        "quasi-static": quasi_static,
        "generalized-alpha": lambda step: generalized_alpha(step, options.spectral_radius),
    }
    scheme = schemes[options.stepper](h)
    return ImplicitStepper(model, scheme, h, options.linear_solver, account=options.energy_balance)
