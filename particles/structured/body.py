"""Set up the structured kernel: particles and edges in their places, in double or single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.in_lanes import aligned, aligned_copy, arm_states, bytes_of, in_lanes, none_of, with_corners
from rheotwin.particles.placed import PlacedBody, kick_rates, placed_boundary, placed_cells
from rheotwin.particles.state import State
from rheotwin.particles.structured.layout import Layout, tet_runs
from rheotwin.particles.structured.loop import Boxes, advance_boxes
from rheotwin.particles.structured.mixed_loop import advance_mixed
from rheotwin.particles.structured.tet_vectors import CORNERS

Reals = NDArray[Any]
Indices = NDArray[np.int64]


def structured_body(
    layout: Layout, edges: Elements, cells: Elements, state: State, boundary: Boundary, h: float, dtype: DTypeLike
) -> PlacedBody:
    """Bind the structured loop to a body laid out as `layout`, for steps of `h` [s]."""
    places, size = layout.places, layout.size
    there = placed_boundary(boundary, places, size)
    boxes, lanes = _boxes(layout, edges, cells, there, h, dtype)
    triangles = placed_cells(with_corners(cells, 3), places)
    # Without the last place, which is nobody's, the views have strides like those of the unstructured kernel: what acts
    # on particles from outside is compiled once for both.
    positions, velocities, force = (rows[:, :-1].T for rows in boxes.motion.reshape(3, 3, size))
    copy = state._replace(
        positions=positions,
        velocities=velocities,
        force=force,
        reaction=np.zeros((size, 3)),
        edge_arms=np.zeros((0, 0)),
    )
    body = PlacedBody(
        name="structured",
        copy=copy,
        places=places,
        lanes=lanes,
        bytes_per_edge=_bytes_per_edge(boxes, edges),
        take=lambda first, count: int(advance_boxes(first, count, h, boxes, triangles, copy, there)),
    )
    body.load(state)
    return body


def mixed_body(layout: Layout, forces: Forces, state: State, boundary: Boundary, h: float) -> PlacedBody:
    """Bind the loop that has edges and tetrahedra in boxes and all other forces as the general one has them."""
    there = placed_boundary(boundary, layout.places, layout.size)
    boxes, lanes = _boxes(layout, forces.edges, forces.cells, there, h, np.float64)
    plain = with_corners(forces.cells, 3 if forces.cells.corners.shape[1] == CORNERS else forces.cells.corners.shape[1])
    others = forces._replace(edges=none_of(forces.edges, 2), cells=plain)
    places = layout.places
    body = PlacedBody(
        name="structured, with general forces",
        copy=state,
        places=places,
        lanes=lanes,
        bytes_per_edge=_bytes_per_edge(boxes, forces.edges),
        take=lambda first, count: int(advance_mixed(first, count, h, boxes, places, others, state, boundary)),
        placed=(),
    )
    body.load(state)
    return body


def _boxes(
    layout: Layout, edges: Elements, cells: Elements, there: Boundary, h: float, dtype: DTypeLike
) -> tuple[Boxes, dict[str, tuple[Reals, Indices]]]:
    """Return the arrays of the loop, and where the arm states of elements are in them."""
    solids = with_corners(cells, CORNERS)
    runs = tet_runs(layout, solids.corners)
    boxes = Boxes(
        motion=aligned(9 * layout.size, dtype),
        weight=aligned_copy(there.nodes.weight.T, dtype),
        rate=aligned_copy(kick_rates(there, layout.places, h), dtype),
        step=np.array([h], dtype=dtype),
        edge_runs=layout.edges.table,
        tet_runs=runs.table,
        edges=in_lanes(edges, edges.rest, layout.edges.of_element, layout.edges.lanes, dtype),
        tets=in_lanes(solids, 1.0 / solids.rest, runs.of_element, runs.lanes, dtype),
    )
    boxes.motion[: 3 * layout.size] = there.nodes.rest.T.ravel()
    lanes = {"edge_arms": (arm_states(boxes.edges), layout.edges.of_element)}
    if len(solids.rest):
        lanes["cell_arms"] = arm_states(boxes.tets), runs.of_element
    return boxes, lanes


def _bytes_per_edge(boxes: Boxes, edges: Elements) -> float:
    return (bytes_of(boxes, boxes.edges) - boxes.tet_runs.nbytes) / len(edges.rest)
