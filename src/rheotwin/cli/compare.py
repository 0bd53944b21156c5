"""`rheotwin compare`: several solvers on one scene, every case, one report."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rheotwin.cli.run import add_quiet_arguments, add_set_argument, parse_settings
from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError
from rheotwin.refinements import (
    Refinements,
    check_reference,
    mesh_label,
    parse_refinements,
    record_part,
    refined_options,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

    from rheotwin.loop import Outcome
    from rheotwin.problem import Problem
    from rheotwin.record import Manifest
    from rheotwin.run import RunRequest
    from rheotwin.scene import Scene

NAME = "compare"
HELP = "run a scene with several solvers and write a comparison (JSON, plots, HTML report)"


@dataclass(frozen=True)
class Task:
    """One run of the comparison, and what it takes: a new run, the rest of one, or nothing (a record to keep)."""

    request: RunRequest
    action: Literal["run", "resume", "keep"]

    @property
    def label(self) -> str:
        """Case, solver and refinement, as shown to the user."""
        return " ".join(part for part in (self.request.case, mesh_label(self.request)) if part)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", type=Path, help="scene file (TOML)")
    parser.add_argument("--solvers", default="fem,truss", help="comma-separated solvers; default: fem,truss")
    parser.add_argument(
        "--refine",
        action="append",
        default=[],
        metavar="[SOLVER=]N,N,..",
        help="run on meshes with every cell divided into N along each side, e.g. --refine 1,2,4 or, for one solver, "
        "--refine fem=1,2,4 (repeatable); a fixed `step` of a solver is divided by N",
    )
    parser.add_argument(
        "--reference",
        help="solver the others are measured against, its finest mesh, or SOLVER@N, or SOLVER@limit for what its "
        "meshes tend to; default: the first solver",
    )
    parser.add_argument("--cases", help="comma-separated cases; default: all cases of the scene")
    parser.add_argument("--output", type=Path, help="folder of the comparison; default: runs/compare-SCENE")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing comparison")
    parser.add_argument(
        "--continue",
        dest="go_on",
        action="store_true",
        help="go on with an interrupted comparison: keep its finished runs, resume or run the rest",
    )
    parser.add_argument(
        "--references",
        type=Path,
        metavar="FOLDER",
        help="show the numbers of a validation in the report, too (`rheotwin validate --output FOLDER`)",
    )
    add_set_argument(parser)
    add_quiet_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Run every case with every solver, then compare the records."""
    from rheotwin.scene import load_scene
    from rheotwin.validation import compare_records
    from rheotwin.validation.checks.outcome import load_validation

    settings = parse_settings(args.set)
    scene = load_scene(args.scene, settings.scene)
    solvers = _names(args.solvers, "--solvers", "solver", "fem,truss")
    meshes = parse_refinements(args.refine, solvers)
    reference = args.reference or solvers[0]
    check_reference(reference, meshes)
    cases = _cases(scene, args.cases)
    settings.only_for(*solvers)
    references = None if args.references is None else load_validation(args.references)
    output = args.output or Path("runs") / f"compare-{args.scene.stem}"
    _check_output(output, overwrite=args.overwrite, go_on=args.go_on)
    # All are checked before the first one runs, so that a fault in the last solver costs no time.
    requests = _requests(scene, meshes, cases, settings.options, output, overwrite=args.overwrite)
    tasks = [_task(request, go_on=args.go_on) for request in requests]
    folders = [request.folder for request in requests]
    finished: list[str] = []
    try:
        early = _run_all(tasks, finished, quiet=args.quiet)
        if not args.quiet:
            print("comparing the runs and drawing the report", file=sys.stderr)
        report = compare_records(folders, output, reference=reference, references=references, overwrite=args.overwrite)
    except (KeyboardInterrupt, RheotwinError):
        print(_how_to_go_on(finished, tasks), file=sys.stderr)
        raise
    if args.json:
        print(json.dumps({"report": str(report), "records": [str(folder) for folder in folders]}, indent=2))
    else:
        print(f"report: {report}")
    return EXIT_FALLS_SHORT if early else EXIT_OK


def _names(text: str, flag: str, thing: str, example: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise RheotwinError(f"{flag}: name at least one {thing}, for example {flag} {example}")
    return list(dict.fromkeys(names))


def _cases(scene: Scene, text: str | None) -> list[str | None]:
    """Return the cases to run; a scene without cases is run once."""
    if text is not None:
        example = ",".join(list(scene.case_names)[:2]) or "elastic,viscoplastic"
        return [scene.with_case(name).case for name in _names(text, "--cases", "case", example)]
    return list(scene.case_names) or [None]


def _check_output(output: Path, *, overwrite: bool, go_on: bool) -> None:
    """Raise unless the folder is free, or holds a comparison of ours that may be replaced or gone on with."""
    from rheotwin.validation import holds_only_runs, refuse_existing

    refuse_existing(output, overwrite=overwrite)
    if holds_only_runs(output) and any((output / "runs").iterdir()) and not (overwrite or go_on):
        raise RheotwinError(
            f"{output}: it holds the runs of a comparison without its report; go on with --continue, "
            "start over with --overwrite, or choose another folder"
        )


def _requests(
    scene: Scene,
    meshes: Refinements,
    cases: list[str | None],
    settings: dict[str, dict[str, Any]],
    output: Path,
    *,
    overwrite: bool,
) -> list[RunRequest]:
    """Return one request per case, solver and mesh, with records in OUTPUT/runs."""
    from rheotwin.run import RunRequest

    return [
        RunRequest(
            scene=scene if refinement is None else scene.refined(refinement),
            solver=solver,
            folder=output / "runs" / "-".join(part for part in (case, record_part(solver, refinement)) if part),
            case=case,
            options=refined_options(scene, solver, settings.get(solver), refinement),
            overwrite=overwrite,
        )
        for case in cases
        for solver, refinements in meshes.items()
        for refinement in refinements
    ]


def _task(request: RunRequest, *, go_on: bool) -> Task:
    """Check a request; when going on, see whether its record is there already, whole or in part."""
    from rheotwin.record import check_output_folder, load_manifest, open_record
    from rheotwin.record.folder import looks_like_record
    from rheotwin.run import check_request

    if not (go_on and looks_like_record(request.folder)):
        check_request(request)
        return Task(request, "run")
    replacing = replace(request, overwrite=True)
    problem, _, options = check_request(replacing)
    manifest = load_manifest(request.folder)
    if not _is_same_run(manifest, request, problem, options):
        check_output_folder(request.folder, overwrite=request.overwrite)
        return Task(request, "run")
    if manifest.status in ("complete", "diverged"):  # a run that diverged would diverge again
        return Task(request, "keep")
    begun = manifest.status != "failed" and open_record(request.folder).checkpoint_path is not None
    return Task(replacing, "resume" if begun else "run")


def _is_same_run(manifest: Manifest, request: RunRequest, problem: Problem, options: BaseModel) -> bool:
    """Return whether a record is of this version, scene, case, solver and options."""
    from rheotwin import __version__
    from rheotwin.run import scene_as_run
    from rheotwin.scene import scene_from_data

    recorded = scene_from_data(manifest.scene, base=request.folder)
    return (
        manifest.rheotwin_version == __version__
        and (manifest.case, manifest.solver.name) == (problem.scene.case, request.solver)
        and manifest.solver.options == options.model_dump(mode="json")
        and scene_as_run(recorded) == scene_as_run(problem.scene)
    )


def _run_all(tasks: list[Task], finished: list[str], *, quiet: bool) -> bool:
    """Carry out all tasks, noting those finished; return whether any run ended early."""
    early = False
    for task in tasks:
        if task.action == "keep":
            early |= _kept(task, quiet)
        else:
            outcome = _carry_out(task, quiet)
            early |= outcome.status != "complete"
            if outcome.status == "interrupted":
                raise KeyboardInterrupt
        finished.append(task.label)
    return early


def _kept(task: Task, quiet: bool) -> bool:
    """Say that a record is kept; return whether its run had ended early."""
    from rheotwin.record import load_manifest

    manifest = load_manifest(task.request.folder)
    if not quiet:
        print(f"{task.label}: kept, {manifest.status}", file=sys.stderr)
    if manifest.message:
        print(f"{task.label}: {manifest.message}", file=sys.stderr)
    return manifest.status != "complete"


def _carry_out(task: Task, quiet: bool) -> Outcome:
    from rheotwin.observers import Progress, told_of_compiling
    from rheotwin.run import resume_run, run_scene

    watchers = [] if quiet else [Progress(task.label)]
    with nullcontext() if quiet else told_of_compiling():
        if task.action == "resume":
            outcome = resume_run(task.request.folder, observers=watchers)
        else:
            outcome = run_scene(task.request, observers=watchers)
    if not quiet:
        print(f"{task.label}: {outcome.status}, {outcome.steps} steps in {outcome.loop_seconds:.2f} s", file=sys.stderr)
    if outcome.message:
        print(f"{task.label}: {outcome.message}", file=sys.stderr)
    return outcome


def _how_to_go_on(finished: list[str], tasks: list[Task]) -> str:
    done = f" ({', '.join(finished)})" if finished else ""
    return (
        f"{len(finished)} of {len(tasks)} runs are finished{done}; "
        "give the same command with --continue to keep them and go on with the rest"
    )
