"""Rules in time, one per file."""

from rheotwin.fem.steppers.choose import make_stepper
from rheotwin.fem.steppers.protocol import Stepper

__all__ = ["Stepper", "make_stepper"]
