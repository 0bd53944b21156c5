"""What a user waits for before the first result: `rheotwin run` with an empty kernel cache, and again.

CPU seconds of compiling (the first run less the second), peak memory of the first, seconds until it says anything, and
the whole process once everything is there; then one option changed with the cache as it is. Limits are for an idle
machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.scene_cost import ONE_THREAD, ROOT
from benchmarks.side_by_side import Ratio
from rheotwin.kernels.cache import PLACE

FIRST = {
    ("bar-press-2d", "truss"): (5.0, 500.0),
    ("bar-press-2d", "shear-volume"): (8.0, 500.0),
    ("block-3d", "truss"): (5.0, 500.0),
    ("fixed-point-3d", "fixed-point"): (4.0, 500.0),
    ("resting-2d", "truss"): (10.0, 600.0),
    ("pushed-3d", "truss"): (10.0, 600.0),
    ("sliding-2d", "fem"): (10.0, 600.0),
    ("pile-2d", "shear-volume"): (18.0, 600.0),
}
"""CPU seconds of compiling and megabytes that a first run may take."""
CHANGES = ("kernel=general", "kernel=unstructured", "precision=single", "stepper=rk4", "stepper=implicit")
"""Options of the truss changed one at a time in the pressed block."""
CHANGED, FIRST_LINE, WHOLE = 4.0, 1.5, 1.5
"""Seconds one changed option, the first line, and the whole process with everything compiled may take."""


def run(scene: str, solver: str, cache: Path, *options: str) -> tuple[float, float, float]:
    """Return CPU seconds, peak megabytes, and seconds until the first line of a run with this kernel cache."""
    with tempfile.TemporaryDirectory() as record:
        command = [sys.executable, "-m", "rheotwin", "run", f"scenes/{scene}.toml", "--solver", solver]
        command += ["--output", record, "--overwrite"]
        for option in options:
            command += ["--set", f"{solver}.{option}"]
        there, begin = os.environ | ONE_THREAD | {PLACE: str(cache)}, perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, env=there, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert child.stderr is not None
        line = child.stderr.readline()
        first = perf_counter() - begin
        rest = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError((line + rest).decode())
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0, first


def first_and_second(scene: str, solver: str, seconds: float, megabytes: float) -> list[Ratio]:
    """Measure a scene with nothing compiled, and again."""
    with tempfile.TemporaryDirectory() as cache:
        cold, memory, line = run(scene, solver, Path(cache))
        warm, _, _ = run(scene, solver, Path(cache))
    name = f"{scene} {solver}"
    return [
        Ratio(f"{name}: compiling [CPU s]", cold - warm, seconds, f"{cold:.1f} first, {warm:.1f} after"),
        Ratio(f"{name}: memory of a first run [MB]", memory, megabytes),
        Ratio(f"{name}: until the first line [s]", line, FIRST_LINE),
        Ratio(f"{name}: whole run, compiled [CPU s]", warm, WHOLE),
    ]


def changed_options() -> list[Ratio]:
    """Measure what one other option compiles when the pressed block has run with a truss before."""
    found = []
    for change in CHANGES:
        with tempfile.TemporaryDirectory() as cache:
            run("bar-press-2d", "truss", Path(cache))
            first, _, _ = run("bar-press-2d", "truss", Path(cache), change)
            again, _, _ = run("bar-press-2d", "truss", Path(cache), change)
        found.append(Ratio(f"truss, {change} instead: compiling [CPU s]", first - again, CHANGED))
    return found


def measure() -> list[Ratio]:
    """Measure everything."""
    scenes = [ratio for names, limits in FIRST.items() for ratio in first_and_second(*names, *limits)]
    return [*scenes, *changed_options()]
