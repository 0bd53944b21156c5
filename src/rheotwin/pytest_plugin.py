"""pytest plug-in: run scenes in tests, and gate models by the marker `rheotwin`.

    @pytest.mark.rheotwin(scene="press.toml", solver="truss", reference="fem", within={"displacement": 0.1})
    def test_press(rheotwin):
        assert rheotwin.gated.metrics["largest displacement"] < 0.01

`reference` is another solver, which then runs as well, a table of metrics, or a baseline file; `within` is the largest
relative difference, one for all or by name. Nothing heavy is imported before a scene runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rheotwin.record import Record

MARKER = (
    "rheotwin(scene, solver='fem', case=None, options=None, reference=None, within=None): run a scene before the test "
    "and hold it against a solver, a table of metrics or a baseline file"
)
KEYWORDS = {"scene", "solver", "case", "options", "reference", "within"}


@dataclass(frozen=True)
class Run:
    """One run of a scene: its record's folder, how it ended, and its metrics by name, see `validation.run_metrics`."""

    folder: Path
    status: str
    metrics: Mapping[str, float]

    @property
    def record(self) -> Record:
        """The record, opened."""
        from rheotwin.record import open_record

        return open_record(self.folder)


@dataclass
class Runner:
    """What the fixture `rheotwin` is: runs scenes into folders of the test, relative to the test's file."""

    folder: Path
    beside: Path
    runs: list[Run] = field(default_factory=list)
    gated: Run | None = None
    """The run of the marker, if the test has one."""

    def run(
        self,
        scene: Path | str | Mapping[str, Any],
        solver: str = "fem",
        *,
        case: str | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Run:
        """Run a scene, a file or its data, with a solver and return the run; a fault in either fails the test."""
        from rheotwin.errors import RheotwinError
        from rheotwin.running import RunRequest, run_scene
        from rheotwin.scene import load_scene, scene_from_data
        from rheotwin.validation.baselines.measure import run_metrics

        try:
            if isinstance(scene, Mapping):
                read = scene_from_data(dict(scene), base=self.beside)
            else:
                read = load_scene(self.beside / scene)
            folder = self.folder / f"run-{len(self.runs)}-{solver}"
            outcome = run_scene(RunRequest(read, solver, folder, case=case, options=options))
            found = Run(folder, outcome.status, run_metrics(folder))
        except RheotwinError as error:
            pytest.fail(str(error), pytrace=False)
        self.runs.append(found)
        return found

    def compare(self, run: Run, reference: Run) -> dict[str, float]:
        """Return the relative errors of a run against another: displacement, velocity and the force of each tool."""
        from rheotwin.errors import RheotwinError
        from rheotwin.validation.baselines.gate import run_errors

        try:
            return run_errors(run.folder, reference.folder)
        except RheotwinError as error:
            pytest.fail(str(error), pytrace=False)


@pytest.fixture
def rheotwin(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    """Run scenes with solvers into the folder of the test: `rheotwin.run("scene.toml", "truss").metrics`."""
    return Runner(tmp_path, request.path.parent)


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker."""
    config.addinivalue_line("markers", MARKER)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give marked tests the fixture, whether their functions ask for it or not."""
    marked = isinstance(item, pytest.Function) and item.get_closest_marker("rheotwin") is not None
    if isinstance(item, pytest.Function) and marked and "rheotwin" not in item.fixturenames:
        item.fixturenames.append("rheotwin")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Run the scene of a marked test and judge it; the test itself follows if it holds."""
    marker = pyfuncitem.get_closest_marker("rheotwin")
    runner = pyfuncitem.funcargs.get("rheotwin")
    if marker is not None and isinstance(runner, Runner):
        _gate(runner, marker)


def _gate(runner: Runner, marker: pytest.Mark) -> None:
    asked = dict(marker.kwargs)
    unknown = sorted(set(asked) - KEYWORDS)
    if marker.args or unknown or "scene" not in asked:
        wrong = f"it does not know {', '.join(unknown)}" if unknown else "it needs scene=... and keywords only"
        pytest.fail(f"pytest.mark.rheotwin: {wrong}; it takes {', '.join(sorted(KEYWORDS))}", pytrace=False)
    reference, within = asked.pop("reference", None), asked.pop("within", None)
    if (reference is None) != (within is None):
        pytest.fail("pytest.mark.rheotwin: reference and within belong together; give both or neither", pytrace=False)
    scene, solver = asked.pop("scene"), asked.pop("solver", "fem")
    runner.gated = run = runner.run(scene, solver, **asked)
    if run.status != "complete":
        pytest.fail(f"{scene} with {solver}: the run ended as {run.status}; see {run.folder}", pytrace=False)
    if reference is not None:
        _judge(runner, run, reference, within, f"{scene} with {solver}")


def _judge(runner: Runner, run: Run, reference: Any, within: Any, what: str) -> None:
    """Fail the test with one line for every metric beyond its bound."""
    from rheotwin.errors import RheotwinError
    from rheotwin.validation.baselines import gate

    try:
        if isinstance(reference, Mapping):
            faults = gate.beyond(gate.relative(run.metrics, reference), within)
        elif str(reference).endswith(".toml"):
            faults = gate.beyond(gate.against_baseline(run.metrics, runner.beside / str(reference)), within)
        else:
            scene = runner.run(_scene_of(run), str(reference))
            faults = gate.beyond(runner.compare(run, scene), within)
    except RheotwinError as error:
        pytest.fail(f"{what}: {error}", pytrace=False)
    if faults:
        pytest.fail(f"{what} is not within its bounds: " + "; ".join(faults), pytrace=False)


def _scene_of(run: Run) -> dict[str, Any]:
    """Return the scene of a run, its case included, as data."""
    from rheotwin.record import load_manifest

    return dict(load_manifest(run.folder).scene)
