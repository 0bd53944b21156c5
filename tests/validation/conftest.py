"""Made-up runs: a block pressed by a bar and released, with residuals chosen per case."""

from collections.abc import Callable

import numpy as np
import pytest

from rheotwin.validation import Cost, RunView, Surface, tributary_weights

RESIDUALS = {"elastic": 0.0, "rheological": 0.45, "viscoplastic": 0.9}
STROKE, WIDTH, HEIGHT = 10.0, 80.0, 30.0
MATCH = {"edges": 9, "volume_cells": 4, "poisson_of_law": 0.3, "stiffness_misfit": 0.2312}


def block_mesh(across: int, up: int) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.meshgrid(np.linspace(0, WIDTH, across + 1), np.linspace(0, HEIGHT, up + 1), indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    node = np.arange(x.size).reshape(across + 1, up + 1)
    a, b, c, d = node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]
    return points, np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, d), (b, c, d))])


def bar_at(depth: float) -> tuple[Surface, ...]:
    corners = np.array([[30, 30, 0], [50, 30, 0], [50, 35, 0], [30, 35, 0]], dtype=float)
    return (Surface("tools", corners - [0.0, depth, 0.0], np.array([4, 0, 1, 2, 3])),)


def pressed_block(solver: str, case: str, *, scale: float = 1.0, cells: tuple[int, int] = (8, 3)) -> RunView:
    points, triangles = block_mesh(*cells)
    times, residual, truss = np.linspace(0.0, 30.0, 31), RESIDUALS[case], solver == "truss"
    held = np.maximum(np.interp(times, [0, 10, 20], [0, 1, 0]), np.where(times > 10, residual, 0.0))
    shape = np.exp(-(((points[:, 0] - 40) / 12) ** 2)) * points[:, 1] / HEIGHT
    displacement = np.zeros((31, len(points), 3))
    displacement[:, :, 1] = -STROKE * scale * held[:, None] * shape
    displacement[:, :, 0] = 0.2 * displacement[:, :, 1] * (points[:, 0] - 40) / 40
    bar = STROKE * np.interp(times, [0, 10, 20], [0, 1, 0])
    laws = {
        "laws": {"dough": {"model": "three-element"}},
        "cases": {case: {"description": f"the {case} law & its memory"}},
    }
    return RunView(
        label=solver,
        solver=solver,
        case=case,
        times=times,
        displacement=displacement,
        velocity=np.gradient(displacement, times, axis=0),
        rest=points,
        cells=triangles,
        cell_kind="triangle",
        node_weights=tributary_weights(points, triangles, "triangle"),
        probe_times=times,
        probes={
            "energy.kinetic": 0.1 * np.abs(np.gradient(held, times)),
            "energy.stored": 500.0 * scale * bar / STROKE * (1 - residual),
            "volume.block": WIDTH * HEIGHT * (1 - 0.02 * scale * held),
            "tool.bar.force_x": np.zeros_like(times),
            "tool.bar.force_y": 100.0 * scale * np.maximum(bar / STROKE - residual * (times > 10), 0.0),
            "tool.bar.displacement_x": np.zeros_like(times),
            "tool.bar.displacement_y": -bar,
        },
        cost=Cost(wall_time=0.35 if truss else 2.45, steps=6000, step_size=0.005),
        manifest={
            "rheotwin_version": "0.1.0",
            "status": "complete",
            "created": "2025-01-01T00:00:00+00:00",
            "case": case,
            "solver": {"name": solver, "version": "0.1.0", "options": {"step": 0.005}},
            "mesh": {"hash": f"mesh-{cells[0]}x{cells[1]}"},
            "statistics": {"material_match": {"block": MATCH}} if truss else {},
            "timings": {"solve": 0.35, "output": 0.02},
            "environment": {"python": "3.13", "packages": {"numpy": "2.4"}},
            "scene": {"title": "Pressing a <made-up> block", **laws},
        },
        tools_at=lambda frame: bar_at(bar[frame]),
    )


@pytest.fixture(scope="session")
def make_run() -> Callable[..., RunView]:
    return pressed_block


@pytest.fixture(scope="session")
def press_runs() -> tuple[RunView, ...]:
    scales = {"fem": 1.0, "truss": 0.88}
    return tuple(pressed_block(solver, case, scale=scales[solver]) for case in RESIDUALS for solver in scales)
