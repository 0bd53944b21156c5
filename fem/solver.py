"""The finite-element solver: small-strain rheological bodies, implicit, with exact unilateral contact."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from rheotwin.fem.options import FemOptions
from rheotwin.fem.simulation import FemSimulation
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CELLS, ALL_LAWS, ALL_TOOLS, Capabilities


class FemSolver:
    """Plug-in: linear elements on scikit-fem meshes, all laws, exponential midpoint."""

    name: ClassVar[str] = "fem"
    description: ClassVar[str] = "linear finite elements (scikit-fem), small strain, implicit exponential midpoint"
    options: ClassVar[type[BaseModel]] = FemOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS,
        tools=ALL_TOOLS,
        planes=frozenset({"strain", "stress", "axisymmetric"}),
    )

    def start(self, problem: Problem, options: BaseModel) -> FemSimulation:
        """Assemble and factorise at time zero."""
        assert isinstance(options, FemOptions)
        return FemSimulation(problem, options)
