"""An experiment as arrays in SI units and real scale: the specimen, what was done to it, what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rheotwin.arrays import Array
from rheotwin.validation.experiments.metadata import Punch, Specimen, Uncertainty


@dataclass(frozen=True)
class Course:
    """A vector over time: `times` (F,) [s], `values` (F, 3) [N or m], `turns` (F, 3) [N m or rad] about x, y, z.

    `sigma` (F,) is the standard deviation of a component, in the unit of the values.
    """

    times: Array
    values: Array
    turns: Array | None = None
    sigma: Array | None = None


@dataclass(frozen=True)
class VolumeCourse:
    """The volume of the body over time: `times` (F,) [s], `values` (F,) [m3], `sigma` (F,) [m3]."""

    times: Array
    values: Array
    sigma: Array | None = None


@dataclass(frozen=True)
class Frame:
    """Points seen at `time` [s]: `points` (M, 3) [m].

    `rest` (M, 3) [m] says where each point was at rest, where it is known (beads, markers): then the frame holds a
    field of displacements. `normals` (M, 3), `sigma` (M,) [m] and `camera` (M,) are given where they were measured.
    """

    time: float
    points: Array
    rest: Array | None = None
    normals: Array | None = None
    sigma: Array | None = None
    camera: Array | None = None
    phase: str = ""
    faces: tuple[str, ...] = ()
    mirrored: tuple[str, ...] = ()

    @property
    def displacement(self) -> Array | None:
        """Displacements (M, 3) [m], None where rest positions are unknown."""
        return None if self.rest is None else self.points - self.rest


@dataclass(frozen=True)
class ExperimentRecord:
    """One experiment: body, path of the punch, force on it, volume, clouds or fields over time, uncertainty.

    `path` is how far the punch has moved from where it began, `force` what it exerted on the body, `seal` the hash of a
    synthetic truth. `setup` says what of a scene is of this experiment, by its dotted place: its body's mesh, its tool.
    """

    id: str
    kind: str
    specimen: Specimen
    frames: tuple[Frame, ...] = ()
    punch: Punch | None = None
    path: Course | None = None
    force: Course | None = None
    volume: VolumeCourse | None = None
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    title: str = ""
    source: str = ""
    notes: str = ""
    seal: str | None = None
    setup: Mapping[str, Any] = field(default_factory=dict)

    @property
    def points(self) -> int:
        """Number of points over all frames."""
        return sum(len(frame.points) for frame in self.frames)

    @property
    def limits(self) -> tuple[str, ...]:
        """What cannot be learned from this record, in sentences."""
        said = []
        if self.path is None:
            said.append("no path of the punch: the experiment cannot be repeated, only its shapes be compared.")
        if self.force is None:
            said.append(
                "no force: a common factor of all stiffnesses and viscosities cannot be identified, only ratios."
            )
        if self.volume is None and not any(frame.rest is not None for frame in self.frames):
            said.append("no volume: the bulk modulus is known from the outer shape only.")
        if not self.frames:
            said.append("no points: only forces can be compared, not shapes.")
        elif len({frame.time for frame in self.frames}) == 1:
            said.append("points at one time only: relaxation times cannot be identified from shapes.")
        if self.frames and self.uncertainty.mean_abs is None and all(frame.sigma is None for frame in self.frames):
            said.append("no uncertainty of the points: an error cannot be told from noise.")
        return tuple(said)
