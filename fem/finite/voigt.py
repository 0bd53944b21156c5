"""Symmetric tensors as six numbers (XX, YY, ZZ, XY, YZ, XZ).

Stresses carry tensor shear, strains engineering shear. With that pair the product of stress and strain
is the plain dot product, and moduli are (6, 6) matrices.
"""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array
from rheotwin.tensors import INDEX_PAIRS

ROW, COLUMN = (np.array(indices) for indices in zip(*INDEX_PAIRS, strict=True))
ENGINEERING = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""Engineering over tensor shear."""
IDENTITY = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
"""The unit tensor."""
DEVIATOR = np.diag(2.0 / ENGINEERING) - 2.0 / 3.0 * np.outer(IDENTITY, IDENTITY)
"""Strain -> 2 dev(strain), the stress of a unit shear modulus."""
_PLACE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])


def stress_vector(tensor: Array) -> Array:
    """Return the six components (..., 6) of a symmetric tensor (..., 3, 3)."""
    return np.asarray(tensor[..., ROW, COLUMN])


def stress_tensor(vector: Array) -> Array:
    """Return the tensor (..., 3, 3) of six stress components."""
    return np.asarray(vector[..., _PLACE])


def strain_vector(tensor: Array) -> Array:
    """Return the six components (..., 6) of the symmetric part of a strain (..., 3, 3), engineering shear."""
    return np.asarray(0.5 * ENGINEERING * (tensor[..., ROW, COLUMN] + tensor[..., COLUMN, ROW]))


def strain_tensor(vector: Array) -> Array:
    """Return the tensor (..., 3, 3) of six strain components."""
    return stress_tensor(vector / ENGINEERING)


def dyad(a: Array, b: Array) -> Array:
    """Return a (x) b (..., 6, 6): strain -> a (b : strain)."""
    return np.asarray(a[..., :, None] * b[..., None, :])


def sandwich(a: Array, b: Array) -> Array:
    """Return the modulus (..., 6, 6) of e -> (a e b + b e a)/2 for symmetric tensors a, b (..., 3, 3)."""
    i, j, k, l = ROW[:, None], COLUMN[:, None], ROW, COLUMN  # noqa: E741
    first = a[..., i, k] * b[..., j, l] + a[..., i, l] * b[..., j, k]
    return np.asarray(0.25 * (first + b[..., i, k] * a[..., j, l] + b[..., i, l] * a[..., j, k]))
