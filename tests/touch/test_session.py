"""A hand in the physics: grabs of a scene, live rows, and sessions that repeat bit for bit."""

from base64 import b64decode
from pathlib import Path
from typing import Any
from zlib import decompress

import numpy as np
import pytest

from rheotwin.build_grabs import nearest_weights
from rheotwin.errors import RheotwinError
from rheotwin.scene import scene_from_data
from rheotwin.solver import check_capabilities, find_solver
from rheotwin.touch.desktop import Window
from rheotwin.touch.hand import FASTEST, Live
from rheotwin.touch.loop import Loop, Wanted
from rheotwin.touch.recorded import packed_places
from rheotwin.touch.script import read_script
from rheotwin.touch.session import save_session
from rheotwin.touch.show import Show
from rheotwin.validation.checks.running import FLOOR, Data, box_scene, problem_of, row, run_to, start
from tests.conftest import command, write_scene

GEL = {"model": "three-element", "young": 2e4, "poisson": 0.25, "voigt_viscosity": 200.0, "series_viscosity": 2e4}
EXPLICIT = {"fem": {"stepper": "central-difference", "mass": "lumped"}}
PATH = """time,what,x,y,z
0,tool.finger,0,0,0
0.02,grab,0.1,0.05,0.05
0.05,tool.finger,0,0,-0.018
0.06,move,0.12,0.05,0.06
0.07,release
0.08,grab,0,0.05,0.05
0.1,move,-0.02,0.05,0.06
0.11,release
0.12,tool.finger,0.002,0,0
"""
FINGER = {"finger": {"shape": "sphere", "center": [0.05, 0.05, 0.085], "radius": 0.02}}


def block(**more: Any) -> Data:
    """A block of 27 nodes on a table, under a finger that nothing moves yet."""
    given = {"density": 1100.0, "gravity": [0.0, 0.0, -9.81], "supports": FLOOR, "tools": FINGER}
    return box_scene(GEL, cells=[2, 2, 2], size=[0.1, 0.1, 0.06], **{**given, **more})


def live(**options: Any) -> Live:
    return Live(scene_from_data(block()), "truss", options, period=1e-3)


def test_a_hand_and_an_edge_are_springs_in_a_row() -> None:
    hold = {"body": "block", "at": [1.0], "times": [0.0, 1.0], "position": [[1.2], [1.2]], "until": 100.0}
    hand = {"hand": hold | {"stiffness": 30.0, "damping": 5.0, "most_force": 1e3}}
    simulation = start(row({"model": "voigt", "young": 10.0, "viscosity": 10.0}, grabs=hand, duration=100.0), "truss")
    run_to(simulation, 100.0)
    force = 0.2 * 10.0 * 30.0 / 40.0
    assert simulation.reactions()["grab.hand"] == pytest.approx([-force], rel=1e-9)
    assert simulation.reactions()["support.left"] == pytest.approx([force], rel=1e-9)
    assert simulation.energy()["hand"] > simulation.energy()["stored"]


@pytest.mark.parametrize("solver", ["truss", "shear-volume", "local-shape", "fem"])
def test_a_hand_of_any_stiffness_leads_its_point_and_one_that_is_weak_pulls_with_all_it_has(solver: str) -> None:
    hold = {
        "body": "block",
        "at": [0.1, 0.03, 0.05],
        "times": [0.0, 0.05],
        "position": [[0.1, 0.03, 0.05], [0.12, 0.03, 0.05]],
    }
    found = {}
    for most in (1e9, 0.5):
        data = block(tools={}, gravity=[0.0] * 3, grabs={"hand": hold | {"stiffness": 1e12, "most_force": most}})
        problem = problem_of(data | {"duration": 0.1, "output": {"interval": 0.1}})
        grab = problem.grabs[0]
        assert grab.weights @ problem.points[grab.nodes] == pytest.approx([0.1, 0.03, 0.05])
        simulation = run_to(start(problem, solver, **EXPLICIT.get(solver, {})), 0.045)
        found[most] = grab.weights @ simulation.positions[grab.nodes]
        if most == 0.5:
            assert np.linalg.norm(simulation.reactions()["grab.hand"]) == pytest.approx(0.5, rel=1e-6)
    assert found[1e9] == pytest.approx([0.118, 0.03, 0.05], abs=1e-4)
    assert found[0.5][0] < 0.117


@pytest.mark.parametrize("solver", ["truss", "shear-volume", "local-shape", "fem"])
def test_a_session_repeats_bit_for_bit_from_its_own_file(solver: str) -> None:
    Path("path.csv").write_text(PATH)
    period = ["--period", "0.005"] if solver == "fem" else []
    words = ["--solver", solver, "--script", "path.csv", "--replay", "--output", "session", "--quiet", *period]
    said = command("touch", write_scene(block()), *words)
    assert said.code == 0, said
    assert "repeated bit for bit; forces at" in said.out and "missed by at most 0 N" in said.out
    shown = np.genfromtxt("session/forces.csv", delimiter=",", names=True)
    assert np.abs(shown["toolfingerforce_z_N"]).max() > 0.1 and np.abs(shown["grabhandforce_x_N"]).max() > 0.1
    assert command("touch", "session", "--replay").code == 0
    scene = Path("session/scene.toml")
    text = scene.read_text()
    assert '"until" = 0.07' in text
    scene.write_text(text.replace('"until" = 0.07', '"until" = 0.085'))
    assert command("touch", "session", "--replay").code == 1


def test_what_a_hand_gives_is_stored_moves_or_was_dissipated() -> None:
    Path("path.csv").write_text(PATH)
    simulation = live()
    loop, lost = Loop(simulation, read_script(Path("path.csv"), simulation), pace=None), [0.0]
    loop.watchers.append(lambda: lost.append(simulation.account()["dissipated"]))
    loop.run(0.3)
    found = simulation.account()
    given = found["hand"] + found["tools"] + found["weight"]
    assert given > 0.01 and lost[-1] > 0.5 * given
    assert np.diff(lost).min() > -1e-3 * lost[-1]


def test_random_pushing_for_a_while_diverges_nowhere() -> None:
    _push_at_random(10_000, live(step=2e-5))


@pytest.mark.exhaustive
def test_random_pushing_for_ten_minutes_diverges_nowhere() -> None:
    _push_at_random(590_000, live(step=2e-5))


def _push_at_random(periods: int, simulation: Live) -> None:
    """Half explicit rules keep energy to the order of their step, which is why this one is short."""
    chance, wanted = np.random.default_rng(3), Wanted(1e-3)
    loop, places, lost = Loop(simulation, wanted, pace=None), simulation.problem.points, [0.0]
    while simulation.row < periods and not loop.message:
        event = chance.integers(4)
        if event == 0:
            wanted.pick(*simulation.nearest(places[chance.integers(len(places))]))
        elif event == 1:
            wanted.release()
        elif event == 2 and wanted.hand is not None:
            wanted.hand = places[chance.integers(len(places))] + chance.normal(scale=0.03, size=3)
        else:
            wanted.tools["finger"] = np.append(chance.normal(scale=0.02, size=3), 0.0)
        for _ in range(100):
            loop.period()
        lost.append(simulation.account()["dissipated"])
    assert loop.message == "" and len(simulation.grabs) > 3
    assert np.diff(lost).min() > -1e-3 * lost[-1]
    assert simulation.simulation.positions.std() < 0.1


def test_a_hand_goes_no_further_in_a_period_than_half_a_cell() -> None:
    simulation = live()
    wanted = Wanted(1e-3, tools={"finger": np.array([1.0, 0.0, 0.0, 0.0])})
    loop = Loop(simulation, wanted, pace=None)
    for _ in range(5):
        loop.period()
    moved = simulation.poses(simulation.tools[0])[:, 0]
    assert np.diff(moved).max() == pytest.approx(FASTEST * simulation.spacing) and simulation.clamped == 5


def test_a_new_start_forgets_the_session() -> None:
    Path("path.csv").write_text(PATH)
    simulation = live()
    for _ in range(2):
        loop = Loop(simulation, read_script(Path("path.csv"), simulation), pace=None)
        loop.run(0.1)
        save_session(simulation, Path("session"), loop.forces, {})
        found = Path("session/session.json").read_text()
        loop.begin_again()
        assert simulation.time == 0.0 and not simulation.grabs
        assert Path("session/session.json").read_text() == found


def test_the_nearest_point_lies_in_a_face_on_an_edge_or_at_a_corner() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for at, wanted in (
        ([0.2, 0.3, 1.0], [0.2, 0.3, 0.0]),
        ([0.4, -1.0, 0.0], [0.4, 0.0, 0.0]),
        ([1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
        ([3.0, -1.0, 2.0], [1.0, 0.0, 0.0]),
    ):
        nodes, weights = nearest_weights(points, np.array([[0, 1, 2]]), np.array(at))
        assert weights @ points[nodes] == pytest.approx(wanted) and weights.sum() == pytest.approx(1.0)


HOLD = {"body": "block", "at": [0.1, 0.0, 0.0], "times": [0.0, 0.05], "position": [[0.1, 0.0, 0.0]] * 2}


@pytest.mark.parametrize(
    ("solver", "options"),
    [("fixed-point", {}), ("fem", {}), ("truss", {"stepper": "implicit"}), ("truss", {"stepper": "rk4"})],
)
def test_who_knows_no_hands_says_who_does(solver: str, options: dict[str, Any]) -> None:
    law = {"model": "voigt", "young": 2e4, "poisson": 0.25, "viscosity": 50.0}
    data = box_scene(law, cells=[2, 2, 2], size=[0.1] * 3, density=1e3, supports=FLOOR, grabs={"hand": HOLD})
    with pytest.raises(RheotwinError, match=r"central-difference|semi-implicit"):
        problem = problem_of(data)
        check_capabilities(find_solver(solver), problem)
        start(problem, solver, **options)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"at": [0.1, 0.0]}, "grabs.hand.at"),
        ({"body": "bock"}, "grabs.hand.body: no body is named 'bock' (did you mean 'block'?)"),
        ({"position": [[0.1, 0.0, 0.0]]}, "grabs.hand.position: has 1 entries but `times` has 2"),
        ({"until": 0.0}, "grabs.hand"),
        ({"stiffness": -1.0}, "grabs.hand.stiffness"),
    ],
)
def test_faults_of_a_grab_have_their_place(change: Data, sentence: str) -> None:
    said = command("info", write_scene(block(grabs={"hand": HOLD | change})))
    assert said.code == 2 and sentence in said.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0,grab,zero", "line 1: write time,what,x,y,z with numbers"),
        ("0,squeeze,0,0,0", "there is no 'squeeze' here; write one of grab, move, release, tool.finger"),
        ("1,release\n0,release", "line 2: times are finite and never go back"),
    ],
)
def test_faults_of_a_script_have_their_line(text: str, sentence: str) -> None:
    Path("path.csv").write_text(text)
    said = command("touch", write_scene(block()), "--script", "path.csv")
    assert said.code == 2 and sentence in said.err


def test_what_cannot_be_touched_says_why() -> None:
    path = write_scene(block())
    for words, sentence in (
        (("--period", "1"), "--period 1: choose between"),
        (("--solver", "fixed-point"), "choose truss, shear-volume, local-shape, or fem"),
        (("--replay",), "holds no session"),
    ):
        said = command("touch", path, *words)
        assert said.code == 2 and sentence in said.err, said


def test_places_of_a_page_come_back_to_a_step_of_sixteen_bits() -> None:
    """As the page unpacks them: differences that wrap, added up."""
    places = np.random.default_rng(1).normal(size=(7, 30, 3))
    text, low, unit = packed_places(places)
    steps = np.cumsum(
        np.frombuffer(decompress(b64decode(text)), np.int16).reshape(places.shape), axis=0, dtype=np.int16
    )
    assert np.abs(low + unit * (steps.astype(float) + 32767) - places).max() <= 0.5000001 * unit
    assert unit == np.ptp(places, axis=(0, 1)).max() / 65534


def test_a_window_takes_hold_of_the_body_and_of_a_tool() -> None:
    show = Show(live(), Path("session"), pace=1.0)
    window = Window(show, off_screen=True)
    window.plotter.camera_position = [(0.05, -1.0, 0.03), (0.05, 0.05, 0.03), (0.0, 0.0, 1.0)]
    window.plotter.render()
    wide, high = window.plotter.window_size
    assert not window.press(5.0, 5.0) and window.press(0.5 * wide, 0.5 * high)
    show.loop.period()
    assert show.live.held is not None
    window.drag(0.5 * wide + 40, 0.5 * high)
    for _ in range(60):
        show.loop.period()
    window.refresh()
    assert show.live.simulation.reactions()["grab.hand"][0] < 0.0
    assert np.ptp(window.bodies[0].points[:, 0]) > 0.1005
    window.release()
    show.loop.period()
    show.loop.period()
    assert show.live.held is None
    window.plotter.camera_position = [(0.05, -1.0, 0.085), (0.05, 0.05, 0.085), (0.0, 0.0, 1.0)]
    window.plotter.render()
    assert window.press(0.5 * wide, 0.5 * high)
    window.drag(0.5 * wide, 0.5 * high - 20)
    for _ in range(60):
        show.loop.period()
    assert show.live.simulation.reactions()["tool.finger"][2] > 0.0
    window.plotter.close()


def test_a_body_that_is_torn_waits_to_begin_again() -> None:
    simulation = live(kernel="general")
    loop = Loop(simulation, Wanted(1e-3), pace=None)
    simulation.simulation.state.velocities[5] = np.nan  # type: ignore[attr-defined]
    loop.run(1.0)
    assert "the body was torn at t = 0" in loop.message and loop.diverged and simulation.time < 0.01
    loop.begin_again()
    loop.run(0.05)
    assert loop.message == "" and simulation.time == pytest.approx(0.05)
