"""Tools that leave a body no place stop the run with one sentence; what came before stays in the record."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rheotwin.errors import EXIT_DIVERGED
from rheotwin.record import open_record
from rheotwin.run import Outcome, RunRequest, run_scene
from rheotwin.scene import scene_from_data

RUBBER = """
schema = 1
dimension = 2
duration = 0.2
[output]
interval = 0.05
probe_interval = 0.05
[laws.rubber]
model = "voigt"
young = 20000.0
poisson = 0.25
viscosity = 30.0
[bodies.block]
shape = "box"
law = "rubber"
density = 300.0
"""
"""What both scenes below begin with; the size of the block follows."""

SCENE = f"""{RUBBER}
size = [0.1, 0.01]
cells = [6, 1]
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
"""

PRESS = f"""{RUBBER}
size = [0.2, 0.1]
cells = [4, 2]
[tools.bottom]
shape = "plane"
center = [0.0, 0.0]
normal = [0.0, 1.0]
[tools.top]
shape = "plane"
center = [0.0, 0.1]
normal = [0.0, -1.0]
[tools.top.motion]
times = [0.0, 0.1, 0.2]
displacement = [[0.0, 0.0], [0.0, -0.15], [0.0, -0.15]]
"""


def press(contact: dict[str, Any] | None = None, *, held: bool = False, way: float = -0.15) -> dict[str, Any]:
    """Return a block under a plane that comes down by `way` [m], on another plane or with its lower side held."""
    data = tomllib.loads(PRESS) | ({} if contact is None else {"contact": contact})
    data["tools"]["top"]["motion"]["displacement"][1:] = [[0.0, way], [0.0, way]]
    if held:
        del data["tools"]["bottom"]
        data["supports"] = {"table": {"body": "block", "where": {"side": "bottom"}}}
    return data


def played(data: dict[str, Any], solver: str, folder: Path, **options: Any) -> Outcome:
    """Run a scene into a new folder."""
    return run_scene(RunRequest(scene=scene_from_data(data), solver=solver, folder=folder / "run", options=options))


def require_stopped(outcome: Outcome, folder: Path) -> None:
    """Check that a run stopped while the planes met, at 0.0667 s, and kept what it had."""
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED)
    assert 0.06 < outcome.time <= 0.1
    record = open_record(folder / "run")
    assert (record.manifest.status, record.manifest.message) == ("diverged", outcome.message)
    assert record.times.tolist() == pytest.approx([0.0, 0.05])


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


@pytest.mark.parametrize("solver", ["truss", "shear-volume"])
def test_a_scene_without_laws_is_looked_at_too(tmp_path: Path, solver: str) -> None:
    """Its tools are exact: the block ended with half its nodes 0.05 m inside of one of them."""
    outcome = played(press(), solver, tmp_path)
    require_stopped(outcome, tmp_path)
    assert "of body 'block' are between tools.bottom and tools.top, which leave them no place" in outcome.message


def test_a_body_turned_through_both_tools_is_found(tmp_path: Path) -> None:
    """Impulses throw nodes far out on the wrong sides: none of them is close to both planes."""
    outcome = played(press({"law": "impulse", "restitution": 0.5}), "shear-volume", tmp_path)
    require_stopped(outcome, tmp_path)
    assert "between tools.bottom and tools.top" in outcome.message


@pytest.mark.parametrize("contact", [None, {"law": "exact"}])
@pytest.mark.parametrize("solver", ["truss", "shear-volume"])
def test_a_tool_that_drives_into_held_nodes_is_named(
    tmp_path: Path, solver: str, contact: dict[str, Any] | None
) -> None:
    outcome = played(press(contact, held=True), solver, tmp_path)
    require_stopped(outcome, tmp_path)
    assert "5 nodes of body 'block' are between tools.top and supports.table" in outcome.message
    assert "node 0 lacks 0.0" in outcome.message


@pytest.mark.parametrize(
    ("held", "options"),
    [
        (False, {}),
        (True, {}),
        (False, {"stepper": "euler"}),
        (False, {"stepper": "central-difference"}),
        (True, {"stepper": "central-difference"}),
        (True, {"stepper": "quasi-static"}),
    ],
)
def test_finite_elements_stop_as_well(tmp_path: Path, held: bool, options: dict[str, Any]) -> None:
    """Most of their steppers find no forces first, which ended as a request that cannot be carried out."""
    outcome = played(press(held=held), "fem", tmp_path, **options)
    require_stopped(outcome, tmp_path)
    assert "t = 0." in outcome.message


@pytest.mark.parametrize("held", [False, True])
def test_laws_of_finite_elements_stop_as_well(tmp_path: Path, held: bool) -> None:
    outcome = played(press({"law": "exact"}, held=held), "fem", tmp_path)
    require_stopped(outcome, tmp_path)
    assert "tools.top press more room" in outcome.message


def test_what_a_support_held_inside_from_the_start_may_stay(tmp_path: Path) -> None:
    """The run has warned of it; further in it may not go."""
    for way, status in ((0.0, "complete"), (-0.02, "diverged")):
        data = press(held=True)
        data["tools"]["top"] |= {"center": [0.0, 0.02], "normal": [0.0, 1.0]}
        data["tools"]["top"]["motion"]["displacement"][1:] = [[0.0, -way], [0.0, -way]]
        with pytest.warns(UserWarning, match=r"tools\.top: 5 surface nodes start inside it"):
            outcome = played(data, "truss", tmp_path / status)
        assert outcome.status == status


def test_a_tool_that_presses_hard_is_fine(tmp_path: Path) -> None:
    assert played(press(held=True, way=-0.05), "truss", tmp_path).status == "complete"
