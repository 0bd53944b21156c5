"""Supports, driven components, loads and rigid tools in an explicit step.

With lumped masses contact is exact and local: where u + h v would enter a tool, a change of velocity

    dv = -gap/(h n.n_free) n        (free components only, the support takes the rest)

puts the node on the tool's surface at the end of the step; its force is m dv divided by the time of the kick.
A node between several tools is settled by sweeps over them (projected Gauss-Seidel). Contact with laws is that of
`explicit_contact`.
"""

from __future__ import annotations

from rheotwin.arrays import Array
from rheotwin.constraints.packed import IMMOVABLE, SETTLED, SWEEPS, table_value
from rheotwin.constraints.tools import gap_and_normal
from rheotwin.fem.fast.explicit_packing import Boundary, Nodes, Outside
from rheotwin.kernels.compiled import compiled


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


@compiled(nogil=True, allocates=True)
def keep_outside(boundary: Boundary, outside: Outside, u: Array, v: Array, end: float, h: float, kick: float) -> None:
    """Keep candidate nodes out of every tool at the end of the step by impulses along the tools' normals.

    After the first round only the nodes it pushed can be inside another tool, so only they are looked at again.
    """
    nodes, tools = boundary.nodes, boundary.tools
    for node in tools.candidate:
        for q in range(node * nodes.dimension, (node + 1) * nodes.dimension):
            outside.exerted[q] *= 1.0 - nodes.free[q]
    outside.contact[:] = 0.0
    outside.pressed[:] = 0.0
    outside.unsettled[:] = True
    outside.touched[:] = False
    for tool in range(tools.shape.size):
        table_value(tools.tables, tool, end, outside.poses[tool])
    for _ in range(SWEEPS):
        largest = 0.0
        for tool in range(tools.shape.size):
            largest = max(largest, _sweep(tool, boundary, outside, u, v, h, kick))
        if largest <= SETTLED * nodes.runaway:
            break
        outside.unsettled[:] = outside.touched


@compiled
def _coordinate(nodes: Nodes, u: Array, v: Array, h: float, node: int, c: int) -> float:
    """Coordinate of a node at the end of the step; zero beyond the dimension."""
    if c >= nodes.dimension:
        return 0.0
    q = node * nodes.dimension + c
    coordinate: float = nodes.rest[q] + u[q] + h * v[q]
    return coordinate


@compiled
def _sweep(tool: int, boundary: Boundary, outside: Outside, u: Array, v: Array, h: float, kick: float) -> float:
    """Correct the pushes of one tool once, at nodes that may have moved; return the largest correction [m]."""
    nodes, tools, largest = boundary.nodes, boundary.tools, 0.0
    d, pressed = nodes.dimension, outside.pressed
    for k in range(tools.offset[tool], tools.offset[tool + 1]):
        node = tools.candidate[k]
        if not outside.unsettled[node]:
            continue
        gap, nx, ny, nz = gap_and_normal(
            tools.shape[tool],
            tools.geometry[tool],
            outside.poses[tool],
            _coordinate(nodes, u, v, h, node, 0),
            _coordinate(nodes, u, v, h, node, 1),
            _coordinate(nodes, u, v, h, node, 2),
        )
        if gap >= 0.0 and pressed[k] == 0.0:
            continue
        normal, share = (nx, ny, nz), 0.0
        for c in range(d):
            share += normal[c] * normal[c] * nodes.free[node * d + c]
        if share < IMMOVABLE:
            continue
        wanted = max(0.0, pressed[k] - gap / (h * share))
        change = wanted - pressed[k]
        pressed[k] = wanted
        outside.touched[node] = True
        largest = max(largest, h * abs(change))
        outside.normal[k, 0], outside.normal[k, 1], outside.normal[k, 2] = nx, ny, nz
        for c in range(d):
            q = node * d + c
            force = nodes.mass[q] * change * normal[c] / kick
            outside.contact[k, c] += force
            outside.exerted[q] += nodes.free[q] * force
            v[q] += nodes.free[q] * change * normal[c]
            outside.reaction[q] -= (1.0 - nodes.free[q]) * force
    return largest
