"""Particles that lie elsewhere in memory than in the problem: what acts on them, their step, the way there and back.

Boxes lie in runs, other bodies in batches; where that is asked, a truss is stepped element after element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, Field

from rheotwin.arrays import Array, Indices, Reals
from rheotwin.constraints.contact.pack import placed
from rheotwin.errors import RheotwinError
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import aligned, spread
from rheotwin.particles.boxes import LEAST_FILLING, InBoxes, find_layout
from rheotwin.particles.forces.all_forces import Forces, element_groups, other_stages
from rheotwin.particles.forces.elements import ElementGroup
from rheotwin.particles.rows import SPARE, InRows, row_places
from rheotwin.particles.state import Nodes, State
from rheotwin.particles.steps import Boundary, Surroundings


def placed_boundary(boundary: Boundary, places: Indices, size: int) -> Boundary:
    """Return the boundary of particles that lie at `places` (N,) among `size`.

    Places without a particle get positions of their own, far from everything and from each other.
    """
    nodes = boundary.nodes
    far = np.abs(nodes.rest).max() + nodes.runaway
    rest = np.zeros((size, 3))
    rest[:, 0] = far * (2.0 + np.arange(size))
    rest[places] = nodes.rest

    def moved(values: Array, elsewhere: float) -> Array:
        found = np.full((size, *values.shape[1:]), elsewhere)
        found[places] = values
        return found

    return Boundary(
        nodes=Nodes(rest, moved(nodes.free, 1.0), moved(nodes.mass, 1.0), moved(nodes.weight, 0.0), nodes.runaway),
        held=boundary.held._replace(node=places[boundary.held.node]),
        loads=boundary.loads._replace(node=places[boundary.loads.node]),
        contact=placed(boundary.contact, places),
        grabs=boundary.grabs._replace(places=places),
    )


def placed_forces(forces: Forces, places: Indices, size: int) -> Forces:
    """Return the forces for particles at `places` (N,) of `size`, but for elements; what they look up is their own."""

    def moved(kind: Any, *names: str) -> Any:
        if kind is None:
            return None
        return kind._replace(**{name: np.ascontiguousarray(places[getattr(kind, name)]) for name in names})

    topology = moved(forces.topology, "vertex", "feature")
    return forces._replace(
        halves=moved(forces.halves, "corners"),
        global_pressure=moved(forces.global_pressure, "nodes"),
        topology=None
        if topology is None
        else topology._replace(
            seen=np.full((size, 3), np.nan), near=np.zeros_like(topology.near), near_count=np.zeros(1, np.int64)
        ),
        ties=moved(forces.ties, "particle", "ends"),
    )


@dataclass(frozen=True)
class InLanes:
    """States of some elements in the lanes of a loop: `columns` of an array of the state, and where each lies."""

    states: Reals
    columns: slice
    of_element: Indices


@dataclass(frozen=True)
class PlacedBody:
    """A body at other places: `copy` has the positions, velocities, forces and reactions of all places, as views.

    What is not bound to places is shared with the state it came from. `lanes` are the states of elements, by the array
    of the state they belong to.
    """

    name: str
    copy: State
    places: Indices
    lanes: Mapping[str, Sequence[InLanes]]
    bytes_per_edge: float
    take: Callable[[int, int], int]
    """take(first, count): advance by `count` steps from step `first`; returns the steps taken."""

    placed: tuple[str, ...] = ("positions", "velocities", "force", "reaction")
    """What lies at other places in the copy."""

    @property
    def precision(self) -> str:
        """Name of the numbers the loop works with."""
        return str(self.copy.positions.dtype)

    @cached_property
    def _spare(self) -> tuple[Indices, Array]:
        """Places without a particle, and where they are before any step."""
        spare = np.setdiff1d(np.arange(len(self.copy.positions)), self.places)
        return spare, self.copy.positions[spare].copy()

    def load(self, state: State) -> None:
        """Take over a state; what a diverged run left at empty places goes."""
        spare, empty = self._spare
        for name in self.placed:
            there = getattr(self.copy, name)
            there[self.places] = getattr(state, name)
            there[spare] = empty if name == "positions" else 0.0
        for name, groups in self.lanes.items():
            for group in groups:
                group.states[...] = 0.0
                group.states[:, group.of_element] = getattr(state, name)[:, group.columns]

    def store(self, state: State) -> None:
        """Put the state of the body into arrays in the order of the problem."""
        for name in self.placed:
            getattr(state, name)[...] = getattr(self.copy, name)[self.places]
        for name, groups in self.lanes.items():
            for group in groups:
                getattr(state, name)[:, group.columns] = group.states[:, group.of_element]


def placed_body(
    arranged: InBoxes | InRows, places: Indices, forces: Forces, state: State, there: Boundary, h: float
) -> PlacedBody:
    """Bind the forces of a body to particles `arranged` at `places` (N,), for steps of `h` [s].

    `there` is the boundary at these places. (a) internal variables and (b) forces of elements, then all other forces,
    (c) v += h F/m, then supports and contact, (d) x += h v.
    """
    x, v, force = arranged.views
    copy = state._replace(positions=x, velocities=v, force=force, reaction=np.zeros((len(there.nodes.mass), 3)))
    stages, lanes, size = [], dict[str, list[InLanes]](), 0
    for group in element_groups(forces):
        stage, held, used = _bound(arranged, group)
        stages.append(stage)
        size += used
        if group.state is not None:
            lanes.setdefault(group.state, []).append(held)
    others = placed_forces(forces, places, len(x))
    around = Surroundings(there, copy)
    around.bound[0] = 0.0  # known from every kick
    program = [
        arranged.begin(),
        *around.loads(),
        *stages,
        *other_stages(others, copy, force),
        arranged.kick(around.bound),
        *around.hold(),
        *around.contact(),
        arranged.drift(),
        *around.last_look(),
    ]
    size += sum(part.nbytes for part in (*arranged.vectors, arranged.weight, arranged.rate))
    edges = len(forces.edges.rest) + sum(len(group.corners) for group in forces.nonlinear)
    take = around.bind(program, h)
    body = PlacedBody(arranged.name, copy, places, lanes, size / edges, take)
    body.load(state)
    return body


def _bound(arranged: InBoxes | InRows, group: ElementGroup) -> tuple[Stage, InLanes, int]:
    """Return the stage of a group, its states in lanes, and the bytes that both read."""
    dtype = arranged.rate.dtype
    loop, table, of_element, lanes = arranged.loop(group)
    numbers = spread(group.numbers, of_element, lanes, dtype)
    constants = group.constants.astype(dtype) if group.shared else spread(group.constants, of_element, lanes, dtype)
    states = aligned((group.rows, lanes), dtype)
    size = table.nbytes + numbers.nbytes + constants.nbytes + states.nbytes
    stage = Stage(loop, (table, *arranged.vectors, numbers, constants, states, STEP))
    return stage, InLanes(states, group.columns, of_element), size


KernelName = Literal["auto", "general", "unstructured", "structured"]


class KernelOptions(BaseModel):
    """Options of the compiled loop."""

    kernel: KernelName = Field(
        default="auto",
        description="compiled loop: `structured` for bodies that are boxes of rows, `unstructured` for any others, "
        "`general` takes one element after the other; `auto` takes the fastest that can",
    )
    precision: Literal["double", "single"] = Field(
        default="double", description="numbers of the structured and unstructured loops; `single` keeps seven digits"
    )


def fast_body(
    options: KernelOptions, stepper: str, forces: Forces, state: State, boundary: Boundary, h: float
) -> PlacedBody | None:
    """Return the body bound to the fastest loop the options allow, None for the general one; steps of `h` [s]."""
    if options.kernel == "general":
        if options.precision == "single":
            raise RheotwinError(
                "solvers.truss.precision: the general kernel has double precision only; "
                'use kernel = "auto" or leave it out'
            )
        return None
    reason = _not_fast(stepper, forces)
    if reason is not None:
        _require_auto(options, reason)
        return None
    ends = np.concatenate([forces.edges.corners, *(group.corners for group in forces.nonlinear)])
    dtype = np.float32 if options.precision == "single" else np.float64
    if options.kernel != "unstructured":
        filling = 0.0 if options.kernel == "structured" else LEAST_FILLING
        layout = find_layout(boundary.nodes.rest, ends, dtype, filling)
        if layout is not None:
            there = placed_boundary(boundary, layout.places, layout.size)
            return placed_body(InBoxes.of(layout, there.nodes, h, dtype), layout.places, forces, state, there, h)
        if options.kernel == "structured":
            raise RheotwinError(
                "solvers.truss.kernel: the bodies are not all boxes of rows, or too many; "
                'use kernel = "auto" or "unstructured"'
            )
    places = row_places(ends, len(boundary.nodes.mass))
    there = placed_boundary(boundary, places, len(places) + SPARE)
    return placed_body(InRows.of(places, there.nodes, h, dtype), places, forces, state, there, h)


def _not_fast(stepper: str, forces: Forces) -> str | None:
    """Say why the fast kernels cannot step this body, None if they can."""
    if stepper != "semi-implicit":
        return f"with stepper = {stepper!r}"
    if len(forces.constraints.right):
        return "with constraints"
    if forces.outside:
        return "with forces of other packages"
    return None if len(forces.edges.rest) or forces.nonlinear else "without edges"


def _require_auto(options: KernelOptions, reason: str) -> None:
    """Refuse what only the fast kernels could give."""
    asked = [name for name in ("kernel", "precision") if getattr(options, name) != _default(name)]
    if asked:
        raise RheotwinError(
            f"solvers.truss.{asked[0]}: only the general kernel, of double precision, can step a body "
            f"{reason}; leave {asked[0]} out"
        )


def _default(name: str) -> Any:
    return KernelOptions.model_fields[name].default
