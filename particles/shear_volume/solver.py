"""The solver `shear-volume`: particles that resist shear and change of volume as a continuum does."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel

from rheotwin.materials import SofteningThreeElement
from rheotwin.particles.shear_volume.options import ShearVolumeOptions
from rheotwin.particles.shear_volume.simulation import ShearVolumeSimulation
from rheotwin.problem import Problem
from rheotwin.solver import ALL_CONTACT, ALL_LAWS, SOLID_TOOLS, Capabilities


class ShearVolumeSolver:
    """Plug-in: shear and volume elements between particles, explicit, compiled."""

    name: ClassVar[str] = "shear-volume"
    description: ClassVar[str] = "continuum particles: elements of shear and volume by the law's own moduli, explicit"
    options: ClassVar[type[BaseModel]] = ShearVolumeOptions
    capabilities: ClassVar[Capabilities] = Capabilities(
        dimensions=frozenset({2, 3}),
        cells=frozenset({"triangle", "quad", "tet"}),
        laws=ALL_LAWS | {SofteningThreeElement.name},
        tools=SOLID_TOOLS,
        contact=ALL_CONTACT,
        incompressible=True,
    )

    def start(self, problem: Problem, options: BaseModel) -> ShearVolumeSimulation:
        """Set up the particles at time zero."""
        assert isinstance(options, ShearVolumeOptions)
        return ShearVolumeSimulation(problem, options)
