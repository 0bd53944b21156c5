"""Draw pictures in one guarded process, so a crash of the graphics stack costs a picture, not the run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rheotwin.validation import draw_matplotlib
from rheotwin.validation.picture_job import PictureJob, save_jobs

WORKER = "rheotwin.validation.draw_pyvista"
START_ALLOWANCE = 90.0
"""Time the drawing process may take to start [s]."""
PICTURE_ALLOWANCE = 15.0
"""Further time per picture [s]."""


def render(jobs: Sequence[PictureJob], *, worker: str = WORKER) -> dict[str, bytes]:
    """Return key -> PNG bytes: pyvista in one separate process, matplotlib for what it did not deliver."""
    if not jobs:
        return {}
    with tempfile.TemporaryDirectory(prefix="rheotwin-pictures-") as name:
        folder = Path(name)
        save_jobs(folder, jobs)
        _run_guarded(worker, folder, START_ALLOWANCE + PICTURE_ALLOWANCE * len(jobs))
        drawn = {
            job.key: (folder / f"{number}.png").read_bytes()
            for number, job in enumerate(jobs)
            if (folder / f"{number}.png").is_file()
        }
    return {job.key: drawn.get(job.key) or draw_matplotlib.draw(job) for job in jobs}


def _run_guarded(worker: str, folder: Path, allowance: float) -> None:
    command = [sys.executable, "-m", worker, str(folder)]
    try:
        # Whatever happens to it, its finished pictures count and the others are drawn without it.
        subprocess.run(command, capture_output=True, timeout=allowance, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
