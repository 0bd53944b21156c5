"""Extra internal forces of the papers' model M3E (calibration spec, 3): a push presses what is around it apart.

G is on the vertical through the middle of the pushed particles, at the height of the body's middle. A free particle k
next to a pushed one is pressed away from G, one next to the floor under these in the horizontal directions alone:

    f_k = w_k/sum w |F| (x_k - G)/|x_k - G|,    w = 2 at the distance l from the nearest of them, 1 at sqrt2 l, else 0

|F| is the force of the punch, or the sum of the sizes of the floor's forces on its particles, as this step finds them:
of the readings of "magnitudes summing to the reaction" the one that gives the printed volumes. There is none where a
support is gone, so the forces end with the contact. They have no potential, and are not in the account of energy.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage
from rheotwin.problem import Problem

SAME = 1e-3
"""Share of a length by which a distance may miss l or sqrt2 l."""


class ExtraOptions(BaseModel):
    """Options of the extra forces."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    punch: str = Field(default="punch", description="support that pushes")
    floor: str = Field(default="floor", description="support the body stands on")


class Pressed(NamedTuple):
    """Held nodes whose force is shared out, and the particles that get a share (n,), with these shares of it.

    `rigid`: the nodes are held as one, and have one force. `axes` (3,) are 0 where a share has no part; `middle` (3,)
    is scratch: G.
    """

    held: Indices
    rigid: bool
    node: Indices
    share: Array
    axes: Array
    middle: Array


@compiled
def press_apart(part: Pressed, pushed: Indices, x: Array, force: Array) -> None:
    """Add the share [N] of every particle of a part."""
    x_sum, y_sum, z_sum, sizes = 0.0, 0.0, 0.0, 0.0
    for node in part.held:
        fx, fy, fz = force[node, 0], force[node, 1], force[node, 2]
        x_sum, y_sum, z_sum = x_sum + fx, y_sum + fy, z_sum + fz
        sizes += np.sqrt(fx * fx + fy * fy + fz * fz)
    size = np.sqrt(x_sum**2 + y_sum**2 + z_sum**2) if part.rigid else sizes
    g, count = part.middle, x.shape[0]
    g[:] = 0.0
    for node in pushed:
        g[0] += x[node, 0] / pushed.shape[0]
        g[1] += x[node, 1] / pushed.shape[0]
    for node in range(count):
        g[2] += x[node, 2] / count
    for k in range(part.node.shape[0]):
        node = part.node[k]
        dx, dy, dz = x[node, 0] - g[0], x[node, 1] - g[1], x[node, 2] - g[2]
        pull = size * part.share[k] / np.sqrt(dx * dx + dy * dy + dz * dz)
        force[node, 0] += pull * part.axes[0] * dx
        force[node, 1] += pull * part.axes[1] * dy
        force[node, 2] += pull * part.axes[2] * dz


def _spacing(points: Array) -> float:
    """Return the least distance l [m] of two particles."""
    return float(cKDTree(points).query(points, k=2)[0][:, 1].min())


class ExtraForces:
    """The extra forces of one body between a punch and a floor (an `OutsideForce` of `all_forces`)."""

    options: ClassVar[type[BaseModel]] = ExtraOptions

    def __init__(self, problem: Problem, options: ExtraOptions) -> None:
        scene = problem.scene
        for name in (options.punch, options.floor):
            if name not in scene.supports:
                there = f"; there are {', '.join(scene.supports) or 'none'}"
                close = nearest_name(name, scene.supports)
                raise RheotwinError(f"solvers.truss.forces.extra: no support is named {name!r}{close}{there}")
        if problem.dimension != 3 or len(problem.bodies) != 1:
            raise RheotwinError("solvers.truss.forces.extra: it knows one body in three dimensions")
        self._size = problem.points.size
        self._pushed, floor = (self._nodes(problem, name) for name in (options.punch, options.floor))
        self._parts: list[Pressed] = []
        if len(self._pushed) and len(floor):
            flat = np.delete(problem.points, problem.dimension - 1, axis=1)
            away = cKDTree(flat[self._pushed]).query(flat[floor])[0]
            under = floor[away <= SAME * _spacing(problem.points)]
            self._parts = [
                self._part(problem, self._pushed, self._pushed, rigid=True),
                self._part(problem, floor, under, rigid=False),
            ]

    @staticmethod
    def _nodes(problem: Problem, support: str) -> Indices:
        found = [item.nodes for item in problem.prescribed if item.support == support]
        return np.unique(np.concatenate(found)).astype(np.int64) if found else np.zeros(0, np.int64)

    @staticmethod
    def _part(problem: Problem, held: Indices, near: Indices, *, rigid: bool) -> Pressed:
        points = problem.points
        distance = cKDTree(points[near]).query(points)[0] / _spacing(points)
        weight = 2.0 * (np.abs(distance - 1.0) < SAME) + 1.0 * (np.abs(distance - np.sqrt(2.0)) < SAME)
        weight[(problem.owners >= 0).any(axis=1)] = 0.0
        node = np.flatnonzero(weight)
        axes = np.array([1.0, 1.0, float(rigid)])
        return Pressed(held, rigid, node, weight[node] / max(weight.sum(), 1.0), axes, np.zeros(3))

    def matrices(self) -> tuple[csr_matrix, csr_matrix]:
        """Return no stiffness and no viscosity."""
        return csr_matrix((self._size, self._size)), csr_matrix((self._size, self._size))

    def stages(self, x: Array, v: Array, force: Array) -> list[Stage]:
        """Return the stages, which must follow all others: they read what these leave at held particles."""
        return [Stage(press_apart, (part, self._pushed, x, force)) for part in self._parts]

    def energy(self, x: Array) -> float:
        """Return nothing: there is no potential."""
        return 0.0
