"""Comparison of runs: errors, reasons, sentences, orderings, and the JSON round trip."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import RunView, compare, load_comparison


def test_a_uniformly_softer_run_has_the_error_of_its_scale(press_runs) -> None:
    comparison = compare(press_runs)
    assert [case.case for case in comparison.cases] == ["elastic", "rheological", "viscoplastic"]
    for case in comparison.cases:
        fem, truss = case.runs
        assert fem.is_reference and fem.displacement is None
        # u = 0.88 u_ref everywhere: the error peaks with the motion at 1 - 0.88.
        assert truss.displacement is not None
        assert truss.displacement.largest == pytest.approx(0.12, abs=1e-12)
        assert truss.forces[0].error == pytest.approx(0.12, abs=1e-12)
        assert truss.volume_drift["block"] == pytest.approx(0.02 * 0.88, abs=1e-12)
        assert truss.cost.ratio == pytest.approx(1 / 7)
    expected = "truss: 12 % displacement error at worst, 12 % force error against fem, at 1/7 of its cost."
    assert comparison.cases[0].runs[1].sentence == expected


def test_orderings_state_the_residuals_and_whether_the_promise_holds(press_runs) -> None:
    fem, truss = compare(press_runs).orderings
    assert [item.case for item in fem.residuals] == ["elastic", "rheological", "viscoplastic"]
    assert [item.at_node for item in truss.residuals] == pytest.approx([0.0, 0.45, 0.9], abs=1e-12)
    assert fem.holds is True
    assert "elastic keeps 0 %, rheological keeps 45 %, viscoplastic keeps 90 %" in fem.sentence


def test_a_single_case_states_its_residual_without_a_verdict(make_run) -> None:
    (ordering,) = compare([make_run("fem", "rheological")]).orderings
    assert ordering.holds is None
    assert ordering.sentence == "fem: rheological keeps 45 % of the largest displacement."


def test_a_broken_order_is_said(press_runs) -> None:
    swap = {"elastic": "viscoplastic", "viscoplastic": "elastic", "rheological": "rheological"}
    swapped = [dataclasses.replace(run, case=swap[run.case]) for run in press_runs]
    ordering = compare(swapped).orderings[0]
    assert ordering.holds is False
    assert "not the order" in ordering.sentence


def test_other_meshes_of_a_body_are_compared_at_the_nodes_of_the_reference(make_run) -> None:
    def linear(cells: tuple[int, int], scale: float) -> RunView:
        run = make_run("truss", "elastic", cells=cells)
        field = scale * np.linspace(0.0, 1.0, len(run.times))[:, None, None] * run.rest[:, [1, 0, 2]]
        return dataclasses.replace(run, displacement=field, velocity=None)

    reference, other = linear((8, 3), 1.0), linear((10, 4), 0.9)
    truss = compare([reference.renamed("fine"), other], reference="fine").cases[0].runs[1]
    assert truss.notes == ()
    assert truss.displacement.largest == pytest.approx(0.1, rel=1e-12), "a linear field is exact on any mesh"


def test_other_bodies_are_said_in_words_not_compared_pointwise(make_run) -> None:
    run = make_run("truss", "elastic")
    wider = dataclasses.replace(run, rest=run.rest * [1.2, 1.0, 1.0], manifest={})
    truss = compare([make_run("fem", "elastic"), wider]).cases[0].runs[1]
    assert truss.displacement is None and truss.velocity is None
    assert truss.forces[0].error == pytest.approx(0.0, abs=1e-12)
    assert "'truss' and 'fem' have different bodies (the nodes of one lie outside of the other)" in truss.notes[0]


def test_an_interrupted_run_is_compared_over_its_own_span(make_run) -> None:
    run = make_run("truss", "elastic")
    short = dataclasses.replace(
        run,
        times=run.times[:12],
        displacement=run.displacement[:12],
        velocity=run.velocity[:12],
        probe_times=run.probe_times[:12],
        probes={name: values[:12] for name, values in run.probes.items()},
        manifest={**run.manifest, "status": "interrupted"},
    )
    truss = compare([make_run("fem", "elastic"), short]).cases[0].runs[1]
    assert truss.displacement.times[-1] == pytest.approx(11.0)
    assert "interrupted: its record ends at t = 11 s" in truss.notes[0]


def test_another_scene_is_named(make_run) -> None:
    run = make_run("truss", "elastic")
    other = dataclasses.replace(run, manifest={**run.manifest, "scene": {**run.manifest["scene"], "laws": {}}})
    truss = compare([make_run("fem", "elastic"), other]).cases[0].runs[1]
    assert truss.notes == ("'truss' ran another scene than 'fem': laws differ.",)


def test_reference_by_label_and_unknown_reference(press_runs) -> None:
    assert {case.reference for case in compare(press_runs, reference="truss").cases} == {"truss"}
    with pytest.raises(RheotwinError, match=r"'trus' is not among .* \(did you mean 'truss'\?\)"):
        compare(press_runs, reference="trus")
    with pytest.raises(RheotwinError, match="nothing to compare"):
        compare([])


def test_two_runs_of_one_solver_get_names_of_their_own(make_run) -> None:
    runs = [make_run("truss", "elastic"), make_run("truss", "elastic", scale=0.5)]
    case = compare(runs).cases[0]
    assert [run.label for run in case.runs] == ["truss", "truss-2"]
    assert case.reference == "truss"


def test_a_motionless_reference_gives_no_error_instead_of_infinity(make_run) -> None:
    run = make_run("fem", "elastic")
    still = dataclasses.replace(run, displacement=np.zeros_like(run.displacement))
    comparison = compare([still, make_run("truss", "elastic")])
    assert comparison.cases[0].runs[1].displacement is None
    assert "NaN" not in comparison.to_json() and "Infinity" not in comparison.to_json()


def test_json_round_trip(press_runs, tmp_path: Path) -> None:
    comparison = compare(press_runs)
    path = tmp_path / "comparison.json"
    path.write_text(comparison.to_json())
    assert load_comparison(path) == comparison


def test_a_foreign_or_missing_json_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(RheotwinError, match="not a comparison"):
        load_comparison(tmp_path / "x.json")
    with pytest.raises(RheotwinError, match="could not be read"):
        load_comparison(tmp_path / "absent.json")


def test_where_nothing_moves_the_comparison_says_so_and_passes_no_verdict(press_runs) -> None:
    still = [
        dataclasses.replace(run, displacement=0.0 * run.displacement, velocity=None, probes={}) for run in press_runs
    ]
    comparison = compare(still)
    assert {case.runs[1].sentence for case in comparison.cases} == {"truss: both stay at rest, it and fem."}
    assert [ordering.holds for ordering in comparison.orderings] == [None, None]
    assert "stays at rest" in comparison.orderings[0].sentence
    one_moves = compare([press_runs[0], still[1]]).cases[0].runs[1].sentence
    assert "100 % displacement error" in one_moves
