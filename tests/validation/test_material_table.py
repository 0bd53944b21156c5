"""The report shows how springs match the law: a table of numbers, a sentence a body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rheotwin.validation import RunView
from rheotwin.validation.assess import compare
from rheotwin.validation.report.page import match_sentence, material_rows, render_report

MATCH = {
    "match": "length",
    "edges": 9,
    "volume_cells": 4,
    "poisson_of_law": 0.3,
    "poisson_of_body": 0.271,
    "stiffness_misfit": 0.2312,
    "element_stiffness_misfit": 0.3,
    "young_least": 0.61,
    "young_most": 1.27,
    "note": "springs alone are tied to Poisson's ratio 1/4 in plane strain",
}


def with_match(run: RunView, match: Any) -> RunView:
    assert run.manifest is not None
    return replace(run, manifest={**run.manifest, "statistics": {"material_match": {"block": match}}})


def test_the_table_has_a_row_for_every_body_of_springs(make_run: Callable[..., RunView]) -> None:
    comparison = compare([make_run("fem", "elastic"), with_match(make_run("truss", "elastic"), MATCH)])
    rows = material_rows(comparison)
    assert [(row.case, row.label, row.body) for row in rows] == [("elastic", "truss", "block")]
    page = render_report(comparison, overview=[], plots={}, pictures={})
    table = page[page.index("table-materials") :]
    for shown in ("length", "23 %", "30 %", "61 %", "127 %", "0.3", "0.271"):
        assert shown in table


def test_no_springs_no_table(make_run: Callable[..., RunView]) -> None:
    comparison = compare([make_run("fem", "elastic")])
    assert material_rows(comparison) == ()
    assert "table-materials" not in render_report(comparison, overview=[], plots={}, pictures={})


def test_numbers_of_edges_leave_the_misfit_out(make_run: Callable[..., RunView]) -> None:
    match = {
        "match": "edge",
        "edges": 9,
        "anisotropy": 4.7,
        "poisson_of_body": 0.25,
        "note": "the constants of each edge",
    }
    comparison = compare([with_match(make_run("truss", "elastic"), match)])
    assert "table-materials" in render_report(comparison, overview=[], plots={}, pictures={})


def test_the_sentence_names_directions_and_the_ratio() -> None:
    words = match_sentence(MATCH)
    assert words == (
        "springs and volume springs miss the law's stiffness by 23 %; their Young's modulus is 61 % to 127 % of the "
        "law's, by direction; springs alone are tied to Poisson's ratio 1/4 in plane strain"
    )
