"""The compiled time loop of the truss: edges, and cells under pressure where the material asks for them.

One step, spec section 6, in the order that keeps the scheme conditionally stable at any series viscosity:

    (a)  z <- exp(-A h) z + (1 - exp(-A h))/A  ldot        every arm, exact for constant ldot
    (b)  f = k (l - l0) + sum_a kappa_a z_a + eta ldot     tension positive: start +f e, end -f e
         -p = K g + sum_a kappa_a z_a + eta gdot           g = V/V0 - 1 of a cell: corner force p dV/dx
    (c)  v += h F / m,   then held components and contact
    (d)  x += h v

Contact is the exact unilateral rule: where x + h v would enter a tool, the impulse m (-gap/h) n puts the node
on the tool's surface at the end of the step. Held components do not give way: the impulse acts on the free ones and
the support takes the rest. A node between several tools is settled by sweeps over them (projected Gauss-Seidel).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rheotwin.constraints.motion import interpolate
from rheotwin.constraints.tools import gap_and_normal

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

CHECK_EVERY = 64
"""Steps between two looks at whether the numbers are still sensible."""
SWEEPS = 100
"""Most rounds over the tools in one step; one is enough unless a node touches several, or a round one and a support."""
SETTLED = 1e-15
"""A round that moves no node further than this times the runaway distance is the last."""
IMMOVABLE = 1e-12
"""A node whose free components carry less than this share of a tool's normal is not pushed at all."""


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


class State(NamedTuple):
    """What a step changes; vectors are (N, 3)."""

    positions: Array
    velocities: Array
    edge_arms: Array
    cell_arms: Array
    force: Array
    contact_force: Array
    reaction: Array


class Nodes(NamedTuple):
    """Constant node data; `rest` (N, 3) [m], `weight` (N, 3) [N], `mass` (N,) [kg], `runaway` [m].

    `free` (N, 3) is 1 where a component may move and 0 where a support holds it.
    """

    rest: Array
    free: Array
    mass: Array
    weight: Array
    runaway: float


class Tables(NamedTuple):
    """Several motions packed one after the other: rows offset[k]:offset[k+1] belong to motion k."""

    offset: Indices
    times: Array
    values: Array
    smooth: NDArray[np.bool_]


class Held(NamedTuple):
    """Held components: node, component and the motion table each follows."""

    node: Indices
    component: Indices
    motion: Indices
    tables: Tables


class Loads(NamedTuple):
    """Nodal loads: node, share (n, 3) [N] and the factor table each follows."""

    node: Indices
    share: Array
    motion: Indices
    tables: Tables


class Tools(NamedTuple):
    """Rigid tools: shape, geometry, motion tables, and candidate nodes packed with offsets."""

    shape: Indices
    geometry: Array
    tables: Tables
    offset: Indices
    candidate: Indices


class Push(NamedTuple):
    """Scratch of one step's contact: tool poses, accumulated pushes [m/s] >= 0, nodes to look at, nodes pushed."""

    poses: Array
    pressed: Array
    unsettled: NDArray[np.bool_]
    touched: NDArray[np.bool_]


class Boundary(NamedTuple):
    """Everything that acts on nodes from outside."""

    nodes: Nodes
    held: Held
    loads: Loads
    tools: Tools


@njit(cache=True)
def _table_value(tables: Tables, which: int, time: float, out: Array) -> None:
    rows = slice(tables.offset[which], tables.offset[which + 1])
    interpolate(tables.times[rows], tables.values[rows], tables.smooth[which], time, out)


@njit(cache=True)
def _edge_forces(edges: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Advance the arms with the current velocities and scatter f e to both ends: (a) and (b)."""
    arms = z.shape[0]
    for edge in range(edges.corners.shape[0]):
        i, j = edges.corners[edge, 0], edges.corners[edge, 1]
        dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        inverse = 1.0 / length
        ex, ey, ez = dx * inverse, dy * inverse, dz * inverse
        rate = (v[j, 0] - v[i, 0]) * ex + (v[j, 1] - v[i, 1]) * ey + (v[j, 2] - v[i, 2]) * ez
        f = edges.stiffness[edge] * (length - edges.rest[edge]) + edges.viscosity[edge] * rate
        for arm in range(arms):
            state = edges.arm_decay[arm, edge] * z[arm, edge] + edges.arm_gain[arm, edge] * rate
            z[arm, edge] = state
            f += edges.arm_stiffness[arm, edge] * state
        force[i, 0] += f * ex
        force[i, 1] += f * ey
        force[i, 2] += f * ez
        force[j, 0] -= f * ex
        force[j, 1] -= f * ey
        force[j, 2] -= f * ez


@njit(cache=True, inline="always")
def _tension(cells: Elements, cell: int, volume: float, flow: float, z: Array) -> float:
    """Advance the arms of one cell with its volume rate `flow` [m^d/s] and return minus its pressure."""
    rest = cells.rest[cell]
    rate = flow / rest
    tension: float = cells.stiffness[cell] * (volume / rest - 1.0) + cells.viscosity[cell] * rate
    for arm in range(z.shape[0]):
        state = cells.arm_decay[arm, cell] * z[arm, cell] + cells.arm_gain[arm, cell] * rate
        z[arm, cell] = state
        tension += cells.arm_stiffness[arm, cell] * state
    return tension


@njit(cache=True)
def _triangle_forces(cells: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Push the corners of each triangle by its pressure: (a) and (b). The gradients of A sum to zero.

    Written out, as are the tetrahedra: calling `cell_volume` here made the step half as slow again.
    """
    for cell in range(cells.corners.shape[0]):
        i, j, k = cells.corners[cell, 0], cells.corners[cell, 1], cells.corners[cell, 2]
        bx, by, cx, cy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[k, 0] - x[i, 0], x[k, 1] - x[i, 1]
        jx, jy, kx, ky = 0.5 * cy, -0.5 * cx, -0.5 * by, 0.5 * bx
        area = 0.5 * (bx * cy - by * cx)
        flow = jx * (v[j, 0] - v[i, 0]) + jy * (v[j, 1] - v[i, 1])
        flow += kx * (v[k, 0] - v[i, 0]) + ky * (v[k, 1] - v[i, 1])
        t = _tension(cells, cell, area, flow, z)
        force[i, 0] += t * (jx + kx)
        force[i, 1] += t * (jy + ky)
        force[j, 0] -= t * jx
        force[j, 1] -= t * jy
        force[k, 0] -= t * kx
        force[k, 1] -= t * ky


@njit(cache=True)
def _tet_forces(cells: Elements, x: Array, v: Array, z: Array, force: Array) -> None:
    """Push the corners of each tetrahedron by its pressure: (a) and (b). The gradients of V sum to zero."""
    for cell in range(cells.corners.shape[0]):
        i, j = cells.corners[cell, 0], cells.corners[cell, 1]
        k, m = cells.corners[cell, 2], cells.corners[cell, 3]
        ax, ay, az = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
        bx, by, bz = x[k, 0] - x[i, 0], x[k, 1] - x[i, 1], x[k, 2] - x[i, 2]
        cx, cy, cz = x[m, 0] - x[i, 0], x[m, 1] - x[i, 1], x[m, 2] - x[i, 2]
        jx, jy, jz = (by * cz - bz * cy) / 6.0, (bz * cx - bx * cz) / 6.0, (bx * cy - by * cx) / 6.0
        kx, ky, kz = (cy * az - cz * ay) / 6.0, (cz * ax - cx * az) / 6.0, (cx * ay - cy * ax) / 6.0
        mx, my, mz = (ay * bz - az * by) / 6.0, (az * bx - ax * bz) / 6.0, (ax * by - ay * bx) / 6.0
        volume = ax * jx + ay * jy + az * jz
        flow = jx * (v[j, 0] - v[i, 0]) + jy * (v[j, 1] - v[i, 1]) + jz * (v[j, 2] - v[i, 2])
        flow += kx * (v[k, 0] - v[i, 0]) + ky * (v[k, 1] - v[i, 1]) + kz * (v[k, 2] - v[i, 2])
        flow += mx * (v[m, 0] - v[i, 0]) + my * (v[m, 1] - v[i, 1]) + mz * (v[m, 2] - v[i, 2])
        t = _tension(cells, cell, volume, flow, z)
        force[i, 0] += t * (jx + kx + mx)
        force[i, 1] += t * (jy + ky + my)
        force[i, 2] += t * (jz + kz + mz)
        force[j, 0] -= t * jx
        force[j, 1] -= t * jy
        force[j, 2] -= t * jz
        force[k, 0] -= t * kx
        force[k, 1] -= t * ky
        force[k, 2] -= t * kz
        force[m, 0] -= t * mx
        force[m, 1] -= t * my
        force[m, 2] -= t * mz


@njit(cache=True)
def _apply_loads(loads: Loads, time: float, force: Array) -> None:
    factor, current = np.empty(1), -1
    for k in range(loads.node.shape[0]):
        if loads.motion[k] != current:
            current = loads.motion[k]
            _table_value(loads.tables, current, time, factor)
        for c in range(3):
            force[loads.node[k], c] += factor[0] * loads.share[k, c]


@njit(cache=True)
def _hold(held: Held, nodes: Nodes, state: State, end: float, h: float) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    target, current = np.empty(3), -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            _table_value(held.tables, current, end, target)
        wanted = (nodes.rest[node, c] + target[c] - state.positions[node, c]) / h
        state.reaction[node, c] = nodes.mass[node] * (wanted - state.velocities[node, c]) / h
        state.velocities[node, c] = wanted


@njit(cache=True)
def _push(node: int, k: int, change: float, normal: tuple[float, ...], nodes: Nodes, state: State, h: float) -> None:
    """Change the velocity of a node's free components by `change` n [m/s]; its supports take the rest of the force."""
    for c in range(3):
        force = nodes.mass[node] * change / h * normal[c]
        state.contact_force[k, c] += force
        state.velocities[node, c] += nodes.free[node, c] * change * normal[c]
        state.reaction[node, c] -= (1.0 - nodes.free[node, c]) * force


@njit(cache=True)
def _sweep(tool: int, pose: Array, push: Push, tools: Tools, nodes: Nodes, state: State, h: float) -> float:
    """Correct the pushes of one tool once, at nodes that may have moved; return the largest correction [m]."""
    pressed = push.pressed
    x, v, largest = state.positions, state.velocities, 0.0
    for k in range(tools.offset[tool], tools.offset[tool + 1]):
        node = tools.candidate[k]
        if not push.unsettled[node]:
            continue
        gap, nx, ny, nz = gap_and_normal(
            tools.shape[tool],
            tools.geometry[tool],
            pose,
            x[node, 0] + h * v[node, 0],
            x[node, 1] + h * v[node, 1],
            x[node, 2] + h * v[node, 2],
        )
        if gap >= 0.0 and pressed[k] == 0.0:
            continue
        share = nx * nx * nodes.free[node, 0] + ny * ny * nodes.free[node, 1] + nz * nz * nodes.free[node, 2]
        if share < IMMOVABLE:
            continue
        wanted = max(0.0, pressed[k] - gap / (h * share))
        change = wanted - pressed[k]
        pressed[k] = wanted
        push.touched[node] = True
        largest = max(largest, h * abs(change))
        _push(node, k, change, (nx, ny, nz), nodes, state, h)
    return largest


@njit(cache=True)
def _contact(tools: Tools, push: Push, nodes: Nodes, state: State, end: float, h: float) -> None:
    """Keep candidate nodes out of every tool at the end of the step by impulses along the tools' normals.

    After the first round only the nodes it pushed can be inside another tool, so only they are looked at again.
    """
    state.contact_force[:] = 0.0
    push.pressed[:] = 0.0
    push.unsettled[:] = True
    push.touched[:] = False
    poses = push.poses
    for tool in range(tools.shape.shape[0]):
        _table_value(tools.tables, tool, end, poses[tool])
    for _ in range(SWEEPS):
        largest = 0.0
        for tool in range(tools.shape.shape[0]):
            largest = max(largest, _sweep(tool, poses[tool], push, tools, nodes, state, h))
        if largest <= SETTLED * nodes.runaway:
            break
        push.unsettled[:] = push.touched


@njit(cache=True)
def _runs_away(nodes: Nodes, x: Array) -> bool:
    for node in range(x.shape[0]):
        for c in range(3):
            if not np.abs(x[node, c] - nodes.rest[node, c]) <= nodes.runaway:
                return True
    return False


@njit(cache=True, nogil=True)
def advance(
    first: int, count: int, h: float, elements: tuple[Elements, Elements], state: State, boundary: Boundary
) -> int:
    """Take `count` steps from step number `first`; stop early when a node runs away. Returns steps taken."""
    edges, cells = elements
    nodes, x, v, force = boundary.nodes, state.positions, state.velocities, state.force
    push = Push(
        np.empty((boundary.tools.shape.shape[0], 4)),
        np.empty(boundary.tools.candidate.shape[0]),
        np.empty(x.shape[0], np.bool_),
        np.empty(x.shape[0], np.bool_),
    )
    for step in range(first, first + count):
        end = (step + 1) * h
        force[:] = nodes.weight
        _apply_loads(boundary.loads, step * h, force)
        _edge_forces(edges, x, v, state.edge_arms, force)
        if cells.corners.shape[1] == 3:
            _triangle_forces(cells, x, v, state.cell_arms, force)
        else:
            _tet_forces(cells, x, v, state.cell_arms, force)
        for node in range(x.shape[0]):
            rate = h / nodes.mass[node]
            for c in range(3):
                v[node, c] += rate * force[node, c]
        _hold(boundary.held, nodes, state, end, h)
        _contact(boundary.tools, push, nodes, state, end, h)
        for node in range(x.shape[0]):
            for c in range(3):
                x[node, c] += h * v[node, c]
        if step % CHECK_EVERY == 0 and _runs_away(nodes, x):
            return step + 1 - first
    return count
