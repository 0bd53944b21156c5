"""Points of bodies held by a hand: a spring and a damper from the point to the hand, with a largest force.

A point is at x = sum w_i x_i of its nodes and answers with the mass 1/m = sum w_i^2/m_i, each axis by itself; held
components do not answer. After all other forces have acted for the kick of a step, which ends at t + h, the hand at
p(t + h) with the velocity p' pushes by

    F = (k (p - x - h v) + c (p' - v)) / (1 + kick (k h + c)/m),   |F| <= F_max,   v_i += kick w_i F/m_i

the force of spring and damper where the step ends, as if nothing else moved. With C = (h k + c) w w' this is
(M + h C)(v+ - v)/h = f - (K + k w w') x - C v, which is stable for h^2 (K + k w w') + 2 h C <= 4 (M + h C). That holds
wherever h^2 K <= 4 M, because h^2 k w w' <= h C: a hand of any stiffness is stable where the body alone is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.motion import Motion, Tables, pack_tables, table_value
from rheotwin.constraints.tools import AXIS
from rheotwin.kernels.compiled import compiled

GRAB = "grab."
"""How reactions on hands begin."""
CORNERS = 3
"""Most nodes of a point: it lies on a node, an edge or a triangle."""


@dataclass(frozen=True)
class Grab:
    """A point held from `begin` to `end` [s] to a path [m], by `stiffness` [N/m], `damping` [N s/m], at `most` [N]."""

    name: str
    nodes: Indices
    weights: Array
    path: Motion
    begin: float
    end: float
    stiffness: float
    damping: float
    most: float


class Grabs(NamedTuple):
    """Points in a loop: nodes and weights (G, 3), where the loop keeps nodes (N,), times (G, 2), springs (G, 3), paths.

    `ease` (N, 3) [1/kg] is 1/m of free components. `touched` (3 G,) are the places of the nodes, scratch. `done` (G, 4)
    is the force of each hand in the last step [N] and the work it has done [J], `by_tools` (1,) that of all tools [J];
    `path` (2, 3) is scratch.
    """

    node: Indices
    weight: Array
    places: Indices
    times: Array
    spring: Array
    tables: Tables
    ease: Array
    touched: Indices
    done: Array
    by_tools: Array
    path: Array


def pack_grabs(grabs: Sequence[Grab], ease: Array, places: Indices | None = None) -> Grabs:
    """Pack points of nodes with 1/m (N, 3) [1/kg] of their free components, which the loop keeps at `places` (N,)."""
    node, weight = np.zeros((len(grabs), CORNERS), np.int64), np.zeros((len(grabs), CORNERS))
    for row, grab in enumerate(grabs):
        node[row] = grab.nodes[0]
        node[row, : len(grab.nodes)], weight[row, : len(grab.nodes)] = grab.nodes, grab.weights
    there = np.arange(len(ease)) if places is None else places
    return Grabs(
        node=node,
        weight=weight,
        places=there,
        times=np.array([(grab.begin, grab.end) for grab in grabs]).reshape(-1, 2),
        spring=np.array([(grab.stiffness, grab.damping, grab.most) for grab in grabs]).reshape(-1, 3),
        tables=pack_tables([grab.path for grab in grabs], 3),
        ease=ease,
        touched=there[node].ravel(),
        done=np.zeros((len(grabs), 4)),
        by_tools=np.zeros(1),
        path=np.zeros((2, 3)),
    )


@compiled
def pull(
    grabs: Grabs, done: Array, rest: Any, x: Any, v: Any, external: Any, begin: float, end: float, h: float, kick: float
) -> None:
    """Let the hands pull for `kick` [s] of the step: v (n, d) [m/s] changes, `external` (n, d) [N] grows by the forces.

    `x` (n, d) are places [m], or displacements from `rest` (n, d) where there is one.
    """
    before, now = grabs.path[0], grabs.path[1]
    for g in range(grabs.node.shape[0]):
        done[g, :3] = 0.0
        if not grabs.times[g, 0] - 0.5 * h < begin < grabs.times[g, 1] - 0.5 * h:
            continue
        table_value(grabs.tables, g, end - h, before)
        table_value(grabs.tables, g, end, now)
        stiffness, damping, most = grabs.spring[g]
        square = 0.0
        for c in range(x.shape[1]):
            place, speed, ease = 0.0, 0.0, 0.0
            for k in range(3):
                i, w = grabs.node[g, k], grabs.weight[g, k]
                at = grabs.places[i]
                place += w * x[at, c]
                if rest is not None:
                    place += w * rest[at, c]
                speed += w * v[at, c]
                ease += w * w * grabs.ease[i, c]
            wanted = stiffness * (now[c] - place - h * speed) + damping * ((now[c] - before[c]) / h - speed)
            done[g, c] = wanted / (1.0 + kick * (stiffness * h + damping) * ease)
            square += done[g, c] * done[g, c]
        share = min(1.0, most / np.sqrt(square)) if square > 0.0 else 1.0
        for c in range(x.shape[1]):
            done[g, c] *= share
            for k in range(3):
                i, w = grabs.node[g, k], grabs.weight[g, k]
                at = grabs.places[i]
                grabs.touched[3 * g + k] = at
                v[at, c] += kick * w * done[g, c] * grabs.ease[i, c]
                done[g, 3] += h * w * done[g, c] * v[at, c]
                if external is not None:
                    external[at, c] += w * done[g, c]


@compiled
def enter_tool_work(force: Array, moment: Array, geometry: Array, velocity: Array, h: float, work: Array) -> None:
    """Add the work -(F.V + M.a w) h [J] of tools that moved with V, w while bodies pushed them with F, M."""
    for tool in range(velocity.shape[0]):
        for c in range(3):
            turning = velocity[tool, 3] * geometry[tool, AXIS + c]
            work[0] -= h * (force[tool, c] * velocity[tool, c] + moment[tool, c] * turning)


def hand_reactions(grabs: Sequence[Grab], done: Array, dimension: int) -> dict[str, Array]:
    """Return the force (d,) [N] of the body on each hand."""
    return {f"{GRAB}{grab.name}": -done[row, :dimension] for row, grab in enumerate(grabs)}
