"""Options of `shear-volume` that keep volumes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

Kind = Literal["none", "pair", "cell", "node", "element"]


class IncompressibleOptions(BaseModel):
    """Constant volume by constraint stabilisation instead of the law's bulk modulus."""

    incompressible: Kind = Field(
        default="none",
        description="replaces the law's bulk modulus by constant volume (2D: area) of patches: `cell` of each split "
        "square or cube (in 2D also called `pair`), `node` around each node, `element` of each (papers; locks); the "
        "shear modulus stays the law's, E/3 at poisson = 0.5",
    )
    soft_volume: float = Field(
        default=0.1,
        ge=0.0,
        allow_inf_nan=False,
        description="holds single elements near the mean volume of their patch: modulus over the shear modulus",
    )
    volume_tolerance: float = Field(
        default=2e-7,
        ge=1e-13,
        le=1e-2,
        description="share of its volume that a patch may be off; pressures are found as exactly as that needs, so "
        "that forces of single steps scatter with it: 1e-9 makes them smooth where strains stay below a hundredth",
    )
    constraint_frequency: float | None = Field(
        default=None,
        gt=0.0,
        allow_inf_nan=False,
        description="how fast volumes are corrected [1/s], default 0.5/step; times the step it must stay below 0.828",
    )
