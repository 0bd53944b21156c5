"""Trajectories do not depend on numbering, direction of edges, place or parts; steps allocate nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from numpy.typing import NDArray

from rheotwin.particles.boundary import Boundary
from rheotwin.particles.forces.all_forces import Forces
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.kernel_choice import KernelOptions, fast_body
from rheotwin.particles.placed import PlacedBody
from rheotwin.particles.state import State
from rheotwin.validation.checks.running import block, put, truss

Array = NDArray[np.float64]
FAST = ("structured", "unstructured")
ROUNDING = 1e-12
"""Hundreds of steps of a few roundings each, all of them of 1e-16 of the body's size."""
LAW = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.35}


@dataclass(frozen=True)
class Body:
    """What a kernel needs to know, to be renumbered and turned."""

    forces: Forces
    boundary: Boundary
    state: State
    step: float

    def bound(self, kernel: Any) -> PlacedBody:
        """Return the body bound to a loop."""
        fast = fast_body(
            KernelOptions(kernel=kernel), "semi-implicit", self.forces, self.state, self.boundary, self.step
        )
        assert fast is not None
        return fast

    @property
    def edges(self) -> Elements:
        return self.forces.edges

    def run(self, kernel: str, steps: int) -> Array:
        """Return the positions after some steps, in the body's own numbering."""
        fast = self.bound(kernel)
        assert fast.take(0, steps) == steps
        state = self.state._replace(**{name: array.copy() for name, array in self.state._asdict().items()})
        fast.store(state)
        return state.positions

    def _with(self, **elements: Elements) -> Body:
        return replace(self, forces=self.forces._replace(**elements))

    def flipped(self, chosen: NDArray[np.bool_]) -> Body:
        corners = self.edges.corners.copy()
        corners[chosen] = corners[chosen, ::-1]
        return self._with(edges=self.edges._replace(corners=corners))

    def with_edges(self, order: NDArray[np.int64]) -> Body:
        rows = {name: array[..., order] for name, array in self.edges._asdict().items() if name != "corners"}
        edges = self.edges._replace(corners=self.edges.corners[order], **rows)
        return replace(self._with(edges=edges), state=self.state._replace(edge_arms=self.state.edge_arms[:, order]))

    def with_particles(self, order: NDArray[np.int64]) -> Body:
        number, nodes = np.argsort(order), self.boundary.nodes
        moved = {name: getattr(nodes, name)[order] for name in ("rest", "free", "mass", "weight")}
        vectors = ("positions", "velocities", "force", "reaction")
        cells = self.forces.cells
        renumbered = self._with(
            edges=self.edges._replace(corners=number[self.edges.corners]),
            cells=cells._replace(corners=number[cells.corners]),
        )
        return replace(
            renumbered,
            boundary=self.boundary._replace(nodes=nodes._replace(**moved)),
            state=self.state._replace(**{name: getattr(self.state, name)[order] for name in vectors}),
        )

    def moved(self, turn: Array, shift: Array) -> Body:
        nodes = self.boundary.nodes
        nodes = nodes._replace(rest=nodes.rest @ turn.T + shift, weight=nodes.weight @ turn.T)
        positions, velocities = self.state.positions @ turn.T + shift, self.state.velocities @ turn.T
        return replace(
            self,
            boundary=self.boundary._replace(nodes=nodes),
            state=self.state._replace(positions=positions, velocities=velocities),
        )


@pytest.fixture
def thrown() -> Body:
    """A free box under gravity with random velocities and springs under tension."""
    box = {"size": [5.0, 4.0, 4.0], "cells": [10, 8, 8]}
    problem = block(3, LAW, body=box, gravity=[0.1, 0.2, -0.3])
    simulation = truss(problem, kernel="general", step=0.002)
    put(simulation, velocities=0.1 * np.random.default_rng(0).standard_normal(problem.points.shape))
    simulation.advance(1.0, 50)
    return Body(simulation.method.forces, simulation.boundary, simulation.state, simulation.step_size)


@pytest.mark.parametrize("kernel", FAST)
def test_numbering_and_direction_do_not_matter(kernel: str, thrown: Body) -> None:
    random = np.random.default_rng(1)
    plain = thrown.run(kernel, 300)
    assert np.abs(plain - thrown.state.positions).max() > 0.05
    flips = thrown.flipped(random.random(len(thrown.edges.rest)) < 0.5).run(kernel, 300)
    assert np.abs(flips - plain).max() < ROUNDING
    shuffled = thrown.with_edges(random.permutation(len(thrown.edges.rest))).run(kernel, 300)
    assert np.abs(shuffled - plain).max() < ROUNDING
    order = random.permutation(len(plain))
    renumbered = thrown.with_particles(order).run(kernel, 300)
    assert np.abs(renumbered - plain[order]).max() < ROUNDING


@pytest.mark.parametrize("kernel", FAST)
def test_rigid_motion_of_everything_does_not_matter(kernel: str, thrown: Body) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))
    turn *= np.linalg.det(turn)
    shift = np.array([3.0, -2.0, 1.0])
    moved = thrown.moved(turn, shift).run(kernel, 300)
    assert np.abs(moved - (thrown.run(kernel, 300) @ turn.T + shift)).max() < 10.0 * ROUNDING


def test_steps_of_the_loops_allocate_nothing(thrown: Body) -> None:
    for kernel in FAST:
        body, counts = thrown.bound(kernel), []
        body.take(0, 1)
        _nrt_python.memsys_enable_stats()
        try:
            for steps in (1, 101):
                before = rtsys.get_allocation_stats().alloc
                body.take(0, steps)
                counts.append(rtsys.get_allocation_stats().alloc - before)
        finally:
            _nrt_python.memsys_disable_stats()
        assert counts[0] == counts[1], body.name
