"""`rheotwin compare`: several solvers on one scene, every case, one report."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin import executor
from rheotwin.cli.run import add_quiet_arguments, add_reproducible_argument, add_set_argument, parse_settings
from rheotwin.comparison_runs import Plan, Task, chosen_reference, compared
from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError
from rheotwin.refinements import parse_refinements

if TYPE_CHECKING:
    from rheotwin.scene import Scene
    from rheotwin.validation import Comparison

NAME = "compare"
HELP = "run a scene with several solvers and write a comparison (JSON, plots, HTML report)"


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
        "meshes tend to; auto: finite elements, of large strain and finer until they can judge; "
        "default: auto where fem is compared without --refine, else the first solver",
    )
    parser.add_argument("--cases", help="comma-separated cases; default: all cases of the scene")
    parser.add_argument("--executor", default="lanes", help=executor.HELP)
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
    add_reproducible_argument(parser)
    add_quiet_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Run every case with every solver, then compare the records."""
    from rheotwin.scene import load_scene
    from rheotwin.validation import load_comparison
    from rheotwin.validation.checks.outcome import load_validation
    from rheotwin.validation.report.write import NUMBERS

    settings = parse_settings(args.set)
    scene = load_scene(args.scene, settings.scene)
    solvers = names_in(args.solvers, "--solvers", "solver", "fem,truss")
    meshes = parse_refinements(args.refine, solvers)
    cases = cases_of(scene, args.cases)
    settings.only_for(*solvers)
    reference = chosen_reference(args.reference, solvers, meshes)
    references = None if args.references is None else load_validation(args.references)
    output = args.output or Path("runs") / f"compare-{args.scene.stem}"
    _check_output(output, overwrite=args.overwrite, go_on=args.go_on)
    with executor.opened(args.executor) as workers:
        plan = Plan(
            *(scene, cases, settings.options, output),
            overwrite=args.overwrite,
            go_on=args.go_on,
            quiet=args.quiet,
            workers=workers,
        )
        # All are checked before the first one runs, so that a fault in the last solver costs no time.
        tasks = plan.tasks(meshes)
        finished: list[str] = []
        try:
            report, folders, early = compared(plan, tasks, finished, meshes, reference, references)
        except (KeyboardInterrupt, RheotwinError):
            print(_how_to_go_on(finished, tasks), file=sys.stderr)
            raise
    if args.json:
        print(json.dumps({"report": str(report), "records": [str(folder) for folder in folders]}, indent=2))
    else:
        _print_verdicts(load_comparison(report.parent / NUMBERS))
        print(f"report: {report}")
    return EXIT_FALLS_SHORT if early else EXIT_OK


def _print_verdicts(comparison: Comparison) -> None:
    """Print a row per case and solver, then what to take."""
    from rich.table import Table

    from rheotwin.validation.checks.texts import console
    from rheotwin.validation.report.sentences import VERDICT_COLUMNS, verdict_notes, verdict_rows

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in VERDICT_COLUMNS:
        table.add_column(name, overflow="fold")
    for row in verdict_rows(comparison.cases):
        table.add_row(*row)
    out = console()
    out.print(table)
    for line in verdict_notes(comparison.cases):
        out.print(line, soft_wrap=True)
    if comparison.reason:
        out.print(f"reference: {comparison.reason}.", soft_wrap=True)


def names_in(text: str, flag: str, thing: str, example: str) -> list[str]:
    """Return the names of a comma-separated list."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise RheotwinError(f"{flag}: name at least one {thing}, for example {flag} {example}")
    return list(dict.fromkeys(names))


def cases_of(scene: Scene, text: str | None) -> list[str | None]:
    """Return the cases to run; a scene without cases is run once."""
    if text is not None:
        example = ",".join(list(scene.case_names)[:2]) or "elastic,viscoplastic"
        return [scene.with_case(name).case for name in names_in(text, "--cases", "case", example)]
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


def _how_to_go_on(finished: list[str], tasks: list[Task]) -> str:
    done = f" ({', '.join(finished)})" if finished else ""
    return (
        f"{len(finished)} of {len(tasks)} runs are finished{done}; "
        "give the same command with --continue to keep them and go on with the rest"
    )
