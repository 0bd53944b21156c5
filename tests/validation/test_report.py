"""The page: what it says without a browser, and that a browser can show it."""

import dataclasses
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rheotwin.validation import compare, write_comparison
from rheotwin.validation.report.page import describe, limits, match_sentence, number, slug

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
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
  document.body.append(verdict);
});
window.addEventListener("error", (event) => { document.title = "error " + event.message; });
</script></head>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> str:
    runs = request.getfixturevalue("module_press_runs")
    return write_comparison(tmp_path_factory.mktemp("report"), compare(runs), runs, overwrite=True).read_text()


def test_conclusions_come_first_and_make_the_claim_visible(page: str) -> None:
    sentence = "fem: elastic keeps 0 %, rheological keeps 45 %, viscoplastic keeps 90 % of the largest displacement"
    assert page.index(sentence) < page.index("What remains of the largest displacement") < page.index('id="case-')


def test_the_page_is_self_contained(page: str) -> None:
    assert not re.search(r"https?:", page)
    assert not re.search(r'<(link|script|img)[^>]+(href|src)="(?!data:)', page)


def test_text_from_the_scene_is_escaped(page: str) -> None:
    assert "<made-up>" not in page
    assert "Pressing a &lt;made-up&gt; block" in page
    assert "the elastic law &amp; its memory" in page


def test_every_picture_and_plot_has_a_text_alternative(page: str) -> None:
    assert all(re.search(r'alt="[^"]{20,}"', image) for image in re.findall(r"<img[^>]*>", page))
    plots = re.findall(r"<svg[^>]*>", page)
    assert plots and all('role="img"' in plot and 'aria-label="' in plot for plot in plots)


def test_limits_are_stated_for_the_solvers_that_ran(press_runs) -> None:
    both, alone = limits(compare(press_runs)), limits(compare(press_runs[::2]))
    assert any("Poisson ratio" in sentence for sentence in both)
    assert (
        "Material of truss, body 'block' (elastic, rheological, viscoplastic): "
        "springs and volume springs miss the law's stiffness by 23 %."
    ) in both
    assert not any("Poisson ratio" in sentence for sentence in alone)
    flat, solid = compare(press_runs), dataclasses.replace(compare(press_runs), dimension=3)
    assert [any("diagonals" in sentence for sentence in limits(found)) for found in (flat, solid)] == [True, False]


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
    ],
)
def test_a_network_s_match_is_one_sentence(match: dict[str, object], words: str) -> None:
    assert match_sentence(match) == words


def test_words_for_values() -> None:
    assert number(6000) == "6,000"
    assert number(0.00251, "s") == "0.00251 s"
    assert number(None) == "-"
    assert describe({"a_b": [1.0, 2.5], "c": {"d": "e."}}) == "a b 1, 2.5, c d e"
    assert slug("soft & wet/1") == "soft-wet-1"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("size", ["1280,900", "500,900"], ids=["desktop", "narrow"])
def test_a_browser_shows_the_page_without_faults(page: str, tmp_path: Path, size: str) -> None:
    probed = tmp_path / "probed.html"
    probed.write_text(page.replace("</head>", PROBE, 1))
    command = [str(CHROMIUM), *FLAGS, f"--window-size={size}", f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run(
        [*command, "--dump-dom", probed.as_uri()], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    verdict = re.search(r'<output id="verdict">(.*?)</output>', shown)
    assert verdict is not None, "the page's scripts did not finish"
    assert verdict.group(1) == "images 24; faults: none"
    assert "<title>error" not in shown
