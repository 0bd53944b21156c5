"""The comparison's verdict on particles and finite elements on one mesh, from made-up force curves."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.validation import RunView, compare, load_comparison
from rheotwin.validation.cross_check import CrossCheck
from rheotwin.validation.report.page import render_report
from rheotwin.validation.report.plots import cross_check_plots
from rheotwin.validation.report.sentences import cross_check_sentence, markdown_summary

Pair = Callable[..., list[RunView]]
SLOPE, CURVATURE, HEIGHT = 0.8, -1.1, 30.0


@pytest.fixture
def pair(make_run: Callable[..., RunView]) -> Pair:
    """Return finite elements, and particles whose force differs by `at_zero` + slope s + curvature s^2 and noise."""

    def build(
        at_zero: float = 0.0,
        noise: float = 0.0,
        blow: float = 0.0,
        cells: tuple[int, int] = (8, 3),
        solvers: tuple[str, str] = ("fem", "shear-volume"),
        finite: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[RunView]:
        times = np.linspace(0.0, 30.0, 601)
        depth = np.interp(times, [0.0, 2.0, 10.0, 20.0], [-2.5, 0.0, 10.0, 0.0])  # touches after 2 s
        strain, force = depth / HEIGHT, 40.0 * np.maximum(depth, 0.0)
        ratio = 1.0 + at_zero + SLOPE * strain + CURVATURE * strain**2
        ratio += noise * np.random.default_rng(1).standard_normal(len(times))
        ratio += blow * (strain < 0.099 * strain.max())
        runs = []
        for solver, size, cut in zip(solvers, (1.0, ratio), ((8, 3), cells), strict=True):
            run = make_run(solver, "elastic", cells=cut)
            probes = {"tool.bar.force_y": force * size, "tool.bar.displacement_y": -depth}
            known = {"step": 0.005, **((finite or {}) if solver == solvers[0] else options)}
            manifest = {**run.manifest, "solver": {"name": solver, "options": known}}
            runs.append(dataclasses.replace(run, probe_times=times, probes=probes, manifest=manifest))
        return runs

    return build


def only_check(runs: list[RunView]) -> CrossCheck:
    (check,) = compare(runs).cases[0].cross_checks
    return check


def test_a_difference_of_the_order_of_the_strain_is_found_and_held_right(pair: Pair) -> None:
    check = only_check(pair())
    assert (check.particles, check.finite, check.tool) == ("shear-volume", "fem", "bar")
    assert check.at_zero == pytest.approx(0.0, abs=1e-12)
    assert check.slope == pytest.approx(SLOPE, rel=1e-9) and check.scatter < 1e-12 and check.holds
    assert max(check.strains) == pytest.approx(5.0 / HEIGHT, abs=0.002), "half of the way in"
    assert cross_check_sentence(check) == (
        "shear-volume and fem, force on bar: < 0.1 % apart at no depth, known to < 0.1 %, and then +0.80 times the "
        "strain: nothing but the order of the strain, as promised."
    )


def test_differences_without_strain_noise_and_the_first_touch(pair: Pair) -> None:
    check = only_check(pair(at_zero=0.03))
    assert check.at_zero == pytest.approx(0.03, rel=1e-9) and check.holds is False
    assert "3.0 % apart at no depth" in cross_check_sentence(check) and "not as promised" in cross_check_sentence(check)
    check = only_check(pair(at_zero=0.03, noise=0.02))
    assert check.scatter == pytest.approx(0.02, rel=0.3) and check.holds
    check = only_check(pair(noise=0.3))
    assert check.holds is None and "too unsteady to tell" in cross_check_sentence(check)
    check = only_check(pair(blow=0.5))
    assert check.at_zero == pytest.approx(0.0, abs=1e-12) and check.slope == pytest.approx(SLOPE, rel=1e-9)


@pytest.mark.parametrize(
    "other",
    [{"cells": (4, 3)}, {"shear": "seed"}, {"incompressible": "pair"}, {"split": "lame"}, {"volume_law": "area"}],
    ids=str,
)
def test_models_that_promise_nothing_are_not_checked(other: dict[str, Any], pair: Pair) -> None:
    assert compare(pair(**other)).cases[0].cross_checks == ()


def test_edges_in_words_are_held_against_those_in_floating_point(pair: Pair) -> None:
    solvers, same = ("truss", "fixed-point"), {"volume_term": False, "match": "stiffness"}
    check = only_check(pair(solvers=solvers, finite=same, match="stiffness", at_zero=0.03))
    assert (check.particles, check.finite, check.holds) == ("fixed-point", "truss", False)
    for other in ({"volume_term": True, "match": "stiffness"}, {"volume_term": False, "match": "element"}):
        assert compare(pair(solvers=solvers, finite=other, match="stiffness")).cases[0].cross_checks == ()


def test_the_report_has_the_section_where_there_are_both(pair: Pair, tmp_path: Path) -> None:
    comparison = compare(pair())
    (plot,) = cross_plots = cross_check_plots(comparison)
    assert plot.name == "elastic-cross-check" and "+0.80 times the strain" in plot.alt
    page = render_report(comparison, overview=(), plots={}, pictures={}, cross_plots=cross_plots)
    assert '<section id="cross-check">' in page and "as promised" in page and 'href="#cross-check"' in page
    assert "as promised" in markdown_summary(comparison)
    (tmp_path / "comparison.json").write_text(comparison.to_json(), encoding="utf-8")
    assert load_comparison(tmp_path / "comparison.json").cases == comparison.cases
    alone = compare(pair()[:1])
    assert cross_check_plots(alone) == ()
    assert "cross-check" not in render_report(alone, overview=(), plots={}, pictures={})
