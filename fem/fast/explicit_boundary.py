"""Supports, driven components and loads in an explicit step; contact is that of `explicit_contact`."""

from __future__ import annotations

from rheotwin.arrays import Array
from rheotwin.constraints.packed import table_value
from rheotwin.fem.fast.explicit_packing import Held, Loads
from rheotwin.kernels.compiled import compiled


@compiled(nogil=True)
def load_nodes(loads: Loads, weight: Array, external: Array, time: float) -> None:
    """Write weight and loads at `time` [s] into `external`; only loaded components ever change."""
    factor, current = loads.tables.current, -1
    for k in range(loads.component.size):
        external[loads.component[k]] = weight[loads.component[k]]
    for k in range(loads.component.size):
        if loads.motion[k] != current:
            current = loads.motion[k]
            table_value(loads.tables, current, time, factor)
        external[loads.component[k]] += factor[0] * loads.share[k]


@compiled(nogil=True)
def hold(
    held: Held, mass: Array, reaction: Array, exerted: Array, u: Array, v: Array, end: float, h: float, kick: float
) -> None:
    """Put held components where their motion wants them at the end of the step; keep the force that took."""
    current = -1
    for k in range(held.component.size):
        q = held.component[k]
        if held.motion[k] != current:
            current = held.motion[k]
            table_value(held.tables, current, end, held.tables.current)
        wanted = (held.tables.current[held.column[k]] - u[q]) / h
        reaction[q] = mass[q] * (wanted - v[q]) / kick
        exerted[q] = reaction[q]
        v[q] = wanted
