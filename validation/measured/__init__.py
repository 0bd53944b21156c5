"""Checks against real measurements: silicone cube, cantilever and cylinders, by finite elements and particles."""

from rheotwin.validation.measured import beam, cube, ecoflex

CHECKS = (*cube.checks(), *beam.checks(), *ecoflex.checks())

__all__ = ["CHECKS"]
