"""Frames and probe rows appear at the planned times, from every solver, in every format."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.record import open_record

Run = Callable[..., tuple[Path, Any]]
RHYTHMS: dict[str, tuple[dict[str, Any], list[float], list[float]]] = {
    "interval": ({"interval": 0.1}, [0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 0.1, 0.2, 0.3, 0.4]),
    "rows of their own": (
        {"interval": 0.2, "probe_interval": 0.1},
        [0.0, 0.2, 0.4],
        [0.0, 0.1, 0.2, 0.3, 0.4],
    ),
    "times": ({"times": [0.0, 0.03, 0.25]}, [0.0, 0.03, 0.25, 0.4], [0.0, 0.03, 0.25, 0.4]),
    "a last short interval": ({"interval": 0.15}, [0.0, 0.15, 0.3, 0.4], [0.0, 0.15, 0.3, 0.4]),
}


@pytest.mark.parametrize("rhythm", RHYTHMS)
def test_planned_times_are_met_exactly(run: Run, solver: str, series_format: str, rhythm: str) -> None:
    output, frames, rows = RHYTHMS[rhythm]
    folder, _ = run(solver, {"output": output}, format=series_format)
    record = open_record(folder)
    # the step divides all planned times, so they are met to the last digit but one
    np.testing.assert_allclose(record.times, frames, rtol=1e-14, atol=0.0)
    np.testing.assert_allclose(record.probes["time"], rows, rtol=1e-14, atol=0.0)


def test_times_without_a_common_measure_are_met_to_half_a_step(run: Run, solver: str) -> None:
    wanted = [0.0123456789, 0.2]
    folder, _ = run(solver, {"output": {"times": wanted}})
    record = open_record(folder)
    step = record.manifest.step.size
    assert step is not None
    np.testing.assert_allclose(record.times, [*wanted, 0.4], atol=0.5 * step, rtol=0.0)


def expected_adaptive(times: np.ndarray, positions: np.ndarray, change: float, longest: float) -> list[float]:
    """The rule of the scene format: a frame once a node moved by `change`, or `longest` has passed, and the last."""
    chosen = [0]
    for index in range(1, len(times)):
        moved = np.linalg.norm(positions[index] - positions[chosen[-1]], axis=1).max()
        late = times[index] - times[chosen[-1]] >= longest * (1 - 1e-9)
        if moved >= change or late or index == len(times) - 1:
            chosen.append(index)
    return [float(times[index]) for index in chosen]


def test_adaptive_frames_come_only_when_the_body_moved(run: Run, solver: str, series_format: str) -> None:
    press = {"times": [0.0, 0.1, 0.4], "displacement": [[0.0, 0.0], [0.0, -0.01], [0.0, -0.01]]}
    common = {"tools.bar.motion": press, "gravity": [0.0, 0.0]}
    adaptive = {"shortest": 0.01, "longest": 0.15, "change": 2.0e-3}
    every, _ = run(solver, {**common, "output": {"interval": 0.01}}, name="every")
    folder, _ = run(solver, {**common, "output": {"adaptive": adaptive}}, name="adaptive", format=series_format)
    full, record = open_record(every), open_record(folder)
    positions = np.array([full.positions(index) for index in range(len(full.times))])
    expected = expected_adaptive(full.times, positions, 2.0e-3, 0.15)
    assert record.times.tolist() == expected
    # 10 mm at 2 mm a frame while it is pressed; afterwards only the longest interval brings a frame
    assert sum(0.0 < time <= 0.1 for time in expected) >= 4
    assert 2 <= sum(time > 0.11 for time in expected) <= 6
    # probe rows keep the shortest rhythm
    np.testing.assert_allclose(record.probes["time"], 0.01 * np.arange(41), rtol=1e-12, atol=1e-15)


def test_the_probe_table_is_plain_csv_with_units(run: Run, solver: str) -> None:
    folder, _ = run(solver)
    with (folder / "probes.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    account = ("dissipated", "impact", "external", "defect") if solver == "fem" else ()
    assert rows[0] == [
        "time [s]",
        "energy.kinetic [J]",
        "energy.stored [J]",
        *(f"energy.{name} [J]" for name in account),
        "volume.block [m2]",
        "tool.bar.force_x [N]",
        "tool.bar.force_y [N]",
        "tool.bar.displacement_x [m]",
        "tool.bar.displacement_y [m]",
        "support.floor.force_x [N]",
        "support.floor.force_y [N]",
        "probe.tip.displacement_x [m]",
        "probe.tip.displacement_y [m]",
        "probe.tip.velocity_x [m/s]",
        "probe.tip.velocity_y [m/s]",
    ]
    assert len(rows) == 1 + 9
    assert all(len(row) == len(rows[0]) for row in rows)


def test_probes_agree_with_the_frames_and_the_motion(run: Run, solver: str) -> None:
    folder, _ = run(solver)
    record = open_record(folder)
    tip = int(np.argmin(np.linalg.norm(record.rest_positions - [0.1, 0.1, 0.0], axis=1)))
    frames = record.field("displacement")[:, tip, :]
    rows = np.searchsorted(record.probes["time"], record.times - 1e-9)
    for axis, name in enumerate("xy"):
        # positions of 0.1 m are rounded to 1.4e-17 m
        np.testing.assert_allclose(
            record.probes[f"probe.tip.displacement_{name}"][rows], frames[:, axis], rtol=0.0, atol=3e-17
        )
    # the bar goes down 10 mm in 0.2 s and back: -0.05 t, then -0.05 (0.4 - t)
    time = record.probes["time"]
    np.testing.assert_allclose(
        record.probes["tool.bar.displacement_y"], -0.05 * np.minimum(time, 0.4 - time), atol=1e-15
    )
    contact = record.field("contact_force").sum(axis=1)
    np.testing.assert_allclose(record.probes["tool.bar.force_y"][rows], -contact[:, 1], rtol=1e-12, atol=1e-12)
    # at rest the block is 0.2 x 0.1; the deformed mesh of the frame has the area of the probe table
    assert record.probes["volume.block"][0] == pytest.approx(0.02, rel=1e-12)
    area = record.frame(2).compute_cell_sizes(length=False, volume=False)["Area"].sum()
    assert record.probes["volume.block"][rows[2]] == pytest.approx(area, rel=1e-12)
