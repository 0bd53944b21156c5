"""Verdicts of made-up runs whose errors and uncertainties are known by hand."""

from dataclasses import replace

import numpy as np
import pytest

from rheotwin.validation import Cost, RunView, compare
from rheotwin.validation.comparison import CaseComparison, Verdict
from rheotwin.validation.experiments.metadata import Specimen, Uncertainty
from rheotwin.validation.experiments.record import Course, ExperimentRecord
from rheotwin.validation.metrics import curve_match, force_curve_error
from rheotwin.validation.metrics.fits import BIASED
from rheotwin.validation.reference import standing
from rheotwin.validation.report.sentences import markdown_summary, verdict_notes
from rheotwin.validation.study import labelled, with_limits
from rheotwin.validation.verdict import against_experiment, displacement_gradient


def scaled(run: RunView, factor: float, refinement: int = 1, *, wall: float = 1.0) -> RunView:
    """Return the run with its forces times a factor, on a mesh of its own."""
    force = {"tool.bar.force_y": factor * run.probes["tool.bar.force_y"]}
    scene = {**run.manifest["scene"], "refinement": refinement}
    return replace(
        run,
        probes={**run.probes, **force},
        manifest={**run.manifest, "scene": scene},
        cost=Cost(wall_time=wall, steps=1, step_size=1.0),
    )


@pytest.fixture
def fem(make_run) -> RunView:
    return make_run("fem", "elastic")


@pytest.fixture
def truss(make_run) -> RunView:
    return make_run("truss", "elastic")


def case_of(views: list[RunView], reference: str = "fem") -> CaseComparison:
    return compare(with_limits(labelled(views), reference), reference=reference).cases[0]


def row_of(views: list[RunView], reference: str = "fem") -> Verdict:
    (row,) = case_of(views, reference).verdicts
    return row


def test_error_and_parts_are_those_worked_out_by_hand(fem: RunView, truss: RunView) -> None:
    """fem 1 + .04/n^2 on n = 1, 2, 4: order 2, limit 1; truss 1.2 + .04/n: order 1, limit 1.2."""
    meshes = [scaled(fem, 1.0 + 0.04 / n**2, n) for n in (1, 2, 4)]
    runs = [scaled(truss, 1.2 + 0.04 / n, n) for n in (1, 2, 4)]
    row = row_of(meshes + runs, "fem@limit")
    parts = {part.source: part.value for part in row.parts}
    assert row.error == pytest.approx(0.21, rel=1e-9) and row.label == "truss@4"
    assert parts["mesh and step"] == pytest.approx(BIASED * 1.25 * 0.01, rel=1e-6)
    assert parts["reference"] == pytest.approx(0.04 / 16, rel=1e-6) and parts["material"] == 0.0
    assert row.uncertainty == pytest.approx(np.hypot(BIASED * 0.0125, 0.0025), rel=1e-6)
    assert (row.words, row.reason) == ("differs", "too large") and row.rest == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize(
    ("factors", "words", "reason"),
    [
        ((1.02, 1.01, 1.005), "agrees within U", ""),
        ((0.72, 0.71, 0.705), "differs", "too small"),
        ((1.5, 1.2), "cannot be told", "U is too wide, most of it from mesh and step: finer meshes make it smaller"),
        ((1.01,), "cannot be told", "one mesh of truss: add --refine truss=1,2"),
    ],
)
def test_the_words_follow_from_error_and_uncertainty(
    fem: RunView, truss: RunView, factors: tuple[float, ...], words: str, reason: str
) -> None:
    meshes = [scaled(fem, 1.0 + 0.01 / n**2, n) for n in (1, 2, 4)]
    row = row_of(meshes + [scaled(truss, factor, 2**k) for k, factor in enumerate(factors)])
    assert row.words == words and reason in row.reason


def test_what_lacks_an_interval_says_what_to_run(fem: RunView, truss: RunView) -> None:
    runs = [scaled(truss, factor, n) for n, factor in ((1, 1.02), (2, 1.01), (4, 1.005))]
    row = row_of([fem, *runs])
    assert row.words == "cannot be told" and row.uncertainty is None and "--refine fem=1,2,4" in row.reason
    meshes = [scaled(fem, 1.0 + 0.01 / n**2, n) for n in (1, 2, 4)]
    other = [replace(run, manifest={**run.manifest, "scene": {**run.manifest["scene"], "laws": {}}}) for run in runs]
    assert "runs of different laws" in row_of(meshes + other).reason
    deeper = [
        replace(run, manifest={"scene": {**run.manifest["scene"], "tools": {"bar": {"width": 2}}}}) for run in runs
    ]
    assert "runs of other scenes: tools differ" in row_of(meshes + deeper).reason
    larger = [
        replace(run, manifest={"scene": {**run.manifest["scene"], "bodies": {"block": {"size": [size, 1.0]}}}})
        for size, one in ((1.0, meshes), (2.0, runs))
        for run in one
    ]
    assert "runs of other scenes: bodies differ" in row_of(larger).reason
    ended = [replace(run, manifest={**run.manifest, "status": "diverged"}) for run in runs]
    assert "truss with volume springs@4 ends at t = " in row_of(meshes + ended).reason
    ended = [replace(run, manifest={**run.manifest, "status": "diverged"}) for run in meshes]
    assert "the reference did not reach the end, fem@4 ends at t = " in row_of(ended + runs).reason
    small = {"name": "fem", "options": {"kinematics": "small"}}
    strained = [replace(mesh, manifest={**mesh.manifest, "solver": small}) for mesh in meshes]
    assert displacement_gradient(meshes[0]) > 0.1
    assert "small strain are no reference" in row_of(strained + runs).reason
    assert "Cannot be told: " in verdict_notes([case_of([fem, *runs])])[-1]
    # a reference that does not settle has a wide interval, and so has what it judges
    row = row_of([scaled(fem, factor, 2**k) for k, factor in enumerate((1.0, 1.1, 1.0))] + runs)
    assert row.uncertainty is not None and row.uncertainty >= 3.0 * 0.1 and row.words == "cannot be told"


def test_a_course_that_differs_is_no_agreement(fem: RunView, truss: RunView) -> None:
    """The same size, but half of it comes later: error 0 within U, rest 30 % or so."""
    meshes = [scaled(fem, 1.0 + 0.01 / n**2, n) for n in (1, 2, 4)]
    times, force = fem.probe_times, fem.probes["tool.bar.force_y"]
    swing = force * np.cos(2.0 * times)
    swing -= force * (swing @ force) / (force @ force)
    late = [
        scaled(replace(truss, probes={**truss.probes, "tool.bar.force_y": force + 0.5 * swing}), 1.0, n) for n in (1, 2)
    ]
    row = row_of(meshes + late)
    assert row.error is not None and abs(row.error) < 0.01 and row.rest is not None and row.rest > 0.2
    assert row.words == "differs" and "its course differs" in row.reason


def test_advice_takes_the_cheapest_run_that_is_good_enough(fem: RunView, truss: RunView, make_run) -> None:
    meshes = [scaled(fem, 1.0 + 0.01 / n**2, n, wall=10.0) for n in (1, 2, 4)]
    truss_runs = [scaled(truss, 1.3, 1, wall=0.1), scaled(truss, 1.04, 2, wall=1.0)]
    others = [scaled(make_run("shear-volume", "elastic"), 1.01, 1, wall=5.0)]
    case = case_of(meshes + truss_runs + others, "fem@limit")
    assert case.advice.startswith("For 5 % of the force on bar take truss with volume springs@2: +4.0 ± ")
    assert "10 times cheaper than fem@1 and 10 times cheaper than fem@limit" in case.advice
    assert [row.label for row in case.verdicts] == ["truss@2", "shear-volume"]
    case = case_of([*meshes[2:], truss_runs[0]])
    assert case.advice.startswith(
        "No run is known to be within 5 % of fem in the force on bar: the nearest is truss with"
    )
    assert case.advice.endswith("; how sure that is, nothing here shows.")


def test_a_run_alone_has_nothing_to_judge(fem: RunView) -> None:
    assert case_of([fem]).advice == "There is nothing to judge: fem was compared with no other run."
    meshes = [scaled(fem, 1.0 + 0.1 / n**2, n) for n in (1, 2)]
    assert standing(meshes, "fem").enough and standing(meshes, "fem").reason == "it has no other run to judge"


def test_a_reference_is_judged_as_it_is_reported(fem: RunView, truss: RunView) -> None:
    """fem 1 + .04/n^2: the limit is 1, from which truss of 1.03 is 3 %, and from fem@4 2.7 %."""
    views = [*(scaled(fem, 1.0 + 0.04 / n**2, n) for n in (1, 2, 4)), scaled(truss, 1.03)]
    found = standing(views, "fem")
    assert found.label == "fem@limit" and found.enough and found.reason.endswith("smallest difference, 3 %")


def test_without_forces_displacements_are_judged(fem: RunView, truss: RunView) -> None:
    def bare(run: RunView, factor: float, refinement: int) -> RunView:
        scene = {**run.manifest["scene"], "refinement": refinement}
        return replace(
            run, probes={}, displacement=factor * run.displacement, manifest={**run.manifest, "scene": scene}
        )

    views = [bare(fem, 1.0 + 0.01 / n**2, n) for n in (1, 2, 4)] + [bare(truss, 0.9, n) for n in (1, 2)]
    row = row_of(views)
    assert row.quantity == "displacement" and row.error == pytest.approx(0.9 / (1.0 + 0.01 / 16) - 1.0, rel=1e-9)


def test_error_and_rest_split_the_curve_error(fem: RunView) -> None:
    chance = np.random.default_rng(1)
    times, one, other = np.linspace(0.0, 1.0, 30), chance.random((30, 3)), chance.random((30, 3))
    match = curve_match(times, one, times, other)
    assert np.hypot(match.error, match.rest) == pytest.approx(force_curve_error(times, one, times, other), rel=1e-12)
    assert curve_match(times, 1.5 * other, times, other, noisy=True).error == pytest.approx(0.5, rel=1e-12)
    assert np.isnan(curve_match(times, one, times, 0.0 * other).error)


def test_a_measurement_adds_noise_and_material(fem: RunView) -> None:
    """Rows that err independently by s of a constant force leave 2 s/sqrt(N); a common factor stays as it is."""
    flat = replace(fem, probes={**fem.probes, "tool.bar.force_y": np.full(31, -100.0)})
    assert flat.probes["tool.bar.force_y"][0] < 0.0, "what the body does to the tool; a record holds the opposite"
    runs = [scaled(flat, 1.1, n) for n in (1, 2)]
    seen = np.zeros((31, 3))
    seen[:, 1] = 100.0
    course = Course(fem.probe_times, seen, sigma=np.full(31, 5.0))
    record = ExperimentRecord("press", "measured", Specimen(size=(80.0, 30.0)), force=course)
    judgement = against_experiment(runs, record)
    assert judgement is not None
    (row,) = judgement.rows
    parts = {part.source: part for part in row.parts}
    assert row.error == pytest.approx(0.1) and parts["data"].value == pytest.approx(2 * 0.05 / np.sqrt(31), rel=0.02)
    assert parts["material"].value is None and "`uncertainty`" in row.reason and row.words == "cannot be told"
    laws = {"laws": {"dough": {"model": "three-element", "uncertainty": 0.2}}}
    known = [replace(run, manifest={**run.manifest, "scene": {**run.manifest["scene"], **laws}}) for run in runs]
    common = replace(record, force=Course(fem.probe_times, seen), uncertainty=Uncertainty(force_rel=0.03))
    judgement = against_experiment(known, common)
    assert judgement is not None
    (row,) = judgement.rows
    assert row.uncertainty == pytest.approx(np.hypot(0.2, 0.06)) and row.words == "agrees within U"
    unknown = against_experiment(known, replace(record, force=Course(fem.probe_times, seen)))
    assert unknown is not None and "no noise of its forces" in unknown.rows[0].reason
    mixed = against_experiment([known[0], scaled(flat, 1.1, 2)], common)  # a law without an interval beside one
    assert mixed is not None and "`uncertainty`" in mixed.rows[0].reason
    assert against_experiment(runs, replace(record, force=None)) is None


def test_the_summary_begins_with_the_verdicts(press_runs) -> None:
    lines = markdown_summary(compare(press_runs)).partition("<details>")[0].splitlines()
    assert lines[2].startswith("| case | solver | error E ± U |") and sum(line.startswith("| ") for line in lines) == 4
