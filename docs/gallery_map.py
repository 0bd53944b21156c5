"""Draw which solver holds where: the foam block pressed to several depths at several rates."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt

from rheotwin import __version__
from rheotwin.record import load_manifest, open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import load_scene
from rheotwin.validation import Cost, RunView, compare, view_of
from rheotwin.validation.comparison import CaseComparison, RunComparison
from rheotwin.validation.report.page import cost_words
from rheotwin.validation.study import error_of

NAME, SCENE = "map", "foam-press-2d"
DEPTHS = (0.025, 0.05, 0.1, 0.2)
"""Depth of the roller over the height of the block [1]."""
RATES = (0.02, 0.2, 2.0)
"""Depth over height and time of pressing [1/s]."""
HEIGHT = 10.0
"""Of the block, in the scene's units [cm]."""
GOOD = 0.05
"""Error of the force below which a solver holds [1]."""
STEPS = 10
"""Steps of the finite elements, and looks at the force, while the roller goes down."""
LARGE, SMALL = {"kinematics": "total-lagrangian"}, {"kinematics": "small"}
METHODS: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "reference": ("fem", LARGE, 2, "#333333"),
    "fem, large strain": ("fem", LARGE, 1, "#F0E442"),
    "fem, small strain": ("fem", SMALL, 1, "#56B4E9"),
    "shear-volume": ("shear-volume", {}, 1, "#7FCFB4"),
    "truss": ("truss", {}, 1, "#E8A06A"),
}
"""Name -> solver, options, parts of a cell along its side, colour."""


def record_of(root: Path, name: str, depth: float, rate: float, kept: Path) -> RunView:
    """Return a run, made once; its cost is the processor time of stepping."""
    solver, options, parts, _ = METHODS[name]
    if solver != "fem" and depth > 0.1:
        options = {"safety": 0.25}  # squeezed elements are stiffer: half the default, which rings here
    down = depth / rate
    deep = [0.0, -HEIGHT * depth]
    changes = {
        "duration": 4.0 * down,
        "tools.roller.motion.times": [0.0, down, 2.0 * down, 3.0 * down, 4.0 * down],
        "tools.roller.motion.displacement": [[0.0, 0.0], deep, deep, [0.0, 0.0], [0.0, 0.0]],
        "output.interval": down / STEPS,
        "output.probe_interval": down / STEPS,
        "solvers.fem.step": down / STEPS,
    }
    scene = load_scene(root / "scenes" / f"{SCENE}.toml", changes).refined(parts)
    what = json.dumps([__version__, scene.model_dump(mode="json"), solver, options], sort_keys=True)
    folder = kept / hashlib.sha256(what.encode()).hexdigest()[:16]
    if not (folder.is_dir() and load_manifest(folder).status == "complete"):
        run_scene(RunRequest(scene, solver, folder, options=options, overwrite=folder.is_dir()))
    found = view_of(open_record(folder)).of_method(name)
    cost = Cost(float(found.manifest["timings"]["processor"]), found.cost.steps, found.cost.step_size)
    return dataclasses.replace(found, cost=cost)


def best(case: CaseComparison) -> RunComparison | None:
    """Return the cheapest run whose force holds."""
    held = [run for run in case.runs if not run.is_reference and (error_of(run) or 0.0) <= GOOD]
    return min(held, key=lambda run: run.cost.wall_time or 0.0, default=None)


def draw_map(root: Path, images: Path, kept: Path) -> None:
    """Compare all methods at every depth and rate, print the numbers and draw the cheapest that holds."""
    figure, axes = plt.subplots(figsize=(8.6, 3.6), layout="constrained")
    for column, depth in enumerate(DEPTHS):
        for row, rate in enumerate(RATES):
            runs = [record_of(root, name, depth, rate, kept) for name in METHODS]
            case = compare(runs, reference="reference").cases[0]
            told = [
                f"{run.label} {100.0 * (error_of(run) or 0.0):.1f} % {run.cost.ratio or 0.0:.3f}" for run in case.runs
            ]
            print(f"{100 * depth:g} % at {100 * rate:g} %/s:", *told, sep="  ", flush=True)
            chosen = best(case)
            text, colour = "none within 5 %", "#eeeeee"
            if chosen is not None:
                error, colour = 100.0 * (error_of(chosen) or 0.0), METHODS[chosen.label][3]
                text = f"{chosen.label}\n{error:.1f} %, {cost_words(chosen.cost.ratio)}"
            axes.add_patch(plt.Rectangle((column, row), 1.0, 1.0, facecolor=colour, edgecolor="white", linewidth=3.0))
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=10)
    axes.set(
        xlim=(0, len(DEPTHS)),
        ylim=(0, len(RATES)),
        xlabel="depth [% of the height]",
        ylabel="rate [% of the height per s]",
    )
    axes.set_xticks([n + 0.5 for n in range(len(DEPTHS))], [f"{100 * depth:g}" for depth in DEPTHS])
    axes.set_yticks([n + 0.5 for n in range(len(RATES))], [f"{100 * rate:g}" for rate in RATES])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    title = "Cheapest solver within 5 % of the force: its error, its cost over the reference's"
    axes.set_title(title, loc="left", fontsize=10.5, fontweight="bold")
    figure.savefig(images / f"{NAME}.png", dpi=130)
    plt.close(figure)
