"""What a scene costs a user: `rheotwin run` in a process of its own, its record read afterwards.

    cpu        user and system seconds of the whole process, from its start to the written record
    stepping   CPU seconds of the steps alone, of the manifest
    megabytes  largest resident size of the process

A first run fills the kernel cache and is not counted. CPU seconds hardly know what other programs do, but belong to one
machine: compare ratios of one run of the benchmarks.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA")}


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a process and of its steps, its peak of memory, and the last row of the probes."""

    cpu: float
    stepping: float
    steps: int
    megabytes: float
    last: Mapping[str, float]
    statistics: Mapping[str, Any]

    @property
    def step(self) -> float:
        """CPU microseconds of a step."""
        return 1e6 * self.stepping / self.steps

    @property
    def line(self) -> str:
        """What is printed beside a ratio."""
        return (
            f"{self.cpu:.2f} CPU s, {self.stepping:.2f} stepping ({self.steps / self.stepping:,.0f} steps/s), "
            f"{self.megabytes:.0f} MB"
        )


def measured(command: Sequence[str]) -> tuple[float, float, str]:
    """Return CPU seconds, peak megabytes and output of a process with one thread; its errors are raised."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, cwd=ROOT, env=os.environ | ONE_THREAD, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        for stream in (out, err):
            stream.seek(0)
        if child.returncode:
            raise RuntimeError(err.read() or out.read())
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0, out.read()


def toml(value: Any) -> str:
    """Return a value of a scene as TOML on one line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml(entry) for entry in value) + "]"
    return json.dumps(value)


def run_once(scene: Mapping[str, Any], solver: str, options: Mapping[str, Any]) -> Cost:
    """Run a scene with one solver and its options, as a user would."""
    with tempfile.TemporaryDirectory() as folder:
        path, record = Path(folder) / "scene.toml", Path(folder) / "record"
        whole = {**scene, "solvers": {solver: options}}
        path.write_text("".join(f"{key} = {toml(value)}\n" for key, value in whole.items()))
        command = [sys.executable, "-m", "rheotwin", "run", str(path), "--solver", solver, "--output", str(record)]
        cpu, megabytes, _ = measured([*command, "--quiet"])
        manifest = json.loads((record / "manifest.json").read_text())
        with (record / "probes.csv").open() as probes:
            *_, last = csv.DictReader(probes)
    values = {key.split(" [")[0]: float(value) for key, value in last.items()}
    steps = manifest["step"]["count"]
    return Cost(cpu, manifest["timings"]["processor"], steps, megabytes, values, manifest["statistics"])


def scene_costs(
    scenes: Mapping[str, tuple[Mapping[str, Any], str, Mapping[str, Any]]], rounds: int = 3
) -> dict[str, Cost]:
    """Run (scene, solver, options) in turns; return of each the run of median CPU time of its steps."""
    found: dict[str, list[Cost]] = {name: [] for name in scenes}
    for _ in range(rounds + 1):
        for name, what in scenes.items():
            found[name].append(run_once(*what))
    middle = {name: median([run.stepping for run in runs[1:]]) for name, runs in found.items()}
    return {name: min(runs[1:], key=lambda run: abs(run.stepping - middle[name])) for name, runs in found.items()}
