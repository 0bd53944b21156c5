"""What contact with laws exerted on tools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.tools import CENTER, RigidTool
from rheotwin.fem.contact.memory import Pushes

Array = NDArray[np.float64]


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
