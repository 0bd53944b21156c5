"""A run that blows up is stopped: exit code 3, one sentence, and everything before that stays readable."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_DIVERGED
from rheotwin.record import open_record
from rheotwin.run import resume_run

Run = Callable[..., tuple[Path, Any]]
# Nothing happens for 0.2 s, then a force grows that would carry the block through the roof.
BLAST = {
    "body": "block",
    "where": {"side": "top"},
    "total": [0.0, 1.0e12],
    "times": [0.2, 0.3],
    "factor": [0.0, 1.0],
}


def test_divergence_is_stopped_and_named(run: Run, solver: str, series_format: str) -> None:
    folder, outcome = run(solver, {"forces.blast": BLAST}, format=series_format)
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED)
    found = re.match(
        r"the run diverged at t = (\S+) s in body 'block' at node (\d+) \(rest position (\S+), (\S+)\): "
        r"reduce the step \(now 0\.001 s",
        outcome.message,
    )
    assert found, outcome.message
    assert 0.2 < float(found[1]) <= 0.3
    record = open_record(folder)
    assert (record.manifest.status, record.manifest.message) == ("diverged", outcome.message)
    place = record.rest_positions[int(found[2])]
    assert [float(found[3]), float(found[4])] == pytest.approx(place[:2], abs=1e-4)

    assert record.times.tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert all(np.isfinite(record.field(name)).all() for name in record.manifest.fields)
    assert record.probes["time"].max() == pytest.approx(0.2)
    assert np.isfinite(np.array(list(record.probes.values()))).all()


def test_the_diverged_state_is_never_a_checkpoint(run: Run, solver: str) -> None:
    folder, first = run(solver, {"forces.blast": BLAST})
    checkpoint = open_record(folder).checkpoint()
    assert int(checkpoint["step_count"]) == 200
    # resuming repeats the same end, from the last good state
    again = resume_run(folder)
    assert (again.status, again.exit_code) == (first.status, first.exit_code)
    assert 0.2 < again.time <= 0.3
    assert open_record(folder).times.tolist() == pytest.approx([0.0, 0.1, 0.2])
