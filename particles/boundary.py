"""What acts on particles from outside: loads and held components, compiled; contact is that of `constraints`."""

from __future__ import annotations

from typing import NamedTuple

from rheotwin.arrays import Array, Indices
from rheotwin.constraints.contact.lumped import Contact
from rheotwin.constraints.packed import Tables, table_value
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State


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


class Boundary(NamedTuple):
    """Everything that acts on nodes from outside."""

    nodes: Nodes
    held: Held
    loads: Loads
    contact: Contact


@compiled
def apply_loads(loads: Loads, time: float, force: Array) -> None:
    """Add the loads [N] at `time` [s]."""
    factor, current = loads.tables.current, -1
    for k in range(loads.node.shape[0]):
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        for c in range(3):
            force[loads.node[k], c] += factor[0] * loads.share[k, c]


@compiled(inside=True)
def hold(held: Held, nodes: Nodes, state: State, end: float, h: float) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    target, current = held.tables.current, -1
    for k in range(held.node.shape[0]):
        node, c = held.node[k], held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, target)
        wanted = (nodes.rest[node, c] + target[c] - state.positions[node, c]) / h
        state.reaction[node, c] = nodes.mass[node] * (wanted - state.velocities[node, c]) / h
        state.velocities[node, c] = wanted
