"""Incompressible particles: volumes of patches kept by constraint stabilisation, pressures by conjugate gradients."""
