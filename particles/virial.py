"""Stress of a network of edges and volume springs, averaged to nodes.

Each edge gives half of its virial f l (e (x) e) to either end; divided by the node's share of the volume this is
the exact stress of a uniformly stressed body at interior nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.meshing import element_measures
from rheotwin.problem import Problem
from rheotwin.tensors import INDEX_PAIRS

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def nodal_volumes(problem: Problem) -> Array:
    """Return each node's share of the rest volume [m^3] (thickness or section included)."""
    volumes = np.zeros(len(problem.points))
    for body in problem.bodies:
        cells = body.mesh.t
        share = np.tile(element_measures(body.mesh) / cells.shape[0], cells.shape[0])
        volumes[body.nodes] = np.bincount(cells.ravel(), weights=share, minlength=body.mesh.p.shape[1])
    return volumes * problem.thickness


def virial_stress(vectors: Array, tension: Array, edges: Indices, volumes: Array) -> Array:
    """Return sum over a node's edges of f l e (x) e / (2 V) as (N, 6) [Pa]; edge vectors are (M, 3) [m]."""
    scale = 0.5 * tension / np.linalg.norm(vectors, axis=1)
    stress = np.empty((len(volumes), 6))
    for column, (a, b) in enumerate(INDEX_PAIRS):
        product = scale * vectors[:, a] * vectors[:, b]
        both = np.bincount(edges[:, 0], weights=product, minlength=len(volumes))
        both += np.bincount(edges[:, 1], weights=product, minlength=len(volumes))
        stress[:, column] = both / volumes
    return stress


def cell_stress(tension: Array, cells: Indices, rest_volume: Array, volumes: Array, dimension: int) -> Array:
    """Return the isotropic stress of volume springs, averaged to nodes with the cells' volumes, (N, 6) [Pa]."""
    shares = np.repeat(tension * rest_volume / (dimension + 1), dimension + 1)
    nodal = np.bincount(cells.ravel(), weights=shares, minlength=len(volumes)) / volumes
    stress = np.zeros((len(volumes), 6))
    stress[:, :dimension] = nodal[:, None]
    return stress
