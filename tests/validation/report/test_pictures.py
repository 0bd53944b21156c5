"""Pictures: what is shown, in which process, and what happens when it crashes."""

import dataclasses
from io import BytesIO

import matplotlib.image
import numpy as np
import pytest

from rheotwin.validation import Surface, compare
from rheotwin.validation.report.drawing import PictureJob, load_jobs, render, save_jobs
from rheotwin.validation.report.drawing import draw as draw_plain
from rheotwin.validation.report.pictures import moments, picture_bounds, plan_case

TET = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FLOOR = Surface("floor", np.array([[0, 0, -0.2], [1, 0, -0.2], [0, 1, -0.2]]), np.array([3, 0, 1, 2]))
WIRE = Surface("wire", np.array([[0.0, 1.1, 0.0], [1.0, 1.1, 0.0]]), np.array([2, 0, 1]))
BOUNDS = (0.0, 1.0, 0.0, 1.0, 0.0, 1.0)


def job(key: str, cells: list[list[int]], kind: str, tools: tuple[Surface, ...] = ()) -> PictureJob:
    return PictureJob(
        key, TET, np.array(cells), kind, TET[:, 0] + TET[:, 1], (0.0, 1.0), "GnBu", BOUNDS, (160, 120), tools
    )


JOBS = [
    job("solid", [[0, 1, 2, 3]], "tet", (FLOOR,)),
    job("flat", [[0, 1, 2]], "triangle", (WIRE, FLOOR)),
    job("chain", [[0, 1], [1, 2]], "line"),
]


def pixels(png: bytes) -> np.ndarray:
    return matplotlib.image.imread(BytesIO(png), format="png")[..., :3]


def assert_drawn(png: bytes) -> None:
    image = pixels(png)
    assert image.shape[:2] == (120, 160)
    # A white background and a body in colours: neither a blank nor a black picture.
    assert 0.02 < (np.ptp(image, axis=2) > 0.05).mean() < 0.9
    assert (image.min(axis=2) > 0.99).mean() > 0.1


def test_jobs_travel_through_files_unchanged(tmp_path) -> None:
    save_jobs(tmp_path, JOBS)
    for sent, got in zip(JOBS, load_jobs(tmp_path), strict=True):
        assert (sent.key, sent.cell_kind, sent.value_range, sent.bounds, sent.size) == (
            got.key,
            got.cell_kind,
            got.value_range,
            got.bounds,
            got.size,
        )
        np.testing.assert_array_equal(sent.cells, got.cells)
        assert [tool.name for tool in sent.tools] == [tool.name for tool in got.tools]


def test_render_draws_every_kind_of_body() -> None:
    drawn = render(JOBS)
    assert list(drawn) == ["solid", "flat", "chain"]
    for png in drawn.values():
        assert_drawn(png)


@pytest.mark.parametrize("drawn", JOBS, ids=lambda item: item.key)
def test_matplotlib_draws_every_kind_of_body(drawn: PictureJob) -> None:
    assert_drawn(draw_plain(drawn))


def test_a_crash_of_the_drawing_process_costs_no_picture() -> None:
    # A module that does not exist ends the process at once, as a crash of the graphics stack would.
    drawn = render(JOBS[1:2], worker="rheotwin.validation.absent")
    assert drawn["flat"] == draw_plain(JOBS[1])


def test_moments_are_start_deepest_press_and_end(make_run) -> None:
    run = make_run("fem", "viscoplastic")
    assert [(moment.name, moment.time) for moment in moments(run)] == [
        ("start", 0.0),
        ("deepest press", 10.0),
        ("end", 30.0),
    ]
    toolless = dataclasses.replace(run, probes={})
    assert [moment.name for moment in moments(toolless)] == ["start", "largest motion", "end"]


def test_all_runs_of_a_case_share_camera_and_colours(press_runs) -> None:
    case = compare(press_runs).cases[2]
    rows = plan_case(case, press_runs[4:])
    assert [row.title for row in rows] == [
        "Start, t = 0 s",
        "Deepest press, t = 10 s",
        "End, t = 30 s",
        "truss: distance from fem",
    ]
    jobs = [picture.job for row in rows for picture in row.pictures]
    assert len({(item.bounds, item.size) for item in jobs}) == 1
    assert len({item.value_range for item in jobs[:6]}) == 1
    largest = max(np.linalg.norm(run.displacement[10], axis=1).max() for run in press_runs[4:])
    assert jobs[0].value_range[1] == pytest.approx(largest)
    # The truss moves 0.88 of the reference: the picture of the distance shows 0.12 of it.
    np.testing.assert_allclose(jobs[6].values, 0.12 / 0.88 * jobs[3].values, rtol=1e-9)


def test_bounds_hold_bodies_and_a_little_of_the_tools(make_run) -> None:
    run = make_run("fem", "elastic")
    x0, x1, y0, y1, _, _ = picture_bounds([run], moments(run))
    assert (x0, x1, y0) == pytest.approx((0.0, 80.0, 0.0), abs=0.5)
    assert y1 == pytest.approx(35.0)
    far = dataclasses.replace(
        run, tools_at=lambda frame: (Surface("tools", np.array([[0, 1e6, 0]], dtype=float), np.array([])),)
    )
    assert picture_bounds([far], moments(far))[3] == pytest.approx(30.0 + 0.15 * 80.0, rel=0.01)
