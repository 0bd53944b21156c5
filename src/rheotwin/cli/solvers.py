"""`rheotwin solvers`: which solvers exist and what they do."""

from __future__ import annotations

import argparse
import json
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

NAME = "solvers"
HELP = "list the installed solvers, what they can do and their options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Print every usable solver."""
    from rheotwin.solver import all_solvers

    described = {name: _describe(solver) for name, solver in all_solvers().items()}
    if args.json:
        print(json.dumps(described, indent=2, default=str))
        return 0
    for name, about in described.items():
        print(f"{name}: {about['description']}")
        for part in ("dimensions", "planes", "cells", "laws", "tools", "contact"):
            print(f"  {part + ':':12s}{', '.join(str(item) for item in about[part])}")
        for option, field in about["options"].items():
            print(f"  --set {name}.{option}=…  {field['description']} ({field['allowed']}; {_default(field)})")
    return 0


def _default(field: dict[str, Any]) -> str:
    if "default" not in field:
        return "must be given"
    value = field["default"]
    return (
        "may be left out"
        if value is None
        else f"default: {value if isinstance(value, str) else json.dumps(value, default=str)}"
    )


def _describe(solver: Any) -> dict[str, Any]:
    able = solver.capabilities
    return {
        "description": solver.description,
        "dimensions": sorted(able.dimensions),
        "cells": sorted(able.cells),
        "laws": sorted(able.laws),
        "tools": sorted(able.tools),
        "contact": sorted(able.contact),
        "planes": sorted(able.planes),
        "options": {name: _option(field) for name, field in solver.options.model_fields.items()},
    }


def _option(field: Any) -> dict[str, Any]:
    """Describe one option; without a default it must be given."""
    about = {"description": field.description or "", "allowed": _allowed(field)}
    return about if field.is_required() else {**about, "default": field.get_default(call_default_factory=True)}


def _allowed(field: Any) -> str:
    """Say what values an option takes: its choices, or a kind of value with its bounds."""
    kind = field.annotation
    alternatives = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = [kind for kind in alternatives if kind is not type(None)]
    said = ", ".join(word for kind in kinds for word in _kind(kind))
    bounds = [
        f"{words} {getattr(mark, key):g}"
        for mark in field.metadata
        for key, words in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most"))
        if getattr(mark, key, None) is not None
    ]
    return " ".join([said, " and ".join(bounds)]).strip()


def _kind(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    words = {float: "number", int: "whole number", bool: "true or false", str: "text"}
    return [words.get(kind, getattr(kind, "__name__", str(kind)))]
