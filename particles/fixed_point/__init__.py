"""The 16-bit circuit of the papers: to the bit in software, with its errors, its cycles and its gates."""

from rheotwin.particles.fixed_point.solver import FixedPointSolver

__all__ = ["FixedPointSolver"]
