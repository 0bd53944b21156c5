"""`rheotwin calibrate`: parameters of a scene from experiments, with intervals, and what they predict."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin import executor
from rheotwin.cli.run import add_quiet_arguments, add_set_argument, parse_settings, whole_number
from rheotwin.errors import EXIT_OK, RheotwinError

if TYPE_CHECKING:
    from rheotwin.scene import Scene
    from rheotwin.validation.calibration.campaign import Found, Progress
    from rheotwin.validation.calibration.problem import CalibrationProblem, Costs, Part
    from rheotwin.validation.calibration.result import Result
    from rheotwin.validation.experiments.record import ExperimentRecord

NAME = "calibrate"
HELP = "find numbers of a scene from experiments: shapes, forces, volumes, fields (intervals, prediction, scene)"
EVALUATIONS, RESULT, SCENE = "evaluations.jsonl", "calibration.json", "calibrated.toml"
MODELS, MAPS, CLOUDS = "models.csv", "errors.png", "errors"
BASE = "the scene"
"""The name of what the scene says, beside those of `--against`."""
COSTS = ("shapes", "forces", "volumes", "fields")
SEARCH = "least-squares"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", type=Path, help="scene file (TOML) whose [calibrate] says what is to be found")
    parser.add_argument("records", type=Path, nargs="+", metavar="RECORD", help="experiments to fit (record folders)")
    parser.add_argument("--budget", type=whole_number, required=True, metavar="N", help="evaluations for each seed")
    for part, what in (("validate", "choose among the seeds"), ("predict", "are only predicted, after all is done")):
        parser.add_argument(
            f"--{part}", type=Path, nargs="+", default=[], metavar="RECORD", help=f"experiments that {what}"
        )
    parser.add_argument("--solver", default="truss", help="which solver; default: truss")
    parser.add_argument("--case", help="which case of the scene; default: the first")
    parser.add_argument(
        "--costs",
        default=",".join(COSTS),
        metavar="NAME[=W],..",
        help="what counts, and its weight; what no record holds does not; default: shapes,forces,volumes,fields",
    )
    parser.add_argument(
        "--search",
        default=SEARCH,
        help="least-squares (default), nelder-mead, cma, differential-evolution, genetic, ..",
    )
    parser.add_argument("--seeds", type=whole_number, default=5, metavar="N", help="searches at once; default: 5")
    parser.add_argument(
        "--against",
        action="append",
        nargs="+",
        default=[],
        metavar="PLACE=VALUE",
        help="calibrate the scene with these changes too, with the same parameters, records, seeds and budget: one "
        "more model of the table and the error maps; repeatable: --against bodies.dough.cell=tet",
    )
    parser.add_argument("--executor", default="lanes", help=executor.HELP)
    parser.add_argument("--output", type=Path, help="folder of the result; default: runs/calibrate-SCENE")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing calibration")
    parser.add_argument(
        "--continue", dest="go_on", action="store_true", help="go on with a calibration: nothing is evaluated twice"
    )
    add_set_argument(parser)
    add_quiet_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Read and check everything, search, write the result."""
    from rheotwin.record.atomic import write_text
    from rheotwin.sweeping import written
    from rheotwin.validation.calibration.campaign import check
    from rheotwin.validation.calibration.problem import CalibrationProblem
    from rheotwin.validation.calibration.result import model_rows, sentences
    from rheotwin.validation.experiments.reader import read_experiment

    folders: dict[Part, list[Path]] = {"fit": args.records, "validate": args.validate, "predict": args.predict}
    records = {part: [read_experiment(folder) for folder in listed] for part, listed in folders.items()}
    parts = [part for part, listed in records.items() for _ in listed]
    everything = [record for listed in records.values() for record in listed]
    folder = args.output or Path("runs") / f"calibrate-{args.scene.stem}"
    models: dict[str, CalibrationProblem] = {}
    for changes in ([], *args.against):
        scene = _scene(args, changes)
        problem = CalibrationProblem(scene, args.solver, everything, costs=_costs(args.costs), parts=parts)
        if not models:
            _check_folder(folder, overwrite=args.overwrite, go_on=args.go_on)
        if idle := problem.idle():
            raise RheotwinError(f"calibrate.{idle[0]}: changes nothing between its bounds; leave it out of [calibrate]")
        check(problem, args.search, args.budget)
        models[" ".join(changes) or BASE] = problem
    found: dict[str, Result] = {}
    with executor.opened(args.executor) as workers:
        for number, (name, problem) in enumerate(models.items()):
            if not args.quiet:
                for one, way, lies in zip(everything, problem.ways, problem.registrations, strict=True):
                    print(f"{one.id}, {name}: {way}; {lies.sentence()}", file=sys.stderr)
            if args.against and not args.json:
                print(f"{name}:")
            own = folder / f"against-{number}" if number else folder
            identity = _identity(problem.scene, args.solver, folders, args.costs)
            found[name] = _report(args, problem, records, _search(args, problem, workers, own, identity), own)
    _map(folder, {name: (problem, found[name]) for name, problem in models.items()})
    if args.json:
        data = {name: one.to_data() for name, one in found.items()}
        print(json.dumps({"models": data} if args.against else data[BASE], indent=2))
    elif args.against:
        _print_models(found)
    if args.against:
        rows = zip(model_rows(found), found.values(), strict=True)
        write_text(folder / MODELS, written([row | {"remarks": "; ".join(sentences(one))} for row, one in rows]))
    return EXIT_OK


def _scene(args: argparse.Namespace, changes: list[str]) -> Scene:
    """Return the scene to calibrate, with changes of one model."""
    from rheotwin.scene import load_scene

    settings = parse_settings([*args.set, *changes])
    settings.only_for(args.solver)
    scene = load_scene(args.scene, settings.scene).with_case(args.case)
    if not scene.calibrate:
        raise RheotwinError(
            f"{args.scene}: it does not say what to find; mark a number, for example: [calibrate] "
            '"laws.dough.young" = { low = 100.0, high = 3000.0 }'
        )
    own = {**scene.solvers.get(args.solver, {}), **settings.options.get(args.solver, {})}
    return scene.model_copy(update={"solvers": {**scene.solvers, args.solver: own}})


def _map(folder: Path, models: Mapping[str, tuple[CalibrationProblem, Result]]) -> None:
    """Write error maps of all clouds that were fitted: a picture, and points for ParaView."""
    from rheotwin.validation.report.clouds import error_maps, write_clouds

    maps = {}
    for number, (name, (problem, found)) in enumerate(models.items()):
        if clouds := problem.cloud_errors(found.theta):
            maps[name if len(models) > 1 else ""] = clouds
            write_clouds((folder / f"against-{number}" if number else folder) / CLOUDS, clouds)
    if maps:
        (folder / MAPS).write_bytes(error_maps(maps).png)


def _costs(text: str) -> Costs:
    from rheotwin.validation.calibration.problem import Costs

    weights = dict.fromkeys(COSTS, 0.0)
    for item in text.split(","):
        name, equals, weight = item.strip().partition("=")
        try:
            value = float(weight) if equals else 1.0
        except ValueError:
            value = -1.0
        if name not in COSTS or value < 0.0:
            raise RheotwinError(f"--costs {text}: write names out of {', '.join(COSTS)}, with a weight: forces=0.5")
        weights[name] = value
    if not any(weights.values()):
        raise RheotwinError(f"--costs {text}: nothing counts; give one of {', '.join(COSTS)} a weight")
    return Costs(**weights)


def _check_folder(folder: Path, *, overwrite: bool, go_on: bool) -> None:
    """Raise unless the folder is free, or holds a calibration that may be replaced or gone on with."""
    from rheotwin.validation.folder import is_free

    if is_free(folder):
        return
    if not (folder / EVALUATIONS).is_file():
        raise RheotwinError(f"{folder}: it holds something else than a calibration; choose another with --output")
    if not (overwrite or go_on):
        raise RheotwinError(f"{folder}: there is a calibration; go on with --continue, or replace it with --overwrite")


def _identity(scene: Scene, solver: str, folders: Mapping[Part, list[Path]], costs: str) -> dict[str, str]:
    """Return what evaluations depend on, by name."""
    from rheotwin.running import scene_as_run
    from rheotwin.validation.experiments.writer import SEALED

    def digest(*parts: bytes) -> str:
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    files = [file for folder in folders["fit"] for file in sorted(folder.rglob("*")) if file.is_file()]
    files = [file for file in files if SEALED not in file.parts]
    return {
        "version": executor.fingerprint()["sources"],
        "scene": digest(json.dumps(scene_as_run(scene), sort_keys=True).encode()),
        "solver": solver,
        "record": digest(*(file.read_bytes() for file in files)),
        "cost": costs,
    }


def _search(
    args: argparse.Namespace,
    problem: CalibrationProblem,
    workers: executor.Executor,
    folder: Path,
    identity: Mapping[str, str],
) -> list[Found]:
    from rheotwin.validation.calibration.campaign import Store, search

    if not args.go_on:
        (folder / EVALUATIONS).unlink(missing_ok=True)
    store = Store(folder / EVALUATIONS, identity)
    watch = (lambda progress: None) if args.quiet else _Said()
    try:
        return search(problem, args.search, args.budget, workers, seeds=range(args.seeds), store=store, watch=watch)
    except KeyboardInterrupt:
        print("give the same command with --continue to go on", file=sys.stderr)
        raise


class _Said:
    """Progress on standard error: on a terminal in one line, else ten lines."""

    def __init__(self) -> None:
        self._tenth = 0

    def __call__(self, progress: Progress) -> None:
        terminal, tenth = sys.stderr.isatty(), 10 * progress.done // max(progress.budget, 1)
        if terminal or tenth > self._tenth:
            self._tenth = tenth
            said = f"{progress.done} of {progress.budget} evaluations, best cost {100.0 * progress.best:.4g} cm"
            cleared = "\r\033[K" if terminal else ""
            print(
                f"{cleared}{said}, at most {progress.left:.0f} s left",
                end="" if terminal and progress.done < progress.budget else "\n",
                file=sys.stderr,
                flush=True,
            )


def _report(
    args: argparse.Namespace,
    problem: CalibrationProblem,
    records: Mapping[Part, list[ExperimentRecord]],
    found: list[Found],
    folder: Path,
) -> Result:
    """Write result and scene, print both in short."""
    from rheotwin.record.atomic import write_text
    from rheotwin.scene.write import scene_text
    from rheotwin.validation.calibration.result import result, sentences

    all_of_it = result(problem, records, found)
    said = sentences(all_of_it)
    remark = "\n".join([f"calibrated by {args.search}, {args.budget} evaluations a seed", *said])
    write_text(folder / SCENE, scene_text(problem.with_parameters(all_of_it.theta), remark))
    write_text(folder / RESULT, json.dumps(all_of_it.to_data(), indent=2))
    if not args.json:
        _print(all_of_it, said)
        print(f"calibrated scene: {folder / SCENE}")
    return all_of_it


def _print_models(models: Mapping[str, Result]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from rheotwin.validation.calibration.result import model_rows

    table = Table(box=None, pad_edge=False, header_style="bold")
    rows = model_rows(models)
    for name in rows[0]:
        table.add_column(escape(name), overflow="fold")
    for row in rows:
        table.add_row(*(f"{item:.5g}" if isinstance(item, float) else escape(str(item)) for item in row.values()))
    console = Console(highlight=False)
    (console if console.is_terminal else Console(highlight=False, width=160)).print(table)


def _print(found: Result, said: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "value", "95 % interval", f"{len(found.seeds)} seeds", "bound"):
        table.add_column(name, overflow="fold")
    for item in (*found.parameters, *found.ratios):
        interval, seeds = f"{item.low:.4g} to {item.high:.4g}", f"{item.least:.4g} to {item.largest:.4g}"
        table.add_row(item.name, f"{item.value:.5g}", interval, seeds, item.bound)
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    console.print(table)
    for line in said:
        console.print(f"{line}.", soft_wrap=True)
