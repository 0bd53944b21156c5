"""Options of the fixed-point solver."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from rheotwin.particles.element_match import Method
from rheotwin.particles.fixed_point.arithmetic import WIDEST


class FixedPointOptions(BaseModel):
    """Options of the fixed-point solver; units left out are chosen from the range of the scene."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None, gt=0.0, description="step [s]; default: `safety` times the stable step of explicit Euler"
    )
    safety: float = Field(default=0.5, gt=0.0, le=1.0, description="share of the stable step used by default")
    match: Method = Field(
        default="element", description="springs from the law, as for `truss`; `edge`: the law's numbers are each edge's"
    )
    word: int = Field(default=16, ge=8, le=WIDEST, description="bits of a word; the papers' circuit has 16")
    fraction: int = Field(default=8, ge=2, le=WIDEST - 2, description="bits after the point; the papers' circuit has 8")
    time_unit: float | None = Field(
        default=None, gt=0.0, allow_inf_nan=False, description="one circuit unit of time [s], the papers' r"
    )
    length_unit: float | None = Field(
        default=None, gt=0.0, allow_inf_nan=False, description="one circuit unit of length [m]; the papers have 1"
    )
    mass_unit: float | None = Field(
        default=None, gt=0.0, allow_inf_nan=False, description="one circuit unit of mass [kg]; the papers have 1"
    )
    analyse: bool = Field(
        default=True,
        description="run the scene in double precision first: chooses units, warns about ranges and the dead band",
    )
    h_const: Literal["eq218", "printed", "plain8"] = Field(
        default="eq218",
        description="bits of the step constant: `eq218` all there are, `printed` one less, `plain8` those of the word",
    )
    tem_wmod: bool = Field(default=True, description="give A, B and C2 the best point of their own")
    tem_round: bool = Field(default=False, description="round products of constants in the element module")
    euler_round: bool = Field(default=True, description="round products with the step and 1/m; truncation drifts")
    sqrt: Literal["floor", "cordic"] = Field(
        default="floor", description="square root: `floor` exact, `cordic` as in the papers, at most one digit off"
    )
    overflow: Literal["wrap", "saturate"] = Field(
        default="wrap", description="what a word does that overflows; `saturate` makes sums depend on their order"
    )
    series_time: float = Field(
        default=10.0,
        gt=0.0,
        allow_inf_nan=False,
        description="flow of the series dashpot that a voigt edge needs here, as relaxation time over the duration",
    )
