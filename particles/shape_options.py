"""Options of the truss solver for what keeps a body's shape: topology, global, element and local volume conditions."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError


class ShapeOptions(BaseModel):
    """Shape-keeping forces beside edges and volume springs; all are off by default (spec sections 4, 5)."""

    topology_stiffness: float = Field(
        default=0.0,
        ge=0.0,
        allow_inf_nan=False,
        description="stiffness [N/m] that pushes vertices of triangles and tets back to their side of the opposite "
        "edge or face; 0: off",
    )
    topology_damping: float | None = Field(
        default=None,
        ge=0.0,
        allow_inf_nan=False,
        description="damping [N s/m] of vertices while they are pushed back; default: half critical, sqrt(K m) with "
        "the mean mass; without it, cells pressed flat gain energy",
    )
    topology_distance: float | None = Field(
        default=None,
        ge=0.0,
        allow_inf_nan=False,
        description="distance [m] at which pushing begins; default: 0.05 of each vertex's rest height",
    )
    global_pressure: float = Field(
        default=0.0,
        ge=0.0,
        allow_inf_nan=False,
        description="pressure per change of a body's volume [Pa/m3] (area [Pa/m2] in 2D) on its surface; 0: off",
    )
    global_pressure_damping: float = Field(
        default=0.0, ge=0.0, allow_inf_nan=False, description="the same per rate of change [Pa s/m3] ([Pa s/m2] in 2D)"
    )
    element_pressure: float = Field(
        default=0.0,
        ge=0.0,
        allow_inf_nan=False,
        description="pressure per change of volume of each tet [Pa/m3] or area of each triangle [Pa/m2]; it remembers "
        "the rest shape, so flowing bodies should use global_pressure; 0: off",
    )
    element_pressure_damping: float = Field(
        default=0.0, ge=0.0, allow_inf_nan=False, description="the same per rate of change [Pa s/m3] ([Pa s/m2] in 2D)"
    )
    local_volume: bool = Field(
        default=False,
        description="diagonals of quads and hexahedra give way to half elements between corners and centre",
    )
    local_volume_scale: float = Field(
        default=0.5,
        gt=0.0,
        allow_inf_nan=False,
        description="constants of a half element per those of the diagonal; 0.5 as published, 2 keeps the stiffness "
        "of uniform strain",
    )

    @property
    def has_topology(self) -> bool:
        """Whether vertices are kept on their side."""
        return self.topology_stiffness > 0.0

    @property
    def has_global_pressure(self) -> bool:
        """Whether bodies keep their volume as a whole."""
        return self.global_pressure > 0.0 or self.global_pressure_damping > 0.0

    @property
    def has_element_pressure(self) -> bool:
        """Whether each cell keeps its volume."""
        return self.element_pressure > 0.0 or self.element_pressure_damping > 0.0

    @property
    def keeps_shape(self) -> bool:
        """Whether any of these forces is on."""
        return self.has_topology or self.has_global_pressure or self.has_element_pressure or self.local_volume

    @model_validator(mode="after")
    def _topology_needs_stiffness(self) -> Self:
        for name in ("topology_damping", "topology_distance"):
            if getattr(self, name) and not self.has_topology:
                raise PydanticCustomError(
                    "topology", f"`{name}` has no effect without `topology_stiffness`; give both or neither"
                )
        return self
