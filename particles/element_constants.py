"""Constants of edges or cells for vector kernels: one shared column times a weight per element where possible.

Elements of one law differ by how much material they stand for, not in kind: stiffness, viscosity and arm stiffness are
one column of numbers times the element's weight, decay and gain are the same. A kernel then reads two numbers per
element instead of three more per arm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.lanes import ARM_ROWS, FIXED_ROWS, form_number

Array = NDArray[np.float64]

SAME = 1e-13
"""Relative difference of two constants that is rounding and no difference of material."""


@dataclass(frozen=True)
class ElementConstants:
    """Weights (M,) and constants in the rows of `lanes`: (rows, M), without weights, or (rows,) when shared.

    `form` is the compiled form of the response that needs them.
    """

    weight: Array
    constants: Array
    form: int

    @property
    def shared(self) -> bool:
        """Whether one column of constants serves all elements."""
        return self.constants.ndim == 1


def all_columns(elements: Elements) -> Array:
    """Return constants (rows, M) of every element: k, eta, and kappa, exp(-A h), (1 - exp(-A h))/A of every arm."""
    arms = elements.arm_stiffness.shape[0]
    columns = np.empty((FIXED_ROWS + ARM_ROWS * arms, len(elements.rest)))
    columns[0], columns[1] = elements.stiffness, elements.viscosity
    for row, values in enumerate((elements.arm_stiffness, elements.arm_decay, elements.arm_gain)):
        columns[FIXED_ROWS + row :: ARM_ROWS] = values
    return columns


def element_constants(elements: Elements) -> ElementConstants:
    """Collect the constants of elements, shared if they are proportional."""
    columns = all_columns(elements)
    spring, arms = bool(np.any(elements.stiffness)), elements.arm_stiffness.shape[0]
    found = _shared(columns)
    if found is None:
        return ElementConstants(np.zeros(0), columns, form_number(shared=False, spring=spring, arms=arms))
    return ElementConstants(*found, form_number(shared=True, spring=spring, arms=arms))


def _shared(columns: Array) -> tuple[Array, Array] | None:
    """Return weights (M,) and the column (rows,) that make up proportional columns, None for others."""
    if not columns.shape[1]:
        return np.zeros(0), np.zeros(len(columns))
    rows = np.arange(len(columns))
    memory = (rows >= FIXED_ROWS) & ((rows - FIXED_ROWS) % ARM_ROWS > 0)
    strengths = columns[~memory]
    largest = strengths.max(axis=1)
    carried = np.flatnonzero(largest > 0.0)
    weight = strengths[carried[0]] / largest[carried[0]] if len(carried) else np.zeros(columns.shape[1])
    if np.any(np.abs(strengths - largest[:, None] * weight) > SAME * largest[:, None]):
        return None
    if np.any(np.ptp(columns[memory], axis=1) > SAME * np.abs(columns[memory]).max(axis=1)):
        return None
    column = columns[:, 0].copy()
    column[~memory] = largest
    return weight, column
