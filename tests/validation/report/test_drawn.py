"""Plots are light SVG with real text and one style per solver; pictures are drawn in their own process."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from io import BytesIO
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from rheotwin.validation import Surface, compare
from rheotwin.validation.report.charts import line_styles, paler, with_own_ids
from rheotwin.validation.report.drawing import PictureJob, load_jobs, render, save_jobs
from rheotwin.validation.report.drawing import draw as draw_plain
from rheotwin.validation.report.pictures import moments, picture_bounds, plan_case
from rheotwin.validation.report.plots import case_plots, colour_bar, overview_plots


def test_case_plots_and_residual_bars_show_what_was_recorded(press_runs) -> None:
    comparison = compare(press_runs[:2])
    plots = {plot.name: plot for plot in case_plots(comparison, comparison.cases[0], press_runs[:2])}
    # a kinetic energy of nothing beside the stored one is no plot
    kinds = ["error", "force-bar", "stroke-bar", "energy-stored", "volume-block"]
    assert list(plots) == [f"elastic-{kind}" for kind in kinds]
    force = plots["elastic-force-bar"]
    assert "force on bar, y [N]" in force.svg and "<text" in force.svg
    assert "fem: from 0 to 0, range 0 to 100" in force.alt
    for plot in plots.values():
        assert "http" not in plot.svg and len(plot.svg) < 60_000
        ElementTree.fromstring(plot.svg.replace("xlink:href", "href"))
        assert plot.png.startswith(b"\x89PNG")
    comparison = compare(press_runs)
    bars = overview_plots(comparison, {case.case: () for case in comparison.cases})[0]
    assert re.findall(r">(\d+)</text>\s*</g>", bars.svg)[-6:] == ["0", "45", "90", "0", "45", "90"]
    assert "rheological keeps 45 %" in bars.alt


@pytest.mark.parametrize(("unit", "word"), [(None, ""), ("", "area"), ("m2", "area"), ("m3", "volume")])
def test_a_run_with_few_probes_has_few_plots_and_measures_named_by_their_unit(
    press_runs, unit: str | None, word: str
) -> None:
    """The flat mesh of an axisymmetric body stands for rings, whose measure is a volume."""
    known = {} if unit is None else {"volume.block": press_runs[0].probes["volume.block"]}
    units = {"volume.block": unit} if unit else {}
    runs = [dataclasses.replace(run, probes=known, units=units) for run in press_runs[:2]]
    comparison = compare(runs)
    error, *measured = case_plots(comparison, comparison.cases[0], runs)
    assert error.name == "elastic-error"
    assert [plot.caption for plot in measured] == ([f"elastic: {word} of block"] if word else [])
    assert all(f"change of {word} [%]" in plot.svg for plot in measured)
    assert overview_plots(comparison, {"elastic": ()}) == (), "one case has nothing to set side by side"


def test_styles_ids_and_colour_bars() -> None:
    alone, crowd = line_styles(["truss"]), line_styles(["other", "truss", "fem"])
    assert alone["truss"] == crowd["truss"] and len({style.colour for style in crowd.values()}) == 3
    styles = line_styles(["fem@1", "truss", "fem@4", "fem@limit"])
    assert styles["fem@limit"].colour == line_styles(["fem"])["fem"].colour
    assert styles["fem@1"].colour != styles["fem@4"].colour
    assert paler("#0072B2", 0.0) == "#0072B2" and paler("#0072B2", 1.0) == "#FFFFFF"
    svg = '<svg><path id="a"/><use xlink:href="#a" clip-path="url(#b)"/></svg>'
    assert with_own_ids(svg, "p") == '<svg><path id="p-a"/><use xlink:href="#p-a" clip-path="url(#p-b)"/></svg>'
    assert "displacement [m]" in colour_bar("bar", "GnBu", (0.0, 2.0), "displacement [m]").svg


TET = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FLOOR = Surface("floor", np.array([[0, 0, -0.2], [1, 0, -0.2], [0, 1, -0.2]]), np.array([3, 0, 1, 2]))
WIRE = Surface("wire", np.array([[0.0, 1.1, 0.0], [1.0, 1.1, 0.0]]), np.array([2, 0, 1]))
BOUNDS = (0.0, 1.0, 0.0, 1.0, 0.0, 1.0)


def job(key: str, cells: list[list[int]], kind: str, tools: tuple[Surface, ...] = ()) -> PictureJob:
    values = TET[:, 0] + TET[:, 1]
    return PictureJob(key, TET, np.array(cells), kind, values, (0.0, 1.0), "GnBu", BOUNDS, (160, 120), tools)


JOBS = [
    job("solid", [[0, 1, 2, 3]], "tet", (FLOOR,)),
    job("flat", [[0, 1, 2]], "triangle", (WIRE, FLOOR)),
    job("chain", [[0, 1], [1, 2]], "line"),
]


def assert_drawn(png: bytes) -> None:
    image = matplotlib.image.imread(BytesIO(png), format="png")[..., :3]
    assert image.shape[:2] == (120, 160)
    # A white background and a body in colours: neither a blank nor a black picture.
    assert 0.02 < (np.ptp(image, axis=2) > 0.05).mean() < 0.9 and (image.min(axis=2) > 0.99).mean() > 0.1


def test_jobs_travel_through_files_unchanged(tmp_path: Path) -> None:
    save_jobs(tmp_path, JOBS)
    for sent, got in zip(JOBS, load_jobs(tmp_path), strict=True):
        for name in ("key", "cell_kind", "value_range", "bounds", "size"):
            assert getattr(sent, name) == getattr(got, name)
        np.testing.assert_array_equal(sent.cells, got.cells)
        assert [tool.name for tool in sent.tools] == [tool.name for tool in got.tools]


def test_all_kinds_of_bodies_are_drawn_even_after_a_crash() -> None:
    drawn = render(JOBS)
    assert list(drawn) == ["solid", "flat", "chain"]
    for png in (*drawn.values(), *(draw_plain(item) for item in JOBS)):
        assert_drawn(png)
    drawn = render(JOBS[1:2], worker="rheotwin.validation.absent")
    assert drawn["flat"] == draw_plain(JOBS[1])


def test_moments_and_bounds_of_a_run(make_run) -> None:
    run = make_run("fem", "viscoplastic")
    found = [(moment.name, moment.time) for moment in moments(run)]
    assert found == [("start", 0.0), ("deepest press", 10.0), ("end", 30.0)]
    toolless = dataclasses.replace(run, probes={})
    assert [moment.name for moment in moments(toolless)] == ["start", "largest motion", "end"]
    run = make_run("fem", "elastic")
    x0, x1, y0, y1, _, _ = picture_bounds([run], moments(run))
    assert (x0, x1, y0) == pytest.approx((0.0, 80.0, 0.0), abs=0.5) and y1 == pytest.approx(35.0)
    away = (Surface("tools", np.array([[0, 1e6, 0]], dtype=float), np.array([])),)
    far = dataclasses.replace(run, tools_at=lambda frame: away)
    assert picture_bounds([far], moments(far))[3] == pytest.approx(30.0 + 0.15 * 80.0, rel=0.01)


def test_all_runs_of_a_case_share_camera_and_colours_and_nothing_blank_is_drawn(press_runs) -> None:
    rows = plan_case(compare(press_runs).cases[2], press_runs[4:])
    deepest, end = "Deepest press, t = 10 s", "End, t = 30 s"
    titles = [f"{when}: {what}" for what in ("displacement", "distance from fem") for when in (deepest, end)]
    assert [row.title for row in rows] == titles, "the block at rest is left out"
    assert [[picture.label for picture in row.pictures] for row in rows] == 2 * [["fem", "truss"]] + 2 * [["truss"]]
    jobs = [picture.job for row in rows for picture in row.pictures]
    assert len({(item.bounds, item.size) for item in jobs}) == 1
    assert all(len({picture.job.value_range for picture in row.pictures}) == 1 for row in rows)
    largest = max(np.linalg.norm(run.displacement[10], axis=1).max() for run in press_runs[4:])
    assert jobs[0].value_range[1] == pytest.approx(largest)
    # The truss moves 0.88 of the reference: the picture of the distance shows 0.12 of it.
    np.testing.assert_allclose(jobs[4].values, 0.12 / 0.88 * jobs[1].values, rtol=1e-9)
    # An elastic block is back at its place in the end.
    assert {
        picture.moment.name
        for row in plan_case(compare(press_runs).cases[0], press_runs[:2])
        for picture in row.pictures
    } == {"deepest press"}
