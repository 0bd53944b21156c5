"""Options of the solver `slave`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

OPTIONS = "solvers.slave"


class SlaveOptions(BaseModel):
    """Options of the solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None,
        gt=0.0,
        description="step [s]; default: `semi-implicit` the shorter of 1 ms and 3 d/c, `explicit` `safety` "
        "times .7 d/c",
    )
    safety: float = Field(default=0.8, gt=0.0, le=1.0, description="share of the stable step of `explicit` by default")
    unstable: Literal["refuse", "substep"] = Field(
        default="refuse", description="what to do with a step above the stable one"
    )
    scheme: Literal["semi-implicit", "explicit"] = Field(
        default="semi-implicit",
        description="velocities from a linear solve, in which contact holds, or from forces alone",
    )
    implicitness: float = Field(default=1.0, ge=0.5, le=1.0, description="beta of the solve: 1 damps, .5 does not")
    tolerance: float = Field(default=1e-4, gt=0.0, lt=1.0, description="relative residual that ends the solve")
    iterations: int = Field(default=60, ge=1, le=1000, description="most iterations of the solve")
    transfer: Literal["apic", "blend", "paper"] = Field(
        default="apic",
        description="how masters get their velocities: `apic` conserves momentum and angular momentum, `blend` keeps "
        "some of their own, `paper` is equation (8), under which bodies fall at `alpha` g",
    )
    alpha: float = Field(default=0.9, gt=0.0, le=1.0, description="share of the slaves in `blend` and `paper`")
    slaves: bool = Field(default=True, description="whether there are slaves; without, masters act on each other")
    add: bool = Field(default=True, description="whether slaves are added where matter tears")
