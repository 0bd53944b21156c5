"""Options of the solver `shear-volume`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

OPTIONS = "solvers.shear-volume"
Shear = Literal["neo-hooke", "cotangent", "seed"]
Kind = Literal["none", "pair", "cell", "node", "element"]


class ShearVolumeOptions(BaseModel):
    """Options of the solver; `incompressible` is constant volume by constraint stabilisation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None, gt=0.0, description="step [s]; default: `safety` times the stable step of the body at rest"
    )
    safety: float = Field(
        default=0.5,
        gt=0.0,
        le=1.0,
        description="share of the stable step used by default; squeezed elements are stiffer than at rest",
    )
    unstable: Literal["refuse", "substep"] = Field(
        default="refuse", description="what to do with a step above the stable one"
    )
    shear: Shear = Field(
        default="neo-hooke",
        description="shear elements: `neo-hooke` for any shape, history on the deviatoric stress, comes back "
        "when inverted; `cotangent` (triangles): networks on the papers' corner strains, weighted to be linear "
        "finite elements, where no angle at rest is obtuse (`neo-hooke` there); `seed`: the papers', not conservative",
    )
    recovery: float = Field(
        default=1.0,
        ge=0.0,
        allow_inf_nan=False,
        description="damps bodies of `neo-hooke` elements while one is inverted, so that they come back as they were, "
        "not wound up: viscosity over modulus, in times a shear wave takes through the body; 0: none, energy is kept",
    )
    split: Literal["bulk-shear", "lame"] = Field(
        default="bulk-shear",
        description="moduli of the law that relax separately; `lame` is the papers' rule per constant",
    )
    shear_law: str | None = Field(
        default=None, description="name of a law whose numbers (`young`) are the shear modulus of every element"
    )
    volume_law: str | None = Field(
        default=None,
        description="name of a law whose numbers (`young`) are the area (3D: bulk) modulus of every element",
    )
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
