"""The readable part of a scene that may have faults, and the checks that need more than one of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from re import match
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rheotwin.errors import Fault, nearest_name
from rheotwin.scene.base import NAME_PATTERN, Dimension, SceneModel
from rheotwin.scene.bodies import BodyBase, BodySpec, FileBody
from rheotwin.scene.boundary import ForceSpec, GrabSpec, LinkSpec, ProbeSpec, SupportSpec, Where
from rheotwin.scene.contact import ContactKeys, ContactSpec
from rheotwin.scene.laws import CaseSpec
from rheotwin.scene.output import OutputSpec
from rheotwin.scene.quantities import PositiveTime, axis_faults
from rheotwin.scene.tools import ToolBase, ToolSpec
from rheotwin.scene.units import Reading, Units, reading

_DIMENSION: TypeAdapter[Dimension] = TypeAdapter(Dimension)
_DURATION: TypeAdapter[float] = TypeAdapter(PositiveTime)
_OUTPUT, _CONTACT = TypeAdapter(OutputSpec), TypeAdapter(ContactSpec)
_UNITS: TypeAdapter[Units] = TypeAdapter(Units)
_ENTRIES: dict[str, TypeAdapter[Any]] = {
    "bodies": TypeAdapter(BodySpec),
    "supports": TypeAdapter(SupportSpec),
    "tools": TypeAdapter(ToolSpec),
    "forces": TypeAdapter(ForceSpec),
    "links": TypeAdapter(LinkSpec),
    "grabs": TypeAdapter(GrabSpec),
    "probes": TypeAdapter(ProbeSpec),
    "cases": TypeAdapter(CaseSpec),
}

REFERRING = {"bodies": "law", "supports": "body", "forces": "body", "grabs": "body", "probes": "body"}
"""Tables that name an entry of another one, and the key they do it by."""


@dataclass(frozen=True)
class Draft:
    """What could be read of a scene: names as written, tables that have no fault of their own.

    `references` holds the law of each body and the body of each support, force, grab and probe, faulty tables included.
    """

    dimension: Dimension | None
    duration: float | None
    references: dict[str, dict[str, str]]
    law_names: tuple[str, ...]
    body_names: tuple[str, ...]
    bodies: dict[str, BodyBase]
    supports: dict[str, SupportSpec]
    tools: dict[str, ToolBase]
    forces: dict[str, ForceSpec]
    links: dict[str, LinkSpec]
    grabs: dict[str, GrabSpec]
    probes: dict[str, ProbeSpec]
    cases: dict[str, CaseSpec]
    output: OutputSpec | None
    contact: ContactSpec | None


def _readable(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return the validated value, or None if it has a fault (reported where the whole scene is read)."""
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return None


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table of the file, empty if it is missing or something else."""
    value = data.get(key)
    return value if isinstance(value, Mapping) else {}


def _references(data: Mapping[str, Any], section: str, key: str) -> dict[str, str]:
    """Return the name each table of a section refers to by `key`, where it is a name at all."""
    table = _table(data, section)
    found = {
        n: entry.get(key) if isinstance(entry, Mapping) else getattr(entry, key, None) for n, entry in table.items()
    }
    return {name: value for name, value in found.items() if isinstance(value, str) and match(NAME_PATTERN, value)}


def reading_of(data: Any) -> Reading:
    """Return what raw data of a scene say of their units (SI where they cannot be read) and duration."""
    if not isinstance(data, Mapping):
        return Reading(Units())
    units = _readable(_UNITS, data.get("units", {})) or Units()
    with reading(Reading(units)):
        return Reading(units, _readable(_DURATION, data.get("duration")))


def draft_of(data: Mapping[str, Any]) -> Draft:
    """Read as much as possible of the raw data of a scene."""
    with reading(reading_of(data)):
        return _draft_of(data)


def _draft_of(data: Mapping[str, Any]) -> Draft:
    entries = {
        section: {
            name: model
            for name, value in _table(data, section).items()
            if (model := _readable(adapter, value)) is not None
        }
        for section, adapter in _ENTRIES.items()
    }
    return Draft(
        dimension=_readable(_DIMENSION, data.get("dimension")),
        duration=_readable(_DURATION, data.get("duration")),
        references={section: _references(data, section, key) for section, key in REFERRING.items()},
        law_names=tuple(_table(data, "laws")),
        body_names=tuple(_table(data, "bodies")),
        output=_readable(_OUTPUT, data.get("output", {})),
        contact=None if data.get("contact") is None else _readable(_CONTACT, data["contact"]),
        **entries,
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
        for key, law_name in case.laws.items():
            place, (body_name, _, part_name) = f"cases.{name}.laws.{key}", key.partition(".")
            yield from _missing(place, "body", body_name, draft.body_names)
            if part_name and body_name in draft.bodies:
                yield from _missing(place, "part", part_name, tuple(draft.bodies[body_name].parts))
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
                f"{place}.region", f"only bodies from mesh files have named regions, '{body_name}' is made by a shape"
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
        "grabs": dict(draft.grabs),
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
