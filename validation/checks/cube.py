"""Silicone cube: where its beads go when plates press it, against where they were seen.

For each state one number is fitted, the displacement of the moving plate: it is chosen so that bead layers 1 and 7
approach as measured. All 343 positions follow, up to a rigid motion, whatever Young's modulus is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.record.grid import GridTopology
from rheotwin.validation.checks.check import Check, Compute, Measurement, Values, check
from rheotwin.validation.checks.running import (
    Data,
    aligned,
    box_scene,
    displacements,
    path,
    problem_of,
    refined,
    rms,
    side,
    start,
    with_data,
)
from rheotwin.validation.experiments.datasets import CUBE, CUBE_EDGE, CUBE_YOUNG, layer, read_truth_cube
from rheotwin.validation.experiments.record import ExperimentRecord, Frame
from rheotwin.validation.metrics import transfer

MESHES, DEEPEST, STEPS = (4, 6, 8), 0.019, 20
"""Cells along an edge (the finest mesh counts), largest way of the plate [m], states computed up to there."""
MILLI, PERCENT = 1e3, 100.0


@dataclass(frozen=True)
class Model:
    """How the cube is modelled; `bonded` is whether the moving plate holds what it touches."""

    solver: str
    bonded: bool
    poisson: float
    cell: str = "hex"
    options: Data = field(default_factory=dict)


SMALL: Data = {"formulation": "b-bar", "stepper": "quasi-static", "step": 1.0}
LARGE: Data = {"kinematics": "total-lagrangian", "stepper": "quasi-static", "step": 1.0}
# springs need inertia; a second for a millimetre is slow against waves that cross the cube in 20 ms
PARTICLES: Data = {"stepper": "implicit", "step": 0.05}
VOLUME: Data = {"incompressible": "cell"}
MODELS = {
    "small strain, bonded": Model("fem", True, 0.499, options=SMALL),
    "small strain, slipping": Model("fem", False, 0.499, options=SMALL),
    # linear elements without pressures lock above 0.45
    "large strain, bonded": Model("fem", True, 0.45, options=LARGE),
    "large strain, slipping": Model("fem", False, 0.45, options=LARGE),
    "truss, bonded": Model("truss", True, 0.45, "tet", PARTICLES),
    "truss, slipping": Model("truss", False, 0.45, "tet", PARTICLES),
    "shear-volume, bonded": Model("shear-volume", True, 0.5, "tet", VOLUME),
    "shear-volume, slipping": Model("shear-volume", False, 0.5, "tet", VOLUME),
}


def cube_scene(model: Model, cells: int) -> Data:
    """Return the scene of the cube about its middle, upper face bonded, lower one driven up, one state a second."""
    law = {"model": "elastic", "young": CUBE_YOUNG, "poisson": model.poisson}
    motion = path((0.0, STEPS), [[0.0] * 3, [0.0, 0.0, DEEPEST]])
    held = ["x", "y", "z"] if model.bonded else ["z"]
    supports = {"ceiling": side("top"), "plate": side("bottom", motion=motion, fix=held)}
    more: Data = {"origin": [-CUBE_EDGE / 2] * 3, "cell": model.cell, "density": 980.0, "supports": supports}
    return box_scene(law, size=[CUBE_EDGE] * 3, cells=[cells] * 3, duration=float(STEPS), **more)


def bead_paths(model: Model, cells: int, beads: Array) -> Array:
    """Return the places (STEPS + 1, M, 3) [m] of beads at rest at `beads` (M, 3) [m], as the plate moves on."""
    problem = problem_of(cube_scene(model, cells))
    simulation = start(problem, model.solver, **model.options)
    moved = displacements(simulation, problem, range(1, STEPS + 1))
    body = problem.bodies[0]
    corners = np.asarray(body.mesh.t.T, dtype=np.int64)
    topology = GridTopology(corners, body.cell, np.zeros(len(corners), dtype=np.int64), len(problem.points))  # type: ignore[arg-type]
    carried = transfer(problem.points, topology.vtk_cells(), topology.cell_kind, beads)
    return np.asarray(np.concatenate([beads[None], beads + carried(moved)]))


def approach(places: Array) -> Array:
    """Return how far layers 1 and 7 lie apart (..., ) [m] along z, of places (..., 343, 3)."""
    return np.asarray(places[..., layer(1), 2].mean(axis=-1) - places[..., layer(7), 2].mean(axis=-1))


def predicted(paths: Array, frame: Frame) -> Array:
    """Return the places (343, 3) [m] at the state in which layers 1 and 7 are as close as in `frame`."""
    apart = approach(paths)
    place = np.interp(-approach(frame.points), -apart, np.arange(len(apart)))
    low = min(int(place), len(paths) - 2)
    return np.asarray(paths[low] + (place - low) * (paths[low + 1] - paths[low]))


def widening(places: Array, rest: Array, k: int) -> float:
    """Return by how much layer k is wider than at rest, mean of x and y [1]: slopes of now over then."""
    among = layer(k)
    return float(np.mean([np.polyfit(rest[among, axis], places[among, axis], 1)[0] - 1.0 for axis in (0, 1)]))


def noise(frame: Frame) -> float:
    """Return the noise of bead positions [m], root mean square length: what a cubic field of displacements leaves."""
    assert frame.rest is not None and frame.displacement is not None
    scaled = frame.rest / (0.5 * CUBE_EDGE)
    powers = [c for degree in range(4) for c in combinations_with_replacement(range(3), degree)]
    terms = np.stack([np.prod(scaled[:, list(c)], axis=1) if c else np.ones(len(scaled)) for c in powers], axis=1)
    left = frame.displacement - terms @ np.linalg.lstsq(terms, frame.displacement, rcond=None)[0]
    return rms(left) * float(np.sqrt(len(terms) / (len(terms) - len(powers))))


@cache
def _record() -> ExperimentRecord:
    return read_truth_cube()


def beads(name: str) -> Measurement:
    """Return bead errors [mm] and widening of layers [%] of one model, on the finest of its meshes."""
    return refined(partial(_beads, MODELS[name]), MESHES)


def _beads(model: Model, cells: int) -> Values:
    record = _record()
    rest = record.frames[0].rest
    assert rest is not None
    paths = bead_paths(model, cells, rest)
    found = {}
    for number, frame in enumerate(record.frames, start=1):
        places = predicted(paths, frame)
        found[f"bead error, state {number}"] = MILLI * rms(aligned(places, frame.points) - frame.points)
        found[f"widening of layer 4, state {number}"] = PERCENT * widening(places, rest, 4)
        found[f"widening of layer 7, state {number}"] = PERCENT * widening(places, rest, 7)
    return found


def as_measured() -> Values:
    """Return what the data themselves say: noise, approach and widening."""
    found = {}
    for number, frame in enumerate(_record().frames, start=1):
        assert frame.rest is not None
        found[f"noise, state {number}"] = MILLI * noise(frame)
        found[f"approach, state {number}"] = MILLI * float(approach(frame.rest) - approach(frame.points))
        for k in (1, 4, 7):
            found[f"widening of layer {k}, state {number}"] = PERCENT * widening(frame.points, frame.rest, k)
    return found


def _check(identity: str, compute: Compute, name: str, **more: Any) -> Check:
    return check(f"measured.cube{identity}", with_data(CUBE, compute), name=f"cube-{name}", **more)


def _model_check(name: str) -> Check:
    word = name.replace(", ", "-").replace(" ", "-")
    return _check(f"/{word}", partial(beads, name), word, solvers=(MODELS[name].solver,))


CHECKS = {"measured": (_check("", as_measured, "data", quick=True, solvers=()), *map(_model_check, MODELS))}
