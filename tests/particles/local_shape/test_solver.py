"""Elements that keep their shape: moduli, momenta, energy, creep, recovery, restart, what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.materials import Channel
from rheotwin.meshing import build_mesh, check_elements, element_measures, mixed_mesh
from rheotwin.meshing.mixed import VTK_HEX
from rheotwin.particles.local_shape.material import parts_of
from rheotwin.problem import Problem
from rheotwin.record import open_record
from rheotwin.validation.checks.running import FLOOR, block, box_scene, path, problem_of, put, run_to, side, start
from rheotwin.validation.checks.shape import CRUSHED, shape_error
from rheotwin.validation.report.page import match_sentence
from rheotwin.validation.run_view import view_of
from tests.conftest import command

Array = NDArray[np.float64]
SCENES = Path(__file__).parents[3] / "scenes"
Data = dict[str, Any]
ELASTIC: Data = {"model": "elastic", "young": 100.0, "poisson": 0.0}
LAWS: dict[str, Data] = {
    "elastic": ELASTIC | {"poisson": 0.3},
    "voigt": {"model": "voigt", "young": 100.0, "poisson": 0.3, "viscosity": 2.0},
    "maxwell": {"model": "maxwell", "young": 100.0, "poisson": 0.3, "viscosity": 30.0},
    "three-element": {
        "model": "three-element",
        "young": 100.0,
        "poisson": 0.3,
        "voigt_viscosity": 4.0,
        "series_viscosity": 40.0,
    },
}
CELLS = {"triangle": 2, "quad": 2, "tet": 3, "hex": 3}
ALL = {**CELLS, "triangles and quads": 2, "four kinds": 3}
SPLITS: dict[str, list[list[int]]] = {
    "hex": [list(range(8))],
    "wedge": [[0, 1, 5, 3, 2, 6], [0, 5, 4, 3, 6, 7]],
    "pyramid": [[0, 3, 2, 1, 6], [0, 1, 5, 4, 6], [0, 4, 7, 3, 6]],
    "tet": [[0, a, b, 6] for a, b in ((1, 2), (2, 3), (3, 7), (7, 4), (4, 5), (5, 1))],
}
"""Cells of a cube, in VTK's order; some of them mirrored."""


def each_once(one: Iterable[str], other: Iterable[str], telling: set[tuple[str, str]]) -> list[Any]:
    """Return all pairs, of which `make test` takes those that tell."""
    late = pytest.mark.exhaustive
    return [pytest.param(*pair, marks=() if pair in telling else late) for pair in product(one, other)]


def body(cell: str, law: Data, **scene: Any) -> Problem:
    if cell in CELLS:
        return block(CELLS[cell], law, {"cell": cell}, **scene)
    problem = block(ALL[cell], law, {"cell": "quad" if ALL[cell] == 2 else "hex"}, **scene)
    mesh = problem.bodies[0].mesh
    cubes = mesh.t.T if ALL[cell] == 2 else mesh.t[VTK_HEX].T
    splits = {"quad": [[0, 1, 2, 3]], "triangle": [[0, 1, 2], [0, 3, 2]]} if ALL[cell] == 2 else SPLITS
    cells = [
        (kind, cubes[at :: len(splits)][:, split].reshape(-1, len(split[0])))
        for at, (kind, split) in enumerate(splits.items())
    ]
    mixed = mixed_mesh(mesh.p, cells)
    check_elements(mixed, "block")
    return replace(problem, bodies=(replace(problem.bodies[0], mesh=mixed, cell="mixed"),))


def begin(problem: Problem | Data, **options: Any) -> Any:
    return start(problem, "local-shape", **options)


def strained(problem: Problem, strain: Array) -> Array:
    return np.asarray(problem.points + problem.points @ strain)


def shaken(simulation: Any, problem: Problem, size: float, seed: int = 0) -> Any:
    return put(simulation, velocities=size * np.random.default_rng(seed).standard_normal(problem.points.shape))


@pytest.mark.parametrize("poisson", [0.0, 0.2, 0.45])
@pytest.mark.parametrize("cell", ["hex", "quad"])
def test_cubes_and_squares_have_the_moduli_of_the_law(cell: str, poisson: float) -> None:
    """A free pull: E, and sides by nu; a shear: G. To the square of the strain, 1e-7."""
    problem = body(cell, ELASTIC | {"poisson": poisson}, **({"plane": "stress"} if cell == "quad" else {}))
    simulation, d, size = begin(problem), CELLS[cell], 1e-7
    pulled = size * np.diag([1.0, -poisson, -poisson][:d])
    stress = put(simulation, positions=strained(problem, pulled)).cell_stress()
    np.testing.assert_allclose(stress / size, [[100.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * len(stress), atol=1e-4)
    shear = np.zeros((d, d))
    shear[0, 1] = size
    stress = put(simulation, positions=strained(problem, shear)).cell_stress()
    np.testing.assert_allclose(stress[:, 3] / size, 50.0 / (1.0 + poisson), rtol=1e-6)


@pytest.mark.parametrize("cell", ["triangles and quads", "four kinds"])
def test_mixed_cells_share_volume_stress_and_strain(cell: str) -> None:
    """Swollen alike, every element has the pressure 3 K e of the law, whatever its corners; so have all nodes."""
    problem, size = body(cell, LAWS["elastic"]), 1e-7
    simulation = put(begin(problem, rotation="svd", damping=0.0), positions=problem.points * (1.0 + size))
    extent = np.prod(np.ptp(problem.points, axis=0))
    assert element_measures(problem.bodies[0].mesh).sum() == pytest.approx(extent)
    assert len(simulation.cell_stress()) == problem.bodies[0].mesh.t.shape[1]
    mean = simulation.cell_stress()[:, : ALL[cell]].mean(axis=1) / size
    expected = 100.0 / (1.3 * 0.4) if ALL[cell] == 2 else 100.0 / 0.4
    np.testing.assert_allclose(mean, expected, rtol=1e-5)
    fields = simulation.fields()
    np.testing.assert_allclose(fields["stress"][:, : ALL[cell]].mean(axis=1) / size, expected, rtol=1e-5)
    np.testing.assert_allclose(fields["strain"][:, : ALL[cell]], size, rtol=1e-6)


def test_constants_of_a_cube_are_those_of_the_paper() -> None:
    """k = E L/2, so E = 2 k/L and G = k/L."""
    elements = begin(block(3, ELASTIC, {"cell": "hex"})).method.blocks[0].elements
    np.testing.assert_allclose(elements.spring, 50.0, rtol=1e-14)
    assert not elements.bulk.any()


@pytest.mark.parametrize(
    ("cell", "law"),
    [
        *each_once(CELLS, LAWS, {("triangle", "elastic"), ("quad", "voigt"), ("tet", "maxwell")}),
        *(("triangles and quads", "three-element"), ("four kinds", "three-element")),
    ],
)
def test_inner_forces_change_no_momentum(cell: str, law: str) -> None:
    problem = body(cell, LAWS[law])
    simulation = shaken(begin(problem, damping=0.2), problem, 0.5)

    def momenta() -> tuple[Array, Array]:
        x, p = (np.pad(a, ((0, 0), (0, 3 - a.shape[1]))) for a in (simulation.positions, simulation.velocities))
        p *= problem.masses[:, None]
        middle = problem.masses @ x / problem.masses.sum()
        return p.sum(axis=0), np.cross(x - middle, p).sum(axis=0)

    linear, angular = momenta()
    simulation.advance(1e9, 500)
    now, turning = momenta()
    scale = np.abs(problem.masses[:, None] * simulation.velocities).sum()
    assert np.abs(now - linear).max() < 1e-12 * scale and np.abs(turning - angular).max() < 1e-12 * scale


def test_damping_leaves_a_turning_body_alone() -> None:
    problem = body("hex", ELASTIC)
    middle = problem.points - problem.points.mean(axis=0)
    simulation = put(begin(problem, damping=0.5, step=1e-3), velocities=np.cross([0.001, 0.002, 0.003], middle))
    kept = simulation.energy()["kinetic"]
    simulation.advance(1e9, 2000)
    assert simulation.energy()["kinetic"] == pytest.approx(kept, rel=1e-6)


@pytest.mark.parametrize("cell", ALL)
def test_forces_are_the_slope_of_the_energy(cell: str) -> None:
    problem = body(cell, LAWS["elastic"])
    simulation, generator = begin(problem, rotation="svd", damping=0.0), np.random.default_rng(3)
    x = problem.points + 0.05 * generator.standard_normal(problem.points.shape)
    way, tiny = generator.standard_normal(x.shape), 1e-6

    def stored(at: Array) -> float:
        return float(put(simulation, positions=at).energy()["stored"])

    slope = (stored(x + tiny * way) - stored(x - tiny * way)) / (2.0 * tiny)
    put(simulation, positions=x)
    total = np.zeros((len(x), 3))
    for elements in simulation.method.blocks:
        np.add.at(total, elements.elements.corners, elements.forces(simulation.state)[0])
    assert -np.sum(total[:, : x.shape[1]] * way) == pytest.approx(slope, rel=1e-7)


def test_an_undamped_body_keeps_its_energy() -> None:
    problem = body("hex", LAWS["elastic"])
    simulation = shaken(begin(problem, damping=0.0, safety=0.005), problem, 0.2)
    before = sum(simulation.energy().values())
    run_to(simulation, 2.0)
    assert sum(simulation.energy().values()) == pytest.approx(before, rel=2e-3)
    assert simulation.energy()["stored"] > 0.1 * before


@pytest.mark.parametrize("law", LAWS)
def test_a_ramp_answers_as_the_channel(law: str) -> None:
    """Cubes pulled at a constant rate, sides held: s_xx = rate (lambda + 2 mu)(t); to the step over the time."""
    rate, young, nu = 1e-6, LAWS[law], 0.3
    motion = path((0.0, 1.0), [[0.0] * 3, [rate, 0.0, 0.0]])
    sides = {f"{name}-y": side(name, fix=["y"]) for name in ("front", "back")}
    sides |= {f"{name}-z": side(name, fix=["z"]) for name in ("bottom", "top")}
    supports = {"left": side("left", fix=["x"]), "right": side("right", fix=["x"], motion=motion)} | sides
    scene = box_scene(young, cells=[1, 1, 1], cell="hex", density=1e-3, supports=supports)
    simulation, problem = begin(scene, damping=0.0, step=1.0 / 4096.0), problem_of(scene)
    channel = problem.bodies[0].law.channel("young").scaled((1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu)))
    for time in (0.25, 1.0):
        run_to(simulation, time)
        pulled = simulation.reactions()["support.right"][0]
        assert abs(pulled) == pytest.approx(channel.ramp(time, rate), rel=2e-3)
        assert simulation.cell_stress()[0, 0] == pytest.approx(channel.ramp(time, rate), rel=2e-3)


def test_a_rheological_block_keeps_the_residual_of_its_series_dashpot() -> None:
    """Pulled by s for T: when all springs have come back, s T/c2 is left."""
    stress, end, series = 1e-3, 1.0, 40.0
    table = {"times": [0.0, end - 1e-9, end + 1e-9], "factor": [1.0, 1.0, 0.0]}
    forces = {"pull": side("right", total=[stress, 0.0, 0.0], **table)}
    supports = {"left": side("left", fix=["x"]), "y": side("front", fix=["y"]), "z": side("bottom", fix=["z"])}
    scene = box_scene(
        LAWS["three-element"] | {"poisson": 0.0},
        cells=[3, 2, 2],
        size=[1.5, 1.0, 1.0],
        cell="hex",
        density=1e-2,
        supports=supports,
        forces=forces,
        duration=4.0,
    )
    simulation = run_to(begin(scene, damping=0.0), 4.0)
    right = simulation.positions[:, 0].max() - 1.5
    assert right == pytest.approx(1.5 * stress * end / series, rel=1e-3)


def test_a_shape_that_keeps_its_volume_creeps_in_shear_alone() -> None:
    """Under pressure the Voigt part alone gives way; a shear flows as without."""
    law = LAWS["three-element"] | {"poisson": 0.2}
    scene = box_scene(law, cells=[1, 1, 1], cell="hex", density=1.0)
    problem = problem_of(scene)
    free, kept = (begin(scene, keep_volume=keep, damping=0.0, step=1e-3) for keep in (False, True))
    for strain, flows in ((np.eye(3) * 1e-4, False), (np.array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]]) * 1e-4, True)):
        sizes = []
        for simulation in (free, kept):
            simulation.restore(begin(scene, damping=0.0, step=1e-3).save())
            for _ in range(2000):
                put(simulation, positions=strained(problem, strain), velocities=np.zeros((8, 3)))
                simulation.advance(1e9, 1)
            put(simulation, positions=strained(problem, strain), velocities=np.zeros((8, 3)))
            sizes.append(np.linalg.norm(simulation.cell_stress()[0]))
        held = np.linalg.norm([100.0 / (1.0 - 0.4)] * 3) * 1e-4 if not flows else sizes[0]
        assert sizes[0] < 0.05 * sizes[1] or flows
        assert sizes[1] == pytest.approx(held, rel=1e-3)
    rest = np.einsum("ai,aj->ij", *(simulation.method.blocks[0].forces(kept.state)[2][0],) * 2)
    assert np.linalg.det(rest) == pytest.approx(8.0, rel=1e-10)


@pytest.mark.parametrize(
    ("law", "rotation"),
    each_once(
        LAWS,
        ["paper", "sym-atan", "svd"],
        {("elastic", "sym-atan"), ("voigt", "paper"), ("maxwell", "svd"), ("three-element", "sym-atan")},
    ),
)
def test_a_restart_goes_on_bit_for_bit(law: str, rotation: str) -> None:
    problem = body("four kinds" if (law, rotation) == ("three-element", "sym-atan") else "hex", LAWS[law])
    whole, first, second = (shaken(begin(problem, rotation=rotation), problem, 0.5) for _ in range(3))
    whole.advance(1e9, 60)
    first.advance(1e9, 30)
    second.restore(first.save())
    second.advance(1e9, 30)
    for name, array in whole.save().items():
        np.testing.assert_array_equal(array, second.save()[name], err_msg=name)


def crushed(points: Array, how: str, generator: np.random.Generator) -> Array:
    if how == "random":
        return np.asarray(points + generator.uniform(-1.0, 1.0, points.shape))
    return np.asarray(points * (CRUSHED | {"point": (0.0, 0.0, 0.0)})[how])


@pytest.mark.parametrize("how", ["plane", "line", "mirror", "point", "random"])
@pytest.mark.parametrize("cell", ["hex", "tet"])
def test_a_body_comes_back_from_anywhere(cell: str, how: str) -> None:
    """Axes of the flat ones are those of the rest shape, as in the paper: its rotation is kept, never reset."""
    problem = problem_of(box_scene(ELASTIC, cells=[2, 2, 2], cell=cell, density=1.0))
    simulation, generator = begin(problem, damping=0.1), np.random.default_rng(5)
    put(simulation, positions=crushed(problem.points, how, generator))
    simulation.advance(1e9, 8000)
    assert shape_error(simulation.positions, problem.points) < 1e-6


@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_a_plane_body_comes_back_from_random_places(cell: str) -> None:
    problem = problem_of(box_scene(ELASTIC, cells=[1, 1], cell=cell, density=1.0))
    for seed in range(5):
        simulation = put(
            begin(problem, damping=0.1), positions=crushed(problem.points, "random", np.random.default_rng(seed))
        )
        simulation.advance(1e9, 6000)
        assert shape_error(simulation.positions, problem.points) < 1e-6


def test_stiffness_is_the_same_at_any_step() -> None:
    """A cantilever bent by a quarter of its length, at four steps over a factor of ten: a trap of games."""
    scene = box_scene(
        ELASTIC,
        cells=[5, 1, 1],
        cell="hex",
        density=1.0,
        supports={"left": side("left")},
        forces={"down": side("right", total=[0.0, 0.0, -0.7])},
        duration=400.0,
    )
    bound = begin(scene, damping=0.6).stable_step
    found = [
        run_to(begin(scene, damping=0.6, step=share * bound), 200.0).positions[:, 2].min()
        for share in np.geomspace(0.05, 0.5, 4)
    ]
    assert min(found) < -1.0
    assert np.ptp(found) < 1e-3 * abs(np.mean(found))


def test_below_the_bound_bodies_are_stable_and_above_it_they_are_refused() -> None:
    for law in ("elastic", "three-element"):
        problem = body("hex", LAWS[law])
        simulation = shaken(begin(problem, safety=0.95, damping=0.0), problem, 1e-3)
        before = simulation.energy()["kinetic"]
        simulation.advance(1e9, 3000)
        assert sum(simulation.energy().values()) < 30.0 * before
        with pytest.raises(RheotwinError, match=r"solvers.local-shape.step: .* is above the stable step"):
            begin(problem, step=1.5 * simulation.stable_step)


def test_a_tool_and_friction_work_as_everywhere() -> None:
    down = path((0.0, 1.0), [[0.0, 0.0], [0.0, -0.2]])
    press = {"press": {"shape": "plane", "center": [0.0, 2.02], "normal": [0.0, -1.0], "motion": down}}
    problem = block(2, LAWS["elastic"], supports=FLOOR, tools=press, contact={"friction": 0.3})
    simulation = run_to(begin(problem), 1.0)
    forces = simulation.reactions()
    assert forces["tool.press"][1] > 1.0 and simulation.positions[:, 1].max() == pytest.approx(1.82, abs=1e-9)
    assert simulation.statistics()["active_contacts"] >= 4


def test_the_misfit_of_long_elements_is_told() -> None:
    long = problem_of(box_scene(ELASTIC, cells=[2, 2, 2], size=[4.0, 2.0, 2.0], cell="hex", density=1.0))
    (match,) = begin(long).statistics()["material_match"].values()
    # S = 2 diag(4, 1, 1) per unit edge, k = E V/q with q the mean: E along x is 2 E, across E/2.
    assert match["young_most"] == pytest.approx(2.0) and match["young_least"] == pytest.approx(0.5)
    assert match_sentence(match).startswith("polyhedra miss the law's stiffness by ")
    assert match["element_stiffness_misfit"] > 0.3 and "stiffer along their long sides" in match["note"]
    (match,) = begin(body("hex", LAWS["elastic"])).statistics()["material_match"].values()
    assert match["element_stiffness_misfit"] < 1e-12


def test_parts_of_a_law_come_back_from_its_channel() -> None:
    for parts in ((2.0, 1.0, 3.0), (2.0, 0.0, 3.0)):
        found = parts_of(Channel.three_element(*parts), 0.1)
        assert found is not None and (found.spring, found.beside, found.series) == pytest.approx(parts)
    assert parts_of(Channel.prony(1.0, [1.0], [1.0]), 0.0) is None


@pytest.mark.parametrize(
    ("law", "options", "sentence"),
    [
        (ELASTIC | {"poisson": 0.3}, {"volume_term": False}, "Poisson's ratio is 0 in place of the law's 0.3"),
        (ELASTIC | {"poisson": -0.2}, {}, "nothing lowers: choose 0 or more"),
        (
            {
                "model": "maxwell",
                "shear": 1.0,
                "lame": 1.0,
                "viscosity": {"shear": 1.0, "lame": 0.0},
            },
            {},
            "several Poisson ratios",
        ),
    ],
)
def test_laws_that_elements_cannot_have_are_refused_in_a_sentence(law: Data, options: Data, sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence) as told:
        begin(body("hex", law), **options)
    assert "\n" not in str(told.value)


def test_no_passes_are_refused() -> None:
    with pytest.raises(InputFaults, match="passes"):
        begin(body("hex", ELASTIC), passes=0)


def test_parts_of_a_body_have_laws_of_their_own() -> None:
    """A stretched bar of 160 cubes, half of them four times as stiff and relaxing: energy, stress, memory."""
    stiff = {"model": "maxwell", "young": 400.0, "poisson": 0.0, "viscosity": 1e9}
    scene = box_scene(ELASTIC, cells=[10, 4, 4], cell="hex", density=1.0)
    scene["laws"]["stiff"] = stiff
    scene["bodies"]["block"]["parts"] = {"half": {"law": "stiff", "where": {"box": {"x": [5.0, 10.0]}}}}
    problem, size = problem_of(scene), 1e-6
    simulation = put(begin(scene, damping=0.0), positions=strained(problem, np.diag([size, 0.0, 0.0])))
    assert simulation.energy()["stored"] == pytest.approx(0.5 * size**2 * 80.0 * (100.0 + 400.0), rel=1e-5)
    stress = simulation.cell_stress()[:, 0] / size
    right = problem.points[problem.bodies[0].mesh.t].mean(axis=0)[:, 0] > 5.0
    np.testing.assert_allclose(stress[right], 400.0, rtol=1e-5)
    np.testing.assert_allclose(stress[~right], 100.0, rtol=1e-5)
    memory = simulation.fields()["memory_stress"][:, 0] / size
    np.testing.assert_allclose(memory[problem.points[:, 0] < 4.9], 0.0, atol=1e-6)
    np.testing.assert_allclose(memory[problem.points[:, 0] > 5.1], 400.0, rtol=1e-5)
    assert set(simulation.statistics()["material_match"]) == {"block.law", "block.parts.half.law"}


def on_mesh(points: Array, cells: Array) -> Problem:
    """Return a problem whose mesh is changed after every check of the scene."""
    problem = problem_of(box_scene(ELASTIC, cells=[1, 1], cell="triangle", density=1.0))
    changed = replace(problem.bodies[0], mesh=build_mesh("triangle", points.T, cells.T))
    return replace(problem, bodies=(changed,), points=points, masses=np.ones(len(points)))


def test_flat_elements_and_lone_vertices_are_refused_in_a_sentence() -> None:
    square, halves = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([[0, 1, 2], [0, 2, 3]])
    for points, sentence in (
        (square * [1.0, 0.0], "triangle element 0 .*degenerate|has no length"),
        (np.vstack([square, [[5.0, 5.0]]]), "node 4 is a corner of no element, so nothing holds it; remove it"),
    ):
        with pytest.raises(RheotwinError, match=sentence) as told:
            begin(on_mesh(points, halves))
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("cell", ["triangle", "quad"])
def test_flattened_elements_are_pushed_out_of_their_line(cell: str) -> None:
    """Figures 1 and 2: f = k Ro across the line, where springs along edges and diagonals have nothing to give."""
    problem = problem_of(box_scene(ELASTIC, cells=[1, 1], cell=cell, density=1.0))
    simulation = put(begin(problem), positions=problem.points * [1.0, 0.0])
    forces, places, rest = simulation.method.blocks[0].forces(simulation.state)
    spring = simulation.method.blocks[0].elements.spring[:, None]
    if cell == "quad":  # the best rotation of a flattened square is none
        np.testing.assert_allclose(forces[:, :, 1], spring * rest[:, :, 1], atol=1e-12)
        np.testing.assert_allclose(forces[:, :, 0], 0.0, atol=1e-12)
    assert np.abs(places[:, :, 1]).max() == 0.0 and np.all(np.abs(forces[:, :, 1]).max(axis=1) > 0.2 * spring[:, 0])
    assert np.abs(forces.sum(axis=1)).max() < 1e-12


def test_a_relaxing_cube_forgets_in_any_direction_alike() -> None:
    """Turned by a right angle while it relaxes, it goes on as one that was not."""
    law = LAWS["three-element"]
    scene = box_scene(law, cells=[1, 1, 1], cell="hex", density=1.0, origin=[-0.5, -0.5, -0.5])
    problem, turn = problem_of(scene), np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    pulled = strained(problem, np.diag([0.1, -0.05, 0.02]))
    straight, turned = (put(begin(scene), positions=pulled) for _ in range(2))
    for simulation in (straight, turned):
        simulation.advance(1e9, 50)
    put(turned, positions=turned.positions @ turn.T, velocities=turned.velocities @ turn.T)
    turns = turned.save()["turns"]
    turns[:, 0], turns[:, 3] = np.sqrt(0.5), np.sqrt(0.5)
    put(turned, turns=turns)
    for simulation in (straight, turned):
        simulation.advance(1e9, 200)
    np.testing.assert_allclose(turned.positions, straight.positions @ turn.T, atol=1e-13)


def test_bending_of_n_layers_is_too_stiff_by_two_over_their_square() -> None:
    """u = kappa (x y, -x^2/2) stores E kappa^2/24; a square resists three times as much as it should."""
    kappa = 1e-5
    for n in (1, 2, 4):
        scene = box_scene(ELASTIC, cells=[n, n], size=[1.0, 1.0], cell="quad", density=1.0, origin=[-0.5, -0.5])
        problem = problem_of(scene | {"plane": "stress"})
        x, y = problem.points.T
        bent = problem.points + kappa * np.stack([x * y, -0.5 * x * x], axis=1)
        stored = put(begin(problem), positions=bent).energy()["stored"]
        assert stored == pytest.approx(100.0 * kappa**2 / 24.0 * (1.0 + 2.0 / n**2), rel=1e-6)


@pytest.mark.parametrize("law", ["elastic", "three-element"])
def test_a_pressed_block_is_that_of_finite_elements(law: str) -> None:
    """Without a Poisson ratio it is the same chain of masses for both, to the order of their steps."""
    down = path((0.0, 1.0), [[0.0] * 3, [0.0, 0.0, -0.1]])
    supports = FLOOR | {"press": side("top", fix=["z"], motion=down)}
    problem = block(3, LAWS[law] | {"poisson": 0.0}, {"cell": "hex"}, supports=supports)
    step = 1.0 / 4096.0
    ours = begin(problem, damping=0.0, step=step)
    theirs = start(problem, "fem", stepper="central-difference", step=step)
    for time in (0.25, 0.5, 0.75):
        forces = [run_to(simulation, time).reactions()["support.press"][2] for simulation in (ours, theirs)]
        assert forces[0] == pytest.approx(forces[1], rel=5e-3) and abs(forces[0]) > 1.0


def test_a_scene_of_four_kinds_of_cells_is_pressed_and_recorded(tmp_path: Path) -> None:
    scene = SCENES / "mixed-press-3d.toml"
    said = command("run", scene, "--solver", "local-shape", "--output", tmp_path / "run", "--set", "duration=0.1")
    assert said.code == 0, said.err
    record = open_record(tmp_path / "run")
    assert record.manifest.mesh.bodies[0].cell == "mixed" and record.manifest.mesh.cells == 232
    pushed = record.probes["tool.plate.force_z"]
    assert pushed[-1] > 1.0 and view_of(record).node_weights.sum() == pytest.approx(5.76e-4)
    refused = command("run", scene, "--solver", "fem", "--output", tmp_path / "fem")
    assert refused.code != 0 and "bodies.block.cell: 'mixed' is beyond this solver" in refused.err


@pytest.mark.parametrize(
    ("solver", "cells", "along", "across"),
    [
        ("local-shape", [], 0.0, 100.0),
        ("truss", [], 0.0, 0.0),
        ("truss", ["cell=triangle", "pattern=se-nw"], -100.0 * (2.0**0.5 - 1.0), 0.0),
        ("truss", ["cell=triangle", "pattern=sw-ne"], 100.0 * (2.0**0.5 - 1.0), 0.0),
    ],
)
def test_a_square_on_a_line_pushes_back_and_its_springs_do_not(
    tmp_path: Path, solver: str, cells: list[str], along: float, across: float
) -> None:
    """Figure 2 from scene to record; what lets go afterwards comes back or stays."""
    changes = [word for cell in cells for word in ("--set", f"bodies.square.{cell}")]
    said = command("run", SCENES / "flattened-square-2d.toml", "--solver", solver, "--output", tmp_path / "r", *changes)
    assert said.code == 0, said.err
    probes = open_record(tmp_path / "r").probes
    at = int(np.argmin(np.abs(probes["time"] - 0.9)))
    assert [probes[f"support.above.force_{c}"][at] for c in "xy"] == pytest.approx([along, across], abs=1e-6)
    end = open_record(tmp_path / "r").positions(-1)[:, 1].max()
    assert end > 0.95 if solver == "local-shape" else end < 1e-6


def test_a_record_tells_spurious_turns(tmp_path: Path) -> None:
    """Table 1 from scene to record, for half a second: one pass spins a cube up a thousand times as much as two do."""
    found = {}
    for case in ("A-1e4", "C-1e4"):
        where = tmp_path / case
        words = ("--solver", "local-shape", "--case", case, "--output", where, "--set", "duration=1.2")
        said = command("run", SCENES / "bouncing-cube-3d.toml", *words)
        assert said.code == 0, said.err
        found[case] = open_record(where).manifest.statistics["spurious_turns"]
    assert found["A-1e4"]["mean"] > 1000.0 * found["C-1e4"]["mean"] > 0.0
    assert found["A-1e4"]["largest"] > found["A-1e4"]["deviation"] > 0.0
