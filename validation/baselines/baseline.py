"""What a baseline is: a scene, a solver, values with tolerances, and every blessing it has had."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

SCHEMA_VERSION = 1
"""Version of the layout of baseline files."""


@dataclass(frozen=True)
class Value:
    """One blessed number. Spreads are the largest differences seen, in its unit; None where there is no such option."""

    name: str
    value: float
    tolerance: float = 0.0
    unit: str = ""
    bound: Literal["absolute", "at most"] = "absolute"
    """"at most" for numbers that are zero but for rounding."""
    spread_repeats: float = 0.0
    spread_half_step: float | None = None
    spread_threads: float | None = None


@dataclass(frozen=True)
class Blessing:
    """When, why and with which version values were written, and what they were."""

    date: str
    reason: str
    rheotwin_version: str
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Baseline:
    """A run that is to give the same numbers again; without values it waits for its first blessing."""

    id: str
    title: str
    path: Path
    scene: str
    """File of the scene, relative to the baseline's folder."""
    solver: str
    case: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    quick: bool = True
    values: tuple[Value, ...] = ()
    history: tuple[Blessing, ...] = ()

    @property
    def scene_path(self) -> Path:
        """Where the scene file is."""
        return self.path.parent / self.scene
