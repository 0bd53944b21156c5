"""Rules in time."""

from rheotwin.fem.steppers.central_difference import CentralDifference
from rheotwin.fem.steppers.choose import Stepper, default_step, make_stepper

__all__ = ["CentralDifference", "Stepper", "default_step", "make_stepper"]
