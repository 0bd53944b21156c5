"""One record in one scene: when to look, what to compare, and what a set of parameters is worth by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.population import Courses
from rheotwin.problem import Problem
from rheotwin.running import grid_topology, scene_as_run
from rheotwin.scene import Scene, scene_from_data
from rheotwin.scene.load import put_at
from rheotwin.tensors import padded
from rheotwin.validation.calibration.registration import Registration
from rheotwin.validation.calibration.surface import Bodies, Cloud
from rheotwin.validation.experiments.record import Course, ExperimentRecord
from rheotwin.validation.experiments.synthetic import SIGMA_OF_MEAN
from rheotwin.validation.metrics import transfer
from rheotwin.validation.metrics.meshes import NOISE

FORCE_NOISE, VOLUME_NOISE = 0.1, 0.005
"""Relative uncertainties where a record names none (calibration spec, 10)."""


def pusher_of(scene: Scene) -> tuple[str, str] | None:
    """Return the table and the name of what moves the body: the one tool (that moves), else the one moving support.

    None where forces or weight do.
    """
    tools = [name for name, item in scene.tools.items() if item.motion or item.drive] or list(scene.tools)
    moving = [name for name, item in scene.supports.items() if item.motion is not None]
    table, names = ("tools", tools) if tools else ("supports", moving)
    if len(names) == 1:
        return table, names[0]
    if names:
        raise RheotwinError(f"scene: {' and '.join(names)} push the body; a calibration needs one of them")
    if not scene.forces and not any(scene.gravity if isinstance(scene.gravity, tuple) else (1.0,)):
        raise RheotwinError("scene: nothing pushes the body; give a tool or a support a motion, or add a force")
    return None


def set_up(record: ExperimentRecord, scene: Scene) -> Scene:
    """Return the scene with what the record's `setup` says of this experiment."""
    if not record.setup:
        return scene
    data = scene_as_run(scene)
    for place, value in record.setup.items():
        try:
            put_at(data, place, value)
        except RheotwinError as error:
            raise RheotwinError(str(error).replace("--set", f"record '{record.id}': setup")) from None
    return scene_from_data(data, base=scene.resolve("."), source=scene.source)


def scene_of(record: ExperimentRecord, scene: Scene, registration: Registration) -> Scene:
    """Return the scene of an experiment: pushed as its path says, shown at the times of its frames, as long as it.

    A scene that is pushed by one force alone follows the force of a record without a path.
    """
    data, pusher, path = scene_as_run(scene), pusher_of(scene), record.path
    if pusher is None:
        if path is not None:
            raise RheotwinError(f"record '{record.id}': it has the path of a punch, and no tool or support moves here")
        _drive_by_force(data, record, registration)
    elif path is not None:
        _drive_by_path(data[pusher[0]][pusher[1]], path, record, registration, scene.dimension)
    elif data[pusher[0]][pusher[1]].get("motion") is None:
        raise RheotwinError(
            f"record '{record.id}': it has no path of its punch (punch.csv), and {'.'.join(pusher)} has no motion; "
            "give one"
        )
    frames = [frame.time for frame in record.frames if frame.time > 0.0]
    data["duration"] = max(scene.duration, *frames, 0.0)
    data["output"] = {"times": sorted({*frames, data["duration"]})}
    return scene_from_data(data, base=scene.resolve("."), source=scene.source)


def _drive_by_path(
    entry: dict[str, Any], path: Course, record: ExperimentRecord, registration: Registration, dimension: int
) -> None:
    way, until = registration.way(path.values)[:, :dimension], entry.get("until")
    if record.punch is not None and record.punch.release is not None and "until" in entry:
        entry["until"] = until = record.punch.release
    kept = path.times <= (np.inf if until is None else until)
    entry["motion"] = {"times": path.times[kept].tolist(), "displacement": (way - way[0])[kept].tolist()}


def _drive_by_force(data: dict[str, Any], record: ExperimentRecord, registration: Registration) -> None:
    forces = list(data["forces"].values())
    if record.force is None or len(forces) != 1 or forces[0].get("total") is None:
        return
    total = np.asarray(forces[0]["total"])
    along = registration.turned(record.force.values)[:, : len(total)] @ total / (total @ total)
    forces[0] |= {"times": record.force.times.tolist(), "factor": along.tolist()}


@dataclass(frozen=True)
class _Field:
    """Points known by their rest places: `matrix` takes nodes (N, ..) to them, `points` (P, 3) [m] were seen."""

    matrix: Any
    points: Array


@dataclass(frozen=True)
class Score:
    """What a set is worth by one record: S [m] and far points by frame, volumes [m3] and forces [N] there, and misfits.

    `residuals` are over their noise, by term; `reason` says why there is nothing else.
    """

    per_time: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    volume: tuple[float, ...] = ()
    force: tuple[float, ...] = ()
    residuals: Mapping[str, Array] | None = None
    reason: str | None = None


class Measured:
    """A record in the problem of its own scene."""

    def __init__(self, record: ExperimentRecord, problem: Problem, registration: Registration) -> None:
        self.record, self.problem, self.registration = record, problem, registration
        self._bodies = Bodies(problem)
        self._pusher = _force_name(problem)
        self._check_times()
        self._frames = np.array([frame.time for frame in record.frames])
        self.times = np.unique(
            np.concatenate([self._frames, _times(record.force, problem), _times(record.volume, problem)])
        )
        self._clouds: list[Cloud | None] | None = None
        self._fields = [
            None
            if frame.rest is None
            else self._field(registration.place(frame.rest), registration.place(frame.points))
            for frame in record.frames
        ]

    def _check_times(self) -> None:
        late = [frame.time for frame in self.record.frames if frame.time > self.problem.scene.duration * (1 + 1e-9)]
        if late:
            raise RheotwinError(
                f"record '{self.record.id}': a frame is of {late[0]:g} s and the scene lasts "
                f"{self.problem.scene.duration:g} s; let it last longer"
            )

    @property
    def points(self) -> int:
        """Number of points in S."""
        return sum(len(frame.points) for frame in self.record.frames if frame.rest is None)

    def _field(self, rest: Array, points: Array) -> _Field:
        topology = grid_topology(self.problem)
        found = transfer(padded(self.problem.points), topology.vtk_cells(), topology.cell_kind, rest)
        return _Field(found.matrix, points)

    @property
    def has_reference(self) -> bool:
        """Whether clouds know a shape that they are near to."""
        return self._clouds is not None

    def refer_to(self, places: Array | None) -> None:
        """Take the shapes (T, 3, N) [m] of a run, or that at rest, as those that clouds are near to."""
        rest = padded(self.problem.points)
        shapes = [rest if places is None else places[k].T for k in self._at(self._frames)]
        self._clouds = [
            None if frame.rest is not None else self._bodies.cloud(self.registration.place(frame.points), shape)
            for frame, shape in zip(self.record.frames, shapes, strict=True)
        ]

    def _at(self, times: Array) -> Indices:
        return np.searchsorted(self.times, times)

    def scores(self, courses: Courses, sets: int) -> list[Score]:
        """Return what the first sets of some courses are worth."""
        assert self._clouds is not None
        scale, at = self.registration.scale, self._at(self._frames)
        force = self._force(courses)
        volumes, least = (np.array(values) for values in zip(*map(self._bodies.sizes, courses.places), strict=True))
        residuals: dict[str, list[Array]] = {"shapes": [], "fields": []}
        per_time, counts = np.zeros((2, len(at), courses.places.shape[-1]))
        sigma = sigma_of(self.record)
        for number, (cloud, field, k) in enumerate(zip(self._clouds, self._fields, at, strict=True)):
            if cloud is not None:
                found = self._bodies.distances(cloud, courses.places[k], scale)
                per_time[number], counts[number] = found.total, found.far
                residuals["shapes"].append(found.signed / sigma)
            elif field is not None:
                moved = np.stack([field.matrix @ component for component in courses.places[k]], axis=1)
                away = scale * (moved - field.points[:, :, None])
                residuals["fields"].append(away.reshape(-1, away.shape[-1]) / sigma)
        parts = {term: np.concatenate(values) for term, values in residuals.items() if values}
        parts |= self._courses_off(force, volumes)
        scores: list[Score] = []
        for lane in range(sets):
            reason = courses.reasons[lane] or _inverted(self.times, least[:, lane])
            if reason is not None:
                scores.append(Score(reason=reason))
                continue
            scores.append(
                Score(
                    tuple(per_time[:, lane].tolist()),
                    tuple(counts[:, lane].astype(int).tolist()),
                    tuple((scale**3 * volumes[at, lane]).tolist()),
                    () if force is None else tuple(np.linalg.norm(force[at, :, lane], axis=1).tolist()),
                    {term: values[:, lane] for term, values in parts.items()},
                )
            )
        return scores

    def _force(self, courses: Courses) -> Array | None:
        """Return the force (T, 3, S) [N] of what pushes on the body."""
        return None if self._pusher is None else -courses.forces[self._pusher]

    def _courses_off(self, force: Array | None, volumes: Array) -> dict[str, Array]:
        """Return how far forces and volumes (T, S) are from the measured ones, over their noise."""
        found, known, sure = {}, self.record.force, self.record.uncertainty
        if known is not None and force is not None:
            kept = known.times <= self.problem.scene.duration
            wanted = self.registration.turned(known.values[kept])
            noise = (sure.force_rel or FORCE_NOISE) * np.linalg.norm(wanted, axis=1).max(initial=1e-300)
            sigma = np.full(len(wanted), noise) if known.sigma is None else np.maximum(known.sigma[kept], 1e-3 * noise)
            off = (force[self._at(known.times[kept])] - wanted[:, :, None]) / sigma[:, None, None]
            found["forces"] = off[:, : self.problem.dimension].reshape(-1, off.shape[-1])
        volume = self.record.volume
        if volume is not None:
            kept = volume.times <= self.problem.scene.duration
            wanted = volume.values[kept]
            noise = (sure.volume_rel or VOLUME_NOISE) * wanted
            sigma = noise if volume.sigma is None else np.maximum(volume.sigma[kept], 1e-3 * noise)
            real = self.registration.scale**3 * volumes[self._at(volume.times[kept])]
            found["volumes"] = (real - wanted[:, None]) / sigma[:, None]
        return found


def sigma_of(record: ExperimentRecord) -> float:
    """Return the standard deviation [m] of what a record says of points."""
    return SIGMA_OF_MEAN * (record.uncertainty.mean_abs or NOISE)


def _times(course: Course | Any, problem: Problem) -> Array:
    return np.zeros(0) if course is None else course.times[course.times <= problem.scene.duration]


def _force_name(problem: Problem) -> str | None:
    """Return the name of the force of what pushes; None where forces of the scene do."""
    pusher = pusher_of(problem.scene)
    return None if pusher is None else f"{pusher[0].removesuffix('s')}.{pusher[1]}"


def _inverted(times: Array, least: Array) -> str | None:
    """Say when a cell is inverted, from the least determinant (T,) at a corner."""
    bad = np.flatnonzero(~(least > 0.0))
    return f"a cell is inverted at {times[bad[0]]:g} s" if len(bad) else None
