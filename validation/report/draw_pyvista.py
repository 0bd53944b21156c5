"""Draw picture jobs off-screen with pyvista; run as a module by `render`, in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.arrays import Indices
from rheotwin.validation.report.drawing import EDGE_COLOUR, MOST_EDGES, TOOL_COLOUR, PictureJob, load_jobs
from rheotwin.validation.run_view import Surface, body_grid

MARGIN = 1.06
"""Room around the framed bounds [1]."""
VIEW_3D = np.array([0.55, -0.75, 0.42])
"""Direction from the body to the camera in 3D: front, slightly from the right and above."""


def draw(job: PictureJob, target: Path) -> None:
    """Render one job to a PNG file."""
    import pyvista

    plotter: Any = pyvista.Plotter(off_screen=True, window_size=list(job.size), lighting="light kit")
    plotter.set_background("white")
    _add_body(plotter, job)
    for tool in job.tools:
        _add_tool(plotter, tool, flat=job.flat)
    _aim(plotter, job)
    if not job.flat:
        plotter.enable_anti_aliasing("ssaa")
    plotter.screenshot(str(target))
    plotter.close()


def _add_body(plotter: Any, job: PictureJob) -> None:
    grid = body_grid(job.points, job.cells, job.cell_kind)
    grid.point_data["value"] = job.values
    lines = job.cell_kind == "line"
    if lines:
        # A dark seam, since the lightest colours of a thin line vanish on white.
        plotter.add_mesh(grid.copy(), scalars=None, color=EDGE_COLOUR, line_width=12, lighting=False)
    plotter.add_mesh(
        grid,
        scalars="value",
        clim=job.value_range,
        cmap=job.colours,
        show_scalar_bar=False,
        show_edges=not lines and len(job.cells) <= MOST_EDGES,
        edge_color=EDGE_COLOUR,
        line_width=8 if lines else 1,
        lighting=not job.flat,
        # Mostly ambient: shading gives depth but must not falsify the colour scale.
        ambient=0.62,
        diffuse=0.5,
        specular=0.0,
    )
    if lines:
        plotter.add_mesh(job.points, color=EDGE_COLOUR, point_size=9, render_points_as_spheres=True)


def _add_tool(plotter: Any, tool: Surface, *, flat: bool) -> None:
    import pyvista

    cells = tool.cells()
    polygons = [cell for cell in cells if len(cell) > 2]
    lines = [cell for cell in cells if len(cell) == 2]
    if lines:
        wires = pyvista.PolyData(tool.points, lines=_padded(lines))
        plotter.add_mesh(wires, color=EDGE_COLOUR, line_width=4, lighting=False)
    if not polygons:
        return
    surface = pyvista.PolyData(tool.points, faces=_padded(polygons)).clean()
    plotter.add_mesh(surface, color=TOOL_COLOUR, opacity=0.8 if flat else 0.45, lighting=not flat)
    outline = surface.extract_feature_edges(feature_angle=20.0, manifold_edges=False)
    if outline.n_cells:
        plotter.add_mesh(outline, color=EDGE_COLOUR, line_width=2, lighting=False)


def _padded(cells: list[Indices]) -> Indices:
    return np.concatenate([np.concatenate([[len(cell)], cell]) for cell in cells])


def _aim(plotter: Any, job: PictureJob) -> None:
    low, high = np.array(job.bounds[0::2]), np.array(job.bounds[1::2])
    centre, extent = (low + high) / 2.0, high - low
    diagonal = float(np.linalg.norm(extent))
    camera = plotter.camera
    camera.focal_point = centre
    camera.position = centre + 3.0 * diagonal * (np.array([0.0, 0.0, 1.0]) if job.flat else VIEW_3D)
    camera.up = (0.0, 1.0, 0.0) if job.flat else (0.0, 0.0, 1.0)
    camera.parallel_projection = True
    aspect = job.size[0] / job.size[1]
    half = max(extent[1], extent[0] / aspect) / 2.0 if job.flat else _half_height(extent, aspect)
    camera.parallel_scale = MARGIN * half
    plotter.renderer.ResetCameraClippingRange()


def _half_height(extent: np.ndarray[Any, Any], aspect: float) -> float:
    """Half the image height [m] that holds a box of `extent` seen along VIEW_3D."""
    away = VIEW_3D / np.linalg.norm(VIEW_3D)
    right = np.cross([0.0, 0.0, 1.0], away)
    right /= np.linalg.norm(right)
    up = np.cross(away, right)
    return float(max(np.abs(up) @ extent, np.abs(right) @ extent / aspect) / 2.0)


def main(folder: str) -> None:
    """Draw every job of `folder`; each finished picture is on disk before the next begins."""
    place = Path(folder)
    for number, job in enumerate(load_jobs(place)):
        draw(job, place / f"{number}.part.png")
        (place / f"{number}.part.png").rename(place / f"{number}.png")


if __name__ == "__main__":
    main(sys.argv[1])
