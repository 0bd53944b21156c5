"""Checks across the tables of a scene: names that must exist, what must fit the dimension and duration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from rheotwin.errors import Fault, nearest_name
from rheotwin.scene.base import Dimension, SceneModel
from rheotwin.scene.bodies import FileBody
from rheotwin.scene.contact import ContactKeys
from rheotwin.scene.draft import REFERRING, Draft
from rheotwin.scene.walk import axis_faults
from rheotwin.scene.where import Where


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
