"""The finite-element solver: rheological bodies, small and large strain, with exact unilateral contact."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from rheotwin.fem.contact.support import require_contact
from rheotwin.fem.links import require_no_links
from rheotwin.fem.options import FemOptions
from rheotwin.fem.simulation import FemSimulation
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CELLS, ALL_CONTACT, ALL_LAWS, SOLID_TOOLS, Capabilities


class FemSolver:
    """Plug-in: elements of order 1 and 2 and mixed ones on scikit-fem meshes, all laws, small and large strain."""

    name: ClassVar[str] = "fem"
    description: ClassVar[str] = "finite elements (scikit-fem) for small and large strain, implicit or explicit, mixed"
    options: ClassVar[type[BaseModel]] = FemOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({1, 2, 3}),
        cells=ALL_CELLS,
        laws=ALL_LAWS,
        tools=SOLID_TOOLS,
        planes=frozenset({"strain", "stress", "axisymmetric"}),
        links=True,
        contact=ALL_CONTACT,
        incompressible=True,
        parts=True,
        cell_stress=True,
    )

    def start(self, problem: Problem, options: BaseModel) -> FemSimulation:
        """Assemble and factorise at time zero."""
        assert isinstance(options, FemOptions)
        require_contact(problem, options)
        if options.kinematics != "small":
            require_no_links(problem, f"kinematics = {options.kinematics!r}", 'kinematics = "small"')
        return FemSimulation(problem, options)
