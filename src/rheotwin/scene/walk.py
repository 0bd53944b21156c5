"""Walks over validated scene models: conversion to SI, and lists that need one entry per dimension."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar, get_args

from rheotwin.scene.base import SceneModel
from rheotwin.scene.units import PerAxis, Quantity, Units

Place = tuple[str | int, ...]
AnyModel = TypeVar("AnyModel", bound=SceneModel)


def _marks(annotation: Any, kind: type) -> Iterator[tuple[int, Any]]:
    """Yield (depth, mark) for the annotations of one kind in a type; depth counts tuple levels."""
    marks = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, kind)]
    yield from ((0, mark) for mark in marks)
    deeper = 1 if getattr(annotation, "__origin__", None) is tuple else 0
    for inner in get_args(annotation):
        yield from ((depth + deeper, mark) for depth, mark in _marks(inner, kind))


@cache
def _field_marks(model: type[SceneModel], kind: type) -> dict[str, tuple[int, Any]]:
    """Return the first mark of one kind for each field that has one."""
    found = {}
    for name, field in model.model_fields.items():
        own = [(0, mark) for mark in field.metadata if isinstance(mark, kind)]
        marks = own or list(_marks(field.annotation, kind))
        if marks:
            found[name] = marks[0]
    return found


def _scaled(value: Any, factor: float) -> Any:
    """Multiply a number, or every number of nested lists, by a factor."""
    if isinstance(value, tuple):
        return tuple(_scaled(entry, factor) for entry in value)
    return value if value is None else value * factor


def _converted(value: Any, factor: float | None, units: Units) -> Any:
    """Convert a field: models and tables of models by their own fields, numbers by the field's factor."""
    if isinstance(value, SceneModel):
        return to_si(value, units)
    if isinstance(value, dict):
        return {key: _converted(entry, factor, units) for key, entry in value.items()}
    if isinstance(value, tuple) and value and isinstance(value[0], SceneModel):
        return tuple(to_si(entry, units) for entry in value)
    return value if factor is None else _scaled(value, factor)


def to_si(model: AnyModel, units: Units) -> AnyModel:
    """Return the model with every number given in `units` turned into SI (defaults are SI already)."""
    quantities = _field_marks(type(model), Quantity)
    update = {}
    for name in model.model_fields_set:
        factor = quantities[name][1].factor(units) if name in quantities else None
        update[name] = _converted(getattr(model, name), factor, units)
    return model.model_copy(update=update)


def _lists_at(value: Any, depth: int, place: Place) -> Iterator[tuple[Place, tuple[Any, ...]]]:
    """Yield the lists found `depth` levels inside nested lists, with their places."""
    if not isinstance(value, tuple):
        return
    if depth == 0:
        yield place, value
        return
    for index, entry in enumerate(value):
        yield from _lists_at(entry, depth - 1, (*place, index))


def axis_faults(model: SceneModel, dimension: int) -> Iterator[tuple[Place, str]]:
    """Yield (place inside the model, sentence) for every list without exactly one entry per dimension."""
    per_axis = _field_marks(type(model), PerAxis)
    for name in model.model_fields_set:
        value = getattr(model, name)
        if isinstance(value, SceneModel):
            yield from (((name, *place), message) for place, message in axis_faults(value, dimension))
        elif name in per_axis:
            for place, entries in _lists_at(value, per_axis[name][0], (name,)):
                if entries and len(entries) != dimension:
                    yield (
                        place,
                        f"needs {dimension} component(s) in a {dimension}D scene, has {len(entries)}",
                    )
