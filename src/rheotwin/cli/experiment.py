"""`rheotwin experiment`: check a record, make one of a run or of a real data set, hold a run against one."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.cli.identify import pairs
from rheotwin.cli.run import add_set_argument, parse_settings
from rheotwin.errors import RheotwinError

if TYPE_CHECKING:
    from rheotwin.validation.experiments.agreement import Agreement
    from rheotwin.validation.experiments.record import ExperimentRecord

NAME = "experiment"
HELP = "check a record of an experiment, make one of a run or a real data set, or hold a run against one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the tasks and their arguments."""
    tasks = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    check = tasks.add_parser("check", help="read a record and say what is in it and what it cannot tell")
    check.add_argument("folder", metavar="DIR", type=Path, help="folder of an experiment record (record.toml)")
    make = tasks.add_parser("synthesize", help="make the record of an experiment on the body of a run, with noise")
    make.add_argument(
        "run",
        metavar="RUN",
        type=Path,
        help="record folder of a run, best of a fine one; or a scene file, computed as a continuum of its own",
    )
    make.add_argument(
        "--hide", type=float, metavar="F", help="of a scene: draw its numbers anew within the factor F, and seal them"
    )
    make.add_argument("--hide-as", type=Path, metavar="DIR", help="of a scene: the hidden numbers of that record again")
    add_set_argument(make)
    make.add_argument("--output", metavar="DIR", type=Path, required=True, help="folder of the new record")
    make.add_argument("--seed", type=int, required=True, help="seed of the noise; the same gives the same record")
    make.add_argument(
        "--noise", type=float, default=0.5e-3, metavar="M", help="mean error of points [m]; default: %(default)s"
    )
    make.add_argument(
        "--force-noise", type=float, default=0.1, metavar="R", help="relative error of forces; default: %(default)s"
    )
    make.add_argument("--volume-noise", type=float, default=0.005, metavar="R", help="of volumes; default: %(default)s")
    make.add_argument("--clock-noise", type=float, default=0.0, metavar="S", help="of times [s]; default: %(default)s")
    make.add_argument("--times", metavar="S,S,..", help="times of the clouds [s]; default: four over the run")
    make.add_argument("--points", type=int, default=15_000, metavar="N", help="points in total; default: %(default)s")
    make.add_argument("--tracked", action="store_true", help="inner points with known rest positions, like beads")
    make.add_argument("--tool", metavar="NAME", help="whose path and force are kept; default: what moves")
    make.add_argument("--overwrite", action="store_true", help="replace an earlier record in the folder")
    table = tasks.add_parser("import", help="make the record of a test of a bar or layer from a CSV file")
    table.add_argument("table", metavar="CSV", type=Path, help="time with displacement and force, or strain and stress")
    table.add_argument(
        "--geometry",
        metavar="TEXT",
        help='the piece: "bar,60 mm,100 mm2" or "layer,0.13 mm,1 cm2"; asked for if left out',
    )
    table.add_argument("--columns", metavar="K=NAME,..", default="", help="which column is what: time=t,force=F")
    table.add_argument("--units", metavar="K=UNIT,..", default="", help="units that the header does not name: force=N")
    table.add_argument("--push", action="store_true", help="a rising displacement presses the piece")
    table.add_argument("--flip-force", action="store_true", help="forces were written with the other sign")
    table.add_argument("--tare", action="store_true", help="the first row is zero of force and displacement")
    table.add_argument("--noise", type=float, metavar="R", help="relative uncertainty of the force")
    table.add_argument("--output", metavar="DIR", type=Path, required=True, help="folder of the new record")
    table.add_argument("--overwrite", action="store_true", help="replace an earlier record in the folder")
    real = tasks.add_parser("convert", help="make the record of a real body from a data set (docs/calibration.md)")
    real.add_argument(
        "name", metavar="NAME", help="which: clay-1-round-0, cube-1, beam-gravity_a, ..; a wrong one lists all"
    )
    real.add_argument("--output", metavar="DIR", type=Path, required=True, help="folder of the new record")
    real.add_argument("--overwrite", action="store_true", help="replace an earlier record in the folder")
    unseal = tasks.add_parser("unseal", help="after all else: check the seal of a record and show the truth")
    unseal.add_argument("folder", metavar="DIR", type=Path, help="folder of an experiment record with its sealed/")
    hold = tasks.add_parser("compare", help="say how far a run is from an experiment")
    hold.add_argument("folder", metavar="DIR", type=Path, help="folder of an experiment record")
    hold.add_argument(
        "runs",
        metavar="RUN",
        type=Path,
        nargs="+",
        help="record folders of runs of the same body; those of one solver on several meshes give its uncertainty",
    )
    hold.add_argument("--tool", metavar="NAME", help="whose force is compared; default: what moves")
    for task in (check, make, table, real, unseal, hold):
        task.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Carry out the task."""
    tasks = {"check": _check, "synthesize": _synthesize, "import": _import, "convert": _convert, "unseal": _unseal}
    about = (tasks | {"compare": _compare})[args.task](args)
    if args.json:
        print(json.dumps(about, indent=2))
    else:
        print("\n".join(f"{key.replace('_', ' '):14s} {_line(value)}" for key, value in about.items() if value))
    return 0


def _check(args: argparse.Namespace) -> dict[str, Any]:
    from rheotwin.validation.experiments.reader import read_experiment

    return _about(read_experiment(args.folder))


def _synthesize(args: argparse.Namespace) -> dict[str, Any]:
    from rheotwin.validation.experiments.reader import read_experiment
    from rheotwin.validation.experiments.synthetic import Noise, from_run
    from rheotwin.validation.experiments.writer import check_target, write_experiment

    check_target(args.output, overwrite=args.overwrite)
    noise = Noise(args.noise, args.force_noise, args.volume_noise, args.clock_noise)
    about: dict[str, Any] = {"noise": noise, "seed": args.seed, "points": args.points, "tracked": args.tracked}
    if args.run.is_file():
        record, truth = _of_scene(args, about)
    elif args.set or args.hide is not None or args.hide_as is not None:
        raise RheotwinError(f"{args.run}: --set, --hide and --hide-as are for a scene file, and this is a run")
    else:
        record, truth = from_run(args.run, times=_times(args.times), tool=args.tool, **about)
    written = write_experiment(args.output, record, overwrite=args.overwrite, truth=truth)
    return {"written": str(written)} | _about(read_experiment(args.output))


def _import(args: argparse.Namespace) -> dict[str, Any]:
    from rheotwin.validation.experiments.imported import imported
    from rheotwin.validation.experiments.reader import read_experiment
    from rheotwin.validation.experiments.writer import check_target, write_experiment
    from rheotwin.validation.identification.reading import geometry_of, read_record

    check_target(args.output, overwrite=args.overwrite)
    geometry = geometry_of(args.geometry or _asked("geometry of the piece, as bar,60 mm,100 mm2", "--geometry"))
    said = {"columns": pairs("--columns", args.columns), "units": pairs("--units", args.units)}
    while True:
        try:
            about: dict[str, Any] = {"geometry": geometry, "flip_force": args.flip_force, "tare": args.tare}
            test = read_record(args.table, columns=said["columns"], units=said["units"], **about)
            break
        except RheotwinError as error:
            kind = next((kind for kind in said if f"--{kind}" in str(error)), None)
            if kind is None or not sys.stdin.isatty():
                raise
            print(error, file=sys.stderr)
            said[kind] |= pairs(f"--{kind}", _asked(f"{kind}, as force={'N' if kind == 'units' else 'F'}", f"--{kind}"))
    write_experiment(args.output, imported(test, geometry, push=args.push, noise=args.noise), overwrite=args.overwrite)
    return {"written": str(args.output)} | _about(read_experiment(args.output))


def _asked(what: str, option: str) -> str:
    """Return what the user answers, where there is one."""
    if not sys.stdin.isatty():
        raise RheotwinError(f"{option}: say it, there is nobody to ask: {what}")
    return input(f"{what}: ")


def _convert(args: argparse.Namespace) -> dict[str, Any]:
    from rheotwin.validation.experiments.bodies import convert

    return {"written": str(args.output)} | _about(convert(args.name, args.output, overwrite=args.overwrite))


def _of_scene(args: argparse.Namespace, about: dict[str, Any]) -> tuple[ExperimentRecord, str]:
    """Return the record of a scene as a continuum, and its truth."""
    import numpy as np

    from rheotwin.scene import load_scene
    from rheotwin.validation.calibration.twins import CONTINUUM, as_hidden, hidden, twin

    scene, times = load_scene(args.run, parse_settings(args.set).scene).with_case(), _times(args.times)
    if args.hide is not None and not args.hide > 1.0:
        raise RheotwinError(f"--hide {args.hide:g}: give a factor above 1, for example 2")
    if args.hide_as is not None:
        scene = as_hidden(scene, args.hide_as)
    elif args.hide is not None:
        scene = hidden(scene, args.hide, np.random.default_rng())
    return twin(scene, CONTINUUM, times or [0.25 * k * scene.duration for k in range(1, 5)], **about)


def _unseal(args: argparse.Namespace) -> dict[str, Any]:
    from rheotwin.validation.calibration.twins import opened_seal

    truth = opened_seal(args.folder)
    scene = truth.pop("scene") or {}
    told: dict[str, Any] = {key: truth[key] for key in ("solver", "case", "seed", "noise")}
    named = {"laws": scene.get("laws"), "options": scene.get("solvers", {}).get(truth["solver"])}
    return {**told, **_given(named)}


def _given(value: Any) -> Any:
    """Return a table without what is not given."""
    return {key: _given(item) for key, item in value.items() if item} if isinstance(value, dict) else value


def _compare(args: argparse.Namespace) -> dict[str, Any]:
    from rheotwin.record import open_record
    from rheotwin.validation.experiments.agreement import agreement
    from rheotwin.validation.experiments.reader import read_experiment
    from rheotwin.validation.report.sentences import error_with_interval, verdict_words
    from rheotwin.validation.run_view import view_of
    from rheotwin.validation.study import labelled
    from rheotwin.validation.verdict import against_experiment

    record = read_experiment(args.folder)
    views = labelled([view_of(open_record(run)) for run in args.runs])
    errors = [_errors(agreement(view, record, tool=args.tool)) for view in views]
    judgement = against_experiment(views, record, args.tool)
    if judgement is None:
        said: dict[str, Any] = {}
    elif args.json:
        said = {"verdicts": [asdict(row) for row in judgement.rows], "advice": judgement.advice}
    else:
        rows = (f"{row.label} {error_with_interval(row)}, {verdict_words(row)}" for row in judgement.rows)
        said = {"verdicts": list(rows), "advice": judgement.advice}
    return (errors[0] if len(errors) == 1 else {"runs": errors}) | said


def _times(text: str | None) -> list[float]:
    try:
        return [] if text is None else [float(word) for word in text.split(",")]
    except ValueError:
        raise RheotwinError(f"--times {text}: write times in s with commas between them, for example 1.0,3.4") from None


def _about(record: ExperimentRecord) -> dict[str, Any]:
    body = record.specimen
    return {
        "id": record.id,
        "kind": record.kind,
        "title": record.title,
        "source": record.source,
        "body": f"{body.shape}, {' x '.join(f'{edge:.4g}' for edge in body.size)} m",
        "mass_kg": body.mass,
        "points": record.points,
        "frames": [
            f"t = {frame.time:.6g} s: {len(frame.points)} {'tracked points' if frame.rest is not None else 'points'}"
            for frame in record.frames
        ],
        "path": _rows(record.path),
        "force": _rows(record.force),
        "volume": _rows(record.volume),
        "uncertainty": record.uncertainty.model_dump(exclude={"model"}, exclude_none=True),
        "seal": record.seal,
        "setup": [f"{place} = {value}" for place, value in record.setup.items()],
        "notes": record.notes,
        "limits": list(record.limits),
    }


def _rows(course: Any) -> str:
    return "" if course is None else f"{len(course.times)} rows, {course.times[0]:.6g} to {course.times[-1]:.6g} s"


def _errors(found: Agreement) -> dict[str, Any]:
    shape = found.shape
    return {
        "run": found.run,
        "experiment": found.experiment,
        "S_m": None if shape is None else shape.total,
        "S_over_N_m": None if shape is None else shape.mean,
        "points": None if shape is None else shape.points,
        "far_points": None if shape is None else list(shape.far),
        "tracked_rms_m": [error.rms for error in found.tracked],
        "tracked_largest_m": [error.largest for error in found.tracked],
        "tracked_moved_m": [error.moved for error in found.tracked],
        "force_error": found.force,
        "compared_s": None if found.span is None else list(found.span),
        "hint": found.hint,
        "volume_error": found.volume,
    }


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_line(item)}" for key, item in value.items())
    if isinstance(value, list):
        between = "; " if any(isinstance(item, str) for item in value) else ", "
        return between.join(_line(item) for item in value)
    return f"{value:.5g}" if isinstance(value, float) else str(value)
