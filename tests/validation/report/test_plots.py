"""Plots: which exist, light SVG with real text and no addresses, one style per solver."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from rheotwin.validation import compare
from rheotwin.validation.report.charts import line_styles, with_own_ids
from rheotwin.validation.report.plots import case_plots, colour_bar, overview_plots


def test_case_plots_show_what_the_run_recorded(press_runs) -> None:
    comparison = compare(press_runs[:2])
    plots = {plot.name: plot for plot in case_plots(comparison, comparison.cases[0], press_runs[:2])}
    assert list(plots) == [
        "elastic-error",
        "elastic-force-bar",
        "elastic-stroke-bar",
        "elastic-energy-stored",
        "elastic-energy-kinetic",
        "elastic-volume-block",
    ]
    force = plots["elastic-force-bar"]
    assert "force on bar, y [N]" in force.svg and "<text" in force.svg
    assert "fem: from 0 to 0, range 0 to 100" in force.alt
    assert force.png.startswith(b"\x89PNG")


def test_svg_is_light_well_formed_and_without_addresses(press_runs) -> None:
    comparison = compare(press_runs[:2])
    for plot in case_plots(comparison, comparison.cases[0], press_runs[:2]):
        assert "http" not in plot.svg
        assert len(plot.svg) < 60_000
        ElementTree.fromstring(plot.svg.replace("xlink:href", "href"))


def test_a_run_without_probes_leaves_only_the_error(press_runs) -> None:
    bare = [dataclasses.replace(run, probes={}, probe_times=np.zeros(0)) for run in press_runs[:2]]
    comparison = compare(bare)
    names = [plot.name for plot in case_plots(comparison, comparison.cases[0], bare)]
    assert names == ["elastic-error"]
    assert len(overview_plots(comparison, {"elastic": ()})) == 1


@pytest.mark.parametrize(
    ("unit", "word"), [({}, "area"), ({"volume.block": "m2"}, "area"), ({"volume.block": "m3"}, "volume")]
)
def test_the_measure_of_a_body_is_named_by_its_unit(press_runs, unit: dict[str, str], word: str) -> None:
    """The flat mesh of an axisymmetric body stands for rings, whose measure is a volume."""
    runs = [dataclasses.replace(run, units=unit) for run in press_runs[:2]]
    comparison = compare(runs)
    plot = case_plots(comparison, comparison.cases[0], runs)[-1]
    assert plot.caption == f"elastic: {word} of block"
    assert f"change of {word} [%]" in plot.svg


def test_residual_bars_carry_their_numbers(press_runs) -> None:
    comparison = compare(press_runs)
    bars = overview_plots(comparison, {case.case: () for case in comparison.cases})[0]
    assert re.findall(r">(\d+)</text>\s*</g>", bars.svg)[-6:] == ["0", "45", "90", "0", "45", "90"]
    assert "rheological keeps 45 %" in bars.alt


def test_known_solvers_keep_their_colours_whatever_the_company() -> None:
    alone, crowd = line_styles(["truss"]), line_styles(["other", "truss", "fem"])
    assert alone["truss"] == crowd["truss"]
    assert len({style.colour for style in crowd.values()}) == 3


def test_own_ids_are_consistent() -> None:
    svg = '<svg><path id="a"/><use xlink:href="#a" clip-path="url(#b)"/></svg>'
    assert with_own_ids(svg, "p") == '<svg><path id="p-a"/><use xlink:href="#p-a" clip-path="url(#p-b)"/></svg>'


def test_colour_bar_names_quantity_and_unit() -> None:
    assert "displacement [m]" in colour_bar("bar", "GnBu", (0.0, 2.0), "displacement [m]").svg
