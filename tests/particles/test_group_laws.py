"""Laws of their own for groups of elements: core and surface, on and in voxels, parts (calibration section 4)."""

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

import rheotwin.particles.truss as truss_module
from rheotwin.errors import RheotwinError
from rheotwin.particles.edge_laws import surface_nodes
from rheotwin.particles.truss import TrussSimulation
from rheotwin.problem import Problem
from rheotwin.validation.checks.running import block, put, side, truss

ON: dict[str, Any] = {"model": "elastic", "young": 3.0, "poisson": 0.25}
IN: dict[str, Any] = {**ON, "model": "three-element", "young": 7.0, "voigt_viscosity": 0.5, "series_viscosity": 6.0}
GROUPS = {"core-on": 1.0, "surface-on": 10.0, "core-in": 100.0, "surface-in": 1000.0}
FOUR = {
    "surface_laws": {"block": "surface-on"},
    "voxel_laws": {"block": "core-in"},
    "voxel_surface_laws": {"block": "surface-in"},
    "local_volume": True,
}
SQUARES = {"law": "core-on", "size": [4.0, 4.0], "cells": [4, 4]}


def groups(**law: Any) -> dict[str, dict[str, Any]]:
    return {name: {**ON, **law, "young": young} for name, young in GROUPS.items()}


def lattice(*cells: int, **law: Any) -> Problem:
    body = {"law": "core-on", "cell": "hex", "size": [float(count) for count in cells], "cells": list(cells)}
    return block(3, ON, body, laws=groups(**law))


def test_one_voxel_breathes_as_in_closed_form() -> None:
    """A free unit cube stretched by s: 12 edges s, 12 face diagonals sqrt 2 s, 8 halves sqrt 3/2 s, all straight.
    sum m r^2 s'' = -(12 + 24) k s - 8 sqrt 3/2 f(sqrt 3/2 s): one oscillator, stepped here by the rule itself."""
    body = {"cell": "hex", "size": [1.0] * 3, "cells": [1] * 3, "density": None, "mass": 8.0, "mass_sharing": "equal"}
    problem = block(3, ON, laws={"stuff": ON, "soft": IN}, body=body)
    h, half = 0.01, np.sqrt(0.75)
    options = {"match": "edge", "local_volume": True, "local_volume_scale": 1.0, "step": h}
    simulation = truss(problem, voxel_laws={"block": "soft"}, **options)
    centred = problem.points - 0.5
    put(simulation, positions=0.5 + 1.1 * centred)
    b, bv = 6.0 / 6.5, 0.5
    kappa, eta, rate = b**2 * 7.0, b * bv, 7.0 / 6.5
    s, v, z = 0.1, 0.0, 0.0
    for _ in range(100):
        z = np.exp(-rate * h) * z + (1.0 - np.exp(-rate * h)) / rate * half * v
        v -= h * (36.0 * 3.0 * s + 8.0 * half * (kappa * z + eta * half * v)) / (8.0 * 0.75)
        s += h * v
    simulation.advance(1e9, 100)
    np.testing.assert_allclose(simulation.positions, 0.5 + (1.0 + s) * centred, rtol=1e-12)
    assert simulation.energy()["stored"] == pytest.approx(0.5 * (36.0 * 3.0 * s**2 + 8.0 * kappa * z**2), rel=1e-10)
    assert simulation.energy()["kinetic"] == pytest.approx(0.5 * 8.0 * 0.75 * v**2, rel=1e-10)
    plain = put(truss(problem, **options), positions=0.5 + 1.1 * centred)
    plain.advance(1e9, 100)
    assert np.abs(plain.positions - simulation.positions).max() > 1e-3


def test_numbers_of_core_and_surface_elements() -> None:
    """184 of 1208 elements of the 6 x 4 x 6 lattice have both ends inside; in voxels the 3 x 1 x 3 inner ones count."""
    problem = lattice(5, 3, 5)
    whole = truss(problem, match="edge", surface_laws={"block": "surface-on"})
    values, counts = np.unique(whole.method.forces.edges.stiffness.round(9), return_counts=True)
    assert dict(zip(values, counts, strict=True)) == {1.0: 184, 10.0: 1208 - 184}
    split = truss(problem, match="edge", local_volume_scale=1.0, **FOUR)
    values, counts = np.unique(split.method.forces.halves.stiffness.round(9), return_counts=True)
    assert dict(zip(values, counts, strict=True)) == {100.0: 8 * 9, 1000.0: 8 * (75 - 9)}
    inner = np.all((problem.points > 0.5) & (problem.points < np.array([4.5, 2.5, 4.5])), axis=1)
    core = inner[split.method.forces.halves.corners].all(axis=1)
    np.testing.assert_array_equal(split.method.forces.halves.stiffness.reshape(-1, 8)[:, 0] < 101.0, core)
    assert set(split.method.forces.edges.stiffness.round(9)) == {1.0, 10.0}


@pytest.mark.parametrize(
    ("options", "core", "surface"),
    [
        ({}, "core-on", "core-on"),
        ({"surface_laws": {"block": "surface-on"}}, "core-on", "surface-on"),
        ({"surface_laws": {"block": "surface-on"}, "voxel_laws": {"block": "core-in"}}, "core-in", "core-in"),
        ({"voxel_surface_laws": {"block": "surface-in"}}, "core-on", "surface-in"),
    ],
)
def test_halves_without_a_law_of_their_own(options: dict[str, Any], core: str, surface: str) -> None:
    problem = lattice(3, 3, 3)
    simulation = truss(problem, match="edge", local_volume=True, local_volume_scale=1.0, **options)
    stiffness = simulation.method.forces.halves.stiffness.reshape(27, 8)
    middle = np.linalg.norm(problem.points[simulation.method.forces.halves.corners].mean(axis=1) - 1.5, axis=1) < 0.1
    np.testing.assert_allclose(stiffness[middle], GROUPS[core], rtol=1e-12)
    np.testing.assert_allclose(stiffness[~middle], GROUPS[surface], rtol=1e-12)


def thrown(problem: Problem, **options: Any) -> TrussSimulation:
    simulation, rng = truss(problem, **FOUR, **options), np.random.default_rng(4)
    aside, velocities = rng.standard_normal((2, *problem.points.shape))
    put(simulation, positions=problem.points + 0.02 * aside, velocities=velocities)
    return simulation


def test_four_groups_keep_momentum_and_lose_energy() -> None:
    problem = lattice(3, 3, 3, **IN)
    simulation = thrown(problem, safety=0.1)

    def momenta() -> np.ndarray:
        p = problem.masses[:, None] * simulation.velocities
        return np.concatenate([p.sum(axis=0), np.cross(simulation.positions, p).sum(axis=0)])

    before, energies = momenta(), [sum(simulation.energy().values())]
    for _ in range(40):
        simulation.advance(1e9, 5)
        energies.append(sum(simulation.energy().values()))
    scale = np.abs(problem.masses[:, None] * simulation.velocities).sum() * 3.0
    np.testing.assert_allclose(momenta(), before, atol=1e-13 * scale)
    assert np.all(np.diff(energies) < 0.0) and energies[-1] < 0.9 * energies[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"voxel_laws": {"block": "cored"}}, r"voxel_laws\.block: no law is named 'cored'"),
        ({"voxel_surface_laws": {"blok": "surface-in"}}, r"voxel_surface_laws: no body is named 'blok' \(did you mean"),
        ({"voxel_laws": {"block": "other"}}, r"voxel_laws\.block: law 'other' has Poisson's ratio 0\.3 and the body's"),
        ({"voxel_laws": {"block": "yields"}}, r"local_volume: half elements .* need linear laws"),
        ({"voxel_laws": {"block": "core-in"}, "local_volume": False}, r"`voxel_laws` has no effect without"),
    ],
)
def test_voxel_laws_that_cannot_be(options: dict[str, Any], words: str) -> None:
    laws = groups() | {"other": {**ON, "poisson": 0.3}, "yields": {**IN, "friction": 0.1}}
    problem = block(3, ON, {"cell": "hex", "law": "core-on"}, laws=laws)
    with pytest.raises(RheotwinError, match=words):
        truss(problem, **{"local_volume": True, **options})


def part_stiffness(simulation: Any) -> dict[tuple[int, int], float]:
    edges = simulation.method.forces.edges
    return {tuple(sorted(pair)): k for pair, k in zip(edges.corners.tolist(), edges.stiffness.round(9), strict=True)}


def test_parts_take_elements_inside_them_and_later_ones_win() -> None:
    """A strip and a box in it on 4 x 4 squares; elements that leave a part keep the law they had."""
    problem = block(2, ON, SQUARES, laws=groups(poisson=0.35))
    ranges = {"strip": {"x": [1.0, 3.0]}, "inset": {"x": [1.0, 2.0], "y": [1.0, 2.0]}}
    parts = {
        name: {"body": "block", "where": {"box": ranges[name]}, "law": law}
        for name, law in (("strip", "surface-on"), ("inset", "core-in"))
    }
    plain, simulation = truss(problem), truss(problem, part_laws=parts)
    whole = part_stiffness(plain)
    x, y = problem.points.T
    strip, inset = (x >= 1.0) & (x <= 3.0), (x >= 1.0) & (x <= 2.0) & (y >= 1.0) & (y <= 2.0)
    for pair, found in part_stiffness(simulation).items():
        expected = 100.0 if inset[list(pair)].all() else 10.0 if strip[list(pair)].all() else 1.0
        assert found == pytest.approx(expected * whole[pair], rel=1e-8)
    cells = simulation.method.forces.cells
    expected = np.where(inset[cells.corners].all(axis=1), 100.0, np.where(strip[cells.corners].all(axis=1), 10.0, 1.0))
    np.testing.assert_allclose(cells.stiffness / plain.method.forces.cells.stiffness, expected, rtol=1e-12)


def test_a_named_group_of_a_mesh_file_has_its_law(tmp_path: Path) -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.5, 0.0]])
    mesh = meshio.Mesh(points, [("triangle", np.array([[0, 1, 2], [0, 2, 3], [1, 4, 2]]))])
    mesh.point_sets = {"rod": np.array([1, 2, 4])}
    mesh.write(tmp_path / "mesh.inp")
    body = {"shape": "file", "path": str(tmp_path / "mesh.inp"), "size": None, "cells": None, "law": "core-on"}
    problem = block(2, ON, laws=groups(), body=body)
    part = {"body": "block", "where": {"region": "rod"}, "law": "surface-on"}
    found = part_stiffness(truss(problem, match="edge", part_laws={"rod": part}))
    rod = {(1, 2), (1, 4), (2, 4)}
    assert {pair for pair, k in found.items() if k == 10.0} == rod
    assert {k for pair, k in found.items() if pair not in rod} == {1.0}


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"where": {"nearest": [0.0, 0.0]}}, r"part_laws\.spot\.where: no element has all its corners in it"),
        ({"where": {"box": {"x": [9.0, 10.0]}}}, r"part_laws\.spot\.where: selects no node"),
        ({"where": {"box": {"z": [0.0, 1.0]}}}, r"part_laws\.spot\.where\.box\.z: there is no z in a 2D scene"),
        ({"where": {"region": "rod"}}, r"part_laws\.spot\.where: no region 'rod'"),
        ({"body": "blok"}, r"part_laws\.spot\.body: no body is named 'blok'"),
        ({"law": "stuf"}, r"part_laws\.spot\.law: no law is named 'stuf' \(did you mean 'stuff'\?\)"),
    ],
)
def test_parts_that_cannot_be(part: dict[str, Any], words: str) -> None:
    whole = side("left", law="stuff")
    with pytest.raises(RheotwinError, match=words):
        truss(block(2, ON), part_laws={"spot": whole | part})


@pytest.mark.parametrize(("dimension", "cell"), [(2, "triangle"), (2, "quad"), (3, "tet"), (3, "hex")])
def test_a_seam_of_coarse_and_fine_cells_is_not_surface(dimension: int, cell: str) -> None:
    """The nodes of surface faces are those on the sides of the box, wherever the cells change their size."""
    box = {"cell": cell, "size": [4.0] * dimension, "cells": [4] * dimension}
    (body,) = block(dimension, ON, {**box, "finer": [{"x": [1.0, 3.0], "y": [1.0, 4.0]}]}).bodies
    points = body.mesh.p.T
    outside = np.flatnonzero(np.any((points < 1e-9) | (points > 4.0 - 1e-9), axis=1))
    np.testing.assert_array_equal(surface_nodes(body), outside)
    assert len(outside) < len(points)


def test_parts_of_options_scenes_and_manifests() -> None:
    laws = groups(poisson=0.35)
    part = {"where": {"box": {"x": [1.0, 3.0]}}, "law": "surface-on"}
    by_option = truss(block(2, ON, laws=laws, body=SQUARES), part_laws={"strip": {"body": "block", **part}})
    by_scene = truss(block(2, ON, laws=laws, body={**SQUARES, "parts": {"strip": part}}))
    assert part_stiffness(by_scene) == part_stiffness(by_option)
    other = {**part, "law": "other"}
    problem = block(2, ON, laws={**laws, "other": {**ON, "poisson": 0.3}}, body={**SQUARES, "parts": {"a": other}})
    with pytest.raises(RheotwinError, match=r"bodies\.block\.parts\.a\.law: law 'other' has Poisson's ratio 0\.3"):
        truss(problem)
    # A record keeps its options as plain data, as given, and is resumed with them.
    given = {"stem": {"body": "block", "where": {"box": {"x": [0.3, 0.5]}}, "law": "crust"}}
    options = truss_module.TrussOptions(part_laws=given)
    kept = options.model_dump(mode="json")
    assert kept["part_laws"] == given and truss_module.TrussOptions.model_validate(kept) == options
