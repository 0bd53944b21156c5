"""Options of the finite-element solver, as scene files and the command line give them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rheotwin.fem.incompressible import Formulation
from rheotwin.fem.linear import Choice
from rheotwin.fem.space import Order

Split = Literal["bulk-shear", "lame"]
History = Literal["nodal", "quadrature"]
PATCHES = ("node", "cell", "element")
"""Formulations that are volume constraints on patches of simplices."""
LARGE = ("b-bar", "p2-p0", "taylor-hood", "mini")
"""Mixed formulations at large strain; `b-bar` is then the mean dilatation of each cell."""
CONSTRAINT_STEPPERS = ("euler", "rk4")
"""Steppers that hold constraints by stabilisation."""
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
    kinematics: Literal["small", "corotational", "total-lagrangian"] = Field(
        default="small",
        description="small strain, large rotation of small strains, or large strain; "
        "the last two know the steppers midpoint and quasi-static",
    )
    order: Order = Field(default=1, description="order of the elements: 1 linear, 2 quadratic")
    formulation: Literal["displacement"] | Formulation = Field(
        default="displacement",
        description="displacements alone, or with a pressure space that does not lock near poisson = 0.5; "
        "node, cell (split square or cube) and element (papers) have one pressure per patch",
    )
    incompressible: bool = Field(
        default=False,
        description="rigid volume instead of the law's bulk modulus; needs a pressure space; "
        "euler and rk4 hold node, cell or element by constraint stabilisation",
    )
    mass: Literal["lumped", "consistent"] = Field(default="lumped", description="mass matrix")
    split: Split = Field(
        default="bulk-shear", description="moduli that relax separately; `lame` is the papers' rule per constant"
    )
    history: History = Field(default="nodal", description="where histories live; both agree on a body of one law")
    spectral_radius: float = Field(
        default=0.8, ge=0.0, le=1.0, description="of generalized-alpha at high frequency: 1 damps nothing"
    )
    tolerance: float = Field(
        default=1e-3, ge=1e-8, description="of the adaptive stepper: error of a piece as a share of the displacement"
    )
    constraint_frequency: float | None = Field(
        default=None,
        gt=0.0,
        description="how fast euler and rk4 correct constraints [1/s], default 0.5/step; "
        "a fixed one keeps order 4 under supports that accelerate",
    )
    soft_volume: float = Field(
        default=0.0,
        ge=0.0,
        description="holds single cells near the mean volume of their node or cell patch: modulus over shear modulus",
    )
    refine: str | None = Field(
        default=None,
        pattern=r"^until \d+(\.\d+)? ?%$",
        description='halve triangles or tetrahedra where the error is, "until 1 %" of the force is left by estimate; '
        "for the steppers static and quasi-static",
    )
    refine_memory: float = Field(
        default=1000.0, gt=0.0, description="megabytes beyond which no finer mesh is tried by refine"
    )
    linear_solver: Choice = Field(default="auto", description="solver of the linear systems")
    newton_tolerance: float = Field(
        default=1e-9, gt=0.0, lt=1.0, description="residual over largest force at which a nonlinear step is solved"
    )
    newton_iterations: int = Field(default=25, ge=1, description="iterations before a nonlinear step is halved")
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
        if self.constrained and self.formulation not in PATCHES:
            raise ValueError(
                f"incompressible with stepper = {self.stepper!r} holds volumes of patches: set formulation to "
                "node, cell or element"
            )
        if self.kinematics != "small":
            self._require_plain()
        self._require_used()
        if self.soft_volume and self.formulation not in PATCHES[:2]:
            raise ValueError("soft_volume belongs to formulation = node or cell: leave it out")
        return self

    def _require_used(self) -> None:
        """Refuse options that were given but that nothing would read."""
        large = self.kinematics != "small"
        readers = {
            "spectral_radius": (self.stepper == "generalized-alpha", 'stepper = "generalized-alpha"'),
            "tolerance": (self.stepper == "adaptive", 'stepper = "adaptive"'),
            "constraint_frequency": (self.stepper in CONSTRAINT_STEPPERS, "the steppers euler and rk4"),
            "newton_tolerance": (large, 'kinematics = "corotational" or "total-lagrangian"'),
            "newton_iterations": (large, 'kinematics = "corotational" or "total-lagrangian"'),
            "refine": (not (large or self.inertia), 'kinematics = "small" with stepper static or quasi-static'),
            "refine_memory": (self.refine is not None, "refine"),
            "linear_solver": (self.stepper != "central-difference", "steppers that solve systems"),
            "energy_balance": (not large, 'kinematics = "small"'),
        }
        for name, (read, reader) in readers.items():
            if not read and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} belongs to {reader}: leave it out")

    def _require_plain(self) -> None:
        """Refuse what the nonlinear descriptions do not have rather than ignore it."""
        large = self.kinematics == "total-lagrangian"
        if self.stepper not in ("midpoint", "quasi-static"):
            raise ValueError(f"kinematics = {self.kinematics!r} knows the steppers midpoint and quasi-static only")
        for name in ("order", "formulation", "incompressible", "mass", "split", "history", "linear_solver"):
            choice = large and name in ("order", "formulation", "incompressible")
            if not choice and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"kinematics = {self.kinematics!r} has no choice of {name}: leave it out")
        if self.formulation not in ("displacement", *LARGE):
            raise ValueError(
                f"kinematics = {self.kinematics!r} knows the formulations displacement, {', '.join(LARGE)}"
            )
        if self.formulation != "displacement" and self.inertia:
            raise ValueError(f"formulation = {self.formulation!r} at large strain needs stepper = 'quasi-static'")

    @property
    def wanted_error(self) -> float:
        """Relative error of the force to refine to."""
        assert self.refine is not None
        return 0.01 * float(self.refine.split()[1].rstrip("%"))

    @property
    def inertia(self) -> bool:
        """Whether the mass counts."""
        return self.stepper not in ("quasi-static", "static")

    @property
    def constrained(self) -> bool:
        """Whether the stepper holds the volumes of patches by constraints: terms then carry shear alone."""
        return self.incompressible and self.stepper in CONSTRAINT_STEPPERS

    @property
    def balances(self) -> bool:
        """Whether dissipation is found apart from the balance, so that the balance has a defect to report."""
        return self.accounts and self.stepper != "central-difference"

    @property
    def accounts(self) -> bool:
        """Whether work and dissipation are followed; a static analysis has no path along which to do work."""
        return self.energy_balance and self.stepper != "static"

    @property
    def pressures(self) -> Formulation | None:
        """Pair of displacement and pressure spaces; None: displacements alone."""
        return None if self.formulation == "displacement" else self.formulation
