"""Compiled kernels of the finite-element backend: block rows, explicit steps, element loops."""
