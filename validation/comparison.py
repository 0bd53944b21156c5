"""A comparison as plain values: frozen, JSON-able, everything a report needs besides the fields."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from rheotwin.errors import RheotwinError
from rheotwin.validation.metrics import Residual
from rheotwin.validation.metrics.fits import Convergence
from rheotwin.validation.run_view import shown_name

SCHEMA_VERSION = 3
"""Version of the layout of comparison.json."""


@dataclass(frozen=True)
class ErrorHistory:
    """A relative error [1] per instant [s], with its root mean square over time, maximum and last value."""

    times: tuple[float, ...]
    values: tuple[float, ...]
    rms: float
    largest: float
    final: float


@dataclass(frozen=True)
class ForceError:
    """Relative L2 error over time [1] of the force of one tool or support; None against a zero reference.

    `held` is the part of the largest force still there at the end [1]; `peak` the largest force [N].
    """

    kind: str
    name: str
    peak: float
    held: float | None
    error: float | None


@dataclass(frozen=True)
class RunCost:
    """Wall time of the solver [s], steps, step [s], speeds [1] and [1/s], cost over the reference's [1].

    `circuit_time` [s] is what the circuit takes whose words a run computes; its steps are weighed by that.
    """

    wall_time: float | None
    steps: int | None
    step_size: float | None
    real_time_factor: float | None
    step_rate: float | None
    ratio: float | None
    circuit_time: float | None = None

    @property
    def spent(self) -> float | None:
        """What the run is weighed by [s]."""
        return self.wall_time if self.circuit_time is None else self.circuit_time


@dataclass(frozen=True)
class Provenance:
    """Where the numbers of a run come from."""

    rheotwin_version: str | None
    solver_version: str | None
    status: str | None
    created: str | None
    mesh_hash: str | None
    points: int
    cells: int
    cell_kind: str
    frames: int
    options: dict[str, Any] = field(default_factory=dict)
    statistics: dict[str, Any] = field(default_factory=dict)
    timings: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunComparison:
    """One run of a case against the case's reference.

    `displacement`, `velocity` and `stress` are None for the reference and where the bodies are not the same
    (`notes` says why); residual and bounce are relative to the peak displacement [1]. `refinement` is None for the
    limit of several meshes.
    """

    label: str
    solver: str
    refinement: int | None
    is_reference: bool
    displacement: ErrorHistory | None
    velocity: ErrorHistory | None
    stress: ErrorHistory | None
    forces: tuple[ForceError, ...]
    residual: Residual
    bounce: float | None
    volume_drift: dict[str, float | None]
    cost: RunCost
    notes: tuple[str, ...]
    sentence: str
    provenance: Provenance

    @property
    def shown(self) -> str:
        """What readers see for its label."""
        return self.named(self.label)

    def named(self, label: str) -> str:
        """Return what readers see for a label of its solver."""
        return shown_name(label, self.solver, self.provenance.cell_kind, self.provenance.statistics)


@dataclass(frozen=True)
class Part:
    """A part of an uncertainty: half its 95 % interval as a share of the reference [1]; None says `why` not."""

    source: Literal["mesh and step", "reference", "scene", "material", "data"]
    value: float | None
    why: str = ""


Words = Literal["agrees within U", "differs", "cannot be told"]


@dataclass(frozen=True)
class Verdict:
    """What a run, the finest of its solver, is worth: error E and its uncertainty U [1], defined in `verdict`.

    `rest` is what differs beside a factor [1], `cost` that of the run over the reference's [1].
    """

    label: str
    quantity: str
    error: float | None
    rest: float | None
    uncertainty: float | None
    parts: tuple[Part, ...]
    cost: float | None
    words: Words
    reason: str


@dataclass(frozen=True)
class Settling:
    """How one number of one solver settles as its mesh is refined."""

    solver: str
    quantity: str
    unit: str
    found: Convergence


@dataclass(frozen=True)
class CrossCheck:
    """Forces on one tool from particles of shear and volume and from finite elements on one mesh (`cross_check`).

    `at_zero` is their relative difference [1] at no depth, `slope` how it begins to grow over the strain [1], `scatter`
    [1] what a parabola through `differences` over `strains` leaves; `holds` is None where that is too much.
    """

    particles: str
    finite: str
    tool: str
    at_zero: float
    slope: float
    scatter: float
    strains: tuple[float, ...]
    differences: tuple[float, ...]
    holds: bool | None


@dataclass(frozen=True)
class CaseComparison:
    """All runs of one case; the reference is one of them.

    `verdicts` has a row per solver, `advice` says which run to take. `reference_uncertainty` is that of its peak force,
    from its own meshes, as part of it [1]. `front` names the runs that no other beats in error and cost together,
    cheapest first.
    """

    case: str
    description: str
    reference: str
    runs: tuple[RunComparison, ...]
    settlings: tuple[Settling, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    advice: str = ""
    reference_uncertainty: float | None = None
    front: tuple[str, ...] = ()
    cross_checks: tuple[CrossCheck, ...] = ()

    def shown(self, label: str) -> str:
        """Return what readers see for the label of a run, or for a solver."""
        return next((run.named(label) for run in self.runs if label in (run.label, run.solver)), label)


@dataclass(frozen=True)
class CaseResidual:
    """Residual of a case [1], at the node that moved most and over the body, with its oscillation [1]."""

    case: str
    at_node: float
    rms: float
    oscillation: float


@dataclass(frozen=True)
class Ordering:
    """The cases of one solver from the smallest residual to the largest.

    `expected` is the order the material laws promise, among the cases present; `holds` whether the
    residuals follow it strictly, None when fewer than two of its cases were run.
    """

    label: str
    residuals: tuple[CaseResidual, ...]
    expected: tuple[str, ...]
    holds: bool | None
    sentence: str


@dataclass(frozen=True)
class Comparison:
    """Several runs of one scene, case by case.

    `plots` and `records` name the files and the record folders that belong to it, relative to its folder; `reason` says
    why the program chose this reference.
    """

    title: str
    dimension: int
    duration: float
    cases: tuple[CaseComparison, ...]
    orderings: tuple[Ordering, ...]
    rheotwin_version: str
    scene: dict[str, Any] = field(default_factory=dict)
    schema_version: int = SCHEMA_VERSION
    plots: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    reason: str = ""

    def to_json(self) -> str:
        """Return the comparison as indented JSON; what is undefined is null."""
        return _ADAPTER.dump_json(self, indent=2).decode()

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the runs over all cases, in order of first appearance."""
        return tuple(dict.fromkeys(run.label for case in self.cases for run in case.runs))

    def shown(self, label: str) -> str:
        """Return what readers see for a label; the label where that differs from case to case."""
        names = {run.shown for case in self.cases for run in case.runs if run.label == label}
        return names.pop() if len(names) == 1 else label


_ADAPTER: TypeAdapter[Comparison] = TypeAdapter(Comparison)


def load_comparison(path: Path) -> Comparison:
    """Read a comparison.json; a missing or foreign file is one sentence."""
    try:
        return _ADAPTER.validate_json(path.read_bytes())
    except OSError as error:
        raise RheotwinError(f"{path}: could not be read ({error.strerror}); name a comparison.json") from error
    except ValidationError as error:
        raise RheotwinError(
            f"{path}: not a comparison of schema {SCHEMA_VERSION}; write it again with `rheotwin compare`"
        ) from error
