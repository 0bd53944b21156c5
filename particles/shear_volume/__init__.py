"""Particles that resist shear and change of volume as a continuum does."""

from rheotwin.particles.shear_volume.solver import ShearVolumeSolver

__all__ = ["ShearVolumeSolver"]
