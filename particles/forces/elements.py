"""Edges or cells with their networks, and any elements of one response, ready for the loops of a layout.

The linear response to a strain s, with arms exact for a constant rate (spec sections 1, 2):

    z <- exp(-A h) z + (1 - exp(-A h))/A s',      f = k s + sum_a kappa_a z_a + eta s'

Elements of one law differ by how much material they stand for, not in kind: k, eta and kappa are one column of numbers
times the element's weight, decay and gain are the same. Loops then read two numbers an element instead of three more
an arm.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.layouts import one_by_one
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import formula, load, store

REST = 0
"""Row of what an element with a network knows of itself: rest length [m] of edges or 1/V0 of cells, if it is read; the
weight follows where constants are shared."""
STIFFNESS, VISCOSITY, ARMS = 0, 1, 2
"""Rows of constants: k, eta, and from `ARMS` on kappa, exp(-A h) and (1 - exp(-A h))/A of every arm."""
ARM_ROWS = 3
SAME = 1e-13
"""Relative difference of two constants that is rounding and no difference of material."""


class Elements(NamedTuple):
    """Edges (corners (M, 2), rest length) or cells (corners (nC, d+1), rest volume) with their networks.

    Arm arrays are (arms, elements).
    """

    corners: Indices
    rest: Array
    stiffness: Array
    viscosity: Array
    arm_stiffness: Array
    arm_decay: Array
    arm_gain: Array


@dataclass(frozen=True)
class ElementGroup:
    """Elements with `corners` (M, c) of one response: what a loop of `rheotwin.kernels.layouts` is handed.

    `element` is the compiled function of one element; `numbers` (rows, M) are its own, `constants` those of all (C,) or
    of each (C, M). Its `rows` states are `columns` of the array `state` of a body's state.
    """

    element: Any
    corners: Indices
    numbers: Array
    constants: Array
    state: str | None
    columns: slice
    rows: int

    @property
    def shared(self) -> int:
        """How many constants serve all elements; 0 if each has its own."""
        return len(self.constants) if self.constants.ndim == 1 else 0

    def states_of(self, state: Any) -> Array:
        """Return the states (rows, M) among those of a body, as a view."""
        if self.state is None:
            return np.zeros((0, len(self.corners)))
        found: Array = getattr(state, self.state)
        return found[:, self.columns]


def group_stage(group: ElementGroup, x: Array, v: Array, states: Array, force: Array) -> Stage:
    """Return the stage that adds the forces of elements one by one, x, v and force (N, 3) in the problem's order."""
    loop = one_by_one(group.element, group.corners.shape[1])
    return Stage(loop, (group.corners, x, v, force, group.numbers, group.constants, states, STEP))


def add_forces_at_rest(group: ElementGroup, x: Array, v: Array, force: Array) -> None:
    """Add the forces of elements without arms, or whose arms have relaxed, at positions [m] and velocities [m/s]."""
    states = np.zeros((group.rows, len(group.corners)))
    Program([group_stage(group, x, v, states, force)], 0.0, Clock()).run(0, 1)


@cache
def linear_response(spring: bool, arms: int, weight: int | None) -> Any:
    """Return f(constants, numbers, states, at, strain, rate), which advances the arms; `weight` is its row."""

    @formula
    def linear_response(constants: Any, numbers: Any, states: Any, at: Any, strain: Any, rate: Any) -> Any:
        f = load(constants, VISCOSITY, at) * rate
        if spring:
            f = f + load(constants, STIFFNESS, at) * strain
        for arm in range(arms):
            first = ARMS + ARM_ROWS * arm
            z = load(constants, first + 1, at) * load(states, arm, at) + load(constants, first + 2, at) * rate
            store(states, arm, at, z)
            f = f + load(constants, first, at) * z
        return f if weight is None else f * load(numbers, weight, at)

    return linear_response


def linear_group(elements: Elements, element: Any, rest: Array, state: str | None) -> ElementGroup:
    """Pack elements with networks; `element(spring, response)` makes their function, `rest` (M,) is row REST."""
    columns, arms = constants_of(elements), len(elements.arm_stiffness)
    found = shared_constants(columns)
    spring = bool(np.any(elements.stiffness))
    known = [rest] if spring or len(elements.corners[0]) > 2 else []  # edges without springs have no use for it
    made = element(spring, linear_response(spring, arms, None if found is None else len(known)))
    numbers = np.array([*known, *([] if found is None else [found[0]])]).reshape(-1, len(rest))
    every = slice(0, len(elements.corners))
    constants = columns if found is None else found[1]
    return ElementGroup(made, elements.corners, numbers, constants, state, every, arms)


def constants_of(elements: Elements) -> Array:
    """Return constants (rows, M) of every element: k, eta, and kappa, exp(-A h), (1 - exp(-A h))/A of every arm."""
    columns = np.empty((ARMS + ARM_ROWS * len(elements.arm_stiffness), len(elements.rest)))
    columns[STIFFNESS], columns[VISCOSITY] = elements.stiffness, elements.viscosity
    for row, values in enumerate((elements.arm_stiffness, elements.arm_decay, elements.arm_gain)):
        columns[ARMS + row :: ARM_ROWS] = values
    return columns


def shared_constants(columns: Array) -> tuple[Array, Array] | None:
    """Return weights (M,) and the column (rows,) that make up proportional columns (rows, M), None for others."""
    if not columns.shape[1]:
        return np.zeros(0), np.zeros(len(columns))
    rows = np.arange(len(columns))
    memory = (rows >= ARMS) & ((rows - ARMS) % ARM_ROWS > 0)
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
