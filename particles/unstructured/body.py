"""Set up the unstructured kernel: particles sorted into rows, edges into batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from rheotwin.kernels.stage import Stage
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.cells import add_triangle_forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.in_lanes import aligned, aligned_copy, arm_states, bytes_of, in_lanes, with_corners
from rheotwin.particles.ordering import inverse_order, particle_order
from rheotwin.particles.placed import PlacedBody, kick_rates, placed_boundary, placed_cells
from rheotwin.particles.state import State
from rheotwin.particles.steps import Surroundings
from rheotwin.particles.unstructured.loop import Rows, row_steps
from rheotwin.particles.unstructured.parts import batches_of, cut
from rheotwin.particles.unstructured.tet_batches import CORNERS
from rheotwin.particles.unstructured.transpose import ROW


def unstructured_body(
    edges: Elements,
    cells: Elements,
    state: State,
    boundary: Boundary,
    h: float,
    dtype: DTypeLike,
) -> PlacedBody:
    """Bind the unstructured loop to a body, for steps of `h` [s]."""
    count = len(boundary.nodes.mass)
    places = inverse_order(particle_order(edges.corners, count))
    size = count + 2
    there, parts = placed_boundary(boundary, places, size), cut(places[edges.corners], count)
    solids, triangles = with_corners(cells, CORNERS), placed_cells(with_corners(cells, 3), places)
    corners, of_tet = batches_of(places[solids.corners], count)
    motion, force, weight = (
        aligned(rows * numbers, dtype).reshape(rows, numbers)
        for rows, numbers in ((size, 2 * ROW), (parts.rows, ROW), (size, ROW))
    )
    weight[:, :3] = there.nodes.weight
    motion[:, :3] = there.nodes.rest
    copy = state._replace(
        positions=motion[:, :3],
        velocities=motion[:, ROW : ROW + 3],
        force=force[:size, :3],
        reaction=np.zeros((size, 3)),
        edge_arms=np.zeros((0, 0)),
    )
    rows = Rows(
        motion=motion,
        force=force,
        weight=weight,
        rate=aligned_copy(kick_rates(there, places, h), dtype),
        step=np.array([h], dtype=dtype),
        table=parts.table,
        pairs=parts.edges,
        corners=corners,
        edges=in_lanes(edges, edges.rest, parts.edge_lanes, len(parts.edges), dtype),
        tets=in_lanes(solids, 1.0 / solids.rest, of_tet, len(corners), dtype),
    )

    pressed = Stage(add_triangle_forces, (triangles, copy.positions, copy.velocities, copy.cell_arms, copy.force))
    lanes = {"edge_arms": (arm_states(rows.edges), parts.edge_lanes)}
    if len(solids.rest):
        lanes["cell_arms"] = arm_states(rows.tets), of_tet
    body = PlacedBody(
        name="unstructured",
        copy=copy,
        places=places,
        lanes=lanes,
        bytes_per_edge=(bytes_of(rows, rows.edges) - corners.nbytes) / len(edges.rest),
        take=row_steps(rows, [pressed] if len(triangles.corners) else [], Surroundings(there, copy), h),
    )
    body.load(state)
    return body
