"""A run can be resumed from the moment it starts, planned checkpoints or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rheotwin.observers import Observer, Watched
from rheotwin.record import open_record
from rheotwin.run import resume_run
from rheotwin.schedule import Stop


@pytest.mark.parametrize(
    ("solver", "changes"),
    [
        ("fem", {}),
        ("fem", {"solvers.fem.linear_solver": "amg"}),
        ("fem", {"solvers.fem.linear_solver": "amg", "solvers.fem.stepper": "quasi-static"}),
        ("truss", {}),
    ],
)
def test_a_run_that_failed_before_any_planned_checkpoint_can_be_resumed(
    run: Callable[..., tuple[Path, Any]], solver: str, changes: dict[str, Any], series_format: str, tmp_path: Path
) -> None:
    """Multigrid has no earlier solution then to start from."""

    class Fails(Observer):
        def stop(self, run: Watched, stop: Stop) -> None:
            if stop.time > 0.15:
                raise MemoryError("no room")

    changes = {"output.checkpoint_interval": ...} | changes
    with pytest.raises(MemoryError):
        run(solver, changes, name="failed", format=series_format, observers=[Fails()])
    folder = tmp_path / "failed"
    assert open_record(folder).manifest.status == "failed"
    assert int(open_record(folder).checkpoint()["step_count"]) == 0
    assert resume_run(folder).status == "complete"
    whole, _ = run(solver, changes, name="whole", format=series_format)
    assert (folder / "probes.csv").read_bytes() == (whole / "probes.csv").read_bytes()
    assert open_record(folder).times.tolist() == open_record(whole).times.tolist()
