"""What the scheme keeps: momenta, energy, saved states; rotation and numbering change nothing.
Of every law in plain bodies, of edges that yield, and of every shape-keeping force."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.meshing import build_mesh
from rheotwin.particles.base import ParticleSimulation
from rheotwin.particles.forces.elements import Elements
from rheotwin.particles.forces.topology import contacts
from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.scene.motion import Rotation
from rheotwin.validation.checks.running import EQUAL_RATIO, block, path, put, run_to, side, truss

Data = dict[str, Any]
SOFT = {"model": "three-element", "young": 12.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0, "poisson": 0.25}
ELASTIC = {"model": "elastic", "young": 12.0, "poisson": 0.25}
SPEED = 0.3

TOPOLOGY = {"topology_stiffness": 20.0, "topology_damping": 0.3}
GLOBAL = {"global_pressure": 5.0, "global_pressure_damping": 0.2}
ELEMENT = {"element_pressure": 40.0, "element_pressure_damping": 0.5}
LOCAL = {"local_volume": True}
SHAPES: dict[str, tuple[str, Data]] = {
    "global-triangle": ("triangle", GLOBAL),
    "global-quad": ("quad", GLOBAL),
    "global-tet": ("tet", GLOBAL),
    "global-hex": ("hex", GLOBAL),
    "element-triangle": ("triangle", ELEMENT),
    "element-tet": ("tet", ELEMENT),
    "local-quad": ("quad", LOCAL),
    "local-hex": ("hex", LOCAL),
    "all-triangle": ("equilateral", {**TOPOLOGY, "topology_distance": 0.95, **GLOBAL, **ELEMENT}),
    "topology-tet": ("regular", {**TOPOLOGY, "topology_distance": 0.9}),
    "all-hex": ("hex", {**GLOBAL, **LOCAL}),
}
PLAIN = {
    f"{name}-{kind}{tail}": (law, kind, options)
    for tail, options in (("", {}), ("-springs", {"volume_term": False}))
    for name, law in EQUAL_RATIO.items()
    for kind in ("triangle", "tet")
}
PLAIN["structured-tet"] = (EQUAL_RATIO["three-element"], "tet", {"kernel": "structured"})
PLAIN["unstructured-tet"] = (EQUAL_RATIO["three-element"], "tet", {"kernel": "unstructured"})
SLIDER = {"slider": {"natural": 0.5, "least": 0.45, "most": 0.55}}
SOFTENING = {"softening": {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5}}
YIELDING = {
    "slider": SOFT | SLIDER,
    "softening": SOFT | SOFTENING,
    "softening slider": SOFT | SOFTENING | SLIDER,
    "friction": {**SOFT, "friction": 0.2},
    "maxwell slider": {"model": "maxwell", "young": 12.0, "poisson": 0.25, "viscosity": 4.0} | SLIDER,
}
CASES = {name: (SOFT, *shape) for name, shape in SHAPES.items()} | PLAIN
CASES |= {f"{name}-{kind}": (law, kind, {}) for name, law in YIELDING.items() for kind in ("triangle", "tet")}
_SHAPED = ("all-triangle", "topology-tet", "all-hex", "element-tet")
_LAWS = ("three-element-triangle", "generalized-maxwell-tet", "structured-tet", "softening slider-tet", "friction-tet")
TELLING = {*_SHAPED, *_LAWS}


def cases(found: dict[str, tuple[Data, str, Data]], *more: str) -> Any:
    late = pytest.mark.exhaustive
    chosen = [pytest.param(*found[name], id=name, marks=[] if name in TELLING | {*more} else late) for name in found]
    return pytest.mark.parametrize(("law", "kind", "options"), chosen)


@pytest.fixture
def bodies(tmp_path: Path, equilateral: Data) -> dict[str, Data]:
    """Entries of bodies by kind of cell; `regular` is two regular tets of side 1: all feet lie well inside."""
    base = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])
    tip = base.mean(axis=0) + np.array([0.0, 0.0, np.sqrt(2.0 / 3.0)])
    points = np.vstack([base, tip, tip * [1.0, 1.0, -1.0]])
    meshio.Mesh(points, [("tetra", np.array([[0, 1, 2, 3], [0, 2, 1, 4]]))]).write(tmp_path / "regular.vtu")
    return {"equilateral": equilateral, "regular": {**equilateral, "path": str(tmp_path / "regular.vtu")}}


def build(bodies: dict[str, Data], law: Data, kind: str, *, body: Data | None = None, **scene: Any) -> Problem:
    dimension = 1 if kind == "line" else 2 if kind in ("triangle", "quad", "equilateral") else 3
    box = bodies.get(kind, {"cell": kind, "density": 25.0 if law in EQUAL_RATIO.values() else 1.0})
    return block(dimension, law, box | (body or {}), **scene)


def kicks(problem: Problem, speed: float = SPEED) -> np.ndarray:
    return speed * np.random.default_rng(0).standard_normal(problem.points.shape)


def momenta(simulation: TrussSimulation, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    state = simulation.save()
    momentum = masses[:, None] * state["velocities"]
    return momentum.sum(axis=0), np.cross(state["positions"], momentum).sum(axis=0)


def total(simulation: TrussSimulation) -> float:
    return float(sum(simulation.energy().values()))


@cases(CASES)
def test_free_body_keeps_momentum_and_angular_momentum(
    law: Data, kind: str, options: Data, bodies: dict[str, Data]
) -> None:
    """Contacts of the topology cases are active all the time, with their feet inside."""
    problem = build(bodies, law, kind)
    simulation = truss(problem, safety=0.3, **options)
    put(simulation, velocities=kicks(problem, 0.05 if "topology_stiffness" in options else SPEED))
    linear, angular = momenta(simulation, problem.masses)
    for _ in range(10):
        simulation.advance(1e9, 200)
        if "topology_stiffness" in options:
            state = simulation.save()
            assert contacts(simulation.method.forces.topology, state["positions"], state["velocities"])[0].any()
    assert simulation.step_count == 2000
    later, turned = momenta(simulation, problem.masses)
    reach = np.abs(simulation.positions).max()
    scale = np.abs(problem.masses[:, None] * kicks(problem)).sum()
    np.testing.assert_allclose(later, linear, atol=1e-12 * scale)
    np.testing.assert_allclose(turned, angular, atol=1e-12 * scale * reach)
    assert np.abs(simulation.positions - problem.points).max() > 0.01


UNDAMPED = {
    name: (ELASTIC, *shape) for name, shape in SHAPES.items() if "topology" not in name and name != "all-triangle"
}


@cases(UNDAMPED)
def test_undamped_forces_store_what_they_take(law: Data, kind: str, options: Data) -> None:
    """Energy only ripples, at every time half as much with half the step: nothing is made or lost but by the scheme."""
    undamped = {key: value for key, value in options.items() if "damping" not in key}
    problem = build({}, law, kind)
    coarse = 1.0 / np.ceil(20.0 / truss(problem, **undamped).stable_step)
    ripples = []
    for step in (coarse, 0.5 * coarse):
        simulation = put(truss(problem, step=float(step), **undamped), velocities=kicks(problem, 0.1))
        energies = [total(simulation)]
        for sample in range(1, 41):
            run_to(simulation, sample * coarse)
            assert simulation.time == pytest.approx(sample * coarse, rel=1e-12)
            energies.append(total(simulation))
        ripples.append(np.array(energies) / energies[0] - 1.0)
    largest = np.abs(ripples[0]).max()
    assert largest < 0.1
    np.testing.assert_allclose(ripples[0], 2.0 * ripples[1], atol=0.2 * largest)


@cases({name: case for name, case in CASES.items() if "elastic" not in name}, "voigt-tet", "maxwell-tet")
def test_damping_only_takes_energy(law: Data, kind: str, options: Data, bodies: dict[str, Data]) -> None:
    """Energy falls but for the scheme's ripple."""
    problem = build(bodies, law, kind)
    simulation = put(truss(problem, safety=0.1, **options), velocities=kicks(problem, 0.1 if law is SOFT else 0.02))
    energies = [total(simulation)]
    for _ in range(100 if law is SOFT else 200):
        simulation.advance(1e9, 10)
        energies.append(total(simulation))
    ripple, left = (0.02, 0.9) if law is SOFT else (0.05, 0.5)
    assert np.all(np.array(energies) <= np.minimum.accumulate(energies) + ripple * energies[0])
    assert energies[-1] < left * energies[0]


@cases(CASES)
def test_rotating_the_scene_rotates_the_trajectory(
    law: Data, kind: str, options: Data, bodies: dict[str, Data]
) -> None:
    """Body, first velocities, and of plain bodies gravity, a pressing plane and a force turn together."""
    dimension = build(bodies, law, kind).dimension
    entry: Any = 0.7
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    if dimension == 3:
        entry = {"axis": [0.48, -0.6, 0.64], "angle": 0.7}
        turn = np.array(Rotation(**entry).matrix())
    zero, force, found = [0.0] * dimension, 7.5 if law in EQUAL_RATIO.values() else 0.3, []
    for matrix, body in ((np.eye(dimension), {}), (turn, {"rotation": entry})):
        up = matrix[:, -1]
        plain = {
            "gravity": list(-0.5 * up),
            "tools": {"floor": {"shape": "plane", "center": zero, "normal": list(up)}},
            "forces": {"pull": {"body": "block", "where": {"nearest": zero}, "total": list(matrix[:, 0] * force)}},
        }
        problem = build(bodies, law, kind, body=body, **({} if law is SOFT else plain))
        simulation = truss(problem, step=0.002, **({"match": "length"} if law is SOFT else {}), **options)
        put(simulation, velocities=kicks(problem) @ matrix.T)
        run_to(simulation, 1.0)
        assert law is SOFT or np.abs(simulation.fields()["contact_force"]).max() > 0.0
        found.append((simulation.positions, simulation.velocities))
    (x, v), (turned_x, turned_v) = found
    np.testing.assert_allclose(turned_x, x @ turn.T, atol=1e-11 * np.abs(x).max())
    np.testing.assert_allclose(turned_v, v @ turn.T, atol=1e-11 * np.abs(v).max() / 0.002)


def shuffled(elements: Elements, rng: np.random.Generator) -> Elements:
    """Return elements in another order; edges run the other way, half of them."""
    order = rng.permutation(len(elements.rest))
    rows = {name: array[..., order] for name, array in elements._asdict().items() if name != "corners"}
    corners = elements.corners[order]
    if corners.shape[1] == 2:
        corners[::2] = corners[::2, ::-1]
    return Elements(corners=corners, **{name: np.ascontiguousarray(row) for name, row in rows.items()})


@cases(PLAIN)
def test_numbering_of_elements_and_particles_does_not_matter(
    law: Data, kind: str, options: Data, bodies: dict[str, Data]
) -> None:
    problem, rng = build(bodies, law, kind), np.random.default_rng(4)
    order = rng.permutation(len(problem.points))
    body = problem.bodies[0]
    mesh = build_mesh(body.cell, body.mesh.p[:, order], np.argsort(order)[body.mesh.t])
    points = np.ascontiguousarray(problem.points[order])
    body = replace(body, mesh=mesh)
    renamed = replace(problem, bodies=(body,), points=points, masses=problem.masses[order], probes={})
    plain, renumbered = (truss(case, step=0.004, **options) for case in (problem, renamed))
    forces = plain.method.forces
    forces = forces._replace(edges=shuffled(forces.edges, rng), cells=shuffled(forces.cells, rng))
    reordered = ParticleSimulation(problem, replace(plain.method, forces=forces))
    for simulation, velocities in (
        (plain, kicks(problem)),
        (reordered, kicks(problem)),
        (renumbered, kicks(problem)[order]),
    ):
        put(simulation, velocities=velocities)
        run_to(simulation, 1.0)
    np.testing.assert_allclose(reordered.positions, plain.positions, atol=1e-11)
    np.testing.assert_allclose(renumbered.positions, plain.positions[order], atol=1e-11)


def pressed(bodies: dict[str, Data], law: Data, kind: str) -> Problem:
    """Return a body on a support, pulled aside and pressed by a plane that comes and goes."""
    rest = build(bodies, law, kind)
    up, aside = np.eye(rest.dimension)[-1], np.eye(rest.dimension)[0]
    top = rest.points[np.argmax(rest.points[:, -1])]
    stroke = path([0.0, 0.6, 1.0], [list(0.0 * up), list(-0.6 * up), list(0.0 * up)])
    return build(
        bodies,
        law,
        kind,
        supports={"floor": side("left" if kind == "line" else "bottom")},
        tools={"plate": {"shape": "plane", "center": list(top), "normal": list(-up), "motion": stroke}},
        forces={"pull": {"body": "block", "where": {"nearest": list(top)}, "total": list(0.5 * aside)}},
    )


@cases(CASES, "maxwell-triangle")
def test_two_halves_are_the_whole(law: Data, kind: str, options: Data, bodies: dict[str, Data]) -> None:
    """Bit for bit the same, whatever was watched before."""
    problem = pressed(bodies, law, kind)
    whole, first, second = (truss(problem, step=0.002, **options) for _ in range(3))
    whole.advance(1e9, 400)
    first.advance(1e9, 200)
    saved = first.save()
    kept = {name: array.copy() for name, array in saved.items()}
    assert np.abs(saved["contact.exerted.tool_force"]).max() > 0.0
    assert law not in YIELDING.values() or np.all(np.abs(saved["nonlinear_edges"]).max(axis=1) > 0.01)
    first.advance(1e9, 50)
    second.advance(1e9, 50)
    second.restore(saved)
    np.testing.assert_equal(second.save(), kept)
    assert second.time == 200 * second.step_size
    second.advance(1e9, 200)
    np.testing.assert_equal(saved, kept)
    for look in ("save", "fields", "reactions", "energy"):
        np.testing.assert_equal(getattr(second, look)(), getattr(whole, look)())


def test_a_row_is_restored_and_size_of_chunks_does_not_matter() -> None:
    problem = pressed({}, EQUAL_RATIO["generalized-maxwell"], "line")
    one, many = truss(problem, step=0.004), truss(problem, step=0.004)
    run_to(one, 0.6)
    assert np.abs(one.reactions()["tool.plate"]).max() > 0.0
    run_to(one, 1.0)
    while many.step_count < one.step_count:
        many.advance(1.0, 7)
        many.restore(many.save())
    np.testing.assert_equal(many.save(), one.save())
    with pytest.raises(RheotwinError, match=r"written with a step of 0\.004 s"):
        truss(problem, step=0.002).restore(one.save())


@pytest.mark.parametrize(
    "options", [{}, {"kernel": "general"}, pytest.param({"stepper": "rk4"}, marks=pytest.mark.exhaustive)]
)
def test_what_was_near_before_a_restore_is_forgotten(options: Data) -> None:
    """A body that was far from a tool when somebody put it back on it does not go through."""
    law = {"model": "voigt", "young": 12.0, "poisson": 0.3, "viscosity": 0.5}
    problem = block(2, law, tools={"floor": {"shape": "plane", "center": [0.0, 0.0], "normal": [0.0, 1.0]}})
    reused, fresh = truss(problem, **options), truss(problem, **options)
    state = fresh.save()
    state["velocities"][:, 1] = -1.0
    reused.restore(state | {"positions": state["positions"] + [0.0, 5.0, 0.0]})
    reused.advance(1e9, 3)
    for simulation in (reused, fresh):
        simulation.restore(state)
        simulation.advance(1e9, 40)
    np.testing.assert_equal(reused.save(), fresh.save())
    assert reused.positions[:, 1].min() > -1e-9
