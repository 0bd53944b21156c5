"""Constraints on accelerations with critically damped correction: the papers' CSM for any constraint (spec 2.2, 5).

A constraint R = 0 is demanded as R'' + 2 om R' + om^2 R = 0, whose solutions die out like (1 + om t) exp(-om t)
(Baumgarte 1972). With A^T = dR/dx and R'' = A^T v' + Q the motion follows from the saddle-point system

    [ M   -A ] [v']   [ F ]
    [-A^T  0 ] [L ] = [ b ],        b = 2 om R' + om^2 R + Q

by its Schur complement: (A^T M^-1 A + eps) L = -(b + A^T M^-1 F). L are the forces the constraints exert. The
inverse mass of a constrained body is again an inverse mass, so constraints can be stacked: supports first, then
volumes, then contact.

How the gap between moving points and a moving rigid tool changes: first and second time derivative.

With y = x - centre - p(t) in the pose (p, theta), n the outward normal, a the tool's axis and m = a x n, which is
how n turns (zero for round tools):

    g'  = n.y' + theta' m.y
    g'' = n.x'' + [ -n.p'' + y'.H y' + 2 theta' m.y' + theta'' m.y - theta'^2 (n - (n.a) a).y ]

H is the curvature of the tool's surface: (1 - n n)/r at distance r from the centre of a sphere, (1 - n n - a a)/r
from the axis of a cylinder, zero for flat faces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csc_matrix, csr_matrix, diags, issparse
from scipy.sparse.linalg import splu

from rheotwin.arrays import Array
from rheotwin.constraints.motion import motion_rates
from rheotwin.constraints.tools import AXIS, CENTER, CYLINDER, PLANE, PRISM, RADIUS, SPHERE, RigidTool, tool_gaps
from rheotwin.errors import RheotwinError

REGULARISATION = 1e-6
"""eps as a share of the mean diagonal of the Schur complement: lets dependent constraints through (spec 5)."""


INDEPENDENT = 1e-12
"""eps, as a share of the diagonal, of constraints that do not depend on each other but may come close to it."""


class Constraint(Protocol):
    """A constraint R(x) = 0 on positions x (N, d) [m]."""

    def value(self, positions: Array) -> Array:
        """Return R (constraints,)."""

    def gradient(self, positions: Array) -> csr_matrix:
        """Return A^T = dR/dx (constraints, N d); component c of node i is column i d + c."""

    def curvature(self, positions: Array, velocities: Array) -> Array:
        """Return Q (constraints,), the part of R'' that needs no acceleration."""


class Inertia(Protocol):
    """An inverse mass: forces to accelerations."""

    def accelerations(self, force: Array) -> Array:
        """Return M^-1 F [m/s2] for forces (n,) or (n, k) [N]."""

    def coupling(self, left: csr_matrix, right: csr_matrix) -> csr_matrix | Array:
        """Return left M^-1 right^T for constraint rows (m, n) and (k, n)."""


class LumpedInertia:
    """Inverse of a diagonal mass; zero entries stand for components that cannot move."""

    def __init__(self, inverse: Array) -> None:
        self._inverse = inverse

    def accelerations(self, force: Array) -> Array:
        """Return F/m."""
        return self._inverse * force if force.ndim == 1 else self._inverse[:, None] * force

    def coupling(self, left: csr_matrix, right: csr_matrix) -> csr_matrix:
        """Return the sparse product."""
        scaled = csr_matrix((left.data * self._inverse[left.indices], left.indices, left.indptr), shape=left.shape)
        return (scaled @ right.T).tocsr()


class FactorisedInertia:
    """Inverse of a consistent mass by a factorisation that is made once."""

    def __init__(self, solve: Callable[[Array], Array]) -> None:
        self._solve = solve

    def accelerations(self, force: Array) -> Array:
        """Return M^-1 F."""
        return self._solve(force)

    def coupling(self, left: csr_matrix, right: csr_matrix) -> Array:
        """Return the dense product, column by column."""
        return np.asarray(left @ self._solve(right.T.toarray()))


class ConstrainedInertia:
    """Inverse mass of a body that keeps further constraints; their Schur complement is factorised here, once.

    `regularisation` is a share of the mean diagonal of that complement, or of each row's own diagonal.
    """

    def __init__(self, base: Inertia, rows: csr_matrix, *, regularisation: float | Array = 0.0) -> None:
        self._base, self.rows, self.columns = base, rows, csr_matrix(rows.T)
        self._solve = _schur_solver(base.coupling(rows, rows), regularisation)

    def multipliers(self, acceleration: Array, demand: Array) -> Array:
        """Return L for the acceleration [m/s2] without it: -S^-1 (b + A^T a)."""
        return -self._solve(demand + self.rows @ acceleration)

    def response(self, acceleration: Array, demand: Array) -> tuple[Array, Array]:
        """Return the acceleration [m/s2] with the constraints, and their multipliers L."""
        multipliers = self.multipliers(acceleration, demand)
        return acceleration + self._base.accelerations(self.columns @ multipliers), multipliers

    def accelerations(self, force: Array) -> Array:
        """Return the accelerations [m/s2] that forces [N] cause while the constraints hold."""
        free = self._base.accelerations(force)
        return free - self._base.accelerations(self.columns @ self._solve(self.rows @ free))

    def coupling(self, left: csr_matrix, right: csr_matrix) -> Array:
        """Return left M_c^-1 right^T, dense."""
        towards = _dense(self._base.coupling(self.rows, right))
        own = self._base.coupling(left, self.rows)
        return np.asarray(_dense(self._base.coupling(left, right)) - own @ self._solve(towards))


def stabilised_demand(value: Array, rate: Array, curvature: Array, frequency: float) -> Array:
    """Return b = 2 om R' + om^2 R + Q for om = `frequency` [1/s]."""
    return 2.0 * frequency * rate + frequency**2 * value + curvature


def _dense(matrix: csr_matrix | Array) -> Array:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def _shift(own: Array, share: float | Array) -> Array:
    """Return eps times the mean of the diagonal `own`, or each row's eps times its own; no force on rows of zeros."""
    if np.ndim(share) == 0:
        return np.full(len(own), share * own.mean())
    largest = float(own.max(initial=0.0)) or 1.0
    return np.where(own > 0.0, share * own, largest / share)


def _schur_solver(schur: csr_matrix | Array, regularisation: float | Array) -> Callable[[Array], Array]:
    """Factorise S + eps (mean diagonal) 1, or S + diag(eps (own diagonal))."""
    size = schur.shape[0]
    if size == 0:
        return lambda right: right
    shift = _shift(schur.diagonal(), regularisation)
    try:
        if issparse(schur):
            factor = splu(csc_matrix(schur + diags(shift)))
            return lambda right: np.asarray(factor.solve(right))
        cholesky = cho_factor(np.asarray(schur) + np.diag(shift))
    except (RuntimeError, LinAlgError):  # the libraries' words for a singular matrix
        raise RheotwinError(
            f"constraints: {size} of them depend on each other or act on held nodes only, so that their forces are "
            "not determined; remove the redundant ones"
        ) from None
    return lambda right: np.asarray(cho_solve(cholesky, right))


@dataclass(frozen=True)
class GapMotion:
    """Gaps (n,) [m], outward normals (n, 3), gap rates (n,) [m/s] and the part of g'' that needs no x'' [m/s2]."""

    gap: Array
    normal: Array
    rate: Array
    second: Array


def gap_motion(
    tool: RigidTool, time: float, points: Array, velocities: Array, *, after: bool = True, slack: float = 0.0
) -> GapMotion:
    """Return how the gaps of points (n, 3) [m] with velocities (n, 3) [m/s] to a tool change at `time` [s].

    `after` and `slack` [s] choose the side of a time at which the tool's motion has a kink, see `motion_rates`.
    """
    gap, normal = tool_gaps(tool, time, points)
    speed, acceleration = motion_rates(tool.motion, time, after=after, slack=slack)
    y = points - tool.geometry[CENTER : CENTER + 3] - tool.motion.at(time)[:3]
    moving = velocities - speed[:3]
    rate = np.sum(normal * moving, axis=1)
    second = -(normal @ acceleration[:3])
    axis = tool.geometry[AXIS : AXIS + 3]
    spin, spin_rate = speed[3], acceleration[3]
    if tool.shape in (PLANE, PRISM) and (spin or spin_rate):
        turn = np.cross(axis, normal)
        across = normal - np.outer(normal @ axis, axis)
        lever = np.sum(turn * y, axis=1)
        rate = rate + spin * lever
        second = second + 2.0 * spin * np.sum(turn * moving, axis=1) + spin_rate * lever
        second = second - spin**2 * np.sum(across * y, axis=1)
    if tool.shape in (SPHERE, CYLINDER):
        along = moving @ axis if tool.shape == CYLINDER else np.zeros(len(gap))
        sliding = np.sum(moving**2, axis=1) - np.sum(normal * moving, axis=1) ** 2 - along**2
        second = second + sliding / (gap + tool.geometry[RADIUS])
    return GapMotion(gap, normal, rate, second)
