"""Walks over the tables of a scene: conversion to SI, and checks that need more than one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any, TypeVar, get_args

from rheotwin.errors import Fault, nearest_name
from rheotwin.scene.base import Dimension, SceneModel
from rheotwin.scene.bodies import FileBody
from rheotwin.scene.boundary import Where
from rheotwin.scene.contact import ContactKeys
from rheotwin.scene.draft import REFERRING, Draft
from rheotwin.scene.quantities import PerAxis, Quantity, Units

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


def _missing(place: str, kind: str, name: str, known: tuple[str, ...]) -> Iterator[Fault]:
    """Yield a fault if a name does not exist."""
    if name not in known:
        exist = ", ".join(known) or "none"
        yield Fault(place, f"no {kind} is named '{name}'{nearest_name(name, known)}; {kind} names here: {exist}")


def _placed(place: str, faults: Iterable[tuple[str, str]]) -> Iterator[Fault]:
    """Put the faults of one table at their place in the file."""
    for key, message in faults:
        yield Fault(f"{place}.{key}", message)


def reference_faults(draft: Draft) -> Iterator[Fault]:
    """Yield every name that refers to nothing."""
    known = {"law": draft.law_names, "body": draft.body_names}
    for section, kind in REFERRING.items():
        for name, referred in draft.references[section].items():
            yield from _missing(f"{section}.{name}.{kind}", kind, referred, known[kind])
    for name, body in draft.bodies.items():
        for part_name, part in body.parts.items():
            yield from _missing(f"bodies.{name}.parts.{part_name}.law", "law", part.law, draft.law_names)
    for name, tool in draft.tools.items():
        for body_name in tool.bodies or ():
            yield from _missing(f"tools.{name}.bodies", "body", body_name, draft.body_names)
    for body_name in () if draft.contact is None else draft.contact.named_selves:
        yield from _missing("contact.self", "body", body_name, draft.body_names)
    for name, link in draft.links.items():
        for k, end in enumerate(link.between):
            yield from _missing(f"links.{name}.between.{k}.body", "body", end.body, draft.body_names)
    for name, case in draft.cases.items():
        for body_name, law_name in case.laws.items():
            place = f"cases.{name}.laws.{body_name}"
            yield from _missing(place, "body", body_name, draft.body_names)
            yield from _missing(place, "law", law_name, draft.law_names)


def _selections(draft: Draft) -> Iterator[tuple[str, str, Where]]:
    for section, entries in (("supports", draft.supports), ("forces", draft.forces)):
        for name, entry in entries.items():
            yield f"{section}.{name}.where", entry.body, entry.where
    for name, body in draft.bodies.items():
        for part_name, part in body.parts.items():
            yield f"bodies.{name}.parts.{part_name}.where", name, part.where


def region_faults(draft: Draft) -> Iterator[Fault]:
    """Yield regions asked of bodies that cannot have any (those of a file show when it is read)."""
    for place, body_name, where in _selections(draft):
        body = draft.bodies.get(body_name)
        if where.region is not None and body is not None and not isinstance(body, FileBody):
            yield Fault(
                f"{place}.region",
                f"only bodies from mesh files have named regions, '{body_name}' is made by a shape",
            )


def _axis_faults(place: str, entry: SceneModel, dimension: Dimension) -> Iterator[Fault]:
    found = ((".".join(str(key) for key in inner), message) for inner, message in axis_faults(entry, dimension))
    yield from _placed(place, found)


def dimension_faults(draft: Draft, dimension: Dimension) -> Iterator[Fault]:
    """Yield everything that does not fit the dimension of the scene."""
    tables: dict[str, dict[str, SceneModel]] = {
        "bodies": dict(draft.bodies),
        "supports": dict(draft.supports),
        "tools": dict(draft.tools),
        "forces": dict(draft.forces),
        "probes": dict(draft.probes),
    }
    for section, entries in tables.items():
        for name, entry in entries.items():
            yield from _axis_faults(f"{section}.{name}", entry, dimension)
    for name, body in draft.bodies.items():
        yield from _placed(f"bodies.{name}", body.shape_faults(dimension))
        for part_name, part in body.parts.items():
            yield from _axis_faults(f"bodies.{name}.parts.{part_name}", part, dimension)
    for section in ("supports", "tools", "forces", "links"):
        for name, entry in getattr(draft, section).items():
            yield from _placed(f"{section}.{name}", entry.dimension_faults(dimension))


def contact_faults(draft: Draft) -> Iterator[Fault]:
    """Yield what is missing or has no meaning in the contact of the scene, and of each tool on top of it."""
    scene = draft.contact
    if scene is not None:
        yield from _placed("contact", scene.law_faults(set(scene.given())))
        if draft.dimension is not None:
            yield from _placed("contact", scene.dimension_faults(draft.dimension))
    for name, tool in draft.tools.items():
        if tool.contact is not None:
            law = (scene or ContactKeys()).with_keys_of(tool.contact)
            yield from _placed(f"tools.{name}.contact", law.law_faults(set(tool.contact.given())))
            if draft.dimension is not None:
                yield from _placed(f"tools.{name}.contact", tool.contact.axis_faults(draft.dimension))


def cross_faults(draft: Draft) -> Iterator[Fault]:
    """Yield every fault that shows only when tables are seen together."""
    dimension = () if draft.dimension is None else dimension_faults(draft, draft.dimension)
    output: Iterable[Fault] = ()
    if draft.output is not None and draft.duration is not None:
        output = _placed("output", draft.output.duration_faults(draft.duration))
    return chain(reference_faults(draft), region_faults(draft), dimension, contact_faults(draft), output)
