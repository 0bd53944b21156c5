"""Rules in time, one per file."""

from rheotwin.fem.steppers.central_difference import CentralDifference
from rheotwin.fem.steppers.choose import default_step, make_stepper
from rheotwin.fem.steppers.protocol import Stepper

__all__ = ["CentralDifference", "Stepper", "default_step", "make_stepper"]
