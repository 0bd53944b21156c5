"""Supports, driven components, loads and rigid tools in an explicit step.

Tools without laws are those of `rheotwin.constraints.contact.exact_tools`, contact with laws that of
`explicit_contact`.
"""

from __future__ import annotations

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.exact_tools import Exposed, exact_contact, room_for_pushes
from rheotwin.constraints.packed import table_value
from rheotwin.fem.fast.explicit_packing import Boundary, Outside
from rheotwin.kernels.blocks import Now
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.stage import Stage


@compiled(nogil=True)
def load_nodes(boundary: Boundary, outside: Outside, time: float) -> None:
    """Write weight and loads at `time` [s] into `external`; only loaded components ever change."""
    loads, weight, external = boundary.loads, boundary.nodes.weight, outside.external
    factor, current = loads.tables.current, -1
    for k in range(loads.component.size):
        external[loads.component[k]] = weight[loads.component[k]]
    for k in range(loads.component.size):
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        external[loads.component[k]] += factor[0] * loads.share[k]


@compiled(nogil=True)
def hold(boundary: Boundary, outside: Outside, u: Array, v: Array, end: float, h: float, kick: float) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    held, mass, current = boundary.held, boundary.nodes.mass, -1
    for k in range(held.component.size):
        q = held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, held.tables.current)
        wanted = (held.tables.current[held.column[k]] - u[q]) / h
        outside.reaction[q] = mass[q] * (wanted - v[q]) / kick
        outside.exerted[q] = outside.reaction[q]
        v[q] = wanted


def tool_stages(boundary: Boundary, outside: Outside, u: Array, v: Array, end: Now, kick: Now) -> list[Stage]:
    """Return the stages that keep candidate nodes out of every tool at the `end` of the step."""
    nodes, tools, d = boundary.nodes, boundary.tools, boundary.nodes.dimension
    free, mass, count = np.zeros((nodes.rest.size // d, 3)), nodes.mass[::d].copy(), nodes.rest.size // d
    free[:, :d] = nodes.free.reshape(-1, d)
    x, velocities, reaction = (np.zeros((count, 3)) for _ in range(3))
    push, candidate = room_for_pushes(tools, count), np.unique(tools.candidate)
    exposed = Exposed(mass, free, x, velocities, outside.contact, reaction)
    around = (nodes.rest, nodes.free, x, velocities, reaction, outside.exerted, d, u, v)
    return [
        Stage(_bring, (candidate, *around)),
        *exact_contact(tools, push, exposed, nodes.runaway, Now(np.full(1, np.inf)), end, kick),
        Stage(_take, (push.pushed.hit, push.pushed.hits, tools.candidate, outside.contact, *around, outside.reaction)),
    ]


@compiled(inside=True)
def _bring(
    candidate: Indices, rest: Array, free: Array, x: Array, velocities: Array, reaction: Array, exerted: Array, d: int,
    u: Array, v: Array,
) -> None:  # fmt: skip
    """Copy the nodes that tools can touch, and clear what tools have exerted on them."""
    for i in candidate:
        for c in range(d):
            q = i * d + c
            x[i, c], velocities[i, c], reaction[i, c] = rest[q] + u[q], v[q], 0.0
            exerted[q] *= 1.0 - free[q]


@compiled(inside=True)
def _take(
    hit: Indices, hits: Indices, candidate: Indices, force: Array, rest: Array, free: Array, x: Array,
    velocities: Array, reaction: Array, exerted: Array, d: int, u: Array, v: Array, held: Array,
) -> None:  # fmt: skip
    """Take back what tools have changed."""
    for row in range(hits[0]):
        k = hit[row]
        for c in range(d):
            q = candidate[k] * d + c
            exerted[q] += free[q] * force[k, c]
            v[q] = velocities[candidate[k], c]
            held[q] += reaction[candidate[k], c]
            reaction[candidate[k], c] = 0.0
