"""Choose what to show of each case and have it drawn: same moments, camera and colours for all solvers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rheotwin.arrays import Array
from rheotwin.refinements import LIMIT
from rheotwin.validation import metrics
from rheotwin.validation.assess import group_by_case
from rheotwin.validation.comparison import CaseComparison, Comparison
from rheotwin.validation.metrics.meshes import Values, at_nodes_of
from rheotwin.validation.report.drawing import PictureJob, render
from rheotwin.validation.run_view import RunView, names_with, vector
from rheotwin.validation.study import finest_labels

DISPLACEMENT_COLOURS = "GnBu"
ERROR_COLOURS = "OrRd"
WIDTH = 480
"""Width of a picture [pixels]."""
TOOL_ROOM = 0.15
"""How far beyond the bodies tools widen the picture, at most, per body extent [1]."""

LEAST = 0.01
"""Part of the largest displacement below which a picture would be blank [1]."""

Bounds = tuple[float, float, float, float, float, float]


@dataclass(frozen=True)
class ColourScale:
    """What colours mean: a quantity, a colour map and its range [m]."""

    quantity: str
    colours: str
    value_range: tuple[float, float]


@dataclass(frozen=True)
class Camera:
    """What every picture of a case frames: bounds [m] and size [pixels]."""

    bounds: Bounds
    size: tuple[int, int]


@dataclass(frozen=True)
class Moment:
    """An instant worth a picture: its name and time [s]."""

    name: str
    time: float


@dataclass(frozen=True)
class Picture:
    """A picture to be drawn, or drawn as PNG bytes: whose run, when, what its colours mean."""

    label: str
    shown: str
    moment: Moment
    quantity: str
    job: PictureJob
    png: bytes = b""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height [pixels]."""
        return self.job.size

    @property
    def largest(self) -> float:
        """Largest value shown [m]."""
        return float(self.job.values.max())

    @property
    def alt(self) -> str:
        """A text that replaces it."""
        return (
            f"{self.shown}, {self.moment.name} (t = {self.moment.time:.3g} s): deformed body coloured "
            f"by {self.quantity}, at most {self.largest:.3g} m"
        )


@dataclass(frozen=True)
class PictureRow:
    """Pictures of one moment side by side, with one colour scale."""

    title: str
    scale: ColourScale
    pictures: tuple[Picture, ...]


def draw_pictures(comparison: Comparison, views: Sequence[RunView]) -> dict[str, tuple[PictureRow, ...]]:
    """Return case -> rows of pictures, all drawn in one go."""
    runs = group_by_case(views)
    planned = {case.case: plan_case(case, runs[case.case]) for case in comparison.cases}
    drawn = render([picture.job for rows in planned.values() for row in rows for picture in row.pictures])

    def finished(row: PictureRow) -> PictureRow:
        return replace(row, pictures=tuple(replace(item, png=drawn[item.job.key]) for item in row.pictures))

    return {case: tuple(map(finished, rows)) for case, rows in planned.items()}


def plan_case(case: CaseComparison, runs: Sequence[RunView]) -> tuple[PictureRow, ...]:
    """Return the rows of a case: displacement at each moment, then the distance where bodies are the same.

    Of every solver its finest mesh is shown, and the reference if it is a run. A row in which nothing reaches `LEAST`
    of the largest displacement is left out.
    """
    reference = next(run for run in runs if run.label == case.reference)
    shown = set(finest_labels(case.runs)) | ({case.reference} if not case.reference.endswith(f"@{LIMIT}") else set())
    runs = [run for run in runs if run.label in shown]
    instants = moments(reference)
    bounds = picture_bounds(runs, instants)
    camera = Camera(bounds, picture_size(bounds, flat=reference.dimension < 3))
    moved = {
        moment: [_lengths(run.displacement[run.nearest_frame(moment.time)]) for run in runs] for moment in instants
    }
    paired = [run for run in runs if any(run.label == of.label and of.displacement is not None for of in case.runs)]
    at_run = {run.label: at_nodes_of(run, reference) for run in paired}
    away = {
        moment: [_lengths(_displacement_gap(run, reference, at_run[run.label], moment.time)) for run in paired]
        for moment in instants
    }
    least = LEAST * max(map(_largest, moved.values()))
    rows = [
        _row(case.case, moment, ColourScale(quantity, colours, (0.0, _largest(found))), drawn, found, camera)
        for quantity, colours, drawn, by_moment in (
            ("displacement", DISPLACEMENT_COLOURS, runs, moved),
            (f"distance from {reference.shown}", ERROR_COLOURS, paired, away),
        )
        for moment, found in by_moment.items()
    ]
    return tuple(row for row in rows if row.scale.value_range[1] > least)


def _row(
    case: str, moment: Moment, scale: ColourScale, runs: Sequence[RunView], values: Sequence[Array], camera: Camera
) -> PictureRow:
    title = f"{moment.name.capitalize()}, t = {moment.time:.4g} s: {scale.quantity}"
    both = zip(runs, values, strict=True)
    return PictureRow(title, scale, tuple(_picture(case, run, moment, own, scale, camera) for run, own in both))


def _picture(case: str, run: RunView, moment: Moment, values: Array, scale: ColourScale, camera: Camera) -> Picture:
    frame = run.nearest_frame(moment.time)
    job = PictureJob(
        key=f"{case}/{run.label}/{moment.name}/{scale.quantity}",
        points=run.rest + run.displacement[frame],
        cells=run.cells,
        cell_kind=run.cell_kind,
        values=values,
        value_range=scale.value_range,
        colours=scale.colours,
        bounds=camera.bounds,
        size=camera.size,
        tools=run.tools_at(frame),
    )
    return Picture(run.label, run.shown, moment, scale.quantity, job)


def _displacement_gap(run: RunView, reference: RunView, at_run: Values, time: float) -> Array:
    instant = np.array([min(time, run.times[-1], reference.times[-1])])
    mine = metrics.at_times(run.times, run.displacement, instant)
    return np.asarray(mine[0] - at_run(metrics.at_times(reference.times, reference.displacement, instant))[0])


def _largest(values: Iterable[Array]) -> float:
    return max((float(array.max()) for array in values), default=0.0)


def moments(reference: RunView) -> tuple[Moment, ...]:
    """Return start, deepest press (largest tool displacement, else largest motion), end, without repeats."""
    start, end = float(reference.times[0]), float(reference.times[-1])
    named = {start: Moment("start", start)}
    deepest = _deepest_time(reference)
    named.setdefault(deepest, Moment("deepest press" if _has_tools(reference) else "largest motion", deepest))
    named.setdefault(end, Moment("end", end))
    return tuple(sorted(named.values(), key=lambda moment: moment.time))


def _has_tools(run: RunView) -> bool:
    return bool(names_with(run.probes, "tool", "displacement"))


def _deepest_time(run: RunView) -> float:
    tools = names_with(run.probes, "tool", "displacement")
    if not tools:
        return float(run.times[np.argmax(metrics.nodal_norm(run.displacement, run.node_weights))])
    travel = sum(_lengths(vector(run.probes, "tool", name, "displacement")) for name in tools)
    return float(run.times[run.nearest_frame(float(run.probe_times[np.argmax(travel)]))])


def picture_bounds(runs: Sequence[RunView], instants: Sequence[Moment]) -> Bounds:
    """Return the box [m] that holds the bodies at all moments, widened a little towards the tools."""
    frames = [(run, run.nearest_frame(moment.time)) for run in runs for moment in instants]
    bodies = np.concatenate([run.rest + run.displacement[frame] for run, frame in frames])
    low, high = bodies.min(axis=0), bodies.max(axis=0)
    room = TOOL_ROOM * (high - low).max()
    tools = [tool.points for run, frame in frames for tool in run.tools_at(frame)]
    if tools:
        points = np.concatenate(tools)
        low = np.maximum(low - room, np.minimum(low, points.min(axis=0)))
        high = np.minimum(high + room, np.maximum(high, points.max(axis=0)))
    return (low[0], high[0], low[1], high[1], low[2], high[2])


def picture_size(bounds: Bounds, *, flat: bool) -> tuple[int, int]:
    """Return (width, height) [pixels] that fit the bounds: flat bodies as long as they are, solids 4:3."""
    if not flat:
        return WIDTH, WIDTH * 3 // 4
    wide, high = bounds[1] - bounds[0], bounds[3] - bounds[2]
    return WIDTH, int(np.clip(WIDTH * high / max(wide, 1e-300), WIDTH // 5, WIDTH))


def _lengths(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=-1))
