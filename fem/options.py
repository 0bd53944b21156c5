"""Options of the finite-element solver, as scene files and the command line give them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rheotwin.fem.elements import Order
from rheotwin.fem.incompressible import Formulation
from rheotwin.fem.linear import Choice
from rheotwin.fem.system import Discretisation, Split
from rheotwin.fem.term import History

Incompressibility = Literal["none", "csm-node", "csm-cell", "csm-element"]
StepperName = Literal[
    "midpoint",
    "cayley",
    "generalized-alpha",
    "quasi-static",
    "static",
    "central-difference",
    "euler",
    "rk4",
    "adaptive",
]


class FemOptions(BaseModel):
    """Options of the finite-element solver."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float | None = Field(
        default=None,
        gt=0.0,
        description="step [s]; default: 1/1000 of the duration, and half the stable step of explicit steppers",
    )
    stepper: StepperName = Field(default="midpoint", description="rule in time")
    order: Order = Field(default=1, description="order of the elements: 1 linear, 2 quadratic")
    formulation: Literal["displacement"] | Formulation = Field(
        default="displacement",
        description="displacements alone, or with a pressure space that does not lock near poisson = 0.5; "
        "node, cell and element are the papers' volume constraints",
    )
    incompressible: bool = Field(
        default=False, description="rigid volume instead of the law's bulk modulus; needs a pressure space"
    )
    mass: Literal["lumped", "consistent"] = Field(default="lumped", description="mass matrix")
    split: Split = Field(
        default="bulk-shear",
        description="moduli that relax separately; `lame` is the papers' rule per constant",
    )
    history: History = Field(default="nodal", description="where histories live; both agree on a body of one law")
    spectral_radius: float = Field(
        default=0.8, ge=0.0, le=1.0, description="of generalized-alpha at high frequency: 1 damps nothing"
    )
    tolerance: float = Field(
        default=1e-3, gt=0.0, description="of the adaptive stepper: error of a piece as a share of the displacement"
    )
    constraint_frequency: float | None = Field(
        default=None,
        gt=0.0,
        description="how fast euler and rk4 correct constraints [1/s], default 0.5/step; "
        "a fixed one keeps order 4 under supports that accelerate",
    )
    incompressibility: Incompressibility = Field(
        default="none",
        description="constant volume in euler and rk4, per node, split square or cube (cell), or element (papers)",
    )
    linear_solver: Choice = Field(default="auto", description="solver of the linear systems")
    energy_balance: bool = Field(default=True, description="account for work and dissipation at every step")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.incompressible and self.formulation == "displacement":
            raise ValueError('incompressible needs a pressure space: set formulation = "taylor-hood" or another one')
        if self.formulation != "displacement" and self.order != 1:
            raise ValueError(f"order comes with formulation = {self.formulation!r}: leave it out")
        if self.formulation != "displacement" and self.history != "nodal":
            raise ValueError(f"formulation = {self.formulation!r} keeps histories at the nodes: leave history out")
        if self.formulation != "displacement" and self.split != "bulk-shear":
            raise ValueError(f"formulation = {self.formulation!r} splits into bulk and shear: leave split out")
        return self

    @property
    def balances(self) -> bool:
        """Whether dissipation is found apart from the balance, so that the balance has a defect to report."""
        return self.accounts and self.stepper != "central-difference"

    @property
    def accounts(self) -> bool:
        """Whether work and dissipation are followed; a static analysis has no path along which to do work."""
        return self.energy_balance and self.stepper != "static"

    @property
    def discretisation(self) -> Discretisation:
        """How bodies are discretised in space."""
        return Discretisation(
            order=self.order,
            split=self.split,
            history=self.history,
            consistent_mass=self.mass == "consistent",
            formulation=None if self.formulation == "displacement" else self.formulation,
            incompressible=self.incompressible,
        )
