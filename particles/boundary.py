"""What acts on particles from outside, compiled: loads, held components, rigid tools.

Contact without laws is that of `rheotwin.particles.exact_tools`, with laws that of
`rheotwin.constraints.contact.lumped`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.lumped import keep_apart_fast
from rheotwin.constraints.contact.near_tools import forget_list
from rheotwin.constraints.packed import Tables, Tools, table_value
from rheotwin.kernels.compiled import compiled
from rheotwin.particles.exact_tools import Push, keep_outside, push_again, room_for_pushes
from rheotwin.particles.nodes import Nodes
from rheotwin.particles.state import State

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


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
    """Everything that acts on nodes from outside; `contact` by laws, None where tools are exact and frictionless."""

    nodes: Nodes
    held: Held
    loads: Loads
    tools: Tools
    contact: Any = None


@compiled(allocates=True)
def room_for_contact(boundary: Boundary) -> Push:
    """Return the scratch arrays of contact for some steps; what moved before them has to be looked at again."""
    _look_again(boundary.contact)
    return room_for_pushes(boundary.tools, boundary.nodes.mass.shape[0])


@compiled(inside=True)
def _look_again(contact: Any) -> None:
    if contact is not None:
        forget_list(contact.close)


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


@compiled(inside=True)
def settle_again(boundary: Boundary, push: Push, state: State, h: float) -> float:
    """Correct the pushes of exact tools for velocities that have changed in the same step since `settle_contact`.

    Returns the largest correction [m].
    """
    return float(push_again(boundary.tools, push, boundary.nodes, state, h))


@compiled(inside=True, spliced=True)
def touches(boundary: Boundary) -> bool:
    """Tell whether there is anything to settle."""
    return boundary.contact is not None or boundary.tools.shape.shape[0] > 0


@compiled(inside=True, spliced=True)
def settle_contact(boundary: Boundary, push: Push, state: State, fastest: float, end: float, h: float) -> None:
    """Change velocities by the contact of a step of `h` [s] that ends at `end` [s], before positions move by h v.

    `fastest` [m/s] bounds the speed of all particles; infinite where nobody knows, or where positions change by more
    than these steps.
    """
    _settle(boundary.contact, boundary, push, state, fastest, end, h)


@compiled(inside=True, merged=True)
def _settle(
    contact: Any, boundary: Boundary, push: Push, state: State, fastest: float, end: float, h: float
) -> None:  # fmt: skip
    # Compiled for either type of `contact`, with only that branch: scenes without laws do not pay for them.
    if contact is None:
        keep_outside(boundary.tools, push, boundary.nodes, state, fastest, end, h)
    else:
        keep_apart_fast(contact, state.positions, state.velocities, state.reaction, fastest, end, h)
