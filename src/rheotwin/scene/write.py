"""Writing scenes as TOML, in SI units, defaults left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rheotwin.scene.bodies import FileBody
from rheotwin.scene.tools import MeshTool

if TYPE_CHECKING:
    from rheotwin.scene.scene import Scene


def toml(value: object) -> str:
    """Return a value as TOML; JSON and TOML agree on strings, truth and finite numbers."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {toml(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def scene_text(scene: Scene, remark: str = "") -> str:
    """Return a scene as TOML, under a remark."""
    lines = [*(f"# {line}" for line in remark.splitlines())]
    data = scene.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for name, value in data.items():
        if isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values()):
            lines += ["", f"[{name}]", *(f"{json.dumps(key)} = {toml(entry)}" for key, entry in value.items())]
        else:
            lines.insert(_first_table(lines), f"{name} = {toml(value)}")
    return "\n".join(lines) + "\n"


def with_absolute_files(scene: Scene) -> Scene:
    """Return the scene with its mesh files named absolutely, so that it can be read from anywhere."""
    parts: dict[str, dict[str, Any]] = {"bodies": dict(scene.bodies), "tools": dict(scene.tools)}
    for table in parts.values():
        for name, part in table.items():
            if isinstance(part, FileBody | MeshTool) and part.path is not None:
                table[name] = part.model_copy(update={"path": str(scene.resolve(part.path).absolute())})
    return scene.model_copy(update=parts)


def _first_table(lines: Sequence[str]) -> int:
    return next((k for k, line in enumerate(lines) if not line), len(lines))
