"""Tributary volumes, and reading a record into arrays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin import record
from rheotwin.errors import RheotwinError
from rheotwin.record import open_record
from rheotwin.validation import RunView, compare, tributary_weights, view_of
from rheotwin.validation.report.page import render_report
from rheotwin.validation.report.plots import case_plots
from rheotwin.validation.run_view import shown_name

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 2, 0]], dtype=float)


@pytest.mark.parametrize(
    ("points", "cells", "kind", "expected"),
    [
        (np.array([[0, 0, 0], [2, 0, 0], [5, 0, 0]], float), [[0, 1], [1, 2]], "line", [1.0, 2.5, 1.5]),
        (SQUARE, [[0, 1, 2], [0, 2, 3]], "triangle", [2 / 3, 1 / 3, 2 / 3, 1 / 3]),
        (SQUARE, [[0, 1, 2, 3]], "quad", [0.5] * 4),
        (np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float), [[0, 1, 2, 3]], "tet", [1 / 24] * 4),
        (np.concatenate([SQUARE, SQUARE + np.array([0, 0, 4])]), [[0, 1, 2, 3, 4, 5, 6, 7]], "hex", [1.0] * 8),
    ],
)
def test_tributary_weights_share_each_cell_equally(points, cells, kind, expected) -> None:
    np.testing.assert_allclose(tributary_weights(points, np.array(cells), kind), expected, rtol=1e-6)


def write_record(folder: Path, times: list[float], *, last_shift: float = 0.25) -> Path:
    body = record.BodyInfo(name="b", cell="quad", points=4, cells=1)
    manifest = record.Manifest(
        solver=record.SolverInfo(name="fem"),
        mesh=record.MeshInfo(hash="abc", points=4, cells=1, bodies=(body,)),
        case="elastic",
        step=record.StepInfo(size=0.5, count=len(times)),
        timings={"solve": 2.0, "total": 3.0},
        fields=record.describe_fields(("displacement", "velocity")),
        probes={"volume.b": "m2"},
    )
    grid = record.GridTopology(cells=np.array([[0, 1, 2, 3]]), cell_kind="quad", body=np.zeros(1, int), points=4)
    bar = record.ToolSurface("bar", SQUARE + np.array([0, 2, 0]), np.array([4, 0, 1, 2, 3]))
    with record.RecordWriter.create(folder, manifest=manifest, grid=grid, format="pvd", overwrite=False) as writer:
        for place, time in enumerate(times):
            shift = np.array([last_shift * place / max(len(times) - 1, 1), 0.0, 0.0]) * np.ones((4, 1))
            writer.write_frame(time, SQUARE + shift, {"displacement": shift, "velocity": 2 * shift}, [bar])
            writer.write_probe_row(time, {"volume.b": 2.0})
    return folder


def test_view_of_reads_a_record(tmp_path: Path) -> None:
    view = view_of(open_record(write_record(tmp_path / "run", [0.0, 1.0])))
    assert (view.label, view.solver, view.case, view.mesh_hash) == ("fem", "fem", "elastic", "abc")
    assert (view.dimension, view.cost.wall_time, view.cost.steps, view.cost.step_size) == (2, 2.0, 2, 0.5)
    np.testing.assert_allclose((view.times, view.probe_times), [[0.0, 1.0]] * 2)
    np.testing.assert_allclose(view.rest, SQUARE, atol=1e-12)
    np.testing.assert_allclose(view.displacement[1, :, 0], 0.25)
    assert view.velocity is not None
    np.testing.assert_allclose(view.velocity[1, :, 0], 0.5)
    np.testing.assert_allclose(view.node_weights, 0.5, rtol=1e-6)
    np.testing.assert_allclose(view.probes["volume.b"], 2.0)
    (tool,) = view.tools_at(1)
    assert [len(cell) for cell in tool.cells()] == [4]


@pytest.mark.parametrize(("times", "words"), [([], "no frames"), ([0.0, 1.5], r"not finite from t = (0|1.5) s")])
def test_a_record_without_frames_or_finite_displacements_is_refused(tmp_path: Path, times, words: str) -> None:
    opened = open_record(write_record(tmp_path / "run", times, last_shift=float("nan")))
    with pytest.raises(RheotwinError, match=words):
        view_of(opened)


@pytest.mark.parametrize(
    ("label", "solver", "cell", "statistics", "shown"),
    [
        ("truss", "truss", "triangle", {"volume_cells": 4}, "truss with volume springs"),
        ("truss@2", "truss", "tet", {"material_match": {"block": {"volume_cells": 4}}}, "truss with volume springs@2"),
        ("truss@2", "truss", "tet", {"volume_cells": 0, "material_match": {"block": "unmatched"}}, "truss@2"),
        ("truss-2", "truss", "hex", {"volume_cells": 0}, "lattice-2"),
        ("mine", "truss", "tet", {"volume_cells": 4}, "mine"),
        ("fem@limit", "fem", "quad", {}, "fem@limit"),
    ],
)
def test_readers_see_what_the_springs_of_a_truss_are(
    label: str, solver: str, cell: str, statistics: dict[str, Any], shown: str
) -> None:
    assert shown_name(label, solver, cell, statistics) == shown


def test_legends_sentences_and_the_page_show_it_and_labels_stay_ids(press_runs: tuple[RunView, ...]) -> None:
    """Edges alone in the first case only: its legend says truss, the page over all cases the label."""
    alone = [replace(run, manifest={**run.manifest, "statistics": {}}) for run in press_runs[:2]]
    mixed, same = compare([*alone, *press_runs[2:]]), compare(press_runs)
    assert mixed.labels == same.labels == ("fem", "truss")
    assert [case.runs[1].shown for case in mixed.cases] == ["truss", *["truss with volume springs"] * 2]
    assert (mixed.shown("truss"), same.shown("truss")) == ("truss", "truss with volume springs")
    assert same.orderings[1].sentence.startswith("truss with volume springs: elastic keeps")
    plots = {plot.name: plot.svg for plot in case_plots(same, same.cases[0], press_runs[:2])}
    assert len(plots) >= 5
    for name, drawn in plots.items():
        assert ">truss with volume springs<" in drawn and ">truss<" not in drawn, name
    page = render_report(same, overview=[], plots={}, pictures={})
    assert ">truss with volume springs</td>" in page and ">truss</td>" not in page
