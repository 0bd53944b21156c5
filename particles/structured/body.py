"""Set up the structured kernel: particles and edges in their places, in double or single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from rheotwin.kernels.stage import Stage
from rheotwin.materials import SofteningThreeElement
from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.forces.cells import add_triangle_forces
from rheotwin.particles.forces.edge_group import EdgeGroup
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.nonlinear_damper import softening_edges
from rheotwin.particles.forces.placed import placed_forces
from rheotwin.particles.forces.topology import no_topology
from rheotwin.particles.in_lanes import aligned, aligned_copy, arm_states, bytes_of, in_lanes, none_of, with_corners
from rheotwin.particles.placed import PlacedBody, kick_rates, placed_boundary, placed_cells
from rheotwin.particles.softening_lanes import softening_lanes
from rheotwin.particles.state import State
from rheotwin.particles.steps import Surroundings
from rheotwin.particles.structured.layout import Layout, Runs, edge_runs, padded, tet_runs
from rheotwin.particles.structured.loop import Boxes, box_steps
from rheotwin.particles.structured.mixed_loop import Beside, further_stages
from rheotwin.particles.structured.tet_vectors import CORNERS

Reals = NDArray[Any]
Indices = NDArray[np.int64]


def structured_body(
    layout: Layout, edges: Elements, cells: Elements, state: State, boundary: Boundary, h: float, dtype: DTypeLike
) -> PlacedBody:
    """Bind the structured loop to a body laid out as `layout`, for steps of `h` [s]."""
    places, size = layout.places, layout.size
    there = placed_boundary(boundary, places, size)
    boxes, lanes = _boxes(layout, layout.edges, edges, cells, there, h, dtype)
    triangles = placed_cells(with_corners(cells, 3), places)
    copy = _views(boxes, state, size)
    pressed = Stage(add_triangle_forces, (triangles, copy.positions, copy.velocities, copy.cell_arms, copy.force))
    between = [pressed] if len(triangles.corners) else []
    body = PlacedBody(
        name="structured",
        copy=copy,
        places=places,
        lanes=lanes,
        bytes_per_edge=_bytes_per_edge(boxes, len(edges.rest)),
        take=box_steps(boxes, between, Surroundings(there, copy), h),
    )
    body.load(state)
    return body


def mixed_body(
    layout: Layout, forces: Forces, groups: Sequence[EdgeGroup], state: State, boundary: Boundary, h: float
) -> PlacedBody:
    """Bind the loop that has linear and softening edges and tetrahedra in runs and all other forces as in general.

    `groups` are the nonlinear edges of the forces by law.
    """
    places, size = layout.places, layout.size
    there, others = placed_boundary(boundary, places, size), placed_forces(forces, places, size - 1)
    linear = edge_runs(layout, forces.edges.corners) if groups else layout.edges
    boxes, lanes = _boxes(layout, linear, forces.edges, forces.cells, there, h, np.float64)
    softening = [group for group in groups if isinstance(group.law, SofteningThreeElement)]
    runs = _softening_runs(layout, softening)
    # The state of softening edges comes last, in lanes; those before have the order of the general loop.
    sliders, _, rest = (len(edges.corners) for edges in forces.nonlinear)
    first = padded(sliders + rest)
    kept = np.concatenate([np.arange(sliders), first + runs.of_element, sliders + np.arange(rest)])
    states = aligned(2 * (first + runs.lanes), np.float64).reshape(2, -1)
    lanes["nonlinear_edges"] = states, kept
    copy = _views(boxes, state, size)._replace(nonlinear_edges=states)
    packed = softening_lanes(softening, runs.of_element, runs.lanes, h)
    topology = others.topology
    others = others._replace(
        edges=none_of(others.edges, 2),
        cells=with_corners(others.cells, 3),
        nonlinear=others.nonlinear._replace(softening=softening_edges([])),
        topology=no_topology(others.topology.feature.shape[1]),
    )
    beside = Beside(packed, runs.table, first, topology, np.full(3 * size, np.nan), others)
    body = PlacedBody(
        name="structured, with general forces",
        copy=copy,
        places=places,
        lanes=lanes,
        bytes_per_edge=_bytes_per_edge(boxes, len(layout.edges.of_element), packed.edges.nbytes + states.nbytes),
        take=box_steps(boxes, further_stages(boxes, beside, copy), Surroundings(there, copy), h),
    )
    body.load(state)
    return body


def _softening_runs(layout: Layout, groups: Sequence[EdgeGroup]) -> Runs:
    """Sort the edges of every law into runs, one law after the other; the law's number follows in each run."""
    tables, lanes, last = [np.zeros((0, 5), np.int64)], [np.zeros(0, np.int64)], 0
    for law, group in enumerate(groups):
        runs = edge_runs(layout, group.corners)
        table = np.column_stack([runs.table, np.full(len(runs.table), law)])
        table[:, 2] += last
        tables.append(table)
        lanes.append(runs.of_element + last)
        last += runs.lanes
    return Runs(np.concatenate(tables), np.concatenate(lanes), last)


def _views(boxes: Boxes, state: State, size: int) -> State:
    """Return the state with what is in the boxes as views (N, 3) into them.

    Without the last place, which is nobody's, they have strides like those of the unstructured kernel: what acts on
    particles from outside is compiled once for both.
    """
    positions, velocities, force = (rows[:, :-1].T for rows in boxes.motion.reshape(3, 3, size))
    return state._replace(
        positions=positions,
        velocities=velocities,
        force=force,
        reaction=np.zeros((size, 3)),
        edge_arms=np.zeros((0, 0)),
    )


def _boxes(
    layout: Layout, linear: Runs, edges: Elements, cells: Elements, there: Boundary, h: float, dtype: DTypeLike
) -> tuple[Boxes, dict[str, tuple[Reals, Indices]]]:
    """Return the arrays of the loop, and where the arm states of elements are in them."""
    solids = with_corners(cells, CORNERS)
    runs = tet_runs(layout, solids.corners)
    boxes = Boxes(
        motion=aligned(9 * layout.size, dtype),
        weight=aligned_copy(there.nodes.weight.T, dtype),
        heavy=np.asarray(there.nodes.weight.any(axis=0)),
        rate=aligned_copy(kick_rates(there, layout.places, h), dtype),
        step=np.array([h], dtype=dtype),
        edge_runs=linear.table,
        tet_runs=runs.table,
        edges=in_lanes(edges, edges.rest, linear.of_element, linear.lanes, dtype),
        tets=in_lanes(solids, 1.0 / solids.rest, runs.of_element, runs.lanes, dtype),
    )
    boxes.motion[: 3 * layout.size] = there.nodes.rest.T.ravel()
    lanes = {"edge_arms": (arm_states(boxes.edges), linear.of_element)}
    if len(solids.rest):
        lanes["cell_arms"] = arm_states(boxes.tets), runs.of_element
    return boxes, lanes


def _bytes_per_edge(boxes: Boxes, edges: int, more: int = 0) -> float:
    return (bytes_of(boxes, boxes.edges) - boxes.tet_runs.nbytes + more) / edges
