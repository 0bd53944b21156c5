"""Draw the pictures of the gallery from the scenes: `python docs/make_gallery.py` (takes about a minute)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyvista

from rheotwin.record import Record, open_record
from rheotwin.run import RunRequest, run_scene
from rheotwin.scene import load_scene

ROOT = Path(__file__).resolve().parent.parent
SOLVERS = ("fem", "truss")


def records(scene_file: Path, folder: Path) -> dict[tuple[str, str], Record]:
    """Run every case with every solver."""
    scene = load_scene(scene_file)
    found = {}
    for case in scene.case_names:
        for solver in SOLVERS:
            run_scene(RunRequest(scene=scene, solver=solver, folder=folder / f"{case}-{solver}", case=case))
            found[solver, case] = open_record(folder / f"{case}-{solver}")
    return found


def draw(found: dict[tuple[str, str], Record], picture: Path, *, flat: bool, size: tuple[int, int]) -> None:
    """Draw the last frame of all records, a row per solver and a column per case, on one colour scale."""
    solvers, cases = (list(dict.fromkeys(key[part] for key in found)) for part in (0, 1))
    top = max(np.linalg.norm(record.field("displacement"), axis=-1).max() for record in found.values())
    plotter: Any = pyvista.Plotter(
        off_screen=True, shape=(len(solvers), len(cases)), window_size=list(size), border=False
    )
    for (solver, case), record in found.items():
        plotter.subplot(solvers.index(solver), cases.index(case))
        grid = record.frame(-1)
        grid["moved"] = np.linalg.norm(grid["displacement"], axis=1)
        plotter.add_mesh(
            grid,
            scalars="moved",
            clim=(0, top),
            cmap="YlGnBu",
            show_edges=True,
            edge_color="#555555",
            lighting=not flat,
            ambient=0.45,
            show_scalar_bar=False,
        )
        tools = record.tools(-1)
        if tools is not None:
            plotter.add_mesh(tools, color="#9aa0a8", opacity=0.5, lighting=not flat)
        plotter.add_text(f"{solver}, {case}, t = {record.times[-1]:g} s", font_size=8, color="black")
        if flat:
            plotter.view_xy()
            plotter.camera.zoom(1.5)
        else:
            plotter.view_vector((1.0, -1.6, 1.1), viewup=(0, 0, 1))
            plotter.camera.zoom(1.1)
    plotter.set_background("white")
    plotter.screenshot(str(picture))
    plotter.close()


def main() -> None:
    """Draw every picture."""
    images = ROOT / "docs" / "images"
    with tempfile.TemporaryDirectory() as folder:
        flat = records(ROOT / "scenes" / "bar-press-2d.toml", Path(folder) / "flat")
        draw(flat, images / "bar-press-2d.png", flat=True, size=(1290, 560))
        solid = records(ROOT / "scenes" / "block-3d.toml", Path(folder) / "solid")
        draw(solid, images / "block-3d.png", flat=False, size=(1290, 720))


if __name__ == "__main__":
    main()
