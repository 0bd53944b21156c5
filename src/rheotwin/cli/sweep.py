"""`rheotwin sweep`: a scene over a grid of values, one table and a picture."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin import executor
from rheotwin.cli.compare import cases_of, names_in
from rheotwin.cli.run import add_quiet_arguments, add_set_argument, parse_settings
from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError
from rheotwin.texts import read_toml

if TYPE_CHECKING:
    from rheotwin.sweeping import Sweep

NAME = "sweep"
HELP = "run a scene over a grid of values with several solvers, possibly on many machines (table, picture)"
TABLE, PICTURE, IDENTITY = "sweep.csv", "sweep.png", "sweep.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", type=Path, help="scene file (TOML)")
    parser.add_argument(
        "--vary",
        action="append",
        required=True,
        metavar="PLACE=V,V,..",
        help="values of an entry of the scene or an option of a solver, as --set has it: laws.foam.young=1e3,2e3; "
        "repeatable: all combinations are run, and the first is the axis of the picture",
    )
    parser.add_argument("--solvers", default="fem,truss", help="comma-separated solvers; default: fem,truss")
    parser.add_argument("--cases", help="comma-separated cases; default: all cases of the scene")
    parser.add_argument("--executor", default="lanes", help=executor.HELP)
    parser.add_argument("--output", type=Path, help="folder of table and picture; default: runs/sweep-SCENE")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing sweep")
    parser.add_argument(
        "--continue", dest="go_on", action="store_true", help="go on with a sweep: what its table has is not run again"
    )
    add_set_argument(parser)
    add_quiet_arguments(parser)


def execute(args: argparse.Namespace) -> int:
    """Check all runs, carry them out, write table and picture."""
    from rheotwin.record.atomic import creating, write_text
    from rheotwin.scene import load_scene
    from rheotwin.sweeping import Sweep, table, written
    from rheotwin.validation.folder import is_free
    from rheotwin.validation.report.sweep import sweep_plot

    solvers, settings = names_in(args.solvers, "--solvers", "solver", "fem,truss"), parse_settings(args.set)
    vary = dict(_values(text) for text in args.vary)
    for entry, values in vary.items():
        parse_settings([f"{entry}={json.dumps(values[0])}"]).only_for(*solvers)
    settings.only_for(*solvers)
    cases = cases_of(load_scene(args.scene, settings.scene), args.cases)
    file: Path = args.scene.absolute()
    sweep = Sweep(file, file.read_text(encoding="utf-8"), vary, solvers, cases, settings.scene, settings.options)
    folder = args.output or Path("runs") / f"sweep-{args.scene.stem}"
    if not is_free(folder) and not ((args.overwrite or args.go_on) and (folder / TABLE).is_file()):
        raise RheotwinError(
            f"{folder}: there is something already; replace a sweep with --overwrite, go on with one with --continue, "
            "or choose another"
        )
    sweep.check()
    identity = json.dumps({"sources": executor.fingerprint()["sources"], **sweep.identity})
    found = _known(folder, sweep, identity) if args.go_on else {}
    if not args.quiet and found:
        print(f"{len(found)} of {len(sweep.runs)} are in the table", file=sys.stderr)
    try:
        with executor.opened(args.executor) as workers:
            for place, row in table(sweep, workers, known=found):
                found[place] = row
                with creating(folder):
                    folder.mkdir(parents=True, exist_ok=True)
                    write_text(folder / TABLE, written([found[place] for place in sorted(found)]))
                    write_text(folder / IDENTITY, identity)
                if not args.quiet:
                    print(f"{len(found)} of {len(sweep.runs)}: {_said(row)}", file=sys.stderr)
    finally:  # what is finished is kept, however it ends
        rows = [found[place] for place in sorted(found)]
        if rows:
            (folder / PICTURE).write_bytes(sweep_plot(rows, list(vary)).png)
    if args.json:
        print(json.dumps(rows, indent=2))
    else:
        print(f"table: {folder / TABLE}\npicture: {folder / PICTURE}")
    return EXIT_OK if all(row["status"] == "complete" for row in rows) else EXIT_FALLS_SHORT


def _known(folder: Path, sweep: Sweep, identity: str) -> dict[int, dict[str, Any]]:
    """Return the rows that the table of the folder has, by their place among the runs, but for those that failed."""
    from rheotwin.sweeping import read_rows

    if not (folder / TABLE).is_file():
        return {}
    if not (folder / IDENTITY).is_file() or (folder / IDENTITY).read_text(encoding="utf-8") != identity:
        raise RheotwinError(f"{folder}: its table is of another scene or version; start over with --overwrite")
    rows = read_rows((folder / TABLE).read_text(encoding="utf-8"), sweep.runs)
    return {place: row for place, row in rows.items() if row["status"] != "failed"}


def _values(text: str) -> tuple[str, list[Any]]:
    """Return place and values; they are TOML, bare words are text."""
    place, equals, listed = text.partition("=")
    try:
        values = read_toml(f"values = [{listed}]")["values"]
    except tomllib.TOMLDecodeError:
        values = [word.strip() for word in listed.split(",") if word.strip()]
    if not (equals and place.strip() and values):
        raise RheotwinError(f"--vary {text}: write PLACE=VALUE,VALUE,.., for example laws.foam.young=1e3,2e3")
    return place.strip(), list({json.dumps(value): value for value in values}.values())


def _said(row: dict[str, Any]) -> str:
    said = [f"{name} {value:.4g}" if name.endswith("]") else f"{value}" for name, value in row.items() if value]
    return ", ".join(said)
