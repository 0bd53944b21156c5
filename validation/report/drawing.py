"""Pictures to draw, as plain arrays that travel to another process, and drawing them there.

One guarded process draws with pyvista, so a crash of the graphics stack costs a picture, not the run; matplotlib alone
serves where that does not deliver.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

from rheotwin.arrays import Array, Indices
from rheotwin.validation.run_view import Surface, body_grid

EDGE_COLOUR = "#3a3a3a"
TOOL_COLOUR = "#9a9a9a"
MOST_EDGES = 20_000
"""Cells up to which element edges are drawn; beyond, they would hide the colours."""


@dataclass(frozen=True)
class PictureJob:
    """A deformed body coloured by a nodal value.

    `points` (N, 3) [m] current positions, `values` (N,) and their colour range, `bounds`
    (x0, x1, y0, y1, z0, z1) [m] that the camera frames, `size` (width, height) [pixels].
    """

    key: str
    points: Array
    cells: Indices
    cell_kind: str
    values: Array
    value_range: tuple[float, float]
    colours: str
    bounds: tuple[float, float, float, float, float, float]
    size: tuple[int, int]
    tools: tuple[Surface, ...] = ()

    @property
    def flat(self) -> bool:
        """Whether the body is 1D or 2D and is seen from the front."""
        return self.cell_kind in ("line", "triangle", "quad")


def save_jobs(folder: Path, jobs: Sequence[PictureJob]) -> None:
    """Write jobs to `folder`/jobs.json, with all digits of their arrays."""
    described = json.dumps([asdict(job) for job in jobs], default=lambda array: array.tolist())
    (folder / "jobs.json").write_text(described, encoding="utf-8")


def load_jobs(folder: Path) -> list[PictureJob]:
    """Read the jobs written by `save_jobs`."""
    return [_job(item) for item in json.loads((folder / "jobs.json").read_text(encoding="utf-8"))]


def _job(item: dict[str, Any]) -> PictureJob:
    tools = tuple(
        Surface(tool["name"], np.array(tool["points"], float), np.array(tool["faces"], np.int64))
        for tool in item["tools"]
    )
    arrays = {name: np.array(item[name], float) for name in ("points", "values")}
    known = {name: tuple(item[name]) for name in ("value_range", "bounds", "size")} | {"tools": tools}
    return PictureJob(**item | arrays | known | {"cells": np.array(item["cells"], np.int64)})


WORKER = "rheotwin.validation.report.draw_pyvista"
START_ALLOWANCE, PICTURE_ALLOWANCE = 90.0, 15.0
"""Time the drawing process may take to start, and further time per picture [s]."""
DOTS = 100
"""Pixels per inch."""


def draw(job: PictureJob) -> bytes:
    """Return one job as PNG bytes."""
    figure = Figure(figsize=(job.size[0] / DOTS, job.size[1] / DOTS), dpi=DOTS)
    (_draw_flat if job.flat else _draw_solid)(figure, job)
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=DOTS)
    return stream.getvalue()


def _draw_flat(figure: Figure, job: PictureJob) -> None:
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    cells = list(job.points[job.cells, :2])
    style: dict[str, Any] = {"cmap": job.colours, "array": job.values[job.cells].mean(axis=1)}
    edges = EDGE_COLOUR if len(job.cells) <= MOST_EDGES else "face"
    body: Any = (
        LineCollection(cells, linewidths=6, **style)
        if job.cell_kind == "line"
        else PolyCollection(cells, edgecolors=edges, linewidths=0.5, **style)
    )
    body.set_clim(*job.value_range)
    axes.add_collection(body)
    look: dict[str, Any] = {"facecolors": TOOL_COLOUR, "edgecolors": EDGE_COLOUR, "alpha": 0.8}
    for tool in job.tools:
        axes.add_collection(PolyCollection([tool.points[cell, :2] for cell in tool.cells()], **look))
    axes.set(xlim=job.bounds[0:2], ylim=job.bounds[2:4], aspect="equal")
    axes.set_axis_off()


def _draw_solid(figure: Figure, job: PictureJob) -> None:
    axes: Any = figure.add_axes((0.0, 0.0, 1.0, 1.0), projection="3d")
    grid = body_grid(job.points, job.cells, job.cell_kind)
    grid.point_data["value"] = job.values
    with warnings.catch_warnings():
        # The name of the default algorithm changes between pyvista versions; any of them serves here.
        warnings.simplefilter("ignore")
        surface = grid.extract_surface().triangulate()
    triangles = surface.regular_faces
    style = {"array": np.asarray(surface.point_data["value"])[triangles].mean(axis=1), "cmap": job.colours}
    corners = list(np.asarray(surface.points)[triangles])
    boundary = Poly3DCollection(corners, edgecolors=EDGE_COLOUR, linewidths=0.2, **style)
    boundary.set_clim(*job.value_range)
    axes.add_collection3d(boundary)
    for tool in job.tools:
        faces = [tool.points[cell] for cell in tool.cells()]
        axes.add_collection3d(Poly3DCollection(faces, facecolors=TOOL_COLOUR, alpha=0.3))
    axes.set(xlim=job.bounds[0:2], ylim=job.bounds[2:4], zlim=job.bounds[4:6])
    axes.set_box_aspect(np.diff(np.reshape(job.bounds, (3, 2)), axis=1).ravel())
    axes.view_init(elev=24.0, azim=-54.0)
    axes.set_axis_off()


def render(jobs: Sequence[PictureJob], *, worker: str = WORKER) -> dict[str, bytes]:
    """Return key -> PNG bytes: pyvista in one separate process, matplotlib for what it did not deliver."""
    if not jobs:
        return {}
    with tempfile.TemporaryDirectory(prefix="rheotwin-pictures-") as name:
        folder = Path(name)
        save_jobs(folder, jobs)
        command, allowance = [sys.executable, "-m", worker, name], START_ALLOWANCE + PICTURE_ALLOWANCE * len(jobs)
        # Whatever happens to it, its finished pictures count and the others are drawn without it.
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=allowance, check=False)
        files = {job.key: folder / f"{number}.png" for number, job in enumerate(jobs)}
        drawn = {key: file.read_bytes() for key, file in files.items() if file.is_file()}
    return {job.key: drawn.get(job.key) or draw(job) for job in jobs}
