"""Tools that leave a body no place stop the run with one sentence; what came before stays in the record."""

from pathlib import Path
from typing import Any

import pytest

from rheotwin.errors import EXIT_DIVERGED
from rheotwin.record import open_record
from rheotwin.running import Outcome, RunRequest, run_scene
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.running import Data, box_scene, path, side

RUBBER = {"model": "voigt", "young": 20000.0, "poisson": 0.25, "viscosity": 30.0}
OUTPUT = {"interval": 0.05, "probe_interval": 0.05}


def plane(center: list[float], normal: list[float], end: list[float] | None = None) -> Data:
    motion = {} if end is None else {"motion": path([0.0, 0.1, 0.2], [[0.0, 0.0], end, end])}
    return {"shape": "plane", "center": center, "normal": normal, **motion}


def press(contact: Data | None = None, *, held: bool = False, way: float = -0.15, **top: Any) -> Data:
    """Return a block under a plane that comes down by `way` [m], on another plane or with its lower side held."""
    scene = box_scene(RUBBER, cells=[4, 2], size=[0.2, 0.1], density=300.0, duration=0.2)
    tools = {"top": plane([0.0, 0.1], [0.0, -1.0], [0.0, way]) | top}
    ground = {"supports": {"table": side("bottom")}} if held else {}
    tools = tools if held else {"bottom": plane([0.0, 0.0], [0.0, 1.0]), **tools}
    return scene | {"output": OUTPUT, "tools": tools, **ground} | ({} if contact is None else {"contact": contact})


def nip(law: str, way: float) -> Data:
    """Return a thin block between two planes, of which the right one comes closer by `way` [m]."""
    scene = box_scene(RUBBER, cells=[6, 1], size=[0.1, 0.01], density=300.0, duration=0.2)
    tools = {"left": plane([0.0, 0.0], [1.0, 0.0]), "right": plane([0.1, 0.0], [-1.0, 0.0], [-way, 0.0])}
    return scene | {"output": OUTPUT, "tools": tools, "contact": {"law": law}}


def played(data: Data, solver: str, folder: str = "run", **options: Any) -> Outcome:
    return run_scene(RunRequest(scene=scene_from_data(data), solver=solver, folder=Path(folder), options=options))


def require_stopped(outcome: Outcome, *words: str) -> None:
    """Check that a run stopped while the planes met, at 0.0667 s, said so, and kept what it had."""
    assert (outcome.status, outcome.exit_code) == ("diverged", EXIT_DIVERGED) and 0.06 < outcome.time <= 0.1
    record = open_record(Path("run"))
    assert (record.manifest.status, record.manifest.message) == ("diverged", outcome.message)
    assert record.times.tolist() == pytest.approx([0.0, 0.05])
    assert all(part in outcome.message for part in words), outcome.message


@pytest.mark.parametrize("law", ["exact", "impulse"])
def test_tools_that_pass_each_other_are_named(law: str) -> None:
    """They meet at 0.0833 s; a run that went on would report forces of 1e10 N."""
    require_stopped(played(nip(law, 0.12), "truss"), "between tools.left and tools.right")
    assert played(nip(law, 0.02), "truss", "fine").status == "complete"


@pytest.mark.parametrize("solver", ["truss", "shear-volume"])
def test_a_scene_without_laws_is_looked_at_too(solver: str) -> None:
    """Its tools are exact: the block ended with half its nodes 0.05 m inside of one of them."""
    words = "of body 'block' are between tools.bottom and tools.top, which leave them no place"
    require_stopped(played(press(), solver), words)


def test_a_body_turned_through_both_tools_is_found() -> None:
    """Impulses throw nodes far out on the wrong sides: none of them is close to both planes."""
    outcome = played(press({"law": "impulse", "restitution": 0.5}), "shear-volume")
    require_stopped(outcome, "between tools.bottom and tools.top")


@pytest.mark.parametrize("contact", [None, {"law": "exact"}])
@pytest.mark.parametrize("solver", ["truss", "shear-volume"])
def test_a_tool_that_drives_into_held_nodes_is_named(solver: str, contact: Data | None) -> None:
    words = "5 nodes of body 'block' are between tools.top and supports.table", "node 0 lacks 0.0"
    require_stopped(played(press(contact, held=True), solver), *words)


@pytest.mark.parametrize(
    ("held", "stepper"),
    [
        (True, "midpoint"),
        (False, "euler"),
        (True, "quasi-static"),
        pytest.param(False, "midpoint", marks=pytest.mark.exhaustive),
        pytest.param(False, "central-difference", marks=pytest.mark.exhaustive),
        pytest.param(True, "central-difference", marks=pytest.mark.exhaustive),
    ],
)
def test_finite_elements_stop_as_well(held: bool, stepper: str) -> None:
    """Most of their steppers find no forces first, which ended as a request that cannot be carried out."""
    require_stopped(played(press(held=held), "fem", stepper=stepper), "t = 0.")


@pytest.mark.parametrize("held", [False, True])
def test_laws_of_finite_elements_stop_as_well(held: bool) -> None:
    require_stopped(played(press({"law": "exact"}, held=held), "fem"), "tools.top press more room")


def test_what_is_held_inside_from_the_start_may_stay_and_hard_presses_are_fine() -> None:
    """The run has warned of it; further in it may not go."""
    for way, status in ((0.0, "complete"), (-0.02, "diverged")):
        data = press(held=True, way=-way, center=[0.0, 0.02], normal=[0.0, 1.0])
        with pytest.warns(UserWarning, match=r"tools\.top: 5 surface nodes start inside it"):
            assert played(data, "truss", status).status == status
    assert played(press(held=True, way=-0.05), "truss").status == "complete"
