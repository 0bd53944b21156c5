"""Draw error against cost of every method on one press, and print the numbers."""

from __future__ import annotations

import dataclasses
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rheotwin.record import open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import Scene, load_scene
from rheotwin.validation import Cost, RunView, compare, view_of
from rheotwin.validation.comparison import CaseComparison, RunComparison
from rheotwin.validation.study import error_of, labelled, solver_of, with_limits

NAME = "pareto"
SCENE, CASE, DEPTH = "bar-press-2d", "rheological", 3.0
"""The press, but only a tenth of the height deep [m]: there the finite elements of large strain converge."""
REFERENCE = "fem, large strain@limit"
INTERVAL = 0.25
"""Time between two looks at the force [s], and step of the finite elements of large strain."""


@dataclass(frozen=True)
class Method:
    """A solver with options, on triangles or squares, on meshes of cells divided into 1, 2, .. along each side."""

    name: str
    solver: str
    colour: str
    options: dict[str, Any] = field(default_factory=dict)
    cell: str = "triangle"
    meshes: tuple[int, ...] = (1, 2, 4)


METHODS = (
    Method("fem", "fem", "#0072B2"),
    Method("fem, quadratic", "fem", "#56B4E9", {"order": 2}, meshes=(1, 2)),
    Method("fem, large strain", "fem", "#333333", {"kinematics": "total-lagrangian", "step": INTERVAL}),
    Method("shear-volume", "shear-volume", "#009E73"),
    Method("truss", "truss", "#D55E00"),
    Method("lattice", "truss", "#CC79A7", cell="quad"),
    Method("local-shape", "local-shape", "#8B5A2B", cell="quad"),
    Method("fixed-point", "fixed-point", "#E69F00", meshes=(1,)),
)


def scene_of(root: Path, method: Method, parts: int) -> Scene:
    """Return the press with the cells of a method; diagonals alternate, so that nothing leans."""
    scene = load_scene(root / "scenes" / f"{SCENE}.toml")
    pattern = "alternating" if method.cell == "triangle" else None
    block = {"cell": method.cell, "pattern": pattern, "mass_sharing": "volume"}
    bar = scene.tools["bar"]
    motion = bar.motion.model_copy(update={"displacement": ((0.0, 0.0), (0.0, -DEPTH), (0.0, 0.0), (0.0, 0.0))})
    changes = {
        "bodies": {"block": scene.bodies["block"].model_copy(update=block)},
        "tools": {"bar": bar.model_copy(update={"motion": motion})},
        "output": scene.output.model_copy(update={"probe_interval": INTERVAL}),
    }
    return scene.model_copy(update=changes).refined(parts)


def run_of(root: Path, method: Method, parts: int, folder: Path) -> RunView:
    """Run a method on one mesh; its cost is the processor time of stepping."""
    run_scene(RunRequest(scene_of(root, method, parts), method.solver, folder, CASE, method.options))
    found = view_of(open_record(folder)).of_method(method.name)
    cost = Cost(float(found.manifest["timings"]["processor"]), found.cost.steps, found.cost.step_size)
    return dataclasses.replace(found, cost=cost)


def compared(root: Path, folder: Path) -> CaseComparison:
    """Run everything and compare it."""
    views = [run_of(root, method, n, folder / f"{method.name}-{n}") for method in METHODS for n in method.meshes]
    return compare(with_limits(labelled(views), REFERENCE), reference=REFERENCE).cases[0]


def tell(case: CaseComparison) -> None:
    """Print what the picture shows."""
    for run in case.runs:
        error, moved = error_of(run), run.displacement
        shown = "" if error is None else f"force {100 * error:5.1f} %"
        shown += "" if moved is None else f"  displacement {100 * moved.rms:5.2f} %"
        print(f"{run.shown:28} {run.cost.wall_time:8.2f} s  keeps {100 * run.residual.at_node:4.1f} %  {shown}")
    print(f"uncertainty of the reference's peak force: {100 * (case.reference_uncertainty or 0.0):.1f} %")


def draw(case: CaseComparison, picture: Path) -> None:
    """Draw errors of force and displacement over processor time, a line per method from its coarsest mesh on."""
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 4.0), layout="constrained")
    for axes, title in zip(panels, ("force on the bar", "displacement"), strict=True):
        for method in METHODS:
            runs = [run for run in case.runs if solver_of(run.label) == method.name and not run.is_reference]
            points = [(run.cost.wall_time, error, run.refinement) for run in runs if (error := _error(run, title))]
            if not points:
                continue
            costs, errors = [cost for cost, _, _ in points], [100.0 * error for _, error, _ in points]
            axes.plot(costs, errors, "o-", color=method.colour, linewidth=1.2, label=case.shown(method.name))
            for cost, error, mesh in points:
                axes.annotate(str(mesh), (cost, 100.0 * error), xytext=(4, 4), textcoords="offset points", fontsize=8)
        axes.set(xscale="log", yscale="log", xlabel="processor time [s]", ylabel="error [%]")
        axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.grid(color="#e4e4e4")
        axes.spines[["top", "right"]].set_visible(False)
    uncertainty = 100.0 * (case.reference_uncertainty or 0.0)
    panels[0].axhspan(0.01, uncertainty, color="#bbbbbb", alpha=0.35, linewidth=0, label="reference unknown to")
    low = min(100.0 * error for run in case.runs if (error := _error(run, "force on the bar")))
    panels[0].set_ylim(bottom=0.6 * min(low, uncertainty))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(picture, dpi=130)
    plt.close(figure)


def _error(run: RunComparison, title: str) -> float | None:
    if title != "displacement":
        return error_of(run)
    return None if run.displacement is None else run.displacement.rms


def draw_pareto(root: Path, images: Path) -> None:
    """Run all methods, print what came out and draw it."""
    with tempfile.TemporaryDirectory() as folder:
        case = compared(root, Path(folder))
    tell(case)
    draw(case, images / f"{NAME}.png")
