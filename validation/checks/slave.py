"""Particles with separate stress points: printed counts, a bar, drops, a block on a rod, and masters without slaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from rheotwin.arrays import Array
from rheotwin.kernels.program import Clock, Program
from rheotwin.particles.slave.solver import SlaveSimulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import Data, box_scene, put, run_to, scene_of, seen, side, start

GRAVITY = 9.8
CONTACT: Data = {"law": "impulse", "friction": 0.3}
BAR, EDGE, STEP = (24, 6, 6), 0.05, 5e-4
"""Cells, spacing [m] and step [s] of the bar of SP-12 and SP-13, of 1e5 Pa and 1000 kg/m3."""
FREQUENCY = 10.0 / 2.4
"""Its first one, c/(2 L) [Hz]."""
BUNNY: list[Data] = [
    {"center": [0.0, 0.0, 0.288], "radii": [0.408, 0.3, 0.288]},
    {"center": [0.36, 0.0, 0.6], "radii": [0.204, 0.18, 0.18]},
    {"center": [-0.42, 0.0, 0.24], "radii": [0.096, 0.096, 0.096]},
    *({"between": [[0.324, 0.072 * k, 0.696], [0.204, 0.132 * k, 1.02]], "radius": 0.066} for k in (1, -1)),
    *({"between": [[0.12, 0.168 * k, 0.072], [0.336, 0.168 * k, 0.072]], "radius": 0.072} for k in (1, -1)),
]
"""Body, head, tail, ears, feet [m], as in the gallery."""


def kernel(q: Array) -> Array:
    """Return h^3 w, the cubic spline (3) of the paper at q = r/h."""
    return np.asarray((0.25 * np.maximum(2.0 - q, 0.0) ** 3 - np.maximum(1.0 - q, 0.0) ** 3) / np.pi)


def moments() -> Values:
    """Compute the integral of the kernel and its second moment along an axis over h^2."""
    q, weights = np.polynomial.legendre.leggauss(12)
    found = np.zeros(2)
    for middle in (0.5, 1.5):
        r = middle + 0.5 * q
        w = 0.5 * weights * 4.0 * np.pi * r**2 * kernel(r)
        found += w.sum(), (w * r**2).sum() / 3.0
    return {"integral": float(found[0]), "second moment": float(found[1])}


def slave_simulation(data: Data, **options: Any) -> SlaveSimulation:
    """Start the solver on a scene."""
    simulation = start(data, "slave", **options)
    assert isinstance(simulation, SlaveSimulation)
    return simulation


def elastic(young: float, poisson: float) -> Data:
    """Return the table of an elastic law."""
    return {"model": "elastic", "young": young, "poisson": poisson}


def yielding(young: float, poisson: float, stretch: float, compression: float) -> Data:
    """Return the table of a law with critical stretches, hardening 10."""
    limit = {"critical_stretch": stretch, "critical_compression": compression}
    return {"model": "elastoplastic", "young": young, "poisson": poisson, **limit}


def cubes(law: Data, cells: Sequence[int], edge: float, **more: Any) -> Data:
    """Return the scene of a block of cubes."""
    size = [edge * count for count in cells]
    return box_scene(law, cells=list(cells), size=size, cell="hex", **{"density": 1000.0} | more)


def counts() -> Values:
    """Compute how many slaves begin around the printed cube and sheet, and what its masters see."""
    cube = slave_simulation(cubes(elastic(1e5, 0.3), (16, 16, 16), 1.0 / 16.0))
    sheet = slave_simulation(cubes(elastic(1e5, 0.3), (87, 87, 1), 0.02))
    reach = cKDTree(cube.cloud.slaves.x[: cube.counts()["slaves"], :3])
    near = reach.query_ball_point(cube.cloud.masters.x[:, :3], 2.0 * cube.cloud.spacing, return_length=True)
    return {
        "cube 16^3": cube.counts()["slaves"],
        "sheet 87 x 87": sheet.counts()["slaves"],
        "slaves seen by a master": float(np.mean(near)) if np.ptp(near) == 0 else np.nan,
        "pairs of the cube": float(len(cube.splits.pairs)),
    }


def printed_gradient() -> Values:
    """Compute E1: (7) on the starting lattice over the true gradient, sum_s x^2 w."""
    lattice = np.argwhere(np.ones((4, 4, 4))) - 1.5
    factor = float(np.sum(lattice[:, 0] ** 2 * kernel(np.linalg.norm(lattice, axis=1))))
    return {"d = 0.02": factor / 0.02, "d = 0.1": factor / 0.1, "factor times d": factor}


def printed_volumes() -> Values:
    """Compute E3: volumes by (1), (4) and (5), in a unit in which they can be compared, over that inside."""
    masters = np.argwhere(np.ones((10, 10, 10))) + 0.5
    corners = np.argwhere(np.ones((13, 13, 13))) - 1.0
    weights = cKDTree(masters).sparse_distance_matrix(cKDTree(corners), 2.0, output_type="coo_matrix").tocsr()
    weights.data = kernel(weights.data)
    volumes = (1.0 / (weights @ (weights.T @ np.ones(1000)))).reshape(10, 10, 10)
    found = {"face": volumes[5, 5, 0], "edge": volumes[5, 0, 0], "corner": volumes[0, 0, 0]}
    return {name: float(volume / volumes[5, 5, 5]) for name, volume in found.items()}


def gradients(x: Array, h: float) -> tuple[Array, Array, Array]:
    """Return pairs i, j of particles closer than 2 h and the b_ij of grad f(i) = sum_j f(j) b_ij, without slaves.

    W = w/sum w, xbar = sum W x_j, K = sum W (x_j - xbar)(x_j - xbar)^T, b = W K^-1 (x_j - xbar); 0 where K is singular.
    """
    pairs = cKDTree(x).query_pairs(2.0 * h, output_type="ndarray")
    own = np.arange(len(x))
    i, j = np.concatenate([pairs[:, 0], pairs[:, 1], own]), np.concatenate([pairs[:, 1], pairs[:, 0], own])
    w = kernel(np.linalg.norm(x[j] - x[i], axis=1) / h)
    w /= np.bincount(i, w)[i]

    def summed(values: Array) -> Array:
        return np.stack([np.bincount(i, column) for column in values.T], axis=1)

    away = x[j] - summed(w[:, None] * x[j])[i]
    k = summed((w[:, None, None] * away[:, :, None] * away[:, None, :]).reshape(-1, 9)).reshape(-1, 3, 3)
    sound = np.linalg.det(k) > 0.01 * (0.3 * h * h) ** 3
    inverse = np.linalg.inv(np.where(sound[:, None, None], k, np.eye(3))) * sound[:, None, None]
    return i, j, w[:, None] * np.einsum("nab,nb->na", inverse[i], away)


def checkerboard() -> Values:
    """Compute SP-15: the largest gradient inside of fields that alternate along one to three axes, over sum |b|."""
    sites = np.argwhere(np.ones((7, 7, 7)))
    inside = np.all((sites >= 2) & (sites <= 4), axis=1)
    i, j, b = gradients(sites.astype(float), 1.0)
    fields = [(-1.0) ** sites[:, :axes].sum(axis=1) for axes in (1, 2, 3)]
    found = [np.abs([np.bincount(i, f[j] * b[:, a])[inside] for a in range(3)]).max() for f in fields]
    sums = np.bincount(i, np.abs(b).sum(axis=1))[inside]
    return {"masters only": float(max(found) / sums.max())}


def mode() -> Array:
    """Return the first mode of the free bar, cos(pi x/L), at its masters in the order of its cells."""
    x = EDGE * (np.arange(BAR[0]) + 0.5)
    return np.asarray(np.cos(np.pi * x / (EDGE * BAR[0])))


def vibrating(speed: float, poisson: float, **options: Any) -> tuple[SlaveSimulation, Array]:
    """Return the free bar with v_x = speed cos(pi x/L) and that gradient, and the mode at its masters."""
    bar = cubes(elastic(1e5, poisson), BAR, EDGE, duration=10.0)
    simulation = slave_simulation(bar, scheme="explicit", step=STEP, **options)
    masters, length = simulation.cloud.masters, EDGE * BAR[0]
    shape = np.cos(np.pi * masters.x[:, 0] / length)
    v, c = np.zeros_like(masters.v), np.zeros_like(masters.c)
    v[:, 0] = speed * shape
    if options.get("transfer") != "paper":
        c[:, 0] = -speed * np.pi / length * np.sin(np.pi * masters.x[:, 0] / length)
    put(simulation, **{"masters.v": v, "masters.c": c})
    return simulation, shape


def bar() -> Values:
    """Compute SP-12: frequency by crossings of zero, and the amplitude after three periods."""
    found: dict[str, float] = {}
    period = 1.0 / FREQUENCY
    for transfer in ("apic", "paper"):
        simulation, shape = vibrating(0.05, 0.0, transfer=transfer)
        times = np.arange(STEP, 3.3 * period, STEP)

        def look(simulation: SlaveSimulation = simulation, shape: Array = shape) -> float:
            return float(simulation.cloud.masters.v[:, 0] @ shape / (shape @ shape))

        speeds = np.array(seen(simulation, times, look)) / 0.05
        k = np.flatnonzero(speeds[:-1] * speeds[1:] < 0.0)
        crossings = times[k] + STEP * speeds[k] / (speeds[k] - speeds[k + 1])
        frequency = 0.5 * (len(crossings) - 1) / (crossings[-1] - crossings[0])
        amplitude = float(np.abs(speeds[times > 3.0 / frequency - 0.25 * period]).max())
        if transfer == "apic":
            found |= {"frequency": frequency, "amplitude after 3 periods": amplitude}
        else:
            found |= {"paper transfer, frequency": 100.0 * (frequency / FREQUENCY - 1.0)}
            found |= {"paper transfer, amplitude": amplitude}
    return found


def noise(v: Array) -> float:
    """Return rms of v less the mean of its six neighbours over rms of v, inside of the lattice of the bar (n, 3)."""
    speeds, inner = v.reshape(*BAR, 3), slice(1, -1)
    inside = speeds[inner, inner, inner]
    mean = sum(np.roll(speeds, way, axis)[inner, inner, inner] for axis in range(3) for way in (-1, 1)) / 6.0
    return float(np.sqrt(np.sum((inside - mean) ** 2) / np.sum(inside**2)))


def contrast() -> Values:
    """Compute SP-13: energy left and noise (median, for it means nothing where the bar turns back), noise without."""
    noises, left = {}, 0.0
    for slaves, until in ((True, 3.0), (False, 0.2)):
        simulation, _ = vibrating(1.0, 0.3, slaves=slaves)
        masters = simulation.cloud.masters
        order, before = np.lexsort(masters.x[:, [2, 1, 0]].T), sum(simulation.energy().values())
        times = np.arange(0.1, until + 1e-9, 0.1)
        noises[slaves] = [noise(v[:, :3]) for v in seen(simulation, times, partial(masters.v.__getitem__, order))]
        left = sum(simulation.energy().values()) / before if slaves else left
    return {
        "slaves, energy at 3 s": left,
        "slaves, noise": float(np.median(noises[True])),
        "masters only, noise at 0.2 s": noises[False][-1],
    }


DROPS = {
    "SP-2": elastic(6.9e7, 0.3),
    "SP-3": elastic(1.0e6, 0.4),
    "SP-4": yielding(1.4e5, 0.2, 4.5e-3, 1.5e-2),
    "SP-5": yielding(1.4e5, 0.2, 7.5e-4, 2.5e-3),
}
FALL = 0.5
"""Height of drops [m]."""


def dropped(law: Data, height: float, place: Sequence[float], block: Data, tool: Data, **more: Any) -> Data:
    """Return the scene of a block that falls `height` [m] on a tool."""
    origin = [*place, height]
    return block | {
        "laws": {"stuff": law},
        "bodies": {"block": block["bodies"]["block"] | {"origin": origin}},
        "gravity": [0.0, 0.0, -GRAVITY],
        "tools": {"tool": tool},
        "contact": CONTACT,
        **more,
    }


PLANE: Data = {"shape": "plane", "center": [0.5, 0.5, 0.0], "normal": [0.0, 0.0, 1.0]}
ROD: Data = {"shape": "cylinder", "center": [0.0, 0.0, 0.0], "axis": [0.0, 1.0, 0.0], "radius": 0.08}


def growths() -> Values:
    """Compute SP-16: the largest growth of all energy in drops at 1 ms, over what the fall releases."""
    return {name: growth(law) for name, law in DROPS.items()}


def growth(law: Data, cells: int = 16, until: float = 0.6) -> float:
    """Return the largest growth of kinetic, stored and potential energy in a drop, over that of the fall."""
    data = dropped(law, FALL, (0.0, 0.0), cubes(law, (cells,) * 3, 1.0 / cells, duration=2.0), PLANE)
    simulation = slave_simulation(data, step=1e-3)

    def energy() -> float:
        masters = simulation.cloud.masters
        return sum(simulation.energy().values()) + GRAVITY * float(masters.mass @ masters.x[:, 2])

    found = np.array(seen(simulation, np.arange(0.0, until + 1e-9, 0.01), energy))
    return float(np.max(found - np.minimum.accumulate(found)) / (1000.0 * GRAVITY * FALL))


def on_a_rod() -> Values:
    """Compute SP-17: the masters of the smaller of the two largest pieces, and slaves added until 1.2 s.

    The floor is half a metre below the axis of the rod, which the specification does not say.
    """
    found = {}
    for name, law in (("SP-9", yielding(1.2e6, 0.25, 0.1, 0.75)), ("SP-10", yielding(2.0e5, 0.45, 0.05, 0.2))):
        block = cubes(law, (24, 10, 10), 0.04, duration=1.2)
        data = dropped(law, ROD["radius"] + FALL, (-0.48, -0.2), block, ROD)
        data["tools"]["floor"] = PLANE | {"center": [0.0, 0.0, -FALL]}
        simulation = slave_simulation(data, step=STEP)
        simulation.advance(1.2, 10**6)
        sizes = np.bincount(np.asarray(simulation.particles()[1]["piece"]).astype(int), minlength=2)
        if name == "SP-9":
            found["masters of each half"] = float(np.sort(sizes)[-2])
        found[f"slaves added, {name}"] = float(simulation.counts()["slaves_added"])
    return found


def thrown() -> Values:
    """Compute F4: pieces and added slaves of a slender bar that is thrown on a rod at 3 m/s."""
    law = yielding(1.2e6, 0.25, 0.1, 0.75)
    bar = cubes(law, (24, 3, 3), 0.04, duration=0.3, velocity=[0.0, 0.0, -3.0])
    simulation = run_to(slave_simulation(dropped(law, 0.58, (-0.48, -0.06), bar, ROD), step=STEP), 0.3)
    sizes = np.bincount(np.asarray(simulation.particles()[1]["piece"]).astype(int))
    return {
        "pieces": float(len(sizes)),
        "masters of the smaller one": float(sizes.min()),
        "slaves added": float(simulation.counts()["slaves_added"]),
    }


def without_slaves() -> Values:
    """Compute SP-11: the frame (30 a second) at which a dropped bunny without slaves is twice as long as it was.

    It is that of `scenes/bunny-3d.toml` in cubes twice as wide, steps half of the paper's; with slaves it keeps its
    length within a few per cent.
    """
    law = yielding(1.2e6, 0.35, 0.1, 0.8)
    shape = {"shape": "solids", "solids": BUNNY, "voxels": 0.05}
    data = dropped(law, 0.25, (0.0, 0.0), scene_of(law, shape, dimension=3, density=1000.0, duration=2.0), PLANE)
    frames = {}
    for slaves in (False, True):
        simulation = slave_simulation(data, scheme="explicit", step=0.5 * STEP, slaves=slaves)
        masters = simulation.cloud.masters
        before = np.ptp(masters.x[:, :3], axis=0)
        while simulation.time < 1.4 and np.all(np.ptp(masters.x[:, :3], axis=0) < 2.0 * before):
            simulation.advance(2.0, 10)
        frames[slaves] = 30.0 * simulation.time
    return {"masters only": frames[False], "slaves": frames[True]}


def falls(transfer: str) -> float:
    """Return the acceleration of a falling cube over g."""
    cube = cubes(elastic(1e5, 0.3), (4, 4, 4), 0.1, gravity=[0.0, 0.0, -GRAVITY])
    simulation = run_to(slave_simulation(cube, step=STEP, transfer=transfer), 0.1)
    return float(np.mean(simulation.cloud.masters.v[:, 2]) / (-GRAVITY * simulation.time))


def turns() -> float:
    """Return the largest relative change of the angular momentum of a cube in 400 steps at 10 rad/s."""
    simulation = slave_simulation(cubes(elastic(1e6, 0.3), (8, 8, 8), 0.1), scheme="explicit", step=STEP)
    masters = simulation.cloud.masters
    v, c = np.zeros_like(masters.v), np.zeros_like(masters.c)
    v[:, :3] = np.cross([0.0, 0.0, 10.0], masters.x[:, :3] - masters.x[:, :3].mean(axis=0))
    c[:, 1], c[:, 4] = 10.0, -10.0
    put(simulation, **{"masters.v": v, "masters.c": c})

    def momentum() -> float:
        masters = simulation.cloud.masters
        x, v = masters.x - masters.x.mean(axis=0), masters.v
        return float(masters.mass @ (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]))

    before = momentum()
    return float(np.abs(np.array(seen(simulation, STEP * np.arange(0, 401, 20), momentum)) / before - 1.0).max())


def parts_of_a_step() -> Values:
    """Compute S9 on a cube of 4^3 masters, slaves jittered by .3 d, with random elastic deformation."""
    simulation = slave_simulation(cubes(elastic(1.0, 0.3), (4, 4, 4), 1.0), scheme="explicit", step=STEP)
    generator, (masters, slaves, _) = np.random.default_rng(9), simulation.cloud
    count = int(slaves.count[0])
    slaves.x[:count, :3] += generator.uniform(-0.3, 0.3, (count, 3))

    def carried_out(h: float, *names: str) -> None:
        stages = [stage for stage in simulation.program.stages if stage.name.rpartition(".")[2] in names]
        Program(stages, h, Clock()).run(0, 1)

    simulation.advance(1.0, 1)  # makes lists; nothing moves yet
    slope, constant = generator.standard_normal((3, 3)), 10.0 * generator.standard_normal(3)
    slaves.v[:count, :3] = slaves.x[:count, :3] @ slope.T + constant
    places = masters.x.copy()
    carried_out(1.0, "to_masters")
    gradient = masters.elastic[:, :64].T.reshape(-1, 3, 3) - np.eye(3)
    error = float(np.abs(gradient - slope).max())
    masters.x[:], masters.v[:], masters.c[:], slaves.drift[:] = places, 0.0, 0.0, 0.0
    deformed = np.eye(3).reshape(9, 1) + 0.1 * generator.standard_normal(masters.elastic.shape)
    masters.elastic[:] = deformed
    carried_out(1.0, "find_stress")
    carried_out(1.0, "to_slaves")
    f, x = slaves.sum[:count, :3].copy(), slaves.x[:count, :3]
    u, energies = generator.standard_normal((count, 3)), []
    for size in (1e-5, -1e-5):
        masters.x[:], masters.elastic[:], slaves.v[:count, :3] = places, deformed, u
        carried_out(size, "to_masters", "find_stress")
        energies.append(simulation.energy()["stored"])
    work, size = float(np.sum(f * u)), float(np.abs(f).sum())
    return {
        "gradient of an affine field": error,
        "free fall over g": falls("apic"),
        "angular momentum over 400 steps": turns(),
        "paper mode over g": falls("paper"),
        "f u + dPhi(u)": abs(work + (energies[0] - energies[1]) / 2e-5) / abs(work),
        "net force": float(np.abs(f.sum(axis=0)).max() / size),
        "net torque": float(np.abs(np.cross(x, f).sum(axis=0)).max() / size),
    }


PRESSED: Data = {"model": "elastoplastic", "young": 1e5, "poisson": 0.3, "yield_stress": 2e3, "hardening_modulus": 1e4}
MESHES = (4, 8, 16)


def pressed(cells: int, depth: float, *, sticks: bool) -> Data:
    """Return the scene of a cube of 0.1 m pressed by `depth` [m] in half a second, plates sticking or not."""
    times = {"times": [0.0, 0.5], "displacement": [[0.0, 0.0, 0.0], [0.0, 0.0, -depth]], "interpolation": "smooth"}
    held = {} if sticks else {"fix": ["z"]}
    supports = {"floor": side("bottom", **held), "lid": side("top", motion=times, **held)}
    if not sticks:
        supports |= {"left": side("left", fix=["x"]), "front": side("front", fix=["y"])}
    return cubes(PRESSED, (cells,) * 3, 0.1 / cells, duration=0.5, supports=supports)


def push(solver: str, data: Data, **options: Any) -> float:
    """Return the force [N] on the lid in the end."""
    return abs(float(run_to(start(data, solver, **options), 0.5).reactions()["support.lid"][2]))


def against_finite_elements(depth: float, cells: int, *, sticks: bool) -> Values:
    """Compute F1 and F2: the force of the finest cloud beside finite elements of large strain, and the observed order.

    The order is that of the error where the block does not stick, as finite elements are exact then, else that of the
    forces of three clouds among themselves: at the edges of plates neither method is converged.
    """
    large = {"kinematics": "total-lagrangian", "stepper": "quasi-static", "formulation": "b-bar", "step": 0.025}
    reference = push("fem", pressed(cells, depth, sticks=sticks), **large)
    forces = np.array([push("slave", pressed(n, depth, sticks=sticks), scheme="explicit") for n in MESHES])
    errors = np.abs(np.diff(forces)) if sticks else np.abs(forces - reference)
    return {
        "error of the force": float(abs(forces[-1] / reference - 1.0)),
        "order": float(np.log2(errors[-2] / errors[-1])),
    }


def in_space(wide: float) -> SlaveSimulation:
    """Return eight cubes of 512 masters that tumble, a lattice of 4 x 2 of them `wide` edges apart."""
    cube = cubes(elastic(1e5, 0.3), (8, 8, 8), 0.05, duration=100.0)
    body, bodies = cube["bodies"]["block"], {}
    for number in range(8):
        place = [wide * 0.4 * (number % 4), wide * 0.4 * (number // 4), 0.0]
        bodies[f"cube{number}"] = body | {"origin": place, "spin": [3.0, 2.0, 1.0]}
    return slave_simulation(cube | {"bodies": bodies}, scheme="explicit", step=1e-3)


def space() -> Values:
    """Compute F3 (figure 16): processor time of a step, lists and all, in 16 times the area over that in the first."""
    simulations, spent = [in_space(wide) for wide in (2.0, 8.0)], np.zeros((6, 2))
    for turn in range(len(spent)):
        for place, simulation in enumerate(simulations):
            begin = process_time()
            simulation.advance(100.0, 60)
            spent[turn, place] = process_time() - begin
    near, far = spent[1:].min(axis=0)
    return {"time in 16 times the space": float(far / near)}


_check = partial(check, solvers=("slave",))
CHECKS = {
    "slave": (
        _check("slave.counts", counts, name="slave-counts", quick=True),
        _check("slave.kernel", moments, name="slave-kernel", quick=True),
        _check("slave.SP-11", without_slaves, name="bunny-without-slaves"),
        _check("slave.SP-12", bar, name="slave-bar"),
        _check("slave.SP-13", contrast, name="bar-without-slaves"),
        _check("slave.SP-15", checkerboard, name="checkerboard", quick=True),
        _check("slave.SP-16", growths, name="dropped-cubes"),
        _check("slave.SP-17", on_a_rod, name="block-on-a-rod"),
        _check("slave.S9", parts_of_a_step, name="slave-steps", quick=True),
        _check("slave.F1", partial(against_finite_elements, 0.001, 1, sticks=False), name="block-before-it-yields"),
        _check("slave.F2", partial(against_finite_elements, 0.01, 6, sticks=True), name="upset-block"),
        _check("slave.F3", space, name="time-in-wide-space"),
        _check("slave.F4", thrown, name="bar-on-a-rod", quick=True),
        _check("slave.E1", printed_gradient, name="printed-gradient", quick=True),
        _check("slave.E3", printed_volumes, name="printed-volumes", quick=True),
    ),
}
