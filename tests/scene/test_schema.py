"""The JSON schema: complete descriptions, units, and the verb that prints it."""

import json
from collections.abc import Iterator
from typing import Any

from rheotwin.fields import FIELDS
from rheotwin.scene import scene_schema
from rheotwin.scene.units import EXPONENTS
from tests.conftest import command


def inside(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from inside(value)


def units_in(node: Any) -> set[str]:
    return {table["x-unit"] for table in inside(node) if isinstance(table.get("x-unit"), str)}


def test_keys_are_described_and_units_and_field_names_annotated() -> None:
    tables = [table for table in inside(scene_schema()) if "properties" in table]
    assert len(tables) > 25
    keys = [(table.get("title"), key, value) for table in tables for key, value in table["properties"].items()]
    assert [(title, key) for title, key, value in keys if not value.get("description")] == []
    assert all(table["additionalProperties"] is False for table in tables)
    schema = scene_schema()
    definitions = schema["$defs"]
    assert schema["properties"]["duration"]["x-unit"] == "s"
    assert units_in(schema["properties"]["gravity"]) == {"m/s2"}
    assert units_in(definitions["ThreeElementSpec"]["properties"]["voigt_viscosity"]) == {"Pa s"}
    assert units_in(definitions["BoxBody"]["properties"]["size"]) == {"m"}
    assert units_in(schema) == set(EXPONENTS) - {"1"}
    assert definitions["OutputSpec"]["properties"]["fields"]["items"]["enum"] == list(FIELDS)
    assert {"schema", "dimension", "duration", "laws", "bodies"} == set(schema["required"])
    said = command("schema")
    assert (said.code, said.err, json.loads(said.out)) == (0, "", scene_schema())
