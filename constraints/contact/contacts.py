"""All that takes part in the contact of a step with lumped masses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.mobility import ROW
from rheotwin.constraints.contact.pairs import NO_TOOL, History, Pairs
from rheotwin.constraints.contact.rounds import Mixing, room_to_mix
from rheotwin.constraints.contact.tool_motion import Drives, ToolMotion

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Lumped(NamedTuple):
    """Constants of nodes: `ease` (N, 3) [1/kg], 1/m of free components and 0 of held ones; `loose` (N,): none is held.

    `settled` [m]: a round of impulses that moves nothing further than this is the last.
    """

    ease: Array
    loose: Flags
    settled: float


class ToolsInStep(NamedTuple):
    """Tools as contact sees them: geometry (T, >= 6: centre, axis), what drives them, where they are."""

    geometry: Array
    drives: Drives
    motion: ToolMotion


class Impulses(NamedTuple):
    """Scratch of a step: `rows` (P, ROW) of `mobility`, the tool that gives way to each pair (P,) or NO_TOOL.

    `alone` (P,); `uses` (N,) contacts of each node; `visits` (6,): rounds of the step, most of any
    step, all, the steps that had some, how often contacts had not settled, and 1 once that was warned of; `mixing`.
    """

    rows: Array
    pushed: Indices
    alone: Flags
    uses: Indices
    visits: Indices
    mixing: Mixing


class Contacts(NamedTuple):
    """All contacts of a step: which they are, their laws and history, who takes part, and the impulses."""

    pairs: Pairs
    laws: Array
    history: History
    lumped: Lumped
    tools: ToolsInStep
    impulses: Impulses


def room_for_impulses(pairs: int, nodes: int) -> Impulses:
    """Return the scratch of a step for at most so many pairs."""
    return Impulses(
        rows=np.zeros((pairs, ROW)),
        pushed=np.full(pairs, NO_TOOL),
        alone=np.zeros(pairs, np.bool_),
        uses=np.zeros(nodes, np.int64),
        visits=np.zeros(6, np.int64),
        mixing=room_to_mix(pairs),
    )
