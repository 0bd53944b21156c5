"""Draw strips of bodies that split and merge: masters as balls, or the surface around them, at several times."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyvista

from rheotwin.cli.view import spheres
from rheotwin.record import open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import load_scene

COLORS = ["#4878a8", "#e0a458", "#6aa584", "#c06c84", "#9a86b8", "#8d8d8d"]
"""Of the largest pieces; the last of all smaller ones. Merged bodies keep the colours of those they began in."""


@dataclass(frozen=True)
class Strip:
    """A scene at `times` [s], a row per case; frames of `size` pixels of what is between `low` and `high` [m]."""

    scene: str
    times: tuple[float, ...]
    cases: tuple[str | None, ...] = (None,)
    size: tuple[int, int] = (300, 220)
    low: tuple[float, float, float] = (-0.6, -0.4, 0.0)
    high: tuple[float, float, float] = (0.6, 0.4, 1.0)
    by: str = "piece"


STRIPS = (
    Strip(
        "cubes-3d", (0.2, 0.35, 0.5, 0.9), ("hard", "soft", "firm", "pliable"), (300, 240), (-0.2,) * 3, (1.2, 1.2, 1.5)
    ),
    Strip("sheet-3d", (0.0, 0.24, 0.36, 0.6), (None,), (330, 260), (-0.8, -0.8, -0.7), (0.8, 0.8, 0.3)),
    Strip("rod-3d", (0.3, 0.45, 0.6, 0.9), ("tough", "crumbling"), (330, 300), (-0.8, -0.3, -0.5), (0.8, 0.3, 0.7)),
    Strip("bunny-3d", (0.0, 0.24, 0.3, 0.6), ("slaves", "alone"), (300, 280), (-0.6, -0.4, 0.0), (0.7, 0.4, 1.2)),
    Strip(
        "armadillo-3d", (0.0, 0.36, 0.48, 0.8), ("elastic", "yielding"), (300, 300), (-0.7, -0.6, 0.0), (0.6, 0.6, 1.7)
    ),
    Strip("merge-3d", (0.0, 0.32, 0.48, 0.8), (None,), (300, 380), (-0.7, -0.5, 0.0), (0.7, 0.5, 2.4), "body"),
)


def draw(strip: Strip, root: Path, images: Path, folder: Path) -> None:
    """Run the scene and draw it."""
    shape = (len(strip.cases), len(strip.times))
    window = [strip.size[0] * shape[1], strip.size[1] * shape[0]]
    plotter: Any = pyvista.Plotter(off_screen=True, shape=shape, window_size=window, border=False)
    low, high = np.array(strip.low), np.array(strip.high)
    away = np.array([0.5, -1.0, 0.35])
    for row, case in enumerate(strip.cases):
        scene = load_scene(root / "scenes" / f"{strip.scene}.toml")
        options = scene.solvers.get("slave", {})
        run_scene(RunRequest(scene=scene, solver="slave", folder=folder / str(row), case=case, options=options))
        particles = open_record(folder / str(row)).particles
        assert particles is not None
        for column, time in enumerate(strip.times):
            index = int(np.abs(particles.times - time).argmin())
            cloud, tools = particles.cloud(index), particles.tools(index)
            cloud["shown"] = np.minimum(cloud[strip.by], len(COLORS) - 1)
            plotter.subplot(row, column)
            top = (-0.5, len(COLORS) - 0.5)
            plotter.add_mesh(spheres(cloud), scalars="shown", cmap=COLORS, clim=top, show_scalar_bar=False, ambient=0.3)
            if tools is not None:
                plotter.add_mesh(tools, color="#c9ccd1", opacity=0.5)
            label = f"{case}, t = {time:g} s" if case else f"t = {time:g} s"
            plotter.add_text(label, font_size=7, color="black")
            plotter.camera.focal_point = tuple(0.5 * (low + high))
            plotter.camera.position = tuple(0.5 * (low + high) + 10.0 * away)
            plotter.camera.up = (0.0, 0.0, 1.0)
            plotter.enable_parallel_projection()
            plotter.camera.parallel_scale = 0.7 * float(max(high[2] - low[2], (high[0] - low[0]) * 0.75))
            plotter.renderer.ResetCameraClippingRange()
    plotter.set_background("white")
    plotter.screenshot(str(images / f"{strip.scene}.png"))
    plotter.close()
