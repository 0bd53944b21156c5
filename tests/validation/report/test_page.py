"""The page: numbers of a validation, how springs match the law, words, and that a browser can show it."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation import compare, write_comparison
from rheotwin.validation.checks.against import against
from rheotwin.validation.checks.outcome import Result, Row, Verification, load_validation
from rheotwin.validation.comparison import ErrorHistory, ForceError
from rheotwin.validation.references.catalogue import Quantity
from rheotwin.validation.report.page import (
    cost_words,
    describe,
    limits,
    match_sentence,
    material_rows,
    number,
    render_report,
    slug,
)
from rheotwin.validation.report.sentences import cost_phrase, percent, run_sentence

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
PROBE = """<script>
window.addEventListener("load", () => {
  const faults = [];
  for (const image of document.images) if (!image.naturalWidth) faults.push("image " + image.alt);
  for (const link of document.querySelectorAll("a[href^='#']"))
    if (!document.querySelector(link.getAttribute("href"))) faults.push("anchor " + link.hash);
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) faults.push("repeated ids");
  if (document.documentElement.scrollWidth > innerWidth) faults.push("scrolls sideways");
  for (const box of document.querySelectorAll(".scroll")) {
    box.scrollLeft = 1e6;
    const edge = box.firstElementChild.getBoundingClientRect().right - box.getBoundingClientRect().right;
    if (edge > 1 || getComputedStyle(box).overflowX !== "auto") faults.push("a table is cut");
  }
  for (const first of document.querySelectorAll(".verdict")) {
    const places = [...first.querySelectorAll("table, .plot, img")].map((part) => part.getBoundingClientRect().top);
    const falling = places.join() === [...places].sort((a, b) => a - b).join();
    if (innerWidth < 500 && !falling) faults.push("not the table first");
  }
  const grid = document.querySelector(".overview"), right = (of) => of.getBoundingClientRect().right;
  const filled = Math.max(...[...grid.children].map(right));
  if (right(document.querySelector("main")) - filled > 2) faults.push("the overview leaves room");
  const fetched = performance.getEntriesByType("resource").map((entry) => entry.name);
  if (fetched.some((name) => name.startsWith("http"))) faults.push("network");
  const table = document.querySelectorAll("#numbers table")[1];
  const sorted = () => {
    table.querySelectorAll("th button")[2].click();
    return [...table.tBodies[0].rows].map((row) => Number(row.cells[2].dataset.value));
  };
  const rising = sorted(), falling = sorted();
  if (rising.join() !== [...rising].sort((a, b) => a - b).join()) faults.push("not rising " + rising);
  if (falling.join() !== [...rising].reverse().join()) faults.push("not falling " + falling);
  const verdict = document.createElement("output");
  verdict.id = "verdict";
  verdict.textContent = "images " + document.images.length + "; faults: " + (faults.join(", ") || "none");
  top.document.body.append(verdict);
});
window.addEventListener("error", (event) => { document.title = "error " + event.message; });
</script></head>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, press_runs) -> str:
    """All three cases, with the plots of tools alone; a third method in the first, for its accuracy against cost."""
    tools = [{name: values for name, values in run.probes.items() if name.startswith("tool")} for run in press_runs]
    runs = [replace(run, probes=probes) for run, probes in zip(press_runs, tools, strict=True)]
    runs.append(runs[1].of_method("other"))
    path = write_comparison(tmp_path_factory.mktemp("report"), compare(runs), runs, overwrite=True)
    plots = {plot.name for plot in (path.parent / "plots").iterdir()}
    assert plots >= {"overview-residual.png", "elastic-force-bar.png"}
    return path.read_text()


def test_the_page_has_conclusions_first_is_self_contained_and_escaped(page: str) -> None:
    sentence = "fem: elastic keeps 0 %, rheological keeps 45 %, viscoplastic keeps 90 % of the largest displacement"
    assert page.index(sentence) < page.index("What remains of the largest displacement") < page.index('id="case-')
    assert not re.search(r"https?:", page)
    assert not re.search(r'<(link|script|img)[^>]+(href|src)="(?!data:)', page)
    assert 0 < page.index('class="advice"') < page.index("-12 % ± not estimated") < page.index("<svg")
    assert "cannot be told: one mesh of truss: add --refine truss=1,2; one mesh of the reference, fem" in page
    assert "<made-up>" not in page and "Pressing a &lt;made-up&gt; block" in page
    assert "the elastic law &amp; its memory" in page
    assert all(re.search(r'alt="[^"]{20,}"', image) for image in re.findall(r"<img[^>]*>", page))
    plots = re.findall(r"<svg[^>]*>", page)
    assert plots and all('role="img"' in plot and 'aria-label="' in plot for plot in plots)


def test_limits_are_stated_for_the_solvers_that_ran(press_runs) -> None:
    both, alone = limits(compare(press_runs)), limits(compare(press_runs[::2]))
    assert any("Poisson ratio" in sentence for sentence in both)
    manifest = {"solver": {"name": "fem", "options": {"kinematics": "total-lagrangian"}}}
    large = [replace(run, manifest={**run.manifest, **manifest}) for run in press_runs[::2]]
    told = [any("small strains" in sentence for sentence in limits(compare(runs))) for runs in (press_runs, large)]
    assert told == [True, False]
    assert (
        "Material of truss with volume springs, body 'block' (elastic, rheological, viscoplastic): "
        "springs and volume springs miss the law's stiffness by 23 %."
    ) in both
    assert not any("Poisson ratio" in sentence for sentence in alone)
    flat, solid = compare(press_runs), replace(compare(press_runs), dimension=3)
    assert [any("diagonals" in sentence for sentence in limits(found)) for found in (flat, solid)] == [True, False]


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
OF_EDGES = {"match": "edge", "edges": 9, "anisotropy": 4.7, "poisson_of_body": 0.25, "note": "of each edge"}


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ({"stiffness_misfit": 0.05, "volume_cells": 0}, "springs miss the law's stiffness by 5.0 %"),
        ({"stiffness_misfit": 1e-12, "volume_cells": 3}, "springs and volume springs match the law's stiffness"),
        (
            {"stiffness_misfit": 0.5, "edges": 3, "warning": "viscous Poisson ratio ignored: 0.2."},
            "springs miss the law's stiffness by 50 %; viscous Poisson ratio ignored: 0.2",
        ),
        ({"bonds": 3.0}, "bonds 3"),
        (
            MATCH,
            "springs and volume springs miss the law's stiffness by 23 %; their Young's modulus is 61 % to 127 % of "
            "the law's, by direction; springs alone are tied to Poisson's ratio 1/4 in plane strain",
        ),
    ],
)
def test_a_network_s_match_is_one_sentence(match: dict[str, object], words: str) -> None:
    assert match_sentence(match) == words


@pytest.mark.parametrize(
    ("match", "shown"),
    [(None, ()), (OF_EDGES, ("0.25",)), (MATCH, ("length", "23 %", "30 %", "61 %", "127 %", "0.271"))],
)
def test_the_table_has_a_row_for_every_body_of_springs(make_run, match: object, shown: tuple[str, ...]) -> None:
    runs = [make_run("fem", "elastic")]
    if match:
        truss = make_run("truss", "elastic")
        runs.append(replace(truss, manifest={**truss.manifest, "statistics": {"material_match": {"block": match}}}))
    comparison = compare(runs)
    rows = [(row.case, row.label, row.body) for row in material_rows(comparison)]
    assert rows == ([("elastic", "truss", "block")] if match else [])
    _, found, table = render_report(comparison, overview=[], plots={}, pictures={}).partition("table-materials")
    assert bool(found) == bool(match) and all(words in table for words in shown)


def test_words_for_values_and_runs() -> None:
    assert (number(6000), number(0.00251, "s"), number(None)) == ("6,000", "0.00251 s", "-")
    assert describe({"a_b": [1.0, 2.5], "c": {"d": "e."}}) == "a b 1, 2.5, c d e"
    assert slug("soft & wet/1") == "soft-wet-1"
    shares = {None: "-", 0.0: "0 %", 1e-5: "< 0.1 %", 0.0123: "1.2 %", 0.1249: "12 %", 1.8: "180 %"}
    assert {value: percent(value) for value in shares} == shares
    costs = {1 / 7: "1/7 of its cost", 0.6: "0.60 of its cost", 1.1: "about the same cost"}
    costs |= {3.24: "3.2 times its cost", 41.7: "42 times its cost"}
    found = {1 / 7: "1/7", 0.6: "0.60", 1.1: "about the same", 3.24: "3.2 times", None: "-"}
    assert {ratio: cost_words(ratio) for ratio in found} == found
    assert {ratio: cost_phrase(ratio) for ratio in costs} == {ratio: f"at {words}" for ratio, words in costs.items()}
    history = ErrorHistory(times=(0.0,), values=(0.03,), rms=0.03, largest=0.03, final=0.03)
    forces = [ForceError("tool", name, 1.0, 0.0, error) for name, error in (("left", 0.1), ("right", None))]
    words = run_sentence("truss", "fem", displacement=history, forces=forces, ratio=None)
    assert words == "truss: 3.0 % displacement error at worst, 10 % force error on left against fem."
    words = run_sentence("truss", "fem", displacement=None, forces=[], ratio=None)
    assert words == "truss: no quantity in common against fem."
    words = run_sentence("truss", "fem", displacement=None, forces=[], ratio=0.1, at_rest=True)
    assert words == "truss: both stay at rest, it and fem."
    assert run_sentence("fem", "fem", displacement=None, forces=[], ratio=1.0, at_rest=True).endswith("of this case.")


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_browser_shows_the_page_without_faults(page: str, tmp_path: Path, phone: bool) -> None:
    """Windows are at least 500 pixels wide, frames in them as narrow as a phone."""
    probed = tmp_path / "probed.html"
    whole = page.replace("</head>", PROBE, 1)
    probed.write_text(f'<iframe width="390" height="844" srcdoc="{escape(whole)}"></iframe>' if phone else whole)
    command = [str(CHROMIUM), *FLAGS, "--window-size=1280,900", f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run(
        [*command, "--dump-dom", probed.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    verdict = re.search(r'<output id="verdict">(.*?)</output>', shown)
    assert verdict is not None, "the page's scripts did not finish"
    assert verdict.group(1) == "images 17; faults: none" and "<title>error" not in shown


HELD = Row("F", "N", "relative", 88.0, 0.01, computed=88.04, error=5e-4, holds=True)
MISSED = Row("G", "N", "absolute", 1.0, 0.1, computed=2.0, error=1.0, holds=False)
VERDICT = against(Quantity("sinking", 8.0, 0.4, unit="mm"), 9.0)
SUNK = Row("sinking", "mm", "absolute", 8.0, 0.4, computed=9.0, against=VERDICT, baseline="unchanged")
CHECKED = Verification(
    "0.1.0",
    (
        Result("fem.R17", "press", "pressing <force>", "holds", (HELD,)),
        Result("fem.R99", "missed", "a miss", "falls short", (MISSED,)),
        Result("measured.beam/fem", "beam", "a beam", "unchanged", (SUNK,), kind="experiment"),
    ),
)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"rheotwin_version": "0", "checks": [1]}'])
def test_what_is_no_validation_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "validate.json").write_text(text)
    with pytest.raises(RheotwinError, match=r"validate.json: not a validation of this version; write it again"):
        load_validation(tmp_path)
    with pytest.raises(RheotwinError, match=r"could not be read .*; write it with `rheotwin validate --output"):
        load_validation(tmp_path / "absent")


def test_the_page_shows_reference_numbers_of_a_validation_that_was_written(press_runs, tmp_path: Path) -> None:
    (tmp_path / "validate.json").write_text(json.dumps(CHECKED.to_data()))
    assert load_validation(tmp_path) == CHECKED
    page = render_report(compare(press_runs), overview=(), plots={}, pictures={}, references=CHECKED)
    assert 'href="#references"' in page and 'id="references"' in page
    assert "1 of 2 checks hold, 1 falls short" in page and "pressing &lt;force&gt;, holds" in page
    assert "a beam, unchanged, 0 of 1 agree with the measurement" in page and "+12.5 ± 5 %" in page
    assert '<td class="ok">yes</td>' in page and '<td class="no">no</td>' in page
    without = render_report(compare(press_runs), overview=(), plots={}, pictures={})
    assert "references" not in without.split("</style>")[1]
