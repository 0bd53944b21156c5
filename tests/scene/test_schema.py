"""The JSON schema: complete descriptions, units, and the verb that prints it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import pytest

from rheotwin.cli import schema as verb
from rheotwin.fields import NODE_FIELDS
from rheotwin.scene import scene_schema
from rheotwin.scene.units import EXPONENTS


def objects(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every table description inside a schema."""
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


def units_in(node: Any) -> set[str]:
    if isinstance(node, dict):
        own = {node["x-unit"]} if isinstance(node.get("x-unit"), str) else set()
        return own.union(*(units_in(value) for value in node.values()))
    return set().union(*(units_in(value) for value in node)) if isinstance(node, list) else set()


def test_every_key_is_described() -> None:
    tables = list(objects(scene_schema()))
    assert len(tables) > 25
    bare = [
        (table.get("title"), key)
        for table in tables
        for key, value in table["properties"].items()
        if not value.get("description")
    ]
    assert bare == []


def test_unknown_keys_are_refused_by_editors_too() -> None:
    assert all(table["additionalProperties"] is False for table in objects(scene_schema()))


def test_units_are_annotated() -> None:
    schema = scene_schema()
    definitions = schema["$defs"]
    assert schema["properties"]["duration"]["x-unit"] == "s"
    assert units_in(schema["properties"]["gravity"]) == {"m/s2"}
    assert units_in(definitions["ThreeElementSpec"]["properties"]["voigt_viscosity"]) == {"Pa s"}
    assert units_in(definitions["BoxBody"]["properties"]["size"]) == {"m"}
    assert units_in(schema) == set(EXPONENTS) - {"1"}


def test_field_names_are_listed() -> None:
    fields = scene_schema()["$defs"]["OutputSpec"]["properties"]["fields"]
    assert fields["items"]["enum"] == list(NODE_FIELDS)


def test_the_file_says_schema_not_schema_version() -> None:
    assert {"schema", "dimension", "duration", "laws", "bodies"} == set(scene_schema()["required"])


def test_the_verb_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    assert verb.execute(parser.parse_args([])) == 0
    assert json.loads(capsys.readouterr().out) == scene_schema()
