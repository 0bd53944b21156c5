"""Forces of particle elements as functions of positions (N, d): their stiffness, and bodies at rest under a bar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Force = Callable[[Array], Array]
"""Forces (N, d) [N] that elements exert on their particles at positions (N, d) [m]."""

SMALL = 3e-6
"""Step of differences over the extent of the body: rounding and curvature leave 1e-10 of the stiffness."""


def under_bar(points: Array) -> tuple[Indices, Indices]:
    """Return the nodes of the papers' block on the floor, and those under the bar of the pressing scene."""
    x, y = points.T
    return np.flatnonzero(y == 0.0), np.flatnonzero((y == 30.0) & (x >= 30.0) & (x <= 50.0))


def stiffness(force: Force, points: Array) -> Array:
    """Return minus the derivative (N d, N d) [N/m] of the forces at `points` by central differences."""
    step, columns = SMALL * float(np.ptp(points, axis=0).max()), []
    for component in np.ndindex(points.shape):
        moved = np.zeros_like(points)
        moved[component] = step
        columns.append((force(points - moved) - force(points + moved)).ravel() / (2.0 * step))
    return np.array(columns).T


def linear_push(force: Force, points: Array, held: Indices, pushed: Indices, depth: float) -> float:
    """Return the force [N] that moves nodes down by `depth` [m], others held, by the stiffness at rest."""
    matrix, moves = stiffness(force, points), _given(points, held, pushed, depth)
    free = np.isnan(moves)
    moves[free] = np.linalg.solve(matrix[np.ix_(free, free)], -matrix[np.ix_(free, ~free)] @ moves[~free])
    return -float((matrix @ moves).reshape(points.shape)[pushed, 1].sum())


def finite_pushes(
    force: Force, points: Array, held: Indices, pushed: Indices, depths: tuple[float, ...]
) -> list[float]:  # fmt: skip
    """Return the forces [N] at growing depths [m] with the body in equilibrium, the bar without friction."""
    found, moves = [], np.zeros(points.size)
    for depth in depths:
        given = _given(points, held, pushed, depth)
        free = np.isnan(given)
        moves = _settled(force, points, np.where(free, moves, given), free)
        found.append(float(force(points + moves.reshape(points.shape))[pushed, 1].sum()))
    return found


def _given(points: Array, held: Indices, pushed: Indices, depth: float) -> Array:
    """Return the displacements (N d,) that are given, and not-a-number for the free ones."""
    moves = np.full(points.shape, np.nan)
    moves[held], moves[pushed, 1] = 0.0, -depth
    return moves.ravel()


def _settled(force: Force, points: Array, start: Array, free: NDArray[np.bool_]) -> Array:
    """Return the displacements (N d,) at which free components feel no force, by Newton's method."""

    def placed(unknown: Array) -> Array:
        moves = start.copy()
        moves[free] = unknown
        return np.asarray(points + moves.reshape(points.shape))

    solution = root(
        lambda unknown: -force(placed(unknown)).ravel()[free],
        start[free],
        jac=lambda unknown: stiffness(force, placed(unknown))[np.ix_(free, free)],
        tol=1e-13,
    )
    return np.asarray((placed(solution.x) - points).ravel())
