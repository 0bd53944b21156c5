"""What all edges with nonlinear laws share: restart, momentum, symmetry of the loops, surface laws, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import RheotwinError
from rheotwin.fem import FemSolver
from rheotwin.meshing import boundary_nodes
from rheotwin.particles import TrussSolver
from rheotwin.particles.forces.nonlinear_edges import EDGE_LAWS
from rheotwin.particles.law_options import LawOptions
from rheotwin.particles.network import build_network
from rheotwin.solver import check_capabilities
from rheotwin.validation.checks.running import block, put, side, truss

BASE = {"model": "three-element", "young": 12.0, "poisson": 0.25, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
LAWS: dict[str, dict[str, Any]] = {
    "slider": {**BASE, "slider": {"natural": 0.5, "least": 0.45, "most": 0.55}},
    "softening": {**BASE, "softening": {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5}},
    "softening slider": {
        **BASE,
        "softening": {"viscosity": 1.0, "from_stress": 0.05, "to_stress": 0.5},
        "slider": {"natural": 0.5, "least": 0.45, "most": 0.55},
    },
    "friction": {**BASE, "friction": 0.2},
    "maxwell slider": {
        "model": "maxwell",
        "young": 12.0,
        "poisson": 0.25,
        "viscosity": 4.0,
        "slider": {"natural": 0.5, "least": 0.45, "most": 0.55},
    },
}


@pytest.fixture(params=list(LAWS))
def nonlinear(request: pytest.FixtureRequest) -> dict[str, Any]:
    return LAWS[request.param]


def pulled(dimension: int, law: dict[str, Any], **scene: Any) -> Any:
    """A block held at one side and pulled at the other, hard enough to reach bounds, thresholds and friction."""
    return block(
        dimension,
        law,
        supports={"wall": side("left")},
        forces={"pull": side("right", total=list(6.0 * np.eye(dimension)[0]))},
        **scene,
    )


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_two_halves_are_the_whole(dimension: int, nonlinear: dict[str, Any]) -> None:
    problem = pulled(dimension, nonlinear)
    whole, first, second = (truss(problem, step=0.004) for _ in range(3))
    whole.advance(1e9, 200)
    first.advance(1e9, 100)
    saved = first.save()
    assert np.all(np.abs(saved["nonlinear_edges"]).max(axis=1) > 0.01)
    first.advance(1e9, 20)
    second.restore(saved)
    second.advance(1e9, 100)
    np.testing.assert_equal(second.save(), whole.save())
    np.testing.assert_equal(second.fields(), whole.fields())
    assert second.energy() == whole.energy()


def test_free_bodies_keep_both_momenta(nonlinear: dict[str, Any]) -> None:
    """Forces are central and paired; angular momentum with positions and velocities of one instant."""
    problem = block(3, nonlinear, duration=2.0)
    simulation = truss(problem, step=0.002)
    velocities = np.random.default_rng(1).normal(scale=0.5, size=problem.points.shape)
    put(simulation, velocities=velocities)
    mass = problem.masses[:, None]

    def momenta() -> tuple[np.ndarray, np.ndarray]:
        x, v = simulation.positions, simulation.velocities
        return (mass * v).sum(axis=0), np.cross(x, mass * v).sum(axis=0)

    before = momenta()
    energy = sum(simulation.energy().values())
    simulation.advance(2.0, 10**9)
    for now, then in zip(momenta(), before, strict=True):
        np.testing.assert_allclose(now, then, atol=1e-12)
    assert sum(simulation.energy().values()) < 0.5 * energy


def test_a_turned_and_moved_scene_moves_alike(nonlinear: dict[str, Any]) -> None:
    turned = np.array([[0.0, -1.0, 0.0], [0.6, 0.0, -0.8], [0.8, 0.0, 0.6]])
    shift = np.array([0.3, -2.0, 1.0])
    problem = pulled(3, nonlinear)
    loads = tuple(replace(load, shares=load.shares @ turned.T) for load in problem.loads)
    bodies = tuple(
        replace(body, mesh=replace(body.mesh, doflocs=turned @ body.mesh.p + shift[:, None])) for body in problem.bodies
    )
    moved = replace(problem, points=problem.points @ turned.T + shift, bodies=bodies, loads=loads)
    one, other = truss(problem, step=0.004), truss(moved, step=0.004)
    for simulation in (one, other):
        simulation.advance(1.0, 10**9)
    np.testing.assert_allclose(one.positions @ turned.T + shift, other.positions, atol=1e-11)
    assert one.energy()["stored"] == pytest.approx(other.energy()["stored"], rel=1e-9)


def test_unit_of_length_does_not_matter() -> None:
    """A body of half the size under the same stress stretches alike: thresholds are stresses, not forces."""
    for law in (LAWS["softening slider"], LAWS["friction"]):
        found = []
        for scale in (1.0, 0.5):
            problem = pulled(
                2, law, body={"size": [3.0 * scale, 2.0 * scale], "density": 1.0 / scale**2}, thickness=1.0
            )
            loads = tuple(replace(load, shares=load.shares * scale) for load in problem.loads)
            simulation = truss(replace(problem, loads=loads), step=0.004)
            simulation.advance(1.0, 10**9)
            found.append(simulation.fields()["displacement"] / scale)
        np.testing.assert_allclose(found[1], found[0], atol=1e-10)


def test_edges_the_match_leaves_without_a_spring_do_nothing(nonlinear: dict[str, Any]) -> None:
    """In flat cells the best fit takes some springs away: their constants are 0, and no ratio may be 0/0."""
    flat = {"size": [12.0, 2.0], "cell": "quad"}
    simulation = truss(pulled(2, nonlinear, body=flat))
    shares = np.concatenate([group.share for group in simulation.method.network.nonlinear])
    assert 0.0 < shares.min() < 1e-20 * shares.max()
    simulation.advance(1.0, 10**9)
    assert np.all(np.isfinite(simulation.positions))
    assert np.abs(simulation.fields()["displacement"]).max() > 0.1


@pytest.mark.parametrize("surface", ["crust", "glue"])
def test_surface_edges_have_the_surfaces_law(surface: str) -> None:
    """Edges with an end on the surface, linear or not; the core keeps the body's law, and every edge its place."""
    laws = {
        "stuff": {"model": "voigt", "young": 12.0, "poisson": 0.25, "viscosity": 0.6},
        "crust": {"model": "maxwell", "young": 30.0, "poisson": 0.25, "viscosity": 0.9},
        "glue": {**BASE, "young": 30.0, "friction": 0.4},
    }
    problem = block(3, laws["stuff"], body={"size": [4.0] * 3, "cells": [4, 4, 4]}, laws=laws)
    plain = build_network(problem, volume_term=False)
    network = build_network(problem, volume_term=False, laws=LawOptions(surface_laws={"block": surface}))
    on_surface = np.zeros(125, dtype=bool)
    on_surface[boundary_nodes(problem.bodies[0].mesh)] = True
    outer = on_surface[network.edges].any(axis=1)
    assert 0 < np.count_nonzero(~outer) < np.count_nonzero(outer)

    def of_same_edge(values: np.ndarray) -> np.ndarray:
        keys = [tuple(edge) for edge in plain.edges]
        return values[[keys.index(tuple(edge)) for edge in network.edges]]

    share = of_same_edge(plain.edge_constants.stiffness) / 12.0
    np.testing.assert_allclose(network.edge_constants.stiffness[~outer], 12.0 * share[~outer], rtol=1e-13)
    np.testing.assert_allclose(network.edge_constants.viscosity[~outer], 0.6 * share[~outer], rtol=1e-13)
    np.testing.assert_allclose((network.node_share.toarray()), of_same_edge(plain.node_share.toarray().T).T, rtol=1e-12)
    if surface == "crust":
        assert network.linear_edges == len(network.edges)
        np.testing.assert_allclose(network.edge_constants.arm_stiffness[0, outer], 30.0 * share[outer], rtol=1e-13)
        np.testing.assert_allclose(network.edge_constants.arm_stiffness[0, ~outer], 0.0)
    else:
        (group,) = network.nonlinear
        assert network.linear_edges == np.count_nonzero(~outer) and not outer[: network.linear_edges].any()
        np.testing.assert_allclose(group.share, share[outer], rtol=1e-13)
        np.testing.assert_allclose(group.force_share, share[outer] * network.rest_length[outer], rtol=1e-13)
        np.testing.assert_allclose(network.edge_constants.stiffness[outer], 30.0 * share[outer], rtol=1e-13)
    simulation = truss(problem, surface_laws={"block": surface}, volume_term=False)
    simulation.advance(0.1, 10**9)
    assert simulation.statistics()["edges"] == len(network.edges)


def test_two_kinds_in_one_scene_are_what_each_is_alone() -> None:
    """Bodies that do not touch: the order of the edges in the loops is no matter of theirs."""
    names = ("table", "friction", "slider", "plain", "softening")
    table = {"model": "tabulated", "strain": [-0.5, 0.0, 0.5], "stress": [-9.0, 0.0, 4.0], "poisson": 0.25}
    laws = LAWS | {"plain": BASE, "table": {**table, "viscosity": 0.5}}
    alone = []
    for name in names:
        simulation = truss(pulled(2, laws[name]), step=0.004)
        simulation.advance(1.0, 10**9)
        alone.append((simulation.positions, simulation.fields()["stress"]))
    one = pulled(2, BASE)
    bodies, points, masses, prescribed, loads = [], [], [], [], []
    for place, name in enumerate(names):
        first = place * len(one.points)
        problem = pulled(2, laws[name])
        bodies.append(replace(problem.bodies[0], name=name.replace(" ", "-"), first_node=first))
        points.append(problem.points)
        masses.append(problem.masses)
        prescribed += [replace(item, nodes=item.nodes + first) for item in problem.prescribed]
        loads += [replace(item, nodes=item.nodes + first) for item in problem.loads]
    together = replace(
        one,
        bodies=tuple(bodies),
        points=np.concatenate(points),
        masses=np.concatenate(masses),
        prescribed=tuple(prescribed),
        loads=tuple(loads),
    )
    simulation = truss(together, step=0.004)
    assert [type(group.law) for group in simulation.method.network.nonlinear] == list(EDGE_LAWS)
    simulation.advance(1.0, 10**9)
    np.testing.assert_allclose(simulation.positions, np.concatenate([x for x, _ in alone]), rtol=1e-12)
    np.testing.assert_allclose(simulation.fields()["stress"], np.concatenate([s for _, s in alone]), atol=1e-11)


@pytest.mark.parametrize("name", ["slider", "softening", "friction"])
def test_finite_elements_refuse_in_words(name: str) -> None:
    problem = pulled(2, LAWS[name])
    with pytest.raises(RheotwinError, match=f"laws of body block: 'three-element with {name}' is beyond this solver"):
        check_capabilities(FemSolver(), problem)
    check_capabilities(TrussSolver(), problem)
    with pytest.raises(RheotwinError, match=r"not linear in the history of strain.*use the truss solver"):
        problem.bodies[0].law.channel("young")


def test_what_nonlinear_edges_cannot_do() -> None:
    problem = pulled(2, LAWS["softening"])
    for stepper in ("euler", "rk4", "implicit"):
        with pytest.raises(RheotwinError, match=r"solvers\.truss\.stepper.*semi-implicit"):
            truss(problem, stepper=stepper)
    with pytest.raises(RheotwinError, match=r"solvers\.truss\.local_volume.*three-element with softening"):
        truss(pulled(2, LAWS["softening"], body={"cell": "quad"}), local_volume=True)


def test_nonlinear_bodies_say_which_poisson_ratio_they_have() -> None:
    with pytest.warns(UserWarning, match=r"a nonlinear law has no volume springs.*0\.25, and not 0\.35"):
        simulation = truss(pulled(2, {**LAWS["friction"], "poisson": 0.35}))
    assert simulation.statistics()["volume_cells"] == 0


@pytest.mark.parametrize(
    ("surface_laws", "words"),
    [
        ({"blok": "crust"}, r"surface_laws: no body is named 'blok' \(did you mean 'block'\?\)"),
        ({"block": "crusty"}, r"surface_laws\.block: no law is named 'crusty' \(did you mean 'crust'\?\)"),
        ({"block": "crust"}, r"surface_laws\.block: law 'crust' has Poisson's ratio 0\.1 and the body's own law 0\.25"),
    ],
)
def test_surface_laws_that_cannot_be(surface_laws: dict[str, str], words: str) -> None:
    laws = {"stuff": BASE, "crust": {**BASE, "poisson": 0.1}}
    with pytest.raises(RheotwinError, match=words):
        truss(block(2, BASE, laws=laws), surface_laws=surface_laws)
