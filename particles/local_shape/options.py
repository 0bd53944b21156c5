"""Options of the solver `local-shape`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

OPTIONS = "solvers.local-shape"
Rotation = Literal["paper", "sym-atan", "svd"]


class LocalShapeOptions(BaseModel):
    """Options of the solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None, gt=0.0, description="step [s]; default: `safety` times the stable step of the body at rest"
    )
    safety: float = Field(
        default=0.3, gt=0.0, le=1.0, description="share of the stable step used by default; 0.3 is the paper's"
    )
    unstable: Literal["refuse", "substep"] = Field(
        default="refuse", description="what to do with a step above the stable one"
    )
    rotation: Rotation = Field(
        default="sym-atan",
        description="how an element finds its rotation in space: `sym-atan` and `paper` by passes that go on from the "
        "last step's, `svd` exactly, at several times the cost; in the plane all are exact",
    )
    passes: int = Field(
        default=2, ge=1, le=20, description="passes per step; with one, forces turn a body that nothing turns"
    )
    damping: float = Field(
        default=0.05,
        ge=0.0,
        allow_inf_nan=False,
        description="damps deformation, never rotation: share of the critical damping of one vertex, beside the "
        "viscosities of the law",
    )
    volume_term: bool = Field(
        default=True,
        description="an energy of the elements' volumes, for Poisson ratios above 0, which elements alone have",
    )
    spurious_turns: bool = Field(
        default=False,
        description="keep account of the angular acceleration [1/s2] that the forces of elements give them, which have "
        "no moment where rotations are exact: mean, deviation and largest over all steps",
    )
    keep_volume: bool = Field(
        default=False, description="rest shapes creep at constant volume: the series dashpot acts on shear alone"
    )
