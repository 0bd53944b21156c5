"""What contact with laws carries from step to step: the last forces, histories, and where moving tools are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.pairs import NODES
from rheotwin.constraints.contact.tool_motion import tools_at_start
from rheotwin.constraints.tools import RigidTool

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

PREFIX, PAST = "touch_", "touch_past_"


@dataclass(frozen=True)
class Pushes:
    """Contacts that pushed in the last step; rows as in `Pairs`."""

    node: Indices
    """(n, 4) rows of the model, 0 where nothing is pushed."""
    push: Array
    """(n, 4, 3) [N] on each node: the impulse of the step over its length."""
    tool: Indices
    point: Array
    """(n, 3) [m] where the force acts: the weighted sum of the nodes."""
    force: Array
    """(n, 3) [N], normal and friction, on the weighted sum of the nodes."""

    @classmethod
    def none(cls) -> Pushes:
        """Return no contacts."""
        nothing = np.zeros((0, 3))
        return cls(
            np.zeros((0, NODES), np.int64), np.zeros((0, NODES, 3)), np.zeros(0, np.int64), nothing, nothing.copy()
        )

    def on_nodes(self, rows: int) -> Array:
        """Return the forces (rows, 3) [N] on the nodes of a model."""
        out = np.zeros((rows, 3))
        np.add.at(out, self.node, self.push)
        return out


@dataclass(frozen=True)
class Past:
    """What contacts remember, one entry per slot."""

    active: Flags
    sliding: Flags
    integral: Array
    """J = int g dt [m s] while active, at most 0."""
    feature: Indices
    """The face a vertex entered through, or the partner of an edge; only meaningful where active."""

    @classmethod
    def none(cls, slots: int) -> Past:
        """Return the past of contacts that never were."""
        flags = np.zeros(slots, np.bool_)
        return cls(flags, flags.copy(), np.zeros(slots), np.zeros(slots, np.int64))


@dataclass
class Memory:
    """Contact of a model: `pose`, its first and second rate (T, 4) of the tools, and the energy in contact springs."""

    pushes: Pushes
    history: Past
    pose: Array
    """[m, m, m, rad]"""
    rate: Array
    second: Array
    stored: float = 0.0
    """[J]"""

    @classmethod
    def at_start(cls, tools: Sequence[RigidTool], slots: int) -> Memory:
        """Return the memory at time zero."""
        motion = tools_at_start(tools)
        return cls(Pushes.none(), Past.none(slots), motion.pose, motion.velocity, np.zeros_like(motion.pose))

    def copy(self) -> Memory:
        """Return an independent copy."""
        history = Past(*(getattr(self.history, item.name).copy() for item in fields(Past)))
        return replace(self, history=history, pose=self.pose.copy(), rate=self.rate.copy(), second=self.second.copy())

    def save(self) -> dict[str, Array]:
        """Return copies of all arrays by name."""
        arrays = {f"{PREFIX}{item.name}": getattr(self.pushes, item.name) for item in fields(Pushes)}
        arrays |= {f"{PAST}{item.name}": getattr(self.history, item.name) for item in fields(Past)}
        arrays |= {f"{PREFIX}{name}": getattr(self, name) for name in ("pose", "rate", "second")}
        arrays[f"{PREFIX}stored"] = np.array(self.stored)
        return {name: np.array(array) for name, array in arrays.items()}

    @classmethod
    def restored(cls, saved: Mapping[str, Array]) -> Memory:
        """Return the memory that `save` wrote."""

        def read(name: str) -> Any:
            return np.array(saved[name])

        return cls(
            pushes=Pushes(**{item.name: read(f"{PREFIX}{item.name}") for item in fields(Pushes)}),
            history=Past(**{item.name: read(f"{PAST}{item.name}") for item in fields(Past)}),
            pose=read(f"{PREFIX}pose"),
            rate=read(f"{PREFIX}rate"),
            second=read(f"{PREFIX}second"),
            stored=float(saved[f"{PREFIX}stored"]),
        )
