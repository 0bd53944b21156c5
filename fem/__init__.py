"""The finite-element backend: relaxation forms on scikit-fem, exponential midpoint in time."""

from rheotwin.fem.simulation import FemSolver

__all__ = ["FemSolver"]
