"""Pydantic's errors in our words: dotted place, what is wrong, what is allowed, the nearest name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Tag, ValidationError
from pydantic_core import ErrorDetails

from rheotwin.errors import Fault, nearest_name
from rheotwin.scene.base import NAME_RULE, SceneModel, field_description
from rheotwin.scene.scene import CROSS, Scene

_KINDS = {
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list [..]",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _members(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of a type, without annotations and None."""
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        members = tuple(member for member in get_args(annotation) if member is not type(None))
        return members if len(members) > 1 else _members(members[0])
    return (annotation,)


def _tags(member: Any) -> set[str]:
    """Return the names pydantic gives to one alternative: explicit tags, or the literals it requires."""
    tags = {mark.tag for mark in getattr(member, "__metadata__", ()) if isinstance(mark, Tag)}
    bare = _members(member)[0]
    if isinstance(bare, type) and issubclass(bare, SceneModel):
        for field in bare.model_fields.values():
            if get_origin(field.annotation) is Literal and field.is_required():
                tags.update(str(value) for value in get_args(field.annotation))
    return tags


def _step(annotation: Any, part: str | int) -> tuple[Any, bool]:
    """Follow one part of a place through a type: (what is there, whether the part is written in the file)."""
    members = _members(annotation)
    if len(members) > 1:
        return next((member for member in members if part in _tags(member)), None), False
    bare = members[0]
    origin = get_origin(bare)
    if isinstance(bare, type) and issubclass(bare, SceneModel):
        known = {field.alias or name: field for name, field in bare.model_fields.items()}
        return (known[str(part)].annotation if part in known else None), True
    if origin is dict:
        return get_args(bare)[1], True
    if origin is tuple:
        inner = get_args(bare)
        return inner[0] if inner[-1] is Ellipsis else inner[min(int(part), len(inner) - 1)], True
    return None, True


def _trace(place: tuple[str | int, ...]) -> tuple[list[str], Any, Any]:
    """Return the place as written in the file, the type there and the type of the table around it."""
    written: list[str] = []
    around: Any = None
    here: Any = Scene
    for part in place:
        if part == "[key]":
            continue
        around, (here, visible) = (here if here is not None else around), _step(here, part)
        if visible:
            written.append(str(part))
    return written, here, around


def _model_at(annotation: Any) -> type[SceneModel] | None:
    """Return the model a type stands for, if it stands for one."""
    members = _members(annotation) if annotation is not None else ()
    bare = members[0] if len(members) == 1 else None
    return bare if isinstance(bare, type) and issubclass(bare, SceneModel) else None


def _shown(value: Any) -> str:
    """Show a value of the file in a few characters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unknown_key(name: str, around: Any) -> str:
    model = _model_at(around)
    if model is None:
        return "unknown key"
    known = [field.alias or key for key, field in model.model_fields.items()]
    return f"unknown key{nearest_name(name, known)}; known here: {', '.join(known)}"


def _missing_key(name: str, around: Any) -> str:
    model = _model_at(around)
    known = {} if model is None else {field.alias or key: key for key, field in model.model_fields.items()}
    description = field_description(model, known[name]) if model is not None and name in known else None
    return "missing" + (f" ({description.rstrip('.')})" if description else "")


def _not_allowed(value: Any, expected: str) -> str:
    allowed = re.findall(r"'([^']*)'", expected) or [expected]
    return f"{_shown(value)} is not allowed{nearest_name(str(value), allowed)}; use {_either(allowed)}"


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _kind_key(here: Any, error: ErrorDetails) -> Fault:
    """Say which kinds of a table exist (a body's shape, a law's model)."""
    key = str(error["ctx"]["discriminator"]).strip("'")
    allowed = [str(tag) for member in _members(here) for tag in sorted(_tags(member))]
    if error["type"] == "union_tag_not_found":
        return Fault(key, f"missing; use {_either(allowed)}")
    return Fault(key, _not_allowed(error["ctx"]["tag"], ", ".join(f"'{name}'" for name in allowed)))


def _length(error: ErrorDetails) -> str:
    context = error["ctx"]
    bound = context.get("min_length", context.get("max_length"))
    word = "at least" if "min_length" in context else "at most"
    return f"needs {word} {bound} entr{'y' if bound == 1 else 'ies'}, has {context['actual_length']}"


def _sentence(error: ErrorDetails, last: str, around: Any) -> str:
    """Say what is wrong with one value."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(last, around)
    if kind == "missing":
        return _missing_key(last, around)
    if kind == "literal_error":
        return _not_allowed(value, str(context["expected"]))
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}, not {_shown(value)}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"must be {words} {context[key]:g}, got {_shown(value)}"
    if kind in ("too_short", "too_long"):
        return _length(error)
    if kind == "string_pattern_mismatch":
        return f"'{value}' cannot be a name: {NAME_RULE}"
    if kind == "value_error":  # pydantic puts "Value error, " before the words of a model's own check
        return str(context["error"])
    return error["msg"]


def _fault(error: ErrorDetails) -> Fault:
    """Turn one pydantic error into a fault."""
    if error["type"] == CROSS:
        return Fault(".".join(str(part) for part in error["loc"]), error["msg"])
    written, here, around = _trace(error["loc"])
    if error["type"] in ("union_tag_invalid", "union_tag_not_found"):
        inner = _kind_key(here, error)
        return Fault(".".join([*written, inner.place]), inner.message)
    last = written[-1] if written else "the file"
    return Fault(".".join(written) or "scene", _sentence(error, last, around))


def option_faults(error: ValidationError, table: str, known: Iterable[str]) -> Iterator[Fault]:
    """Yield the faults of a solver's options, worded as those of a scene; `table` is their place in the file."""
    known = sorted(known)
    for details in error.errors(include_url=False):
        key = ".".join(str(part) for part in details["loc"])
        if details["type"] == "extra_forbidden":
            message = f"unknown option{nearest_name(key, known)}; allowed: {', '.join(known) or 'none'}"
        else:
            message = _sentence(details, key, None)
        yield Fault(f"{table}.{key}" if key else table, message)


def field_faults(error: ValidationError) -> Iterator[Fault]:
    """Yield the faults of a scene that pydantic found, in the order of the format."""
    for details in error.errors(include_url=False):
        yield _fault(details)
