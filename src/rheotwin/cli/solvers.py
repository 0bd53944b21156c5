"""`rheotwin solvers`: which solvers exist and what they do."""

from __future__ import annotations

import argparse
import json
from typing import Any

NAME = "solvers"
HELP = "list the installed solvers, what they can do and their options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Print every usable solver."""
    from rheotwin.registry import all_solvers

    described = {name: _describe(solver) for name, solver in all_solvers().items()}
    if args.json:
        print(json.dumps(described, indent=2))
        return 0
    for name, about in described.items():
        print(f"{name}: {about['description']}")
        for part in ("dimensions", "cells", "laws", "tools"):
            print(f"  {part + ':':12s}{', '.join(str(item) for item in about[part])}")
        for option, text in about["options"].items():
            print(f"  --set {name}.{option}=…  {text}")
    return 0


def _describe(solver: Any) -> dict[str, Any]:
    able = solver.capabilities
    return {
        "description": solver.description,
        "dimensions": sorted(able.dimensions),
        "cells": sorted(able.cells),
        "laws": sorted(able.laws),
        "tools": sorted(able.tools),
        "planes": sorted(able.planes),
        "options": {name: field.description or "" for name, field in solver.options.model_fields.items()},
    }
