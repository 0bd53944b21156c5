"""Masters that carry matter, and slaves, a cloud of points around them, on which forces act."""

from rheotwin.particles.slave.solver import SlaveSolver

__all__ = ["SlaveSolver"]
