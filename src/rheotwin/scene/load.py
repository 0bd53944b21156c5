"""Reading scenes from a file, from text, from the data of a record; the JSON schema of scene files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from rheotwin.errors import Fault, InputFaults, RheotwinError, nearest_name
from rheotwin.scene.bodies import FileBody
from rheotwin.scene.checks import draft_of
from rheotwin.scene.faults import field_faults
from rheotwin.scene.laws import LawSpec
from rheotwin.scene.scene import Scene, draft_faults
from rheotwin.scene.tools import MeshTool
from rheotwin.scene.write import with_absolute_files
from rheotwin.texts import is_file, read_toml

if TYPE_CHECKING:
    from rheotwin.materials import Law


def scene_schema() -> dict[str, Any]:
    """Return the JSON schema of a scene file: descriptions, allowed values, and SI units as `x-unit`."""
    schema = Scene.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Rheotwin scene"}


def _mesh_file_faults(data: Mapping[str, Any], base: Path) -> Iterator[Fault]:
    """Yield the mesh files that are not there."""
    draft = draft_of(data)
    for name, body in draft.bodies.items():
        if isinstance(body, FileBody) and not is_file(base / body.path):
            yield Fault(f"bodies.{name}.path", f"there is no mesh file '{base / body.path}'")
    for name, tool in draft.tools.items():
        if isinstance(tool, MeshTool) and tool.path is not None and not is_file(base / tool.path):
            yield Fault(f"tools.{name}.path", f"there is no file '{base / tool.path}'")


def scene_from_data(data: Mapping[str, Any], *, base: Path | None = None, source: Path | None = None) -> Scene:
    """Return the scene that raw data (of a TOML file or a record) describes; lists all its faults at once.

    `base` is the folder mesh files are relative to (then they must be there), `source` the file for messages.
    """
    faults: list[Fault] = []
    scene: Scene | None = None
    try:
        scene = Scene.model_validate(data)
    except ValidationError as error:
        faults += [*field_faults(error), *draft_faults(data)]
    if base is not None:
        faults += _mesh_file_faults(data, base)
    if scene is None or faults:
        raise InputFaults(str(source or "scene"), dict.fromkeys(faults))
    return scene.located(base=base or Path(), source=source)


def put_at(data: dict[str, Any], place: str, value: Any) -> Any:
    """Put a value at a dotted place of raw scene data; a whole number counts the entries of a list from 0.

    Returns what was there, None if nothing.
    """
    *path, last = place.split(".")
    table: Any = data
    for number, word in enumerate((*path, last)):
        key: Any = word
        here = ".".join(path[:number]) or "the scene"
        if isinstance(table, list):
            if not (word.isdecimal() and int(word) < len(table)):
                raise RheotwinError(
                    f"--set {place}: {here} is a list of {len(table)}; choose one of 0 to {len(table) - 1}"
                )
            key = int(word)
        elif not isinstance(table, dict):
            raise RheotwinError(f"--set {place}: {here} is {table!r} and has no '{key}'")
        elif number < len(path) and key not in table:
            raise RheotwinError(
                f"--set {place}: {here} has no '{key}'{nearest_name(word, table)}; there: {', '.join(table)}"
            )
        if number == len(path):
            old = table[key] if isinstance(table, list) else table.get(key)
            table[key] = value
        else:
            table = table[key]
    return old


def changed(scene: Scene, changes: Mapping[str, Any]) -> Scene:
    """Return a scene with values at dotted places changed, as `load_scene` changes those of a file."""
    data = with_absolute_files(scene).model_dump(mode="json")
    for place, value in changes.items():
        put_at(data, place, value)
    return scene_from_data(data, base=scene.resolve(""), source=scene.source) if changes else scene


_LAW: TypeAdapter[Any] = TypeAdapter(LawSpec)


def law_from_data(name: str, table: Mapping[str, Any]) -> Law:
    """Return the law of a table in SI units, as it is in the data of a scene."""
    try:
        found: Law = _LAW.validate_python(table).law()
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, ("laws", name, *fault["loc"][1:])))
        raise RheotwinError(f"{place}: {fault['msg'][:1].lower()}{fault['msg'][1:]}") from None
    return found


def parse_scene(
    text: str, *, base: Path, source: Path | None = None, changes: Mapping[str, Any] | None = None
) -> Scene:
    """Return the scene written in TOML text, with values at dotted places changed.

    `base` is the folder its mesh files are relative to.
    """
    try:
        data = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        raise RheotwinError(
            f"{source or 'scene'}: not a TOML file: {said[:1].lower()}{said[1:]}{_line_of(said, text)}"
        ) from error
    for place, value in (changes or {}).items():
        put_at(data, place, value)
    return scene_from_data(data, base=base, source=source)


def _line_of(said: str, text: str) -> str:
    """Return the line that a parser's sentence names, and what is most often wrong with it."""
    found = re.search(r"at line (\d+)", said)
    lines = text.splitlines()
    if found is None or int(found[1]) > len(lines):
        return "; complete the file"
    hint = "give each table its own name" if "twice" in said else "text needs quotes, a decimal needs a point"
    return f": {lines[int(found[1]) - 1].strip()[:60]!r}; {hint}"


def load_scene(path: str | Path, changes: Mapping[str, Any] | None = None) -> Scene:
    """Return the scene of a TOML file, in SI units; `changes` are values at dotted places: `laws.foam.young`."""
    file = Path(path)
    return parse_scene(_text(file), base=file.parent, source=file, changes=changes)


def _text(file: Path) -> str:
    """Return the text of a scene file, or say in one sentence why there is none."""
    if file.is_dir():
        raise RheotwinError(f"{file}: this is a folder; name the .toml file of a scene in it")
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        neighbours = [entry.name for entry in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        raise RheotwinError(f"{file}: there is no such scene file{nearest_name(file.name, neighbours)}") from error
    except UnicodeDecodeError as error:
        raise RheotwinError(f"{file}: not a TOML file: byte {error.start} is not UTF-8 text") from error
    except OSError as error:
        raise RheotwinError(f"{file}: cannot be read: {error.strerror}") from error
