"""The particle backend: edges that are one-dimensional rheological networks, stepped in compiled loops."""

from rheotwin.particles.truss import TrussSolver

__all__ = ["TrussSolver"]
