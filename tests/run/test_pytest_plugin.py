"""The pytest plug-in: the fixture runs scenes, the marker gates them; each fault is one line."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

from rheotwin.validation.checks.running import box_scene, pull, side
from tests.conftest import write_scene

pytest_plugins = ["pytester"]

LAW = {"model": "voigt", "young": 1000.0, "poisson": 0.0, "viscosity": 50.0}
OUTPUT = {"output": {"interval": 0.5, "probe_interval": 0.05}}
STRAND = box_scene(LAW, cells=[4], size=[1.0], density=1.0, supports={"hand": side("left")}, forces=pull(10.0)) | OUTPUT
STEP = "options={'step': 0.01}"
# Installed, pytest finds the plug-in by its entry point; naming it twice would be an error.
NAMED = () if entry_points(group="pytest11", name="rheotwin") else ("-p", "rheotwin.pytest_plugin")
GOOD = ("reference={'largest displacement': 0.01}, within=0.01", "reference='fem', within={'displacement': 1e-5}")
BAD = {
    "reference={'largest displacement': 0.02}, within=0.01": "scene.toml with fem is not within its bounds: "
    "largest displacement differs by 0.5, allowed 0.01",
    "reference='fem', within={'displacement': 1e-9}": "is not within its bounds: displacement differs by",
    "reference={'largest': 1.0}, within=0.1": "the run has no metric 'largest' (did you mean 'largest displacement'?)",
    "reference='fem', within={'displacment': 0.1}": "there is no 'displacment' (did you mean 'displacement'?)",
    "reference='fem'": "reference and within belong together; give both or neither",
    "solvers='fem'": "it does not know solvers; it takes case, options, reference, scene, solver, within",
    "case='hard'": "hard",
}
"""Keywords of markers, and what fails."""


FREE = f"""
import pytest

BASELINE = '''schema = 1
title = "strand"
scene = "scene.toml"
solver = "fem"
[[values]]
name = "largest displacement"
value = 0.01
'''

def baseline():
    open("baseline.toml", "w").write(BASELINE)
    return "baseline.toml"

def test_runs(rheotwin, tmp_path):
    run = rheotwin.run("scene.toml", "fem", {STEP})
    assert run.status == "complete" and run.folder.parent == tmp_path
    assert abs(run.metrics["largest displacement"] - 0.01) < 1e-4
    assert len(run.record.times) == 3
    half = rheotwin.run("scene.toml", "fem", options={{"step": 0.005}})
    errors = rheotwin.compare(run, half)
    assert 0 < errors["displacement"] < 0.01 and set(errors) >= {{"velocity", "force, support.hand"}}

def test_data(rheotwin):
    import tomllib
    data = tomllib.loads(open(rheotwin.beside / "scene.toml").read()) | {{"duration": 0.5}}
    assert rheotwin.run(data, {STEP}).record.times[-1] == 0.5

@pytest.mark.rheotwin(scene="scene.toml", {STEP}, reference=baseline(), within=0.01)
def test_against_a_baseline(rheotwin):
    assert len(rheotwin.runs) == 1

@pytest.mark.rheotwin(scene="scene.toml", {STEP})
def test_own_verdict(rheotwin):
    assert rheotwin.gated.metrics["mean displacement"] > 1.0

@pytest.mark.rheotwin(scene="nowhere.toml")
def test_missing():
    pass

@pytest.mark.rheotwin("scene.toml")
def test_bare():
    pass

"""
"""Tests that use the fixture, and markers that cannot be."""


def test_marker_fixture_and_the_example_of_the_documentation(pytester: pytest.Pytester) -> None:
    """All in one process of pytest: markers judge, a test follows its marker, docs/ci runs as it is."""
    for path in (Path(__file__).parents[2] / "docs" / "ci").iterdir():
        pytester.path.joinpath(path.name).write_bytes(path.read_bytes())
    write_scene(STRAND)
    marked = "".join(
        f"@pytest.mark.rheotwin(scene='scene.toml', {STEP}, {words})\ndef test_{number}():\n    pass\n"
        for number, words in enumerate((*GOOD, *BAD))
    )
    pytester.makepyfile(test_here=FREE + marked)
    said = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers", *NAMED)
    said.stdout.no_fnmatch_line("*INTERNALERROR*")
    said.assert_outcomes(passed=len(GOOD) + 3 + 3, failed=len(BAD) + 3)
    text = said.stdout.str()
    for line in (*BAD.values(), "nowhere.toml", "pytest.mark.rheotwin: it needs scene=... and keywords only"):
        assert line in text
    said.stdout.fnmatch_lines(["*assert 0.00* > 1.0*"])
