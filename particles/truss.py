"""The truss solver: particles joined by rheological edges, compiled."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from rheotwin.particles.simulation import TrussOptions, TrussSimulation
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CELLS, ALL_CONTACT, ALL_LAWS, EDGE_LAWS, SOLID_TOOLS, Capabilities


class TrussSolver:
    """Plug-in: three-element (and any other) edges on a truss or lattice, compiled by numba."""

    name: ClassVar[str] = "truss"
    description: ClassVar[str] = "particles joined by rheological edges, on any mesh; explicit or implicit, compiled"
    options: ClassVar[type[BaseModel]] = TrussOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS | EDGE_LAWS,
        tools=SOLID_TOOLS,
        hanging_nodes=True,
        links=True,
        parts=True,
        contact=ALL_CONTACT,
    )

    def start(self, problem: Problem, options: BaseModel) -> TrussSimulation:
        """Set up the truss at time zero."""
        assert isinstance(options, TrussOptions)
        return TrussSimulation(problem, options)
