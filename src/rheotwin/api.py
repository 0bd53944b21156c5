"""What Python users call: each verb of the command line as a function that returns its result.

Nothing is left on disk unless `folder` names a place: what a run writes goes with its result.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.errors import RheotwinError
from rheotwin.record import Record, open_record
from rheotwin.scene import Scene, load_scene
from rheotwin.scene.load import changed
from rheotwin.shown import Shown

if TYPE_CHECKING:
    from rheotwin.refinements import Refinements
    from rheotwin.sweeping import SweepTable
    from rheotwin.validation import Comparison
    from rheotwin.validation.calibration.result import Result
    from rheotwin.validation.identification import Identified
    from rheotwin.validation.report.charts import Plot

SceneLike = Scene | str | Path
Folder = str | Path | None
Options = Mapping[str, Any]


@contextmanager
def _room(folder: Folder) -> Iterator[tuple[Path, list[Any]]]:
    """Yield the folder to write to, and a list of its owners; one that nobody named goes when the last of them goes."""
    owners: list[Any] = []
    if folder is not None:
        yield Path(folder), owners
        return
    aside = Path(tempfile.mkdtemp(prefix="rheotwin-"))
    try:
        yield aside / "result", owners
    finally:
        left = [len(owners)]

        def gone() -> None:
            left[0] -= 1
            if left[0] <= 0:
                shutil.rmtree(aside, ignore_errors=True)

        for owner in owners:
            weakref.finalize(owner, gone)
        if not owners:
            gone()


def _scene(scene: SceneLike, changes: Options | None = None) -> Scene:
    return changed(scene, changes or {}) if isinstance(scene, Scene) else load_scene(scene, changes)


def run(
    scene: SceneLike,
    solver: str = "fem",
    *,
    case: str | None = None,
    changes: Options | None = None,
    options: Options | None = None,
    folder: Folder = None,
    overwrite: bool = False,
) -> Record:
    """Run a scene with a solver and return its record.

    `case` is a case of the scene (default: the first), `changes` are values at dotted places of it, `options` those of
    the solver. A run that diverges warns, and its record keeps everything before that.

    >>> result = rt.run("scenes/chain-1d.toml", "truss", changes={"duration": 0.5})
    >>> result
    <A strand pulled and released: truss: complete, 21 nodes, 6 frames>
    >>> round(float(result.probes["probe.tip.displacement_x"].max()), 4)
    0.0222
    """
    from rheotwin.running import RunRequest, run_scene

    with _room(folder) as (place, owners):
        own = _scene(scene, changes)
        outcome = run_scene(RunRequest(own, solver, place, case, options, overwrite=overwrite))
        if outcome.status == "interrupted":
            raise KeyboardInterrupt
        if outcome.status != "complete":
            warnings.warn(outcome.message, stacklevel=2)
        record = open_record(place)
        owners.append(record)
    return record


@dataclass(frozen=True, repr=False)
class Compared(Shown):
    """A comparison: its numbers, the page of its report, the records of its runs."""

    comparison: Comparison
    report: Path
    records: tuple[Record, ...]

    @property
    def headline(self) -> str:
        """What was compared, and which run to take."""
        from rheotwin.validation.report.sentences import verdict_notes

        return ": ".join([self.comparison.title, *verdict_notes(self.comparison.cases)[:1]])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Verdict on each solver in each case."""
        from rheotwin.validation.report.sentences import VERDICT_COLUMNS, verdict_rows

        return [dict(zip(VERDICT_COLUMNS, row, strict=True)) for row in verdict_rows(self.comparison.cases)]

    def plot(self) -> Plot:
        """Return the picture of the forces of all runs of the first case."""
        from rheotwin.record.show import curves

        first = self.records[0].manifest.case
        return curves([record for record in self.records if record.manifest.case == first])


def compare(
    scene: SceneLike,
    solvers: Sequence[str] = ("fem", "truss"),
    *,
    refine: Sequence[int] | Mapping[str, Sequence[int]] = (),
    reference: str | None = None,
    cases: Sequence[str] = (),
    changes: Options | None = None,
    options: Mapping[str, Options] | None = None,
    executor: str = "lanes",
    folder: Folder = None,
    overwrite: bool = False,
) -> Compared:
    """Run a scene with several solvers and compare them with a reference.

    `refine` divides the cells, for all solvers or each of its own; `reference` is as `rheotwin compare` has it: one of
    the solvers, `SOLVER@N`, `SOLVER@limit`, or `auto`. `options` are by solver.

    >>> found = rt.compare("scenes/chain-1d.toml", reference="fem", changes={"duration": 0.5})
    >>> [record.manifest.solver.name for record in found.records]
    ['fem', 'truss']
    >>> [row["solver"] for row in found.rows]
    ['truss']
    """
    from rheotwin import executor as executors
    from rheotwin.comparison_runs import Plan, chosen_reference, compared
    from rheotwin.validation import load_comparison
    from rheotwin.validation.report.write import NUMBERS

    own = _scene(scene, changes)
    by_solver = refine if isinstance(refine, Mapping) else dict.fromkeys(solvers, refine)
    meshes: Refinements = {name: sorted(set(by_solver.get(name, ()))) or (None,) for name in solvers}
    wanted = chosen_reference(reference, solvers, meshes)
    chosen = [own.with_case(name).case for name in cases] or list(own.case_names) or [None]
    settings = {name: dict(table) for name, table in (options or {}).items()}
    with _room(folder) as (place, owners), executors.opened(executor) as workers:
        plan = Plan(own, chosen, settings, place, overwrite=overwrite, go_on=False, quiet=True, workers=workers)
        report, folders, _ = compared(plan, plan.tasks(meshes), [], meshes, wanted)
        records = tuple(open_record(folder) for folder in folders)
        found = Compared(load_comparison(report.parent / NUMBERS), report, records)
        owners += [found, *records]
    return found


def sweep(
    scene: SceneLike,
    vary: Mapping[str, Sequence[Any]],
    solvers: Sequence[str] = ("fem", "truss"),
    *,
    cases: Sequence[str] = (),
    changes: Options | None = None,
    options: Mapping[str, Options] | None = None,
    executor: str = "lanes",
    folder: Folder = None,
) -> SweepTable:
    """Run a scene over a grid of values by several solvers and return a row of numbers for each.

    `vary` has values at dotted places of the scene, or of a solver's options (`truss.step`).

    >>> table = rt.sweep("scenes/chain-1d.toml", {"duration": [0.25, 0.5]}, ["truss"])
    >>> [(row["duration"], row["status"]) for row in table.rows]
    [(0.25, 'complete'), (0.5, 'complete')]
    """
    from rheotwin import executor as executors
    from rheotwin.sweeping import Sweep, SweepTable, table

    own = _scene(scene)
    file = own.source if isinstance(scene, str | Path) and own.source is not None else own.resolve("scene.toml")
    text = file.read_text(encoding="utf-8") if own.source is file else own.to_toml()
    chosen = [own.with_case(name).case for name in cases] or list(own.case_names) or [None]
    grid = Sweep(file.absolute(), text, vary, solvers, chosen, changes or {}, options or {})
    grid.check()
    with executors.opened(executor) as workers:
        rows = dict(table(grid, workers))
    found = SweepTable(tuple(rows[place] for place in sorted(rows)), tuple(vary))
    if folder is not None:
        found.save(folder)
    return found


def identify(
    *records: str | Path,
    law: str | Sequence[str] = (),
    geometry: str | None = None,
    blind: Sequence[str | Path] = (),
    offsets: Sequence[Any] = (),
    profile: bool = False,
    bootstrap: int = 0,
    poisson: float = 0.0,
    shift: Any = None,
    temperature: float | None = None,
    terms: int | None = None,
    seed: int = 0,
    folder: Folder = None,
    **reading: Any,
) -> Identified:
    """Identify the law of a material from records of a test: CSV files or experiment folders.

    `geometry` turns forces into stresses ("bar,60 mm,100 mm2"), `blind` records are predicted and not fitted. `reading`
    says what headers do not: `columns`, `units`, `drive`, `mass`, `ramp`, `flip_force`, `tare`, `straight`.
    """
    from rheotwin.validation.identification import TimeRecord, identify, identify_oscillation
    from rheotwin.validation.identification.reading import geometry_of, read_record
    from rheotwin.validation.identification.result import free_folder

    if folder is not None:
        free_folder(folder)
    reading["geometry"] = None if geometry is None else geometry_of(geometry)
    read, unseen = ([read_record(path, **reading) for path in paths] for paths in (records, blind))
    over_time = [record for record in (*read, *unseen) if isinstance(record, TimeRecord)]
    if len(over_time) == len(read) + len(unseen):
        for name, value in {"shift": shift, "temperature": temperature, "terms": terms}.items():
            if value is not None:
                raise RheotwinError(f"--{name} is for storage and loss over frequency, not for records over time")
        about: dict[str, Any] = {"law": law, "seed": seed, "offsets": offsets, "profile": profile}
        about |= {"blind": over_time[len(read) :], "bootstrap": bootstrap, "poisson": poisson}
        found = identify(over_time[: len(read)], **about)
    elif len(read) > 1 or unseen or law or isinstance(read[0], TimeRecord):
        raise RheotwinError(
            "storage and loss are identified from one table, without --law and --blind; put all temperatures into it"
        )
    else:
        found = identify_oscillation(read[0], shift=shift, reference=temperature, terms=terms, poisson=poisson)
    if folder is not None:
        found.save(folder)
    return found


@dataclass(frozen=True, repr=False)
class Calibrated(Shown):
    """A calibration: what was found, with intervals, and the scene that has it."""

    result: Result
    scene: Scene

    @property
    def headline(self) -> str:
        """Parameters found, and what a reader should know of them."""
        from rheotwin.validation.calibration.result import sentences

        return ". ".join([f"{len(self.result.parameters)} parameters calibrated", *sentences(self.result)])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Value and 95 % interval of each parameter, the range of its seeds, the bound it lies on."""
        return [vars(number) for number in self.result.parameters]


def calibrate(
    scene: SceneLike,
    records: str | Path | Sequence[str | Path],
    budget: int,
    *,
    solver: str = "truss",
    case: str | None = None,
    changes: Options | None = None,
    options: Options | None = None,
    costs: Mapping[str, float] | None = None,
    search: str = "least-squares",
    seeds: int = 5,
    validate: Sequence[str | Path] = (),
    predict: Sequence[str | Path] = (),
    executor: str = "lanes",
    folder: Folder = None,
) -> Calibrated:
    """Find the numbers that a scene marks in `[calibrate]` from experiments, within `budget` evaluations a seed.

    `costs` are weights of shapes, forces, volumes and fields (default: 1 each), `validate` records choose among the
    seeds, `predict` records are only predicted.
    """
    from rheotwin import executor as executors
    from rheotwin.cli.calibrate import COSTS, RESULT, SCENE
    from rheotwin.record.atomic import write_text
    from rheotwin.validation.calibration import CalibrationProblem, Costs
    from rheotwin.validation.calibration.campaign import search as searched
    from rheotwin.validation.calibration.problem import Part
    from rheotwin.validation.calibration.result import result
    from rheotwin.validation.experiments.reader import read_experiment

    own = _scene(scene, changes).with_case(case)
    own = own.model_copy(update={"solvers": own.solvers | {solver: own.solvers.get(solver, {}) | dict(options or {})}})
    if not own.calibrate:
        raise RheotwinError(
            "the scene does not say what to find; mark a number, for example: [calibrate] "
            '"laws.dough.young" = { low = 100.0, high = 3000.0 }'
        )
    fit = [records] if isinstance(records, str | Path) else records
    folders: dict[Part, Sequence[str | Path]] = {"fit": fit, "validate": validate, "predict": predict}
    read = {part: [read_experiment(Path(one)) for one in listed] for part, listed in folders.items()}
    parts = [part for part, listed in read.items() for _ in listed]
    everything = [record for listed in read.values() for record in listed]
    weights = Costs(**(costs or dict.fromkeys(COSTS, 1.0)))
    problem = CalibrationProblem(own, solver, everything, costs=weights, parts=parts)
    with executors.opened(executor) as workers:
        found = result(problem, read, searched(problem, search, budget, workers, seeds=range(seeds)))
    calibrated = Calibrated(found, problem.with_parameters(found.theta))
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        calibrated.scene.write(Path(folder) / SCENE)
        write_text(Path(folder) / RESULT, json.dumps(found.to_data(), indent=2))
    return calibrated
