"""Topology maintenance of single cells, force, moment, work and matrix, and of bodies that collapse and recover."""

from typing import Any

import numpy as np
import pytest

from rheotwin.particles.forces import topology as topology_module
from rheotwin.particles.forces.topology import (
    FLATTENED,
    Topology,
    add_topology_forces,
    contacts,
    make_topology,
    topology_energy,
    topology_matrix,
)
from rheotwin.tensors import padded
from rheotwin.validation.checks.running import block, put, run_to, truss

late = pytest.mark.exhaustive
STIFFNESS, DAMPING, EPS = 7.0, 0.9, 0.3
REST = {
    2: np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.9, 1.5, 0.0]]),
    3: np.array([[0.0, 0.0, 0.0], [2.0, 0.1, 0.0], [0.8, 1.7, 0.0], [0.9, 0.6, 1.4]]),
}


def single(dimension: int, **changes: Any) -> Topology:
    cell = np.arange(dimension + 1)[None]
    values: dict[str, Any] = {"stiffness": STIFFNESS, "damping": DAMPING, "distance": EPS, "share": 0.05}
    return make_topology(REST[dimension], cell, **(values | changes))


def pressed(dimension: int, height: float, foot: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return a cell turned in space whose last vertex is `height` above its feature, over `foot`, and velocities."""
    x = REST[dimension].copy()
    x[:2, 1] = 0.0
    x[-1] = [foot[0], height, 0.0] if dimension == 2 else [*foot, height]
    rng = np.random.default_rng(3)
    v = rng.standard_normal(x.shape)
    if dimension == 2:
        turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
        v[:, 2] = 0.0
    else:
        turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        turn[:, 0] *= np.linalg.det(turn)
    return x @ turn.T + turn @ [0.3, -0.2, 0.0], v


def last_only(topology: Topology) -> Topology:
    fields = ("vertex", "feature", "distance")
    return topology._replace(**{name: getattr(topology, name)[-1:] for name in fields})


def forces(topology: Topology, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    force = np.zeros_like(x)
    add_topology_forces(topology, x, v, force)
    return force


def heights(x: np.ndarray, topology: Topology) -> np.ndarray:
    """Distances of all contacts in plain numpy (also for complex positions): d = s/|m|."""
    p, feature = x[topology.vertex], x[topology.feature]
    if feature.shape[1] == 2:
        edge = feature[:, 1] - feature[:, 0]
        normal = np.stack([-edge[:, 1], edge[:, 0], 0.0 * edge[:, 0]], axis=1)
    else:
        normal = np.cross(feature[:, 2] - feature[:, 0], feature[:, 1] - feature[:, 0])
    return np.sum(normal * (p - feature[:, 0]), axis=1) / np.sqrt(np.sum(normal * normal, axis=1))


@pytest.mark.parametrize("dimension", [2, 3])
def test_nothing_acts_at_rest_and_distances_are_heights(dimension: int) -> None:
    topology, x = single(dimension), REST[dimension]
    push, distance = contacts(topology, x, np.zeros_like(x))[:2]
    np.testing.assert_allclose(distance, heights(x, topology), rtol=1e-14)
    assert np.all(distance > EPS) and not push.any() and topology_energy(topology, x) == 0.0
    assert single(dimension, distance=None).distance == pytest.approx(0.05 * distance, rel=1e-14)
    assert not forces(topology, 0.0 * x, 0.0 * x).any(), "features without extent do nothing"


@pytest.mark.parametrize("height", [0.1, -0.4])
@pytest.mark.parametrize("dimension", [2, 3])
def test_inside_the_feature_force_and_moment_balance(dimension: int, height: float) -> None:
    """The vertex is pushed to the side it lay on at rest, before (0.1) and behind (-0.4) the feature."""
    x, _ = pressed(dimension, height, (0.7, 0.4))
    topology = last_only(single(dimension))
    force = forces(topology, x, np.zeros_like(x))
    normal = contacts(topology, x, np.zeros_like(x)).normal
    np.testing.assert_allclose(force[-1], STIFFNESS * (EPS - height) * normal[0], rtol=1e-13)
    scale = np.abs(force).max()
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-14 * scale)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-13 * scale)


@pytest.mark.parametrize("dimension", [2, 3])
def test_outside_the_feature_a_couple_remains(dimension: int) -> None:
    """The couple is |f| times the distance of the foot from where the reaction acts; momentum is exact (E2)."""
    x, v = pressed(dimension, 0.1, (2.6, 0.0) if dimension == 2 else (1.9, 1.3))
    topology = last_only(single(dimension, damping=0.0))
    force = forces(topology, x, v)
    push, distance, normal, _ = contacts(topology, x, v)
    q = x[-1] - distance[0] * normal[0]
    shares = -force[:-1] @ normal[0] / push[0]
    assert shares.sum() == pytest.approx(1.0, abs=1e-14) and shares.min() >= 0.0
    raw = np.linalg.lstsq(np.vstack([x[:-1].T, np.ones(dimension)]), np.append(q, 1.0), rcond=None)[0]
    assert raw.min() < -0.1
    np.testing.assert_allclose(shares, np.maximum(raw, 0.0) / np.maximum(raw, 0.0).sum(), atol=1e-12)
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-14)
    couple = np.linalg.norm(np.cross(x, force).sum(axis=0))
    assert couple == pytest.approx(push[0] * np.linalg.norm(q - shares @ x[:-1]), rel=1e-12)
    if dimension == 2:
        assert couple == pytest.approx(push[0] * 0.6, rel=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_power_is_stored_or_dissipated_and_separating_vertices_are_free(dimension: int) -> None:
    """F.v = -d/dt K (eps - d)^2/2 - C ddot^2, with ddot by a complex step through an independent formula."""
    x, v = pressed(dimension, 0.1, (0.7, 0.4))
    v *= 0.2
    topology = last_only(single(dimension))
    force = forces(topology, x, v)
    assert force.any()
    rate = heights(x + 1e-30j * v, topology).imag[0] / 1e-30
    distance = heights(x, topology)[0]
    assert np.sum(force * v) == pytest.approx(-STIFFNESS * (distance - EPS) * rate - DAMPING * rate * rate, rel=1e-12)
    change = (topology_energy(topology, x + 1e-6 * v) - topology_energy(topology, x - 1e-6 * v)) / 2e-6
    assert change == pytest.approx(STIFFNESS * (distance - EPS) * rate, rel=1e-7)
    x, v = pressed(dimension, 0.1, (0.7, 0.4))
    topology = last_only(single(dimension))
    normal = contacts(topology, x, v).normal
    v = np.zeros_like(x)
    v[-1] = 100.0 * normal[0]
    assert not forces(topology, x, v).any()
    v[-1] = -normal[0]
    np.testing.assert_allclose(forces(topology, x, v)[-1], (STIFFNESS * (EPS - 0.1) + DAMPING) * normal[0], rtol=1e-13)
    # Also with the foot outside: damping uses the velocity of the point where the reaction acts.
    rng = np.random.default_rng(0)
    still, damped = (last_only(single(dimension, damping=c)) for c in (0.0, 0.1))
    for _ in range(50):
        x, _ = pressed(dimension, -0.2, (rng.uniform(-2.0, 4.0), rng.uniform(-2.0, 4.0)))
        v = rng.standard_normal(x.shape) * [1.0, 1.0, dimension == 3]
        assert -10.0 < np.sum((forces(damped, x, v) - forces(still, x, v)) * v) <= 1e-14


@pytest.mark.parametrize("dimension", [2, 3])
def test_matrix_of_small_motions_and_the_worst_shape(dimension: int) -> None:
    """With all contacts active at rest the damping force is -C M v, but for the worst shape's larger eigenvalue."""
    topology = single(dimension, stiffness=1.0, damping=1.0, distance=10.0)
    v = 0.1 * padded(np.random.default_rng(1).standard_normal((dimension + 1, dimension)))
    change = forces(topology, REST[dimension], v) - forces(topology, REST[dimension], np.zeros_like(v))
    matrix = topology_matrix(topology, REST[dimension], dimension)
    ratio = -(matrix @ v[:, :dimension].ravel()).reshape(-1, dimension) / change[:, :dimension]
    assert ratio.min() > 1.0
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-9)
    assert np.linalg.eigvalsh(matrix.toarray())[-1] == pytest.approx(FLATTENED[dimension], rel=1e-12)
    # Largest eigenvalue of sum g g^T of single cells over random full, flat and needle-like shapes.
    rng, corners = np.random.default_rng(2), dimension + 1
    topology = single(dimension, stiffness=1.0, damping=0.0, distance=1e3, share=0.0)
    largest = 0.0
    for _ in range(1000):
        x = padded(rng.standard_normal((corners, dimension)) * 10.0 ** rng.uniform(-4.0, 0.0, dimension))
        x[rng.integers(corners)] = x[rng.integers(corners)] + 0.1 * padded(rng.standard_normal((1, dimension)))
        found = contacts(topology, x, np.zeros_like(x))
        weights = np.zeros((corners, corners, 3))
        weights[np.arange(corners), topology.vertex] = found.normal
        for contact, feature in enumerate(topology.feature):
            weights[contact, feature] -= found.share[contact][:, None] * found.normal[contact]
        rows = weights.reshape(corners, -1)
        largest = max(largest, np.linalg.eigvalsh(rows @ rows.T)[-1])
    assert 0.95 * FLATTENED[dimension] < largest < FLATTENED[dimension] * (1.0 + 1e-12)


@pytest.mark.parametrize(
    ("dimension", "damping"),
    [
        (2, {}),
        (3, {"topology_damping": 0.6}),
        pytest.param(2, {"topology_damping": 0.6}, marks=late),
        pytest.param(3, {}, marks=late),
    ],
)
def test_stable_step_holds_while_cells_collapse(dimension: int, damping: dict[str, float]) -> None:
    """Kicks that turn cells over, taken at nearly the stable step: the energy falls, and all cells stand up again."""
    problem = block(dimension, {"model": "elastic", "young": 0.5, "poisson": 0.25}, duration=40.0)
    options = {"topology_stiffness": 5.0, "topology_distance": 0.1, **damping}
    simulation = truss(problem, volume_term=False, safety=0.95, **options)
    assert simulation.stable_step < 0.7 * truss(problem, volume_term=False).stable_step
    expected = damping.get("topology_damping", np.sqrt(5.0 * problem.masses.mean()))
    assert simulation.method.forces.topology.damping == pytest.approx(expected, rel=1e-14)
    put(simulation, velocities=3.0 * np.random.default_rng(1).standard_normal(problem.points.shape))
    begin = sum(simulation.energy().values())
    inverted, energies = 0, []
    for _ in range(80):
        run_to(simulation, simulation.time + 0.5)
        inverted = max(inverted, simulation.statistics()["inverted_cells"])
        energies.append(sum(simulation.energy().values()))
    assert inverted > 0 and max(energies) < begin and simulation.statistics()["inverted_cells"] == 0


@pytest.mark.parametrize("dimension", [2, pytest.param(3, marks=late)])
def test_leaving_out_distant_contacts_changes_nothing(dimension: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of near contacts saves time only: looking at every step gives the same bits."""
    problem = block(dimension, {"model": "voigt", "young": 2.0, "viscosity": 0.1, "poisson": 0.25})
    options = {"topology_stiffness": 30.0, "topology_damping": 0.2, "topology_distance": 0.1, "step": 0.002}
    found, counts = [], []
    for reach in (topology_module.REACH, 0.0):
        monkeypatch.setattr(topology_module, "REACH", reach)
        simulation = truss(problem, volume_term=False, kernel="general", **options)
        put(simulation, velocities=2.0 * np.random.default_rng(1).standard_normal(problem.points.shape))
        topology = simulation.method.forces.topology
        for _ in range(300):
            simulation.advance(1e9, 1)
            counts.append(int(topology.near_count[0]))
        found.append(simulation.save())
    np.testing.assert_equal(found[0], found[1])
    assert 0 < max(counts[300:]) < max(counts[:300]) < len(topology.vertex)
