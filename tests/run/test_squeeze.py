"""Tools that leave a body no place stop the run with one sentence; what came before stays in the record."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rheotwin.errors import EXIT_DIVERGED
from rheotwin.record import open_record
from rheotwin.run import RunRequest, run_scene
from rheotwin.scene import scene_from_data

SCENE = """
schema = 1
dimension = 2
duration = 0.2
[laws.rubber]
model = "voigt"
young = 20000.0
poisson = 0.25
viscosity = 30.0
[bodies.block]
shape = "box"
size = [0.1, 0.01]
cells = [6, 1]
law = "rubber"
density = 300.0
[contact]
law = "exact"
[tools.left]
shape = "plane"
center = [0.0, 0.0]
normal = [1.0, 0.0]
[tools.right]
shape = "plane"
center = [0.1, 0.0]
normal = [-1.0, 0.0]
[tools.right.motion]
times = [0.0, 0.1, 0.2]
displacement = [[0.0, 0.0], [-0.12, 0.0], [-0.12, 0.0]]
[output]
interval = 0.05
probe_interval = 0.05
"""


@pytest.mark.parametrize("law", ["exact", "impulse"])
def test_tools_that_pass_each_other_are_named(tmp_path: Path, law: str) -> None:
    """They meet at 0.0833 s; a run that went on would report forces of 1e10 N."""
    scene = scene_from_data({**tomllib.loads(SCENE), "contact": {"law": law}})
    outcome = run_scene(RunRequest(scene=scene, solver="truss", folder=tmp_path / "run"))
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED)
    assert "between tools.left and tools.right" in outcome.message
    assert open_record(tmp_path / "run").times.tolist()[:2] == pytest.approx([0.0, 0.05])


def test_tools_that_stop_in_time_are_fine(tmp_path: Path) -> None:
    data = tomllib.loads(SCENE)
    data["tools"]["right"]["motion"]["displacement"] = [[0.0, 0.0], [-0.02, 0.0], [-0.02, 0.0]]
    outcome = run_scene(RunRequest(scene=scene_from_data(data), solver="truss", folder=tmp_path / "run"))
    assert outcome.status == "complete"
