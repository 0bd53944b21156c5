"""Large rotation and large strain: corotational and total-Lagrangian viscoelastic bodies (spec 6)."""

from rheotwin.fem.finite.simulation import FiniteOptions, FiniteSimulation

__all__ = ["FiniteOptions", "FiniteSimulation"]
