"""Polyhedra that pull back to their own rest shape."""

from rheotwin.particles.local_shape.solver import LocalShapeSolver

__all__ = ["LocalShapeSolver"]
