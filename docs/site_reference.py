"""Pages of the site made from the code: keys of a scene, options of solvers, verbs; changelog and contributing.

Written by `make docs` into docs/reference, which is not committed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rheotwin.__main__ import VERBS, build_parser
from rheotwin.cli import solvers
from rheotwin.scene import scene_schema
from rheotwin.solver import all_solvers

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = "reference"
INDEX = """# Reference

```{toctree}
:maxdepth: 1

scene
solvers
verbs
../limits
changelog
contributing
```
"""
BOUNDS = {"exclusiveMinimum": ">", "minimum": "≥", "exclusiveMaximum": "<", "maximum": "≤"}
CONTAINERS = ("anyOf", "oneOf", "allOf")
WORDS = {"integer": "whole number", "boolean": "true or false", "string": "text", "object": "table"}


def write_pages(folder: Path) -> None:
    """Write all pages; leave a page alone that says the same already, so that Sphinx need not read it again."""
    folder.mkdir(exist_ok=True)
    pages = {"index": INDEX, "scene": _scene_page(), "solvers": _solver_page(), "verbs": _verb_page()}
    for name in ("CHANGELOG", "CONTRIBUTING"):
        pages[name.lower()] = (ROOT / f"{name}.md").read_text(encoding="utf-8").replace("](docs/", "](../")
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *(tuple(_cell(text) for text in row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _json(value: Any) -> str:
    return f"`{json.dumps(value, default=str, ensure_ascii=False)}`"


def _references(schema: Mapping[str, Any]) -> set[str]:
    """Names of the models that a piece of schema leads to directly."""
    found = {schema["$ref"].rsplit("/", 1)[1]} if "$ref" in schema else set()
    parts = [part for key in CONTAINERS for part in schema.get(key, ())] + list(schema.get("prefixItems", ()))
    parts += [schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)]
    return found.union(*(_references(part) for part in (*parts, *schema.get("patternProperties", {}).values())))


def _kinds(schema: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Say what a key takes: its choices, or a kind of value with bounds and unit."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return "any value" if name == "JsonValue" else f"[{names[name]}](#{name.lower()})"
    if "const" in schema or "enum" in schema:
        return ", ".join(_json(choice) for choice in schema.get("enum", [schema.get("const")]))
    for key in CONTAINERS:
        if key in schema:
            said = [_kinds(part, names) for part in schema[key] if part.get("type") != "null"]
            if any(part.get("type") == "number" for part in schema[key]):
                said = [word for word in said if word != "text"]  # The text is the number with its unit.
            return " or ".join(dict.fromkeys(said)) + (f" ({schema['x-unit']})" if "x-unit" in schema else "")
    kind = str(schema.get("type", "any value"))
    if kind == "array":
        inner = schema["prefixItems"] if "prefixItems" in schema else [schema.get("items", {})]
        said = f"list of {', '.join(dict.fromkeys(_kinds(part, names) for part in inner))}"
        return said + (f" ({schema['x-unit']})" if "x-unit" in schema else "")
    if "patternProperties" in schema:
        return "tables by name: " + ", ".join(_kinds(part, names) for part in schema["patternProperties"].values())
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"table of names to {_kinds(schema['additionalProperties'], names)}"
    bounds = " and ".join(f"{sign} {schema[key]:g}" for key, sign in BOUNDS.items() if key in schema)
    unit = f" ({schema['x-unit']})" if "x-unit" in schema else ""
    return " ".join((WORDS.get(kind, kind), bounds)).strip() + unit


def _keys(model: Mapping[str, Any], names: Mapping[str, str]) -> str:
    needed = model.get("required", ())
    rows = (
        (
            f"`{key}`",
            field.get("description", ""),
            _kinds(field, names),
            "must be given" if key in needed else _json(field["default"]) if field.get("default") is not None else "",
        )
        for key, field in model["properties"].items()
    )
    return _table(("key", "meaning", "takes", "default"), rows)


def _name(name: str, model: Mapping[str, Any]) -> str:
    """Name a model by the word that chooses it in a scene, as `shape = "bar"`, or else by its own name."""
    fields = model.get("properties", {}).items()
    return next((f'`{key} = "{field["const"]}"`' for key, field in fields if "const" in field), name)


def _scene_page() -> str:
    schema = scene_schema()
    models: dict[str, Any] = schema["$defs"]
    fields: dict[str, Any] = schema["properties"]
    names = {name: _name(name, model) for name, model in models.items()}
    small = {key: {**field, "default": None} if "$ref" in field else field for key, field in fields.items()}
    text = [
        "# Keys of a scene\n",
        "Every key of a scene file, as `rheotwin schema` has it for editors. A number may carry its unit as text "
        '(`"5 cm"`); the unit named here is the one a bare number has without `[units]`. '
        "[Scenes](../scenes.md) explains them with examples.\n",
        "## Top level\n",
        _keys({**schema, "properties": small}, names),
    ]
    seen: set[str] = {"JsonValue"}

    def told(field: Mapping[str, Any]) -> Iterator[str]:
        for name in sorted(_references(field) - seen):
            if name in seen:
                continue
            seen.add(name)
            about = f"{models[name].get('description', '')}\n\n{_keys(models[name], names)}"
            yield f"({name.lower()})=\n### {names[name]}\n\n{about}"
            for inner in models[name]["properties"].values():
                yield from told(inner)

    for key, field in fields.items():
        if sections := list(told(field)):
            text += [f"## `{key}`\n\n{field.get('description', '')}\n", *sections]
    return "\n".join(text)


def _solver_page() -> str:
    text = [
        "# Options of the solvers\n",
        "An option stands in the scene (`[solvers.fem]`, `order = 2`), in a case, or on the command line "
        "(`--set fem.order=2`). Numbers are in SI units. `rheotwin solvers` prints the same list.\n",
    ]
    for name, solver in all_solvers().items():
        about = solvers._describe(solver)
        able = ((part, ", ".join(str(item) for item in about[part])) for part in ("dimensions", "planes", "cells"))
        more = ((part, ", ".join(about[part])) for part in ("laws", "tools", "contact"))
        options = (
            (f"`{option}`", field["description"], field["allowed"], solvers._default(field).removeprefix("default: "))
            for option, field in about["options"].items()
        )
        text += [f"## {name}\n\n{about['description']}\n", _table(("it takes", ""), iter((*able, *more)))]
        text += [_table(("option", "meaning", "takes", "default"), options)]
    return "\n".join(text)


def _verb_page() -> str:
    text = ["# Verbs of the command line\n", f"`rheotwin VERB --help` prints the same. {len(VERBS)} verbs:\n"]
    for parser in _leaves(build_parser()):
        text += [f"## {parser.prog}\n", parser.description or "", ""]
        usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
        text += [f"```text\n{usage}\n```\n"]
        rows = (
            (
                f"`{_spelled(action)}`",
                (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%"),
            )
            for action in parser._actions
            if action.help != argparse.SUPPRESS and action.dest != "help"
        )
        text += [_table(("argument", "meaning"), rows)]
    text += ["## Exit codes\n", f"```text\n{build_parser().epilog}\n```\n"]
    return "\n".join(text)


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield every parser below that takes arguments of its own, in order."""
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups:
        yield parser
    for group in groups:
        for child in group.choices.values():
            yield from _leaves(child)


def _spelled(action: argparse.Action) -> str:
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    if not action.option_strings or action.nargs == 0:
        return name
    choices = "|".join(str(choice) for choice in action.choices) if action.choices else ""
    return f"{name} {action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()}"
