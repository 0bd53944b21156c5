"""`rheotwin compare`: several solvers on one scene, every case, one report."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.cli.run import add_quiet_arguments, add_set_argument, parse_settings
from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError

if TYPE_CHECKING:
    from rheotwin.run import RunRequest
    from rheotwin.scene import Scene

NAME = "compare"
HELP = "run a scene with several solvers and write a comparison (JSON, plots, HTML report)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", type=Path, help="scene file (TOML)")
    parser.add_argument("--solvers", default="fem,truss", help="comma-separated solvers; default: fem,truss")
    parser.add_argument("--reference", help="solver the others are measured against; default: the first")
    parser.add_argument("--cases", help="comma-separated cases; default: all cases of the scene")
    parser.add_argument("--output", type=Path, help="folder of the comparison; default: runs/compare-SCENE")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing comparison")
    add_set_argument(parser)
    add_quiet_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Run every case with every solver, then compare the records."""
    from rheotwin.scene import load_scene
    from rheotwin.validation import compare_records, refuse_existing

    scene = load_scene(args.scene)
    solvers = _names(args.solvers)
    reference = args.reference or solvers[0]
    if reference not in solvers:
        raise RheotwinError(f"--reference: {reference!r} is not among the solvers compared: {', '.join(solvers)}")
    cases = _cases(scene, args.cases)
    settings = parse_settings(args.set)
    _check_settings(settings, solvers)
    output = args.output or Path("runs") / f"compare-{args.scene.stem}"
    refuse_existing(output, overwrite=args.overwrite)
    requests = _requests(scene, solvers, cases, settings, output, overwrite=args.overwrite)
    early = _run_all(requests, quiet=args.quiet)
    folders = [request.folder for request in requests]
    report = compare_records(folders, output, reference=reference, overwrite=args.overwrite)
    if args.json:
        print(json.dumps({"report": str(report), "records": [str(folder) for folder in folders]}, indent=2))
    else:
        print(f"report: {report}")
    return EXIT_FALLS_SHORT if early else EXIT_OK


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise RheotwinError("--solvers: name at least one solver, for example --solvers fem,truss")
    return list(dict.fromkeys(names))


def _cases(scene: Scene, text: str | None) -> list[str | None]:
    """Return the cases to run; a scene without cases is run once."""
    if text is not None:
        return [scene.with_case(name).case for name in _names(text)]
    return list(scene.case_names) or [None]


def _check_settings(settings: dict[str, dict[str, Any]], solvers: list[str]) -> None:
    for solver in settings:
        if solver not in solvers:
            raise RheotwinError(f"--set {solver}.…: the solvers compared are {', '.join(solvers)}")


def _requests(
    scene: Scene,
    solvers: list[str],
    cases: list[str | None],
    settings: dict[str, dict[str, Any]],
    output: Path,
    *,
    overwrite: bool,
) -> list[RunRequest]:
    """Return one request per case and solver, with records in OUTPUT/runs."""
    from rheotwin.run import RunRequest

    return [
        RunRequest(
            scene=scene,
            solver=solver,
            folder=output / "runs" / "-".join(part for part in (case, solver) if part),
            case=case,
            options=settings.get(solver),
            overwrite=overwrite,
        )
        for case in cases
        for solver in solvers
    ]


def _run_all(requests: list[RunRequest], *, quiet: bool) -> bool:
    """Carry out all requests; return whether any run ended early.

    All are checked before the first one runs, so that a fault in the last solver costs no time.
    """
    from rheotwin.run import check_request, run_scene

    for request in requests:
        check_request(request)
    early = False
    for request in requests:
        label = " ".join(part for part in (request.case, request.solver) if part)
        outcome = run_scene(request, observers=_watchers(label, quiet))
        early |= outcome.status != "complete"
        if outcome.status == "interrupted":
            raise KeyboardInterrupt
        if not quiet:
            print(
                f"{label}: {outcome.status}, {outcome.steps} steps in {outcome.loop_seconds:.2f} s",
                file=sys.stderr,
            )
        if outcome.message:
            print(f"{label}: {outcome.message}", file=sys.stderr)
    return early


def _watchers(label: str, quiet: bool) -> list[Any]:
    if quiet:
        return []
    from rheotwin.observers import Progress

    return [Progress(label)]
