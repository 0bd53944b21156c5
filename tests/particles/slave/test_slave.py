"""Masters and slaves: lists, forces, contact, splitting, restart, what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvista as pv
from scipy.spatial import cKDTree

from rheotwin.errors import RheotwinError, Stopped
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.particles.slave.lists import SKIN, make_lists, new_lists
from rheotwin.particles.slave.solver import SlaveSimulation
from rheotwin.validation.checks.running import Array, Data, box_scene, problem_of, put, run_to, side, start
from rheotwin.validation.checks.slave import parts_of_a_step

ELASTIC: Data = {"model": "elastic", "young": 1e5, "poisson": 0.3}
BRITTLE: Data = {"model": "elastoplastic", "young": 1e5, "poisson": 0.2, "critical_compression": 0.01}
BRITTLE |= {"critical_stretch": 0.005}
FLOOR: Data = {"floor": {"shape": "plane", "center": [0.0, 0.0, 0.0], "normal": [0.0, 0.0, 1.0]}}
STEP = 5e-4
SCHEMES = ["explicit", "semi-implicit"]


def cubes(law: Data, cells: tuple[int, int, int], **more: Any) -> Data:
    """Return the scene of a block of cubes of .05 m."""
    size = [0.05 * count for count in cells]
    return box_scene(law, cells=list(cells), size=size, cell="hex", **{"density": 1000.0, "duration": 1.0} | more)


def begin(data: Data, **options: Any) -> SlaveSimulation:
    found = start(data, "slave", **{"step": STEP} | options)
    assert isinstance(found, SlaveSimulation)
    return found


def momentum(simulation: SlaveSimulation) -> Array:
    masters = simulation.cloud.masters
    return np.asarray(masters.mass @ masters.v[:, :3])


def torn(scheme: str = "semi-implicit", **options: Any) -> SlaveSimulation:
    """Return a bar of snow whose halves fly apart."""
    simulation = begin(cubes(BRITTLE, (8, 3, 3)), scheme=scheme, **options)
    v = np.zeros_like(simulation.cloud.masters.v)
    v[:, 0] = np.where(simulation.cloud.masters.x[:, 0] > 0.2, 4.0, -4.0)
    return put(simulation, **{"masters.v": v})


@pytest.mark.parametrize("spread", [1.0, 300.0])
def test_lists_hold_all_slaves_within_reach_in_the_order_of_their_numbers(spread: float) -> None:
    """Against a k-d tree, also where the grid of cells has been folded."""
    simulation = begin(cubes(ELASTIC, (4, 4, 4)))
    masters, slaves, h = simulation.cloud.masters, simulation.cloud.slaves, 0.05
    generator, count = np.random.default_rng(1), int(slaves.count[0])
    offset = spread * generator.uniform(-1.0, 1.0, (4, 3))
    masters.x[:, :3] = offset[np.arange(64) % 4] + generator.uniform(0.0, 0.2, (64, 3))
    slaves.x[:count, :3] = offset[np.arange(count) % 4] + generator.uniform(0.0, 0.2, (count, 3))
    lists = new_lists(masters, slaves, count)
    Program([Stage(make_lists, (masters.x, slaves.x, count, lists, h), into=lists.age[2:])], 0.0, Clock()).run(0, 1)
    wanted = cKDTree(slaves.x[:count, :3]).query_ball_point(masters.x[:, :3], (2.0 + SKIN) * h)
    assert [lists.index[m, :n].tolist() for m, n in enumerate(lists.count)] == [sorted(near) for near in wanted]
    assert lists.age[2] == max(map(len, wanted))


def test_forces_are_minus_the_gradient_of_the_energy_with_any_slaves() -> None:
    found = parts_of_a_step()
    assert found["f u + dPhi(u)"] < 1e-6
    assert found["gradient of an affine field"] < 1e-12
    assert max(found["net force"], found["net torque"]) < 1e-12


@pytest.mark.parametrize("scheme", SCHEMES)
def test_momentum_stays_and_what_tools_get_is_what_bodies_lose(scheme: str) -> None:
    free = begin(cubes(ELASTIC, (3, 3, 3), velocity=[1.0, 2.0, 0.5], spin=[3.0, 1.0, 8.0]), scheme=scheme)
    before = momentum(free)
    np.testing.assert_allclose(momentum(run_to(free, 0.05)), before, rtol=1e-12)
    rest = cubes(ELASTIC, (3, 3, 3), origin=[0.0, 0.0, 0.0], gravity=[0.0, 0.0, -9.8], velocity=[0.5, 0.0, -1.0])
    hit = begin(rest | {"tools": FLOOR, "contact": {"law": "exact", "friction": 0.3}}, scheme=scheme, tolerance=1e-12)
    weight = hit.cloud.masters.mass.sum() * np.array([0.0, 0.0, -9.8])
    for _ in range(20):
        before = momentum(hit)
        hit.advance(1.0, 1)
        force = weight - hit.reactions()["tool.floor"]
        np.testing.assert_allclose((momentum(hit) - before) / STEP, force, atol=1e-8 * np.abs(force).max())
    assert hit.reactions()["tool.floor"][0] > 0.0 > hit.reactions()["tool.floor"][2]


UP: Data = {"motion": {"times": [0.0, 1.0], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]}}
SHAPES: dict[str, Data] = {
    "bar": {"normal": [0.0, 0.0, 1.0], "center": [0.025, 0.075, 0.0], "width": [0.1, 0.4]},
    "sphere": {"radius": 0.05},
    "cylinder": {"radius": 0.05, "axis": [0.0, 1.0, 0.0]},
    "prism": {"radius": 0.08, "axis": [0.0, 1.0, 0.0], "sides": 4},
    "box": {"size": [0.1, 0.1, 0.1]},
    "mesh": {"path": "ball.stl", "scale": 1.0},
}


@pytest.mark.parametrize(
    "shape", [pytest.param(name, marks=pytest.mark.exhaustive) for name in SHAPES if name != "bar"]
)
def test_every_tool_gets_the_momentum_that_a_block_loses(shape: str, tmp_path: Path) -> None:
    """It rises into the corner of a block at .5 m/s; moments are those of the forces at slaves and masters."""
    pv.Sphere(radius=0.05).save(tmp_path / "ball.stl")
    tool = {"shape": shape, "center": [0.02, 0.03, -0.05]} | SHAPES[shape] | UP
    if shape == "mesh":
        tool["path"] = str(tmp_path / "ball.stl")
    simulation = begin(cubes(ELASTIC, (4, 4, 4), tools={"tool": tool}, contact={"law": "exact"}), scheme="explicit")
    impulse = np.zeros(3)
    for _ in range(40):
        simulation.advance(1.0, 1)
        impulse -= STEP * simulation.reactions()["tool.tool"]
    np.testing.assert_allclose(momentum(simulation), impulse, atol=1e-12)
    assert impulse[2] > 0.02 and np.linalg.norm(simulation.reactions()["tool.tool.moment"]) > 0.0


def test_a_bar_touches_what_is_in_front_of_it() -> None:
    tool = {"bar": {"shape": "bar"} | SHAPES["bar"] | UP}
    scene = cubes(ELASTIC, (4, 4, 4), tools=tool)
    simulation = run_to(begin(scene, scheme="explicit"), 0.01)
    x, rest = simulation.positions, problem_of(scene).points
    low = rest[:, 2] == 0.0
    assert x[low & (rest[:, 0] < 0.06), 2].min() > 0.0045
    assert x[low & (rest[:, 0] > 0.14), 2].max() < 0.002


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_pull_has_the_modulus_of_the_law(scheme: str) -> None:
    """A bar between two supports, 1 % longer, at a Poisson ratio of 0: F = E A e, within what the ends leave loose."""
    motion = {"times": [0.0, 0.1], "displacement": [[0.0, 0.0, 0.0], [0.006, 0.0, 0.0]], "interpolation": "smooth"}
    scene = cubes(
        ELASTIC | {"poisson": 0.0}, (12, 4, 4), supports={"a": side("left"), "b": side("right", motion=motion)}
    )
    simulation = run_to(begin(scene, scheme=scheme), 0.1)
    times = np.arange(0.1, 0.4, 0.005)
    forces = [[run_to(simulation, time).reactions()[f"support.{name}"][0] for name in "ab"] for time in times]
    assert np.mean(np.abs(forces)) == pytest.approx(40.0, rel=0.04)
    assert np.all(np.array(forces) * [1.0, -1.0] > -5.0)
    moved = simulation.positions[:, 0].max() - 0.6
    assert moved == pytest.approx(0.006, abs=1e-12)


def test_a_pulled_bar_that_is_let_go_takes_all_of_the_pull() -> None:
    """Its support ends before the wave of the load has come to it."""
    more = {"supports": {"a": side("left", until=0.02)}, "forces": {"pull": side("right", total=[1.0, 0.0, 0.0])}}
    simulation = run_to(start(cubes(ELASTIC, (6, 2, 2), **more), "slave", step=STEP), 0.04)
    masters = simulation.save()
    moved = masters["masters.mass"] @ masters["masters.v"][:, :3]
    np.testing.assert_allclose(moved, [0.04, 0.0, 0.0], rtol=2e-3, atol=1e-12)


def test_a_block_carries_a_tool_with_a_mass() -> None:
    """It comes to rest with the plate's weight on it, and tools with bodies keep their momentum."""
    plate: Data = {"shape": "box", "center": [0.1, 0.1, 0.26], "size": [0.3, 0.3, 0.1]}
    plate |= {"drive": {"mass": 2.0, "free": ["z"]}}
    scene = cubes(ELASTIC, (4, 4, 4), contact={"law": "exact", "friction": 0.3}, tools=FLOOR | {"plate": plate})
    scene |= {"gravity": [0.0, 0.0, -9.8]}
    simulation = begin(scene)
    forces = [run_to(simulation, time).reactions()["tool.floor"][2] for time in np.arange(0.5, 1.0, STEP)]
    assert np.mean(forces) == pytest.approx(-9.8 * (8.0 + 2.0), rel=0.02)
    assert -0.04 < simulation.tool_poses()[1, 2] < 0.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_torn_bar_is_two_pieces_and_goes_on_bit_for_bit_from_the_middle_of_it(scheme: str) -> None:
    whole = torn(scheme)
    assert whole.counts()["pieces"] == 1 and whole.first_split == np.inf
    run_to(whole, 0.02)
    saved, begun = whole.save(), whole.counts()
    run_to(whole, 0.05)
    counts = whole.counts()
    assert begun["pairs_broken"] > 0 and counts["slaves_added"] > begun["slaves_added"] > 0
    assert counts["pieces"] == 2 and 0.0 < whole.first_split <= 0.02
    np.testing.assert_array_equal(np.bincount(whole.particles()[1]["piece"]), [36, 36])
    assert np.isfinite(whole.positions).all()
    again = begin(cubes(BRITTLE, (8, 3, 3)), scheme=scheme)
    again.restore(saved)
    end, other = whole.save(), run_to(again, 0.05).save()
    assert end.keys() == other.keys()
    for name, array in end.items():
        np.testing.assert_array_equal(other[name], array, err_msg=name)
    assert not torn(scheme, add=False).counts()["slaves_added"]


def test_what_flows_is_crushed_as_far_by_either_scheme() -> None:
    """Snow of Figure 10, right: a third of its height is left, not a half as with a solve that resists the flow."""
    snow = BRITTLE | {"young": 1.4e5, "critical_compression": 2.5e-3, "critical_stretch": 7.5e-4}
    scene = box_scene(snow, cells=[6] * 3, size=[1.0] * 3, cell="hex", density=400.0, velocity=[0.0, 0.0, -3.13])
    scene |= {"gravity": [0.0, 0.0, -9.8], "tools": FLOOR, "contact": {"law": "exact", "friction": 0.3}}
    heights = [run_to(begin(scene, scheme=scheme), 0.4).cloud.masters.x[:, 2].max() for scheme in SCHEMES]
    assert heights[1] == pytest.approx(heights[0], rel=0.05)


def test_masters_alone_fall_and_bounce() -> None:
    scene = cubes(ELASTIC, (3, 3, 3), origin=[0.0, 0.0, 0.05], gravity=[0.0, 0.0, -9.8], tools=FLOOR)
    simulation = run_to(begin(scene, slaves=False), 0.05)
    assert simulation.positions[:, 2].min() == pytest.approx(0.05 - 0.5 * 9.8 * 0.05 * (0.05 + STEP), abs=1e-12)
    assert run_to(simulation, 0.3).positions[:, 2].min() > -0.03


def unequal() -> None:
    begin(box_scene(ELASTIC, cells=[2, 2, 2], size=[1.0, 1.0, 1.1], cell="hex", density=1000.0))


def too_long() -> None:
    begin(cubes(ELASTIC, (2, 2, 2)), scheme="explicit", step=0.1)


def without_slaves() -> None:
    begin(cubes(ELASTIC, (2, 2, 2), supports={"a": side("left")}), slaves=False)


def flung() -> None:
    simulation = begin(cubes(ELASTIC, (2, 2, 2)))
    x = simulation.cloud.masters.x.copy()
    x[5, 2] = 1e3
    run_to(put(simulation, **{"masters.x": x}), 1.0)


@pytest.mark.parametrize(
    ("attempt", "error", "sentence"),
    [
        (unequal, RheotwinError, r"bodies.block: its cells are no equal cubes \(edges of 0.5 to 0.55 m\)"),
        (too_long, RheotwinError, "solvers.slave.step: 0.1 s is above the stable step of .* waves over one spacing"),
        (without_slaves, RheotwinError, "solvers.slave.slaves: false leaves no slaves for supports and loads"),
        (flung, Stopped, r"the run diverged at t = .* s in body 'block' at master 5 \(at the start at 0.075, "),
    ],
)
def test_what_cannot_be_run_says_so(attempt: Callable[[], None], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        attempt()


def test_more_than_memory_is_refused_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", lambda name: 1 if name == "SC_AVPHYS_PAGES" else 4096)
    with pytest.raises(RheotwinError, match=r"bodies: 8 masters .* take about .* MB and .* MB are free"):
        begin(cubes(ELASTIC, (2, 2, 2)))
