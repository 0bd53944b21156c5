"""Columns of an inverse matrix that belong to single nodes, computed once each and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass
class NodeColumns:
    """Columns of an inverse matrix that belong to single nodes, computed once each and kept."""

    solve: Callable[[Array], Array]
    """Right-hand sides (size, n) on all components -> solutions, with held components kept at zero."""
    dimension: int
    size: int
    _kept: dict[int, Array] = field(default_factory=dict)

    def of(self, node: int) -> Array:
        """Return the inverse restricted to the components of one node, (size, d)."""
        if node not in self._kept:
            units = np.zeros((self.size, self.dimension))
            units[node * self.dimension + np.arange(self.dimension), np.arange(self.dimension)] = 1.0
            self._kept[node] = self.solve(units)  # node by node, so that a restart repeats every bit
        return self._kept[node]

    def along(self, nodes: Indices, normals: Array) -> Array:
        """Return the answer (size, n) to a unit load on each node along its normal (n, 3)."""
        pairs = zip(nodes, normals[:, : self.dimension], strict=True)
        return np.stack([self.of(int(node)) @ normal for node, normal in pairs], axis=1)
