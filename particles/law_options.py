"""Options of the truss solver that give groups of elements their own laws: core and surface, on and in voxels, parts.

Calibration spec section 4: with all four groups a lattice has its own K, C1, C2 for surface-on, core-on, surface-in and
core-in elements. Edges are "on" voxels, the half elements of `local_volume` "in" them.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_serializer

from rheotwin.scene import Where


class PartLaw(BaseModel):
    """A law for the elements of a body whose corners all lie in a selection; lengths of `where` are in [m]."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    body: str
    where: Where
    law: str

    @field_serializer("where")
    def _as_given(self, where: Where) -> dict[str, Any]:
        return where.model_dump(mode="json", exclude_none=True)


class LawOptions(BaseModel):
    """Laws beside those of the bodies, named as in the scene; the last part that has an element wins."""

    surface_laws: dict[str, str] = Field(
        default_factory=dict,
        description="name of a body -> name of the law of elements with a corner on its surface (core: all inside)",
    )
    voxel_laws: dict[str, str] = Field(
        default_factory=dict,
        description="name of a body -> name of the law of the half elements in its voxels (`local_volume`); "
        "default: as edges have",
    )
    voxel_surface_laws: dict[str, str] = Field(
        default_factory=dict,
        description="the same for half elements in voxels with a corner on the surface; default: `voxel_laws`, else "
        "`surface_laws`",
    )
    part_laws: dict[str, PartLaw] = Field(
        default_factory=dict,
        description="name of a part -> `{ body, where, law }`: a law for the elements with all corners in the "
        "selection `where` (one of side, box, region, nearest as of supports; lengths in m); later parts win",
    )
