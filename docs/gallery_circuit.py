"""Draw the pictures of the fixed-point circuit: the deformed object, its error over time, error over formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pyvista

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from rheotwin.build import build_problem
from rheotwin.particles.fixed_point.errors import account, sweep
from rheotwin.particles.fixed_point.prepare import FixedPointOptions, Prepared, prepare
from rheotwin.particles.fixed_point.ranges import analyse
from rheotwin.particles.fixed_point.stepping import Stepping
from rheotwin.scene import load_scene

SCENE = "fixed-point-3d"
VARIANTS: dict[str, dict[str, Any]] = {
    "the papers' units and step constant": {},
    "units chosen, 16 bits": {"time_unit": None, "length_unit": None, "mass_unit": None, "tem_wmod": True},
    "units chosen, 20 bits": {
        "time_unit": None,
        "length_unit": None,
        "mass_unit": None,
        "tem_wmod": True,
        "word": 20,
        "fraction": 12,
    },
    "8 bits for the step": {"h_const": "plain8"},
}
WORDS = (16, 18, 20)
COLOURS = ("#2a6f97", "#c1666b", "#4d9078", "#8d6a9f")


def words_of(root: Path, **changes: Any) -> Prepared:
    """Put the papers' object into words."""
    problem = build_problem(load_scene(root / "scenes" / f"{SCENE}.toml"))
    return prepare(problem, FixedPointOptions(**(problem.scene.solvers["fixed-point"] | changes)))


def draw_object(root: Path, images: Path) -> None:
    """Draw the object at rest, in double precision and in words, coloured by how far the words are off."""
    prepared = words_of(root)
    model, circuit = prepared.model, Stepping(prepared)
    exact = analyse(model, float(prepared.step))
    circuit.take(exact.steps)
    fixed = circuit.body.position / 256.0
    off = np.linalg.norm(fixed - exact.end.position, axis=1)
    cells = {pyvista.CellType.TETRA: model.problem.bodies[0].mesh.t.T}
    plotter: Any = pyvista.Plotter(off_screen=True, shape=(1, 3), window_size=[1290, 500], border=False)
    shown = (
        ("at rest", model.points),
        ("double precision, t = 30 s", exact.end.position),
        (f"16 bits, t = 30 s, off by up to {off.max():.1f} m", fixed),
    )
    for column, (label, points) in enumerate(shown):
        plotter.subplot(0, column)
        skin = pyvista.UnstructuredGrid(cells, points)
        skin["off"] = off if column == 2 else np.zeros(len(points))
        plotter.add_mesh(
            skin,
            scalars="off",
            clim=(0.0, off.max()),
            cmap="YlGnBu",
            show_edges=True,
            edge_color="#555555",
            ambient=0.45,
            show_scalar_bar=False,
        )
        plotter.add_text(label, position=(12, 470), font_size=8, color="black")
        plotter.camera.focal_point = (0.0, 15.0, 0.0)
        plotter.camera.position = (120.0, 100.0, 330.0)
        plotter.camera.up = (0.0, 1.0, 0.0)
    plotter.set_background("white")
    plotter.screenshot(str(images / f"{SCENE}.png"))
    plotter.close()


def draw_error(root: Path, images: Path) -> None:
    """Plot the mean error over time for several units and words."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    for colour, (label, changes) in zip(COLOURS, VARIANTS.items(), strict=True):
        found = account(words_of(root, **changes), 60)
        axes.semilogy(found.times, 100.0 * found.relative, color=colour, label=label)
    axes.set(xlabel="time [s]", ylabel="mean error [% of the width]")
    _finish(figure, axes, images / "fixed-point-error.png")


def draw_sweep(root: Path, images: Path) -> None:
    """Plot the error at the end over the place of the point, a line for each length of word."""
    prepared = words_of(root, **VARIANTS["units chosen, 16 bits"])
    figure, axes = plt.subplots(figsize=(6.4, 3.6))
    for colour, word in zip(COLOURS, WORDS, strict=False):
        rows = sweep(prepared, (word,), range(7, word - 2))
        kept = [row for row in rows if row.error is not None and not row.overflows]
        axes.semilogy([r.fraction for r in kept], [100.0 * (r.error or 0.0) for r in kept], "o-", color=colour, ms=4)
        if kept:
            axes.annotate(
                f"{word} bits",
                (kept[-1].fraction, 100.0 * (kept[-1].error or 0.0)),
                xytext=(6, -3),
                textcoords="offset points",
                color=colour,
            )
    axes.set(xlabel="bits after the point", ylabel="mean error at t = 30 s [% of the width]", xlim=(6.5, 19.0))
    _finish(figure, axes, images / "fixed-point-formats.png")


def _finish(figure: Any, axes: Any, picture: Path) -> None:
    axes.grid(True, which="both", color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=130)
    plt.close(figure)


def draw_circuit(root: Path, images: Path) -> None:
    """Draw all pictures of the circuit."""
    for draw in (draw_object, draw_error, draw_sweep):
        draw(root, images)
