"""What contact carries from step to step: the last forces, histories, and where moving tools are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.constraints.contact.pairs import NODES
from rheotwin.constraints.contact.tool_motion import tools_at_start
from rheotwin.constraints.tools import CENTER, RigidTool

PREFIX, PAST = "touch_", "touch_past_"


@dataclass(frozen=True)
class Contacts:
    """Touched pairs of one step at exact frictionless tools: tool index, node, unit normal (n, 3), multiplier [N]."""

    tool: Indices
    node: Indices
    normal: Array
    multiplier: Array

    @classmethod
    def none(cls) -> Contacts:
        """Return the empty set."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros(0))


class Pushes(NamedTuple):
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
        whole = np.zeros((0, NODES), np.int64), np.zeros((0, NODES, 3)), np.zeros(0, np.int64)
        return cls(*whole, np.zeros((0, 3)), np.zeros((0, 3)))

    def on_nodes(self, rows: int) -> Array:
        """Return the forces (rows, 3) [N] on the nodes of a model."""
        out = np.zeros((rows, 3))
        np.add.at(out, self.node, self.push)
        return out


class Past(NamedTuple):
    """What contacts remember, one entry per slot."""

    active: Flags
    sliding: Flags
    integral: Array
    """J = int g dt [m s] while active, at most 0."""
    feature: Indices
    """The face a vertex entered through, or the partner of an edge; only meaningful where active."""
    force: Array
    """(slots, 3) [N] in the balance of the last step, from which the next one starts its search."""

    @classmethod
    def none(cls, slots: int) -> Past:
        """Return the past of contacts that never were."""
        flags = np.zeros(slots, np.bool_)
        return cls(flags, flags.copy(), np.zeros(slots), np.zeros(slots, np.int64), np.zeros((slots, 3)))


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
        history = Past._make(array.copy() for array in self.history)
        return replace(self, history=history, pose=self.pose.copy(), rate=self.rate.copy(), second=self.second.copy())

    def save(self) -> dict[str, Array]:
        """Return copies of all arrays by name."""
        arrays: dict[str, Any] = {f"{PREFIX}{name}": array for name, array in self.pushes._asdict().items()}
        arrays |= {f"{PAST}{name}": array for name, array in self.history._asdict().items()}
        arrays |= {f"{PREFIX}{name}": getattr(self, name) for name in ("pose", "rate", "second", "stored")}
        return {name: np.array(array) for name, array in arrays.items()}

    @classmethod
    def restored(cls, saved: Mapping[str, Array]) -> Memory:
        """Return the memory that `save` wrote."""

        def read(name: str) -> Any:
            return np.array(saved[name])

        pushes, history = ([read(f"{prefix}{name}") for name in kind._fields] for prefix, kind in KINDS)
        pose, rate, second = (read(f"{PREFIX}{name}") for name in ("pose", "rate", "second"))
        return cls(Pushes(*pushes), Past(*history), pose, rate, second, stored=float(saved[f"{PREFIX}stored"]))


KINDS: tuple[tuple[str, Any], ...] = ((PREFIX, Pushes), (PAST, Past))
"""What names in checkpoints begin with."""


def tool_reactions(tools: Sequence[RigidTool], pushes: Pushes, pose: Array, dimension: int) -> dict[str, Array]:
    """Return force (d,) [N] and moment about its centre, (1,) in 2D or (3,) in 3D [N m], of the bodies on each tool.

    `pose` (T, 4) is that of the tools now.
    """
    found = {}
    for index, tool in enumerate(tools):
        mine = pushes.tool == index
        force = pushes.force[mine]
        found[f"tool.{tool.name}"] = -force[:, :dimension].sum(axis=0)
        if dimension > 1:
            arm = pushes.point[mine] - tool.geometry[CENTER : CENTER + 3] - pose[index, :3]
            moment = -np.cross(arm, force).sum(axis=0)
            found[f"tool.{tool.name}.moment"] = moment if dimension == 3 else moment[2:]
    return found
