"""Draw a picture job with matplotlib alone, for machines on which pyvista cannot render."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]

from rheotwin.validation.picture_job import EDGE_COLOUR, MOST_EDGES, TOOL_COLOUR, PictureJob
from rheotwin.validation.run_view import body_grid

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
    cells = job.points[job.cells, :2]
    style = {"cmap": job.colours, "array": job.values[job.cells].mean(axis=1)}
    edges = EDGE_COLOUR if len(job.cells) <= MOST_EDGES else "face"
    body: Any = (
        LineCollection(list(cells), linewidths=6, **style)
        if job.cell_kind == "line"
        else PolyCollection(list(cells), edgecolors=edges, linewidths=0.5, **style)
    )
    body.set_clim(*job.value_range)
    axes.add_collection(body)
    for tool in job.tools:
        axes.add_collection(
            PolyCollection(
                [tool.points[cell, :2] for cell in tool.cells()],
                facecolors=TOOL_COLOUR,
                edgecolors=EDGE_COLOUR,
                alpha=0.8,
            )
        )
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
    means = np.asarray(surface.point_data["value"])[triangles].mean(axis=1)
    boundary = Poly3DCollection(
        list(np.asarray(surface.points)[triangles]),
        cmap=job.colours,
        array=means,
        edgecolors=EDGE_COLOUR,
        linewidths=0.2,
    )
    boundary.set_clim(*job.value_range)
    axes.add_collection3d(boundary)
    for tool in job.tools:
        axes.add_collection3d(
            Poly3DCollection([tool.points[cell] for cell in tool.cells()], facecolors=TOOL_COLOUR, alpha=0.3)
        )
    axes.set(xlim=job.bounds[0:2], ylim=job.bounds[2:4], zlim=job.bounds[4:6])
    axes.set_box_aspect(np.diff(np.reshape(job.bounds, (3, 2)), axis=1).ravel())
    axes.view_init(elev=24.0, azim=-54.0)
    axes.set_axis_off()
