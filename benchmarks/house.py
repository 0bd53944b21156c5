"""What the house costs: the run loop around a kernel, writing records, importing the package; `tree` has its size."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from benchmarks.side_by_side import Ratio, seconds
from rheotwin.build import build_problem
from rheotwin.loop import run_loop
from rheotwin.observers import Watched
from rheotwin.problem import Problem
from rheotwin.record import RecordWriter, SeriesFormat, open_record
from rheotwin.running import RunRequest, run_scene
from rheotwin.scene import Scene, parse_scene
from rheotwin.schedule import plan
from rheotwin.solver import Simulation, checked_options, find_solver

PLATE = """
schema = 1
dimension = 2
duration = {duration}
[laws.dough]
model = "three-element"
young = 1000.0
poisson = 0.3
voigt_viscosity = 20.0
series_viscosity = 2000.0
[bodies.plate]
shape = "box"
size = [2.4, 1.3]
cells = [24, 13]
law = "dough"
density = 1000.0
[supports.bottom]
body = "plate"
where = {{ side = "bottom" }}
[forces.pull]
body = "plate"
where = {{ side = "top" }}
total = [0.0, 50.0]
[output]
interval = 10.0
"""

BLOCK = """
schema = 1
dimension = 3
duration = {duration}
[laws.dough]
model = "three-element"
young = 20000.0
poisson = 0.3
voigt_viscosity = 200.0
series_viscosity = 20000.0
[bodies.block]
shape = "box"
size = [0.16, 0.16, 0.16]
cells = [16, 16, 16]
law = "dough"
density = 1000.0
[supports.bottom]
body = "block"
where = {{ side = "bottom" }}
[tools.bar]
shape = "bar"
center = [0.08, 0.08, 0.16]
normal = [0.0, 0.0, -1.0]
width = 0.06
[tools.bar.motion]
times = [0.0, {duration}]
displacement = [[0.0, 0.0, 0.0], [0.0, 0.0, -0.02]]
[output]
interval = {interval}
"""


def _scene(text: str, **values: float) -> Scene:
    return parse_scene(text.format(**values), base=Path())


def _started(problem: Problem) -> Simulation:
    solver = find_solver("truss")
    return solver.start(problem, checked_options(solver, {}))


def loop_overhead() -> Ratio:
    """Run the same steps through the run loop (no observers) and in one call of the kernel."""
    scene = _scene(PLATE, duration=150.0)
    problem = build_problem(scene)
    simulation = _started(problem)
    start = simulation.save()
    edges = simulation.statistics()["edges"]

    def bare() -> None:
        simulation.restore(start)
        simulation.advance(scene.duration, 10**9)

    def looped() -> None:
        simulation.restore(start)
        run_loop(Watched(problem, simulation, scene.duration), plan(scene), [])

    spent = seconds({"bare": bare, "looped": looped}, rounds=41)
    steps = simulation.step_count
    detail = f"{edges} edges, {steps} steps, {1e6 * spent['bare'] / steps:.2f} us a step bare"
    return Ratio("run loop around the kernel, share of its time", spent["looped"] / spent["bare"] - 1.0, 0.02, detail)


class _Stopwatch:
    """Adds up the seconds spent in the writing methods of records while it is open."""

    METHODS = ("write_frame", "write_probe_row", "write_checkpoint", "update", "close")

    def __enter__(self) -> _Stopwatch:
        self.seconds = 0.0
        self._originals = {name: RecordWriter.__dict__[name] for name in self.METHODS}
        for name, method in self._originals.items():
            setattr(RecordWriter, name, self._timed(method))
        return self

    def __exit__(self, *_: object) -> None:
        for name, method in self._originals.items():
            setattr(RecordWriter, name, method)

    def _timed(self, method: Callable[..., object]) -> Callable[..., object]:
        def timed(*args: object, **kwargs: object) -> object:
            begin = perf_counter()
            try:
                return method(*args, **kwargs)
            finally:
                self.seconds += perf_counter() - begin

        return timed


def record_writing(format_name: SeriesFormat) -> list[Ratio]:
    """Run 100 frames of 20,480 tets; time the record's writing, and all that happens between the steps."""
    scene = _scene(BLOCK, duration=1.0, interval=0.01)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "record"
        begin = perf_counter()
        with _Stopwatch() as watch:
            outcome = run_scene(RunRequest(scene=scene, solver="truss", folder=target, format=format_name))
        total = perf_counter() - begin
        record = open_record(target)
        cells, frames = record.manifest.mesh.cells, len(record.times)
    between = outcome.loop_seconds - outcome.solve_seconds
    detail = f"{frames} frames of {cells} tets, {outcome.steps} steps, {1e3 * watch.seconds / frames:.1f} ms a frame"
    return [
        Ratio(f"record writing ({format_name}), share of the run", watch.seconds / total, 0.10, detail),
        Ratio(f"... with results computed ({format_name})", between / total, 0.15, f"{1e3 * between / frames:.1f} ms"),
    ]


def import_time() -> list[Ratio]:
    """Import the package and ask for help in fresh interpreters; bounds are seconds."""
    found = []
    for name, command in (
        ("import rheotwin [s]", [sys.executable, "-c", "import rheotwin"]),
        ("rheotwin --help [s]", [sys.executable, "-m", "rheotwin", "--help"]),
    ):
        empty = [sys.executable, "-c", "pass"]
        times = seconds({"it": lambda c=command: _quiet(c), "empty": lambda e=empty: _quiet(e)})  # type: ignore[misc]
        found.append(Ratio(name, times["it"], 0.3, f"an empty interpreter takes {times['empty']:.3f} s"))
    return found


def _quiet(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def measure() -> list[Ratio]:
    """Measure everything."""
    return [loop_overhead(), *record_writing("pvd"), *record_writing("vtkhdf"), *import_time()]
