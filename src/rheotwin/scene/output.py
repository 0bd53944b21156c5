"""What a run writes, and when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from rheotwin.errors import nearest_name
from rheotwin.fields import DEFAULT_FIELDS, FIELDS
from rheotwin.scene.base import Flag, SceneModel
from rheotwin.scene.quantities import PositiveLength, PositiveTime, Times

DEFAULT_FRAMES = 50
"""Frames of a run whose scene does not say how many it wants."""
MOST_STOPS = 1_000_000
"""Planned times of one kind that a run may have: more would fill the memory before it starts."""


def _known_field(name: str) -> str:
    """Return the name of a known field."""
    if name not in FIELDS:
        known = ", ".join(FIELDS)
        raise PydanticCustomError(
            "field",
            "unknown field '{name}'{nearest}; known fields: {known}",
            {"name": name, "nearest": nearest_name(name, FIELDS), "known": known},
        )
    return name


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of fields if there is one and none is there twice."""
    if not names:
        raise PydanticCustomError("no_field", "needs at least 1 entry, has 0; leave it out for the usual ones")
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice is not None:
        raise PydanticCustomError("twice", "'{name}' is named twice; name it once", {"name": twice})
    return names


FieldName = Annotated[str, AfterValidator(_known_field), Field(json_schema_extra={"enum": list(FIELDS)})]


class AdaptiveOutput(SceneModel):
    """A frame whenever some node moved far enough since the last one."""

    shortest: PositiveTime
    """Shortest time between two frames."""
    longest: PositiveTime
    """Longest time between two frames."""
    change: PositiveLength
    """Movement of any node since the last frame that asks for the next."""

    @model_validator(mode="after")
    def _ordered(self) -> AdaptiveOutput:
        if self.shortest > self.longest:
            raise PydanticCustomError("adaptive", "`shortest` must not exceed `longest`")
        return self


class OutputSpec(SceneModel):
    """Frames, probe rows and checkpoints of a run."""

    interval: PositiveTime | None = None
    """Time between frames; default (without `times` and `adaptive`): a fiftieth of the duration."""
    times: Times | None = None
    """Times of the frames, one by one."""
    adaptive: AdaptiveOutput | None = None
    """Frames whenever the bodies moved far enough."""
    probe_interval: PositiveTime | None = None
    """Time between rows of the probe table; default: as the frames."""
    checkpoint_interval: PositiveTime | None = None
    """Time between checkpoints a run can be resumed from; default: none are written on the way."""
    fields: Annotated[tuple[FieldName, ...], AfterValidator(_each_once)] = DEFAULT_FIELDS
    """Fields in every frame; default: all that belong to nodes."""
    surface: Flag = False
    """Whether the surface of bodies that may split is drawn around their particles in every frame; default: no."""

    @model_validator(mode="after")
    def _one_rhythm(self) -> OutputSpec:
        given = [name for name in ("interval", "times", "adaptive") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PydanticCustomError(
                "output", f"needs only one of interval, times, adaptive (given: {', '.join(given)})"
            )
        return self

    def duration_faults(self, duration: float) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for every rhythm that does not fit into the run."""
        rhythms = {
            "interval": self.interval,
            "probe_interval": self.probe_interval,
            "checkpoint_interval": self.checkpoint_interval,
            "adaptive.shortest": None if self.adaptive is None else self.adaptive.shortest,
        }
        for key, interval in rhythms.items():
            if interval is None:
                continue
            if interval > duration and key != "checkpoint_interval":
                yield (key, f"{interval} is longer than the whole run (duration = {duration}); choose a shorter one")
            if duration / interval > MOST_STOPS:
                yield (
                    key,
                    f"{interval} plans {duration / interval:.3g} times in this run (duration = {duration}), more than "
                    f"{MOST_STOPS}; choose at least {duration / MOST_STOPS:.6g}",
                )
        if self.times is not None and self.times[-1] > duration:
            yield ("times", f"the last one, {self.times[-1]}, is after the end of the run (duration = {duration})")

    def completed(self, duration: float) -> OutputSpec:
        """Return the output with a rhythm for frames filled in; `duration` in [s]."""
        if self.interval is not None or self.times is not None or self.adaptive is not None:
            return self
        return self.model_copy(update={"interval": duration / DEFAULT_FRAMES})
