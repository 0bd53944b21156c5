"""Draw the pictures of the gallery from the scenes: `python docs/make_gallery.py [NAME ..]` (takes a few minutes)."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gallery_circuit
import gallery_identified
import gallery_map
import gallery_pareto
import gallery_slave
import numpy as np
import pyvista
from matplotlib import pyplot as plt

from rheotwin.__main__ import main as main_of_rheotwin
from rheotwin.record import Record, open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import Scene, load_scene
from rheotwin.scene.contact import ContactSpec
from rheotwin.validation import view_of

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SOLVERS = ("fem", "truss")
COMPARED = {"bar-press-2d": (1290, 560), "block-3d": (1290, 720)}
"""Scenes drawn at their end with both solvers, a column per case, and the size of the picture."""


@dataclass(frozen=True)
class Row:
    """One row of a strip: a case, or the scene with other entries or options of the truss."""

    label: str
    case: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    solver: str = "truss"


@dataclass(frozen=True)
class Strip:
    """A scene over time with the truss: rows by columns of frames at `times` [s]; `size` of one frame in pixels."""

    scene: str
    times: tuple[float, ...]
    rows: tuple[Row, ...]
    size: tuple[int, int] = (330, 200)
    window: tuple[float, float, float, float] | None = None
    """What is shown, least and largest x and y [m], in 3D of the ground; default: all bodies."""


WITHOUT_TOPOLOGY = {"topology_stiffness": 0.0, "topology_damping": 0.0, "topology_distance": 0.0}
STRIPS = (
    Strip("three-blocks", (0.0, 1.5, 4.0), (Row("truss"),), (480, 300)),
    Strip("gravity-2d", (0.0, 1.0, 2.0, 10.0), tuple(Row(case, case) for case in ("linear", "yielding"))),
    Strip(
        "thrown-2d",
        (0.0, 0.5, 1.0, 2.5),
        (Row("no gravity", changes={"gravity": (0.0, 0.0)}), Row("gravity")),
        (330, 300),
    ),
    Strip("unified-2d", (0.0, 3.0, 5.0, 12.0), tuple(Row(c, c) for c in ("viscoelastic", "rheological", "plastic"))),
    Strip(
        "topology-press-2d", (0.0, 10.0, 20.0, 60.0), tuple(Row(c, c) for c in ("voigt", "maxwell", "three-element"))
    ),
    Strip(
        "triangle-press-2d",
        (0.0, 10.0, 60.0),
        (Row("topology forces"), Row("without", options=WITHOUT_TOPOLOGY)),
        (330, 280),
    ),
    Strip("coarse-fine-2d", (0.0, 8.0, 20.0), (Row("truss"), Row("fem", solver="fem")), (430, 260)),
    Strip("coarse-fine-3d", (0.0, 8.0, 20.0), (Row("truss"), Row("fem", solver="fem")), (430, 280)),
    Strip("resting-2d", (0.0, 0.4, 2.0, 8.0), (Row("truss"), Row("fem", solver="fem")), (330, 130)),
    Strip("resting-3d", (0.0, 0.4, 6.0), (Row("truss"),), (430, 260)),
    Strip("roller-2d", (0.0, 0.75, 2.0, 7.0, 12.0, 17.25, 21.0), (Row("truss"),), (620, 130), (-0.4, 0.4, -0.01, 0.13)),
    Strip("roller-3d", (0.0, 0.5, 1.5, 4.75, 9.0), (Row("truss"),), (330, 230), (-0.42, 0.25, -0.1, 0.36)),
    Strip(
        "square-roller-2d",
        (0.0, 0.5, 1.0, 1.6, 1.9, 2.3),
        (Row("shear-volume", solver="shear-volume"),),
        (620, 150),
        (-0.3, 0.2, -0.005, 0.11),
    ),
    Strip(
        "square-roller-3d",
        (0.0, 0.4, 0.7, 1.0),
        (Row("shear-volume", solver="shear-volume"),),
        (330, 230),
    ),
    Strip("imprint-2d", (0.0, 5.0, 10.0, 20.0), (Row("truss"),)),
    Strip("lobes-2d", (0.0, 4.0, 7.0, 12.0), (Row("truss"),), (330, 230)),
    Strip(
        "sliding-2d",
        (0.0, 1.0, 1.5, 1.9),
        (Row("mu = 0.3"), Row("mu = 0", changes={"contact": ContactSpec(friction=0.0, bodies=True)})),
        (330, 150),
    ),
    Strip("pile-2d", (0.0, 0.25, 1.0, 8.0), (Row("truss"),), (260, 380)),
    Strip(
        "dropped-2d",
        (0.0, 0.1, 0.25, 1.5),
        (Row("fem", solver="fem"), Row("truss")),
        (330, 200),
        (-0.02, 0.32, -0.01, 0.22),
    ),
    Strip("pushed-3d", (0.0, 0.4, 0.7, 1.5), (Row("truss"),), (330, 240)),
    Strip(
        "shear-volume-2d",
        (0.0, 10.0, 20.0, 30.0),
        tuple(Row(c, c, solver="shear-volume") for c in ("elastic", "viscoplastic", "rheological")),
    ),
    Strip(
        "shear-quad-2d",
        (0.0, 3.0, 10.0, 30.0),
        tuple(Row(c, c, solver="shear-volume") for c in ("voigt", "three-element")),
        (330, 220),
    ),
    Strip(
        "standing-2d",
        (0.0, 1.0, 4.0),
        tuple(Row(c, c, solver="shear-volume") for c in ("linear", "yielding", "too-soft")),
        (330, 160),
    ),
    Strip(
        "flattened-3d",
        (0.0, 0.5, 0.6, 1.5),
        (Row("local-shape", solver="local-shape"), Row("truss")),
        (330, 240),
    ),
    Strip(
        "shape-press-3d",
        (0.0, 0.5, 1.0, 2.0),
        (Row("local-shape", solver="local-shape"), Row("fem", solver="fem")),
        (330, 220),
    ),
    Strip(
        "mixed-press-3d",
        (0.0, 0.35, 0.5, 1.0),
        (Row("local-shape", solver="local-shape"),),
        (330, 220),
    ),
    Strip(
        "dropped-lattice-3d",
        (0.0, 0.3, 0.5, 0.8, 1.5, 6.0),
        (
            Row("polyhedra, soft", "soft", solver="local-shape"),
            Row("springs, soft", "soft"),
            Row("springs, edges and faces", "soft", options={"springs": "edges+face"}),
        ),
        (240, 200),
    ),
    Strip("shear-volume-3d", (0.0, 0.5, 1.0, 4.0), (Row("shear-volume", solver="shear-volume"),), (330, 240)),
)


def record_of(scene: Scene, solver: str, folder: Path, case: str | None = None, options: Any = None) -> Record:
    """Run a scene and open its record."""
    run_scene(RunRequest(scene=scene, solver=solver, folder=folder, case=case, options=options))
    return open_record(folder)


def draw_frame(plotter: Any, record: Record, index: int, top: float, *, flat: bool, veil: float = 0.5) -> None:
    """Draw the bodies of one frame, coloured by how far they moved up to `top` [m], and tools as opaque as `veil`."""
    grid = record.frame(index)
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
    tools = record.tools(index)
    if tools is not None:
        plotter.add_mesh(tools, color="#9aa0a8", opacity=veil, lighting=not flat)


def draw_comparison(scene_file: Path, folder: Path, size: tuple[int, int]) -> None:
    """Draw the last frame of all runs, a row per solver and a column per case, on one colour scale."""
    scene = load_scene(scene_file)
    flat, cases = scene.dimension == 2, scene.case_names
    found = {
        (solver, case): record_of(scene, solver, folder / f"{case}-{solver}", case)
        for solver in SOLVERS
        for case in cases
    }
    top = max(np.linalg.norm(record.field("displacement"), axis=-1).max() for record in found.values())
    plotter: Any = pyvista.Plotter(
        off_screen=True, shape=(len(SOLVERS), len(cases)), window_size=list(size), border=False
    )
    for (solver, case), record in found.items():
        plotter.subplot(SOLVERS.index(solver), cases.index(case))
        draw_frame(plotter, record, -1, top, flat=flat)
        plotter.add_text(f"{view_of(record).shown}, {case}, t = {record.times[-1]:g} s", font_size=8, color="black")
        if flat:
            plotter.view_xy()
            plotter.camera.zoom(1.5)
        else:
            plotter.view_vector((1.0, -1.6, 1.1), viewup=(0, 0, 1))
            plotter.camera.zoom(1.1)
    save(plotter, IMAGES / f"{scene_file.stem}.png")


def draw_strip(strip: Strip, folder: Path) -> None:
    """Draw a scene at several times, a row per variant, all in one view and on one colour scale."""
    scene = load_scene(ROOT / "scenes" / f"{strip.scene}.toml")
    records = [
        record_of(scene.model_copy(update=row.changes), row.solver, folder / str(number), row.case, row.options or None)
        for number, row in enumerate(strip.rows)
    ]
    long = strip.window is not None and len(strip.rows) == 1 and strip.size[0] > 500  # one below the other
    shape = (len(strip.times), 1) if long else (len(strip.rows), len(strip.times))
    window = [strip.size[0] * shape[1], strip.size[1] * shape[0]]
    plotter: Any = pyvista.Plotter(off_screen=True, shape=shape, window_size=window, border=False)
    chosen = [[int(np.abs(record.times - time).argmin()) for time in strip.times] for record in records]
    grids = [record.frame(i) for record, indices in zip(records, chosen, strict=True) for i in indices]
    top = max(np.linalg.norm(grid["displacement"], axis=1).max() for grid in grids)
    for row, record in enumerate(records):
        for column, index in enumerate(chosen[row]):
            plotter.subplot(*((column, 0) if long else (row, column)))
            veil = 0.15 if strip.window is not None and scene.dimension == 3 else 0.5  # rollers hide bodies
            draw_frame(plotter, record, index, top, flat=scene.dimension == 2, veil=veil)
            label = strip.rows[row].label
            label = view_of(record).shown if label == strip.rows[row].solver else label
            plotter.add_text(f"{label}, t = {record.times[index]:g} s", font_size=7, color="black")
            frame(plotter, grids, strip, flat=scene.dimension == 2)
    save(plotter, IMAGES / f"{strip.scene}.png")


def draw_stress(name: str) -> None:
    """Draw mean and von Mises stress of every triangle over time, a column per case, and when the bar leaves."""
    scene = load_scene(ROOT / "scenes" / f"{name}.toml")
    figure, panels = plt.subplots(2, len(scene.cases), figsize=(9.2, 4.4), layout="constrained", sharex=True)
    with tempfile.TemporaryDirectory() as folder:
        for column, case in enumerate(scene.case_names):
            record = record_of(scene, "fem", Path(folder) / case, case)
            stress, force = record.field("cell_stress"), record.probes["tool.bar.force_y"]
            left = record.probes["time"][np.flatnonzero(force > 1e-9 * force.max())[-1] + 1]
            for axes, component, what in zip(panels[:, column], range(2), ("mean", "von Mises"), strict=True):
                axes.plot(record.times, stress[:, :, component], linewidth=0.5, alpha=0.5)
                axes.axvline(left, color="#333333", linestyle=":", linewidth=1.0)
                axes.set_title(f"{case}, {what}", loc="left", fontsize=10)
                axes.grid(color="#e4e4e4")
    for axes in panels[:, 0]:
        axes.set_ylabel("stress [Pa]")
    for axes in panels[1]:
        axes.set_xlabel("time [s]")
    figure.savefig(IMAGES / f"{name}.png", dpi=120)
    plt.close(figure)


def draw_forces(name: str, tool: str) -> None:
    """Draw the force on a tool over time with both solvers, as `rheotwin compare` does."""
    with tempfile.TemporaryDirectory() as folder:
        main_of_rheotwin(["compare", str(ROOT / "scenes" / f"{name}.toml"), "--output", f"{folder}/found", "--quiet"])
        shutil.copy(Path(folder) / "found" / "plots" / f"default-force-{tool}.png", IMAGES / f"{name}.png")


def frame(plotter: Any, grids: list[Any], strip: Strip, *, flat: bool) -> None:
    """Point the camera so that the bodies of all frames, or what is inside the window, fit, at one scale."""
    bounds = np.array([grid.bounds for grid in grids]).reshape(len(grids), 3, 2)
    low, high = bounds[:, :, 0].min(axis=0), bounds[:, :, 1].max(axis=0)
    if strip.window is not None:
        low[:2], high[:2] = strip.window[::2], strip.window[1::2]
    elif not flat:
        plotter.view_vector((0.6, -1.6, 0.9), viewup=(0, 0, 1))
        plotter.camera.zoom(1.4)
        return
    centre, extent = 0.5 * (low + high), high - low
    away, upward = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)) if flat else ((0.3, -0.7, 0.65), (0.0, 0.0, 1.0))
    plotter.camera.focal_point = tuple(centre)
    plotter.camera.position = tuple(centre + 10.0 * float(extent.max()) * np.array(away))
    plotter.camera.up = upward
    plotter.enable_parallel_projection()
    plotter.camera.parallel_scale = 0.62 * max(float(extent[1]), float(extent[0]) * strip.size[1] / strip.size[0])
    plotter.renderer.ResetCameraClippingRange()


def save(plotter: Any, picture: Path) -> None:
    """Write a picture."""
    plotter.set_background("white")
    plotter.screenshot(str(picture))
    plotter.close()


def main(names: list[str]) -> None:
    """Draw the pictures of the named scenes, or all."""
    with tempfile.TemporaryDirectory() as folder:
        for name, size in COMPARED.items():
            if not names or name in names:
                draw_comparison(ROOT / "scenes" / f"{name}.toml", Path(folder) / name, size)
        for strip in STRIPS:
            if not names or strip.scene in names:
                draw_strip(strip, Path(folder) / strip.scene)
        for strip in gallery_slave.STRIPS:
            if not names or strip.scene in names:
                gallery_slave.draw(strip, ROOT, IMAGES, Path(folder) / strip.scene)
    if not names or "press-match-2d" in names:
        draw_forces("press-match-2d", "roller")
    if not names or "after-contact-2d" in names:
        draw_stress("after-contact-2d")
    if not names or gallery_circuit.SCENE in names:
        gallery_circuit.draw_circuit(ROOT, IMAGES)
    if not names or gallery_pareto.NAME in names:
        gallery_pareto.draw_pareto(ROOT, IMAGES)
    if not names or gallery_map.NAME in names:
        gallery_map.draw_map(ROOT, IMAGES, ROOT / "runs" / "map")
    if not names or gallery_identified.NAME in names:
        gallery_identified.draw_identified(IMAGES)


if __name__ == "__main__":
    main(sys.argv[1:])
