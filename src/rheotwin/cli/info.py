"""`rheotwin info`: what a record or a scene holds."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.cli.run import add_set_argument, parse_settings
from rheotwin.errors import RheotwinError, visible

if TYPE_CHECKING:
    from rheotwin.problem import Problem
    from rheotwin.record import Record
    from rheotwin.scene import Scene

NAME = "info"
HELP = "describe a record folder or a scene file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", type=Path, help="record folder or scene file")
    add_set_argument(parser)
    parser.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Describe a record (folder) or a scene (file)."""
    if args.path.is_dir():
        from rheotwin.record import open_record

        about = _record(open_record(args.path))
    elif args.path.exists():
        from rheotwin.scene import load_scene

        settings = parse_settings(args.set)
        about = _scene(load_scene(args.path, settings.scene), settings.options.get("fem", {}))
    else:
        raise RheotwinError(f"{args.path}: there is no such record folder or scene file")
    print(json.dumps(about, indent=2) if args.json else visible(_text(about)))
    return 0


def _record(record: Record) -> dict[str, Any]:
    manifest = record.manifest
    times = record.times
    return {
        "title": manifest.title,
        "status": manifest.status,
        "message": manifest.message,
        "solver": manifest.solver.name,
        "case": manifest.case,
        "options": manifest.solver.options,
        "nodes": manifest.mesh.points,
        "cells": manifest.mesh.cells,
        "frames": len(times),
        "last_time_s": record.last_time,
        "step_s": manifest.step.size,
        "stable_step_s": manifest.step.stable,
        "steps": manifest.step.count,
        "timings_s": manifest.timings,
        "statistics": manifest.statistics,
        "fields": {name: field.unit for name, field in manifest.fields.items()},
        "particle_fields": {name: field.unit for name, field in manifest.particles.items()},
        "probes": manifest.probes,
        "format": manifest.format,
        "created": manifest.created,
        "rheotwin_version": manifest.rheotwin_version,
    }


def _scene(scene: Scene, options: dict[str, Any]) -> dict[str, Any]:
    """Describe a scene and what its numbers amount to; whatever `run` would refuse is refused here."""
    import warnings

    from rheotwin.build import build_problem
    from rheotwin.plausibility import behaviour, doubts, facts

    problem = build_problem(scene)
    known = facts(problem)
    for doubt in doubts(problem, known):
        warnings.warn(doubt, stacklevel=2)
    return {
        "title": scene.title,
        "dimension": scene.dimension,
        "duration_s": scene.duration,
        "bodies": {
            name: ", ".join(
                [f"{body.shape}, law {body.law}", *(f"{part} {spec.law}" for part, spec in body.parts.items())]
            )
            for name, body in scene.bodies.items()
        },
        "amounts": {name: found.sentence() for name, found in known.items()},
        "laws": {name: f"{spec.model}, {behaviour(spec.law())}" for name, spec in scene.laws.items()},
        "tools": {name: tool.shape for name, tool in scene.tools.items()},
        "contact": {} if scene.contact is None else scene.contact.model_dump(exclude_none=True),
        "supports": list(scene.supports),
        "forces": list(scene.forces),
        "cases": {name: case.description for name, case in scene.cases.items()},
        "solver_options": scene.solvers,
        "linear_solver": _linear_solver(problem, options),
    }


def _linear_solver(problem: Problem, options: dict[str, Any]) -> str:
    """Return what finite elements would solve the scene's equations with, and why; nothing where they refuse it."""
    import warnings

    from rheotwin.fem import FemSolver
    from rheotwin.solver import check_capabilities, checked_options

    solver = FemSolver()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a run will say it
            check_capabilities(solver, problem)
            given = problem.scene.solvers.get(solver.name, {}) | options
            return solver.linear_solver(problem, checked_options(solver, given))
    except RheotwinError:
        return ""


def _text(about: dict[str, Any]) -> str:
    return "\n".join(
        f"{key.replace('_', ' '):16s} {_line(value)}" for key, value in about.items() if value not in ("", None, {}, [])
    )


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_line(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
