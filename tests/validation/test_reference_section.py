"""The numbers of a validation inside the report of a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import compare
from rheotwin.validation.checks.outcome import Result, Row, Verification, load_validation
from rheotwin.validation.report.page import render_report

HELD = Row("F", "N", "relative", 88.0, 0.01, computed=88.04, error=5e-4, holds=True)
MISSED = Row("G", "N", "absolute", 1.0, 0.1, computed=2.0, error=1.0, holds=False)
CHECKED = Verification(
    "0.1.0",
    (
        Result("fem.R17", "press", "pressing <force>", "holds", (HELD,)),
        Result("fem.R99", "missed", "a miss", "falls short", (MISSED,)),
    ),
)


def written(folder: Path, text: str) -> Path:
    (folder / "validate.json").write_text(text, encoding="utf-8")
    return folder


def test_a_written_validation_is_read_again(tmp_path: Path) -> None:
    assert load_validation(written(tmp_path, json.dumps(CHECKED.to_data()))) == CHECKED


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rheotwin_version": "0", "checks": [1]}'])
def test_what_is_no_validation_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(RheotwinError, match=r"validate.json: not a validation of this version; write it again"):
        load_validation(written(tmp_path, text))
    with pytest.raises(RheotwinError, match=r"could not be read .*; write it with `rheotwin validate --output"):
        load_validation(tmp_path / "absent")


def test_the_page_shows_reference_numbers_and_how_near_they_are(press_runs) -> None:
    page = render_report(compare(press_runs), overview=(), plots={}, pictures={}, references=CHECKED)
    assert 'href="#references"' in page and 'id="references"' in page
    assert "1 of 2 checks hold, 1 falls short" in page
    assert "pressing &lt;force&gt;, holds" in page
    assert '<td class="ok">yes</td>' in page and '<td class="no">no</td>' in page


def test_without_a_validation_there_is_no_such_section(press_runs) -> None:
    page = render_report(compare(press_runs), overview=(), plots={}, pictures={})
    assert "references" not in page.split("</style>")[1]
