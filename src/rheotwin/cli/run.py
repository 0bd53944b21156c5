"""`rheotwin run`: one scene, one solver, one record."""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.errors import RheotwinError
from rheotwin.texts import read_toml

if TYPE_CHECKING:
    from rheotwin.loop import Outcome
    from rheotwin.observers import Observer
    from rheotwin.plausibility import BodyFacts
    from rheotwin.problem import Problem
    from rheotwin.running import Announce
    from rheotwin.solver import Simulation

NAME = "run"
HELP = "run a scene with one solver and leave a record (VTK series, probes, manifest, checkpoint)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", nargs="?", type=Path, help="scene file (TOML)")
    parser.add_argument("--solver", help="which solver (see `rheotwin solvers`); default: fem")
    parser.add_argument("--case", help="which case of the scene; default: the first")
    parser.add_argument("--refinement", type=whole_number, metavar="N", help="divide every cell into N along each side")
    parser.add_argument("--refine", metavar="GOAL", help='halve cells where the error is (fem), e.g. "until 1 %%"')
    parser.add_argument("--output", type=Path, help="record folder; default: runs/SCENE-CASE-SOLVER")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing record")
    parser.add_argument("--format", choices=("pvd", "vtkhdf"), help="series format; default: pvd")
    add_set_argument(parser)
    parser.add_argument("--resume", type=Path, metavar="FOLDER", help="continue an interrupted record")
    add_reproducible_argument(parser)
    add_quiet_arguments(parser)


def whole_number(text: str) -> int:
    """Read a count of at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def add_set_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--set place=value`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PLACE=VALUE",
        help="override an option of a solver (truss.step=1e-3) or any entry of the scene (laws.foam.young=30e3, "
        "gravity.1=-3.7); repeatable",
    )


def add_quiet_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `--json` and `--quiet`."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no remarks")


def add_reproducible_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--reproducible`, which `rheotwin.__main__` acts on before anything is loaded."""
    parser.add_argument(
        "--reproducible",
        action="store_true",
        help="give the same bits on every processor: slower arithmetic, one thread (docs/reliability.md)",
    )


@dataclass(frozen=True)
class Settings:
    """What `--set` changes: entries of the scene by dotted place, and options by solver."""

    scene: dict[str, Any]
    options: dict[str, dict[str, Any]]

    def only_for(self, *solvers: str) -> None:
        """Refuse options of other solvers: they would have no effect."""
        for stranger in sorted(set(self.options) - set(solvers)):
            used = f"the solver '{solvers[0]}'" if len(solvers) == 1 else f"the solvers {', '.join(solvers)}"
            raise RheotwinError(f"--set {stranger}.…: this uses {used}; set its options, or an entry of the scene")


def parse_settings(items: list[str]) -> Settings:
    """Sort `place=value` items into entries of the scene and options; values are TOML, bare words are text."""
    from rheotwin.scene import Scene

    tables = {field.alias or name for name, field in Scene.model_fields.items()}
    settings = Settings({}, {})
    for item in items:
        path, equals, text = item.partition("=")
        first, dot, option = path.strip().partition(".")
        if not (equals and first and (first in tables or (dot and option))) or len(item.splitlines()) > 1:
            shown = " ".join(item.splitlines())
            raise RheotwinError(
                f"--set {shown}: write PLACE=VALUE, for example truss.step=1e-3 or laws.foam.young=30e3"
            )
        try:
            value = read_toml(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        if first in tables:
            settings.scene[path.strip()] = value
        else:
            settings.options.setdefault(first, {})[option] = value
    return settings


def record_name(scene: Path, case: str | None, solver: str) -> Path:
    """Return the default record folder of a run."""
    return Path("runs") / "-".join(part for part in (scene.stem, case, solver) if part)


def describe_start(problem: Problem, simulation: Simulation, known: Mapping[str, BodyFacts]) -> str:
    """Say what is about to run, how its step relates to the stable one, and what the numbers amount to."""
    stable = simulation.stable_step
    bound = "unconditionally stable" if stable == float("inf") else f"stable below {stable:.4g} s"
    lines = [
        f"{len(problem.points)} nodes, {problem.scene.duration:g} s in steps of {simulation.step_size:.4g} s ({bound})"
    ]
    lines += [f"body '{name}': {found.sentence()}" for name, found in known.items()]
    for body, match in simulation.statistics().get("material_match", {}).items():
        if "stiffness_misfit" in match:
            made_of, misfit = match.get("made_of", "springs"), 100 * match["stiffness_misfit"]
            lines.append(f"body '{body}': {made_of} miss the law's stiffness by {misfit:.0f} %")
    return "\n".join(lines)


def execute(args: argparse.Namespace) -> int:
    """Run or resume."""
    from rheotwin.observers import Progress, told_of_compiling
    from rheotwin.running import resume_run

    if (args.scene is None) == (args.resume is None):
        raise RheotwinError("run: name a scene file to run, or a record folder with --resume, and not both")
    if args.resume is not None:
        _refuse_changes(args)

    already = 0

    def announce(problem: Problem, simulation: Simulation, known: Mapping[str, BodyFacts]) -> None:
        nonlocal already
        already = simulation.step_count
        if not args.quiet:
            cleared = "\r\033[K" if sys.stderr.isatty() else ""  # of what was compiled last
            print(f"{cleared}{describe_start(problem, simulation, known)}", file=sys.stderr)

    watchers = [] if args.quiet else [Progress("running")]
    with nullcontext() if args.quiet else told_of_compiling():
        if args.resume is not None:
            folder, outcome = args.resume, resume_run(args.resume, observers=watchers, announce=announce)
        else:
            folder, outcome = _run(args, watchers, announce)
    _report(folder, outcome, already=already, as_json=args.json)
    return outcome.exit_code


def _refuse_changes(args: argparse.Namespace) -> None:
    """Refuse options that would make a resumed run another one: they would have no effect."""
    given = [
        name
        for name in ("solver", "case", "refinement", "refine", "output", "overwrite", "format", "set")
        if getattr(args, name)
    ]
    if given:
        raise RheotwinError(f"--resume continues a record as it was started: leave --{given[0]} out")


def _run(args: argparse.Namespace, watchers: Sequence[Observer], announce: Announce) -> tuple[Path, Outcome]:
    from rheotwin.running import RunRequest, run_scene
    from rheotwin.scene import load_scene

    settings, solver = parse_settings(args.set), args.solver or "fem"
    if args.refine is not None:
        settings.options.setdefault(solver, {})["refine"] = args.refine
    settings.only_for(solver)
    scene = load_scene(args.scene, settings.scene)
    if args.refinement is not None:
        scene = scene.refined(args.refinement)
    case = scene.with_case(args.case).case
    folder = args.output or record_name(args.scene, case, solver)
    request = RunRequest(
        scene=scene,
        solver=solver,
        folder=folder,
        case=args.case,
        options=settings.options.get(solver),
        format=args.format or "pvd",
        overwrite=args.overwrite,
    )
    return folder, run_scene(request, observers=watchers, announce=announce)


def _report(folder: Path, outcome: Outcome, *, already: int, as_json: bool) -> None:
    """Print how it ended: JSON on standard output, or a sentence (faults go to standard error).

    `already` is the number of steps the record had before: the rate is that of the steps taken now.
    """
    if as_json:
        print(json.dumps({"folder": str(folder), **outcome.__dict__}, indent=2))
        return
    if outcome.status == "complete":
        if outcome.message:
            print(f"{outcome.message}: {outcome.steps} steps; record: {folder}")
            return
        rate = (outcome.steps - already) / max(outcome.solve_seconds, 1e-9)
        print(
            f"complete: {outcome.steps} steps in {outcome.loop_seconds:.2f} s ({rate:,.0f} steps/s); record: {folder}"
        )
        return
    hint = (
        f"; resume with: rheotwin run --resume {folder}" if outcome.status == "interrupted" else f"; record: {folder}"
    )
    print(f"{outcome.message}{hint}", file=sys.stderr)
