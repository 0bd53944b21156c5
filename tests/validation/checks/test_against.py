"""Models against measurements: the verdict and what has moved are two statements, in every text."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rheotwin.validation.checks.against import against, since
from rheotwin.validation.checks.check import Check, Measurement, Quantity
from rheotwin.validation.checks.outcome import load_validation
from rheotwin.validation.checks.registry import verify
from rheotwin.validation.checks.running import refined
from rheotwin.validation.references.catalogue import Finding

MEASURED = {
    "near": Quantity("near", 100.0, 5.0, unit="N", finding=Finding(103.0, 1.0, "")),
    "off": Quantity("off", 20.0, 1.0, unit="%", finding=Finding(24.0, 0.5, "it slips")),
    "wide": Quantity("wide", 10.0, 4.0, unit="mm", finding=Finding(11.0, 0.5, "")),
    "beads": Quantity("beads", 0.3, bound="at most", unit="mm", finding=Finding(0.4, 0.01, "it bulges")),
}
VALUES = {"near": 103.0, "off": 24.0, "wide": 11.0, "beads": 0.4}
MESH = {"near": 3.0, "beads": 0.4}


def model(**values: float) -> Check:
    """Return a check of a model against the four made-up measurements."""
    found = Measurement(VALUES | values, uncertainties=MESH)
    return Check("measured.x", "x", "a model", tuple(MEASURED.values()), compute=lambda: found, kind="experiment")


@pytest.mark.parametrize(
    ("quantity", "value", "mesh", "word", "said", "parts"),
    [
        ("near", 103.0, None, "agrees within U", "+3 ± 5 %", "data 5 %, mesh not estimated: one mesh"),
        ("near", 94.0, None, "differs", "-6 ± 5 %", "data 5 %, mesh not estimated: one mesh"),
        ("near", 94.0, 12.0, "agrees within U", "-6 ± 13 %", "data 5 %, mesh 12 %"),
        ("near", 94.0, 25.0, "cannot be told", "-6 ± 25 %", "data 5 %, mesh 25 %"),
        ("near", 103.0, 1e-13, "agrees within U", "+3 ± 5 %", "data 5 %, mesh 0 %"),
        ("near", 60.0, 25.0, "differs", "-40 ± 25 %", "data 5 %, mesh 25 %"),
        ("near", math.nan, None, "cannot be told", "+nan ± 5 %", "data 5 %, mesh not estimated: one mesh"),
        ("off", 18.5, None, "differs", "-1.5 ± 1 points", "data 1 points, mesh not estimated: one mesh"),
        ("wide", 10.1, None, "cannot be told", "+1 ± 40 %", "data 40 %, mesh not estimated: one mesh"),
        ("beads", 0.25, None, "agrees within U", "0.25 ± 0.3 mm", "data 0.3 mm, mesh not estimated: one mesh"),
        ("beads", 0.45, 0.4, "agrees within U", "0.45 ± 0.5 mm", "data 0.3 mm, mesh 0.4 mm"),
    ],
)
def test_verdicts(quantity: str, value: float, mesh: float | None, word: str, said: str, parts: str) -> None:
    found = against(MEASURED[quantity], value, mesh)
    assert (found.word, found.said, found.parts) == (word, said, parts)


def test_data_without_noise_figures_tell_nothing() -> None:
    bare, share = Quantity("F", 100.0, unit="N"), Quantity("F", -50.0, 0.1, "relative", "N")
    found = against(bare, 100.0, 1.0)
    assert (found.word, found.said, found.uncertainty) == ("cannot be told", "+0 ± ?", None)
    assert found.parts == "data without noise figures, mesh 1 %"
    assert against(share, -54.0).data == pytest.approx(5.0) and against(share, -54.0).said == "-8 ± 10 %"


def test_what_agrees_may_have_moved_and_what_differs_need_not() -> None:
    assert since(MEASURED["near"], 103.9) == "unchanged" and since(MEASURED["near"], 100.0) == "moved"
    assert since(MEASURED["off"], 24.4) == "unchanged" and since(MEASURED["off"], math.nan) == "moved"


ALL = "of 4 measured quantities 2 agree with the measurement, 1 differs, 1 cannot be told"


@pytest.mark.parametrize(
    ("values", "code", "status", "sentence"),
    [
        ({}, 0, "unchanged", f"1 of 1 checks hold; {ALL} (all unchanged since the baseline)"),
        ({"near": 99.0}, 1, "falls short", f"1 of 2 checks hold, 1 falls short; {ALL} (1 moved since the baseline)"),
    ],
)
def test_they_are_counted_apart_and_only_what_moved_falls_short(
    made_up, values: dict[str, float], code: int, status: str, sentence: str
) -> None:
    verification = verify([made_up(), model(**values)])
    assert (verification.results[1].status, verification.exit_code) == (status, code)
    assert verification.sentence == sentence
    alone = verify([model()])
    assert alone.sentence == f"{ALL} (all unchanged since the baseline)"
    assert alone.remarks == ("differs from the measurement: measured.x x: off: it slips",)


def test_every_text_has_both_statements_and_holds_is_said_of_none(command, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rheotwin.validation.checks.registry.all_checks", lambda *folders: (model(),))
    code, out, _ = command("--output", tmp_path / "v")
    assert code == 0 and "hold" not in out
    assert "off 20 % 24 +4 ± 1 points differs unchanged data 1 points, mesh not estimated: one mesh" in " ".join(
        out.split()
    )
    row = json.loads((tmp_path / "v" / "validate.json").read_text())["checks"][0]["rows"][0]
    assert (row["holds"], row["baseline"], row["against"]["word"]) == (None, "unchanged", "agrees within U")
    assert row["against"]["uncertainty"] == pytest.approx(34.0**0.5) and row["against"]["mesh"] == 3.0
    assert load_validation(tmp_path / "v").results[0].rows[0].against == against(MEASURED["near"], 103.0, 3.0)
    text = (tmp_path / "v" / "summary.md").read_text()
    assert "hold" not in text and "| `measured.x` | off | 20 % | 24 | +4 ± 1 points | differs | unchanged |" in text
    case = ElementTree.parse(tmp_path / "v" / "junit.xml").getroot().find("testsuite/testcase/system-out")
    assert case is not None and "off: differs (+4 ± 1 points; data 1 points, " in str(case.text)
    assert "one mesh), unchanged since the baseline" in str(case.text)
    page = (tmp_path / "v" / "report.html").read_text().split("</style>")[1]
    assert "holds" not in page and "a model, unchanged, 2 of 4 agree with the measurement" in page
    assert '<td class="no">differs</td>\n      <td class="">unchanged</td>' in page


def test_what_moved_says_from_where(command, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rheotwin.validation.checks.registry.all_checks", lambda *folders: (model(off=20.0),))
    code, out, _ = command("--output", tmp_path / "v")
    said = "off: 20, at the baseline 24 ± 0.5"
    assert code == 1 and f"falls short: measured.x x: {said}" in out
    assert f"### Moved since the baseline\n\n- `measured.x` {said}" in (tmp_path / "v" / "summary.md").read_text()
    (failure,) = ElementTree.parse(tmp_path / "v" / "junit.xml").getroot().iter("failure")
    assert failure.get("message") == said


def test_refinement_gives_the_uncertainty_of_the_finest_mesh() -> None:
    """f = 2 + 3 h^2: the limit is 2, and U = 1.2 times 1.25 |f - 2| on the last mesh; one mesh gives none."""
    measurement = refined(lambda n: {"f": 2.0 + 3.0 / n**2, "g": 5.0}, (1, 2, 4))
    assert measurement.values == {"f": 2.0 + 3.0 / 16.0, "g": 5.0}
    assert measurement.uncertainties == pytest.approx({"f": 1.2 * 1.25 * 3.0 / 16.0, "g": 0.0}, rel=1e-6)
    assert not refined(lambda n: {"f": 1.0}, (4,)).uncertainties
