"""What a separate process leaves behind when it is stopped with ctrl-C, and when it is killed."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rheotwin.errors import EXIT_INTERRUPTED
from rheotwin.record import open_record
from rheotwin.running import resume_run
from rheotwin.validation.checks.running import pull, row
from tests.conftest import write_scene

LAW = {"model": "three-element", "young": 1.0e4, "voigt_viscosity": 200.0, "series_viscosity": 5.0e3}
OUTPUT = {"output": {"interval": 0.02, "checkpoint_interval": 0.04}, "solvers": {"fem": {"step": 5e-5}}}


def _frames(folder: Path) -> int:
    try:
        return len(open_record(folder).times)
    except Exception:
        return 0


@contextmanager
def running(folder: Path, frames: int, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Pull a row of ten edges from the command line and wait until some frames are written."""
    scene = row(LAW, edges=10, mass=0.1, forces=pull(10.0)) | OUTPUT
    command = [sys.executable, "-m", "rheotwin", "run", write_scene(scene), "--output", folder, *options]
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


def require_readable(folder: Path) -> None:
    record = open_record(folder)
    assert record.manifest.status == "running"
    times = record.times
    assert len(times) >= 4
    np.testing.assert_allclose(times, 0.02 * np.arange(len(times)), rtol=1e-12, atol=1e-15)
    displacement = record.field("displacement")
    assert np.isfinite(displacement).all() and np.abs(displacement[-1]).max() > 0.0
    assert len(record.probes["time"]) >= len(times) - 1 and int(record.checkpoint()["step_count"]) % 800 == 0


def test_ctrl_c_closes_the_record_and_a_killed_run_resumes_to_the_same_end() -> None:
    folder, shot = Path("run"), Path("shot")
    with running(folder, 5, "--json") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == EXIT_INTERRUPTED and "Traceback" not in err
    report = json.loads(out)
    assert (report["status"], report["exit_code"]) == ("interrupted", EXIT_INTERRUPTED)
    record = open_record(folder)
    assert record.manifest.status == "interrupted"
    assert int(record.checkpoint()["step_count"]) == report["steps"] and 0.08 <= report["time"] < 1.0
    # The same end is reached from the interrupted run and from a run that was shot.
    with running(shot, 5, "--quiet") as process:
        process.kill()
        process.communicate(timeout=60)
    require_readable(shot)
    assert resume_run(folder).steps == resume_run(shot).steps == 20_000
    for path in (folder / "probes.csv", *(folder / "frames").iterdir()):
        assert path.read_bytes() == (shot / path.relative_to(folder)).read_bytes()
