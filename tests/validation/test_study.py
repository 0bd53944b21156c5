"""Comparison of runs: errors, reasons, sentences, orderings, refinement studies, the summary, the JSON round trip."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import Cost, RunView, compare, load_comparison
from rheotwin.validation.comparison import RunComparison
from rheotwin.validation.metrics.meshes import at_nodes_of
from rheotwin.validation.report.plots import study_plots
from rheotwin.validation.report.sentences import markdown_summary
from rheotwin.validation.study import finest_labels, labelled, with_limits


def test_a_uniformly_softer_run_has_the_error_of_its_scale(press_runs) -> None:
    comparison = compare(press_runs)
    assert [case.case for case in comparison.cases] == ["elastic", "rheological", "viscoplastic"]
    for case in comparison.cases:
        fem, truss = case.runs
        assert fem.is_reference and fem.displacement is None
        # u = 0.88 u_ref everywhere: the error peaks with the motion at 1 - 0.88.
        assert truss.displacement is not None and truss.displacement.largest == pytest.approx(0.12, abs=1e-12)
        assert truss.forces[0].error == pytest.approx(0.12, abs=1e-12)
        assert truss.volume_drift["block"] == pytest.approx(0.02 * 0.88, abs=1e-12)
        assert truss.cost.ratio == pytest.approx(1 / 7)
    expected = (
        "truss with volume springs: 12 % displacement error at worst, 12 % force error against fem, at 1/7 of its cost."
    )
    assert comparison.cases[0].runs[1].sentence == expected


def test_orderings_state_residuals_and_whether_the_promise_holds(press_runs, make_run) -> None:
    fem, truss = compare(press_runs).orderings
    assert [item.case for item in fem.residuals] == ["elastic", "rheological", "viscoplastic"]
    assert [item.at_node for item in truss.residuals] == pytest.approx([0.0, 0.45, 0.9], abs=1e-12)
    assert fem.holds is True
    assert "elastic keeps 0 %, rheological keeps 45 %, viscoplastic keeps 90 %" in fem.sentence
    (ordering,) = compare([make_run("fem", "rheological")]).orderings
    assert ordering.holds is None
    assert ordering.sentence == "fem: rheological keeps 45 % of the largest displacement."
    swap = {"elastic": "viscoplastic", "viscoplastic": "elastic", "rheological": "rheological"}
    ordering = compare([replace(run, case=swap[run.case]) for run in press_runs]).orderings[0]
    assert ordering.holds is False and "not the order" in ordering.sentence
    still = [replace(run, displacement=0.0 * run.displacement, velocity=None, probes={}) for run in press_runs]
    comparison = compare(still)
    assert {case.runs[1].sentence for case in comparison.cases} == {
        "truss with volume springs: both stay at rest, it and fem."
    }
    assert [ordering.holds for ordering in comparison.orderings] == [None, None]
    assert "stays at rest" in comparison.orderings[0].sentence
    assert "100 % displacement error" in compare([press_runs[0], still[1]]).cases[0].runs[1].sentence


def test_other_meshes_are_compared_at_nodes_of_the_reference_and_other_bodies_in_words(make_run) -> None:
    def linear(cells: tuple[int, int], scale: float) -> RunView:
        run = make_run("truss", "elastic", cells=cells)
        field = scale * np.linspace(0.0, 1.0, len(run.times))[:, None, None] * run.rest[:, [1, 0, 2]]
        return replace(run, displacement=field, velocity=None)

    reference, other = linear((8, 3), 1.0), linear((10, 4), 0.9)
    truss = compare([reference.renamed("fine"), other], reference="fine").cases[0].runs[1]
    assert truss.notes == ()
    assert truss.displacement.largest == pytest.approx(0.1, rel=1e-12), "a linear field is exact on any mesh"
    truss = against_fem(make_run, rest=make_run("truss", "elastic").rest * [1.2, 1.0, 1.0], manifest={})
    assert truss.displacement is None and truss.velocity is None
    assert truss.forces[0].error == pytest.approx(0.0, abs=1e-12)
    assert "'truss' and 'fem' have different bodies (the nodes of one lie outside of the other)" in truss.notes[0]
    run = make_run("truss", "elastic")
    short = {name: getattr(run, name)[:12] for name in ("times", "displacement", "velocity", "probe_times")}
    probes = {name: values[:12] for name, values in run.probes.items()}
    truss = against_fem(make_run, **short, probes=probes, manifest={**run.manifest, "status": "interrupted"})
    assert truss.displacement.times[-1] == pytest.approx(11.0)
    assert "interrupted: its record ends at t = 11 s" in truss.notes[0]
    manifest = make_run("truss", "elastic").manifest
    truss = against_fem(make_run, manifest={**manifest, "scene": {**manifest["scene"], "laws": {}}})
    assert truss.notes == ("'truss with volume springs' ran another scene than 'fem': laws differ.",)


def against_fem(make_run, **changes) -> RunComparison:
    return compare([make_run("fem", "elastic"), replace(make_run("truss", "elastic"), **changes)]).cases[0].runs[1]


def test_labels_of_runs_references_and_meshes(press_runs, make_run) -> None:
    assert {case.reference for case in compare(press_runs, reference="truss").cases} == {"truss"}
    with pytest.raises(RheotwinError, match=r"'trus' is not among .* \(did you mean 'truss'\?\)"):
        compare(press_runs, reference="trus")
    with pytest.raises(RheotwinError, match="nothing to compare"):
        compare([])
    runs = [make_run("truss", "elastic"), make_run("truss", "elastic", scale=0.5)]
    case = compare(runs).cases[0]
    assert [run.label for run in case.runs] == ["truss", "truss-2"] and case.reference == "truss"
    run = make_run("fem", "elastic")
    comparison = compare([replace(run, displacement=0.0 * run.displacement), make_run("truss", "elastic")])
    assert comparison.cases[0].runs[1].displacement is None
    assert "NaN" not in comparison.to_json() and "Infinity" not in comparison.to_json()


def test_json_round_trip_and_foreign_files(press_runs, tmp_path: Path) -> None:
    comparison, path = compare(press_runs), tmp_path / "comparison.json"
    path.write_text(comparison.to_json())
    assert load_comparison(path) == comparison
    path.write_text("{}")
    with pytest.raises(RheotwinError, match="not a comparison"):
        load_comparison(path)
    with pytest.raises(RheotwinError, match="could not be read"):
        load_comparison(tmp_path / "absent.json")


PEAK, SLOPE, ORDER = 100.0, 8.0, 1.5


@pytest.fixture
def study(make_run) -> list[RunView]:
    """Return fem on three meshes, whose force tends to 100 N with order 1.5, and truss on two."""

    def on(solver: str, parts: int, scale: float, seconds: float) -> RunView:
        run = make_run(solver, "elastic", scale=scale, cells=(4 * parts, 2 * parts))
        scene = {**run.manifest["scene"], "refinement": parts}
        cost = Cost(wall_time=seconds, steps=10, step_size=0.1)
        return replace(run, manifest={**run.manifest, "scene": scene}, cost=cost)

    fem = [on("fem", n, (PEAK + SLOPE * n**-ORDER) / PEAK, 1.0 * n**2) for n in (1, 2, 4)]
    return [*fem, on("truss", 1, 0.9, 0.1), on("truss", 2, 0.85, 2.0)]


def test_labels_tell_the_mesh_where_there_are_several(study: list[RunView]) -> None:
    assert [run.label for run in labelled(study)] == ["fem@1", "fem@2", "fem@4", "truss@1", "truss@2"]
    assert [run.label for run in labelled([study[1], study[3]])] == ["fem", "truss"]
    assert compare(labelled(study), reference="fem").cases[0].reference == "fem@4", "the finest stands for a solver"
    assert [item.label for item in compare(labelled(study)).orderings] == ["fem@4", "truss@2"]


def test_limits_errors_orders_and_front_of_a_study(study: list[RunView]) -> None:
    limit = with_limits(labelled(study), "fem@limit")[-1]
    assert limit.label == "fem@limit"
    assert limit.probes["tool.bar.force_y"].max() == pytest.approx(PEAK, rel=1e-6)
    assert limit.displacement is study[2].displacement
    assert "extrapolated from 'fem@2' and 'fem@4' with the observed order 1.5" in limit.remark
    with pytest.raises(RheotwinError, match=r"'fem@limit': it needs runs of 'fem' on at least two meshes"):
        with_limits(labelled(study[:1]), "fem@limit")
    case = compare(with_limits(labelled(study), "fem@limit"), reference="fem@limit").cases[0]
    errors = {run.label: run.forces[0].error for run in case.runs}
    assert errors["fem@2"] == pytest.approx(SLOPE / PEAK * 2**-ORDER, rel=1e-5)
    assert errors["truss@1"] == pytest.approx(0.1, rel=1e-6)
    peak = {item.solver: item.found for item in case.settlings if item.quantity == "peak force"}
    assert peak["fem"].order == pytest.approx(ORDER, rel=1e-5) and peak["truss"].verdict == "too few meshes"
    assert case.front == ("truss@1", "fem@1", "fem@2", "fem@4")
    assert case.reference_uncertainty == pytest.approx(1.25 * SLOPE * 4**-ORDER / (PEAK + SLOPE * 4**-ORDER), rel=1e-4)
    assert case.runs[2].displacement is None, "the limit's fields are this run's own"
    assert finest_labels(case.runs) == ("fem@4", "truss@2")
    slow = replace(study[3], cost=Cost(wall_time=50.0, steps=10, step_size=0.1))
    case = compare(labelled([study[0], study[2], slow]), reference="fem@4").cases[0]
    assert case.front == ("fem@1",)


def test_a_run_of_the_circuit_is_weighed_by_its_cycles(study: list[RunView]) -> None:
    """Minutes of computing words are a tenth of a second on the chip."""
    circuit = replace(study[3], cost=Cost(wall_time=50.0, steps=10, step_size=0.1, circuit_time=0.1))
    comparison = compare(labelled([study[0], study[2], circuit]), reference="fem@4")
    case = comparison.cases[0]
    assert case.front == ("truss@1", "fem@1") or case.front == ("truss", "fem@1")
    (pareto,) = (plot for plot in study_plots(case, comparison.labels) if plot.name == "elastic-pareto")
    assert "in 0.1 s" in pareto.alt and "of a circuit: cycles over clock" in pareto.alt
    assert "50 s, circuit 0.1 s" in markdown_summary(comparison)


def test_plots_and_the_summary_of_a_study(study: list[RunView]) -> None:
    views = labelled(study)
    comparison = compare(views)
    plots = {plot.name: plot for plot in study_plots(comparison.cases[0], comparison.labels)}
    spoken = plots["elastic-pareto"].alt
    assert "truss with volume springs@1: 1" in spoken and "Not beaten: truss with volume springs@1" in spoken
    assert "observed order 1.5" in plots["elastic-settling-peak-force"].alt
    text = markdown_summary(compare(labelled(study), reference="fem@4"))
    told, all_runs = text.split("<details>")
    rows = [line for line in all_runs.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(study) and {line.count("|") for line in rows} == {7}
    rows = [line for line in told.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 1 and {line.count("|") for line in rows} == {6} and len(told.splitlines()) <= 10
    assert "**truss with volume springs@1**" in text and "fem@4 (reference)" in text
    assert "Pressing a &lt;made-up> block" in text and np.all(["\t" not in line for line in rows])


def test_bodies_that_touch_do_not_mix(make_run) -> None:
    """Two halves of a block slide along each other: between meshes a node takes values of its own half alone."""

    def halves(cells: tuple[int, int]) -> RunView:
        run = make_run("fem", "elastic", cells=cells)
        right = run.rest[run.cells].mean(axis=1)[:, 0] > 40.0
        nodes = np.unique(run.cells[right], return_inverse=True)
        doubled = run.cells.copy()
        doubled[right] = len(run.rest) + nodes[1].reshape(-1, 3)
        rest = np.concatenate([run.rest, run.rest[nodes[0]]])
        motion = np.zeros((len(run.times), len(rest), 3))
        motion[:, :, 1] = np.where(np.arange(len(rest)) < len(run.rest), 1.0, -1.0)
        weights, bodies = np.ones(len(rest)), right.astype(np.int64)
        fields = {"displacement": motion, "velocity": None, "node_weights": weights, "bodies": bodies}
        return replace(run, rest=rest, cells=doubled, **fields)

    coarse, fine = halves((4, 2)), halves((8, 6))
    used = np.unique(fine.cells)
    mapped = at_nodes_of(fine, coarse)(coarse.displacement)
    assert mapped.shape == (len(fine.times), len(used), 3)
    assert mapped[0, :, 1] == pytest.approx(fine.displacement[0, used, 1], abs=1e-14)
