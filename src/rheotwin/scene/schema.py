"""The JSON schema of scene files, for editors."""

from __future__ import annotations

from typing import Any

from rheotwin.scene.scene import Scene


def scene_schema() -> dict[str, Any]:
    """Return the JSON schema of a scene file: descriptions, allowed values, and SI units as `x-unit`."""
    schema = Scene.model_json_schema(by_alias=True, mode="validation")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Rheotwin scene",
    }
