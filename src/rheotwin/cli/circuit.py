"""`rheotwin circuit`: a scene on the papers' circuit: words, cycles, rate, memory, gates and error."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.cli.run import add_set_argument, parse_settings
from rheotwin.errors import RheotwinError

if TYPE_CHECKING:
    from rheotwin.particles.fixed_point.prepare import Prepared

NAME = "circuit"
HELP = "put a scene on the fixed-point circuit and tell its cycles, rate, memory, gates and error"
SOLVER = "fixed-point"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("scene", type=Path, help="scene file (TOML)")
    parser.add_argument("--case", help="which case of the scene; default: the first")
    parser.add_argument("--modules", type=int, default=1, metavar="P", help="groups of modules; default: %(default)s")
    parser.add_argument("--clock", type=float, default=33.0e6, metavar="HZ", help="clock [Hz]; default: 33e6")
    parser.add_argument(
        "--partition",
        choices=("slabs", "columns", "boxes", "graph"),
        default="slabs",
        help="how modules share the body; default: %(default)s",
    )
    parser.add_argument("--chips", action="store_true", help="put every group on a chip of its own")
    parser.add_argument(
        "--block-rams", type=int, default=144, metavar="N", help="BlockRAMs of the chip; default: 144, an XC2V6000"
    )
    parser.add_argument("--family", default="xc2v", help="chip family to count gates for; default: %(default)s")
    parser.add_argument("--no-resources", action="store_true", help="do not count gates (half a minute)")
    parser.add_argument("--samples", type=int, default=10, metavar="N", help="times of the error; default: %(default)s")
    parser.add_argument("--sweep", metavar="WORDS", help="also try words of these lengths, e.g. 12,16,20")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.01,
        metavar="E",
        help="with --sweep: error over the width that is good enough; default: %(default)s",
    )
    parser.add_argument("--verilog", type=Path, metavar="FOLDER", help="also write the circuit as Verilog")
    add_set_argument(parser)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Prepare the scene, predict, count, run and compare."""
    words = _words(args.sweep)
    if args.samples < 1 or args.block_rams < 1 or not args.tolerance > 0.0:
        raise RheotwinError("--samples, --block-rams and --tolerance: must be above 0")
    from rheotwin.particles.fixed_point.report import error_account, errors_data, timing, words_data
    from rheotwin.particles.fixed_point.timing import XC2V6000, Device, Links, Machine, depth_of

    Machine(modules=args.modules, clock=args.clock)  # refuses what cannot be before the work
    chip = XC2V6000 if args.block_rams == XC2V6000.block_rams else Device("the chip", 0, 0, args.block_rams, 0)
    prepared, said = _prepared(args)
    machine = Machine(modules=args.modules, clock=args.clock, edge_depth=depth_of(prepared.constants))
    planned = timing(prepared.model, prepared.constants, machine, args.partition, chip, Links() if args.chips else None)
    about: dict[str, Any] = {
        "title": prepared.model.problem.scene.title,
        "points": len(prepared.model.points),
        "edges": len(prepared.model.edges),
        "words": words_data(prepared) | said,
        "timing": planned.to_data(),
        "chip_block_rams": chip.block_rams,
        "resources": _resources(args, prepared),
        "errors": errors_data(*error_account(prepared, args.samples)),
    }
    if words:
        about["sweep"] = _sweep(prepared, words, args.tolerance)
    if args.verilog is not None:
        from rheotwin.particles.fixed_point.rtl import export_verilog

        model = prepared.model
        files = export_verilog(args.verilog, prepared.constants, points=len(model.points), edges=len(model.edges))
        about["verilog"] = [str(path) for path in files]
    if args.json:
        print(json.dumps(about, indent=2))
    else:
        from rheotwin.particles.fixed_point.report import report_text

        print(report_text(about))
    return 0


def _words(text: str | None) -> list[int]:
    """Read the lengths of words to try."""
    if text is None:
        return []
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise RheotwinError(f"--sweep {text}: write lengths of words in bits, for example 12,16,20") from None


def _prepared(args: argparse.Namespace) -> tuple[Prepared, dict[str, Any]]:
    """Load the scene and put it into words; and say what a run in them will come to."""
    settings = parse_settings(args.set)
    settings.only_for(SOLVER)
    from rheotwin.build import build_problem
    from rheotwin.particles.fixed_point import FixedPointSolver
    from rheotwin.particles.fixed_point.choice import choose, remedy
    from rheotwin.particles.fixed_point.prepare import FixedPointOptions
    from rheotwin.running import solver_options
    from rheotwin.scene import load_scene
    from rheotwin.solver import check_capabilities, checked_options

    scene = load_scene(args.scene, settings.scene)
    problem, solver = build_problem(scene, args.case), FixedPointSolver()
    check_capabilities(solver, problem)
    options = checked_options(solver, solver_options(problem.scene, SOLVER, settings.options.get(SOLVER)))
    assert isinstance(options, FixedPointOptions)
    prepared, trial = choose(problem, options)
    if trial is None:
        return prepared, {}
    fate = [*trial.remarks, remedy(problem, options)] if trial.remarks else []
    return prepared, {
        "announced_error": None if trial.overflow else trial.error,
        "remarks": [*prepared.remarks, *fate],
        "stops_at_s": 0.0 if trial.lost else trial.overflow.time if trial.overflow else None,
    }


def _resources(args: argparse.Namespace, prepared: Prepared) -> dict[str, Any]:
    """Count gates, or say why not."""
    if args.no_resources:
        return {"missing": "not counted (--no-resources)"}
    from rheotwin.particles.fixed_point.rtl import missing_tools, resources

    missing = missing_tools()
    if missing:
        return {"missing": missing}
    model = prepared.model
    return resources(args.family, prepared.constants, points=len(model.points), edges=len(model.edges)).to_data()


def _sweep(prepared: Prepared, words: list[int], tolerance: float) -> dict[str, Any]:
    """Try other words."""
    from rheotwin.particles.fixed_point.choice import in_papers_form
    from rheotwin.particles.fixed_point.errors import shortest, sweep

    rows = sweep(in_papers_form(prepared, prepared.model.problem), words)
    good = shortest(rows, tolerance)
    return {
        "rows": [row.to_data() for row in rows],
        "tolerance": tolerance,
        "shortest": None if good is None else good.to_data(),
    }
