"""The usable part of a scene file that may have faults: each table is read on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from re import match
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rheotwin.scene.base import NAME_PATTERN, Dimension
from rheotwin.scene.bodies import BodySpec
from rheotwin.scene.body import BodyBase
from rheotwin.scene.boundary import ForceSpec, LinkSpec, ProbeSpec, SupportSpec
from rheotwin.scene.cases import CaseSpec
from rheotwin.scene.contact import ContactSpec
from rheotwin.scene.output import OutputSpec
from rheotwin.scene.quantities import PositiveTime
from rheotwin.scene.tools import ToolBase, ToolSpec

_DIMENSION: TypeAdapter[Dimension] = TypeAdapter(Dimension)
_DURATION: TypeAdapter[float] = TypeAdapter(PositiveTime)
_OUTPUT: TypeAdapter[OutputSpec] = TypeAdapter(OutputSpec)
_CONTACT: TypeAdapter[ContactSpec] = TypeAdapter(ContactSpec)
_ENTRIES: dict[str, TypeAdapter[Any]] = {
    "bodies": TypeAdapter(BodySpec),
    "supports": TypeAdapter(SupportSpec),
    "tools": TypeAdapter(ToolSpec),
    "forces": TypeAdapter(ForceSpec),
    "links": TypeAdapter(LinkSpec),
    "probes": TypeAdapter(ProbeSpec),
    "cases": TypeAdapter(CaseSpec),
}

REFERRING = {"bodies": "law", "supports": "body", "forces": "body", "probes": "body"}
"""Tables that name an entry of another one, and the key they do it by."""


@dataclass(frozen=True)
class Draft:
    """What could be read of a scene: names as written, tables that have no fault of their own.

    `references` holds the law of each body and the body of each support, force and probe, faulty tables included.
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
    found = {name: entry.get(key) for name, entry in _table(data, section).items() if isinstance(entry, Mapping)}
    return {name: value for name, value in found.items() if isinstance(value, str) and match(NAME_PATTERN, value)}


def draft_of(data: Mapping[str, Any]) -> Draft:
    """Read as much as possible of the raw data of a scene."""
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
