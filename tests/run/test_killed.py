"""What a separate process leaves behind when it is stopped with ctrl-C, and when it is killed."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_INTERRUPTED
from rheotwin.record import open_record
from rheotwin.run import resume_run

SCENE = """
schema = 1
dimension = 1
duration = 1.0

[laws.dough]
model = "three-element"
young = 1.0e4
poisson = 0.0
voigt_viscosity = 200.0
series_viscosity = 5.0e3

[bodies.rod]
shape = "box"
size = [1.0]
cells = [10]
law = "dough"
mass = 1.0

[supports.wall]
body = "rod"
where = { side = "left" }

[forces.pull]
body = "rod"
where = { side = "right" }
total = [10.0]

[output]
interval = 0.02
checkpoint_interval = 0.04

[solvers.fem]
step = 5.0e-5
"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    path = tmp_path / "rod.toml"
    path.write_text(SCENE)
    return path


@contextmanager
def running(scene: Path, folder: Path, frames: int, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Start the command line and wait until it has written some frames."""
    command = [sys.executable, "-m", "rheotwin", "run", str(scene), "--output", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60.0
            while _frames(folder) < frames:
                assert process.poll() is None, process.communicate()
                assert time.monotonic() < deadline, "the run does not get on"
                time.sleep(0.01)
            yield process
        finally:
            process.kill()


def _frames(folder: Path) -> int:
    try:
        return len(open_record(folder).times)
    except Exception:
        return 0


def test_ctrl_c_closes_the_record_and_a_killed_run_resumes_to_the_same_end(scene: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with running(scene, folder, 5, "--json") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED
    assert "Traceback" not in err
    report = json.loads(out)
    assert (report["status"], report["exit_code"]) == ("interrupted", EXIT_INTERRUPTED)
    record = open_record(folder)
    assert record.manifest.status == "interrupted"
    assert int(record.checkpoint()["step_count"]) == report["steps"]
    assert 0.08 <= report["time"] < 1.0

    # The same end is reached from the interrupted run and from a run that was shot.
    shot = tmp_path / "shot"
    with running(scene, shot, 5, "--quiet") as process:
        process.kill()
        process.communicate(timeout=60)
    assert_readable(shot)
    resumed, other = resume_run(folder), resume_run(shot)
    assert resumed.steps == other.steps == 20_000
    assert (folder / "probes.csv").read_bytes() == (shot / "probes.csv").read_bytes()
    for path in sorted((folder / "frames").iterdir()):
        assert path.read_bytes() == (shot / "frames" / path.name).read_bytes()


@pytest.mark.parametrize("seed", range(2))
def test_a_killed_hdf_record_is_readable(scene: Path, tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "run"
    with running(scene, folder, 4 + 5 * seed, "--quiet", "--format", "vtkhdf") as process:
        process.kill()
        process.communicate(timeout=60)
    assert_readable(folder)
    shutil.rmtree(folder)


def assert_readable(folder: Path) -> None:
    record = open_record(folder)
    assert record.manifest.status == "running"
    times = record.times
    assert len(times) >= 4
    np.testing.assert_allclose(times, 0.02 * np.arange(len(times)), rtol=1e-12, atol=1e-15)
    displacement = record.field("displacement")
    assert np.isfinite(displacement).all() and np.abs(displacement[-1]).max() > 0.0
    rows: dict[str, Any] = record.probes
    assert len(rows["time"]) >= len(times) - 1
    assert int(record.checkpoint()["step_count"]) % 800 == 0
