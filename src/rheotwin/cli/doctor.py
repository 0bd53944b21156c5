"""`rheotwin doctor`: whether this installation is sound, and what it has."""

from __future__ import annotations

import argparse
import json
from typing import Any

from rheotwin import __version__
from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK

NAME = "doctor"
HELP = "tell versions, extras, kernel cache and threads, and test in seconds that solvers run and agree"
BROKEN = "BROKEN: "
"""What a saying begins with that tells of a fault."""
AGREE = 0.02
"""Relative difference of two solvers' displacements of the strand below that is not exceeded."""
STRAND: dict[str, Any] = {
    "schema": 1,
    "title": "self-test",
    "dimension": 1,
    "duration": 0.5,
    "laws": {"dough": {"model": "voigt", "young": 5e4, "poisson": 0.0, "viscosity": 5e3}},
    "bodies": {"strand": {"shape": "box", "size": [0.2], "cells": [4], "law": "dough", "density": 1000.0}},
    "supports": {"hand": {"body": "strand", "where": {"side": "left"}}},
    "forces": {"pull": {"body": "strand", "where": {"side": "right"}, "total": [1e3]}},
    "probes": {"tip": {"body": "strand", "at": [0.2]}},
    "output": {"interval": 0.1},
}
"""A strand that is pulled and creeps, as compiled particles and as finite elements."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Look at everything, print it, and fall short where something is broken."""
    about: dict[str, Any] = {"versions": _versions(), "extras": _extras(), "cache": _cache(), "threads": _threads()}
    about["self-test"] = _self_test()
    said = [(f"{part}: {name}", word) for part, table in about.items() for name, word in table.items()]
    faults = [f"{place} {word.removeprefix(BROKEN)}" for place, word in said if word.startswith(BROKEN)]
    if args.json:
        print(json.dumps({**about, "sound": not faults}, indent=2))
    else:
        for part, table in about.items():
            print(f"{part:10s} " + ", ".join(f"{name} {said}" for name, said in table.items()))
        print("\n".join(f"broken: {fault}" for fault in faults) or "sound")
    return EXIT_FALLS_SHORT if faults else EXIT_OK


def _needed(extra: str) -> list[str]:
    """Return the packages of an extra, those that are always needed for "", without their versions."""
    import re
    from importlib.metadata import requires

    rows = [row for row in requires("rheotwin") or [] if ("extra ==" in row) == bool(extra)]
    rows = [row for row in rows if not extra or re.search(rf"extra == ['\"]{extra}['\"]", row)]
    return [re.split(r"[^\w.-]", row, maxsplit=1)[0] for row in rows]


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _versions() -> dict[str, str]:
    import platform

    found = {name: _version(name) or f"{BROKEN}is missing; pip install {name}" for name in _needed("")}
    return {"rheotwin": __version__, "python": platform.python_version(), **found}


def _extras() -> dict[str, str]:
    from importlib.metadata import metadata

    names = metadata("rheotwin").get_all("Provides-Extra") or []
    missing = {extra: [name for name in _needed(extra) if not _version(name)] for extra in names}
    return {extra: f"lacks {' '.join(lacks)}" if lacks else "present" for extra, lacks in missing.items()}


def _cache() -> dict[str, str]:
    from rheotwin.kernels import cache

    try:
        place = cache.folder()
        place.mkdir(parents=True, exist_ok=True)
        count, size = cache.usage()
        probe = place / f"doctor{cache.UNFINISHED}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return {"folder": f"{BROKEN}{error}; name another with {cache.PLACE}"}
    return {"folder": str(place), "kernels": str(count), "size": f"{size / 1e6:.1f} MB"}


def _threads() -> dict[str, str]:
    import os

    from rheotwin.record import current_environment

    own = {name: os.environ[name] for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS") if name in os.environ}
    return {"processors": str(current_environment().threads), **own}


def _self_test() -> dict[str, str]:
    """Run the strand with both solvers; they must agree, and with the closed form F L/E A (1 - exp(-E t/c))."""
    from math import exp
    from time import perf_counter

    from rheotwin.api import run
    from rheotwin.scene import Scene

    begin, moved = perf_counter(), dict[str, float]()
    exact = 1e3 * 0.2 / 5e4 * (1.0 - exp(-5e4 * 0.5 / 5e3))
    try:
        for solver in ("fem", "truss"):
            moved[solver] = float(run(Scene(**STRAND), solver).probes["probe.tip.displacement_x"][-1])
    except Exception as error:  # whatever it is, it is what the doctor is asked for
        return {"run": f"{BROKEN}{type(error).__name__}: {error}"}
    said = {solver: f"{1e3 * value:.4g} mm" for solver, value in moved.items()}
    off = {solver: abs(value / exact - 1.0) for solver, value in moved.items()}
    said |= {s: f"{BROKEN}{said[s]} for {1e3 * exact:.4g} mm" for s, error in off.items() if not error < AGREE}
    return said | {"took": f"{perf_counter() - begin:.1f} s"}
