"""G1: the reference truth of the calibration specification, and lattices calibrated on its points (section 10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from rheotwin.arrays import Array
from rheotwin.executor import opened
from rheotwin.scene import Scene, scene_from_data
from rheotwin.validation.calibration import CalibrationProblem, Parameter, twin
from rheotwin.validation.calibration.campaign import search
from rheotwin.validation.calibration.twins import hidden
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.pushed_lattice import CAPTURED, DEPTH, RELEASE, STOP, TIMES, Printed, scene
from rheotwin.validation.checks.running import FLOOR, Data, box_scene, path
from rheotwin.validation.experiments.record import ExperimentRecord
from rheotwin.validation.experiments.synthetic import Noise

GF = 98.0665
"""A gram force on a square centimetre [Pa]."""
LAW: Data = {
    "model": "three-element",
    "bulk": 80.0 * GF,
    "shear": 20.0 * GF,
    "voigt_viscosity": {"bulk": 0.0, "shear": 5.0 * GF},
    "series_viscosity": {"bulk": 180.0 * GF, "shear": 35.0 * GF},
}
"""mu1, eta1, eta2, kappa and zeta of the reference truth."""
SIZE, CELLS = [0.10, 0.10, 0.06], [20, 10, 12]
"""Real dough [m], and the specification's 20 x 12 x 10 hexahedra: long where nothing changes, along the punch."""
STRENGTH = 1000.0
"""Gain of the global condition [gf/cm2 per cm3]."""
STIFFNESS = 1990.0
"""K of every element: only ratios move a point, but for the global condition."""


class Model(NamedTuple):
    """A lattice or truss of the papers and its options."""

    options: Data
    cell: str = "hex"
    large: bool = False


SMALL = {
    "6x4x6 M1": Model({}),
    "6x4x6 M2": Model({"local_volume": True}),
    "6x4x6 M3G": Model({"global_pressure": STRENGTH}),
}
LARGE = {
    "lattice+global": Model({"global_pressure": STRENGTH}, large=True),
    "lattice": Model({}, large=True),
    "TG": Model({"global_pressure": STRENGTH}, cell="tet", large=True),
    "lat+local": Model({"local_volume": True}, large=True),
    "truss": Model({}, cell="tet", large=True),
}
ROUNDS, CLOSER = 4, 0.2
"""Grids of the search, and how much of its width the next one has on either side of the best."""
PLACES = ("laws.core.voigt_viscosity", "laws.core.series_viscosity")
LAYERED = (
    *((place, 20.0) for place in PLACES),
    ("laws.surface.young", 100.0),
    *((place.replace("core", "surface"), 20.0) for place in PLACES),
)
"""What is found of core and surface, K of the core given, and lower bounds; the upper ones are those of the papers."""
BUDGET, SEEDS = 120, range(5)
"""Evaluations of each search of P5, and its seeds."""


def truth(cells: Sequence[int] = CELLS, **options: object) -> Scene:
    """Return the real dough under the kinematics KF, of twice the lengths of the virtual one."""
    top = {"x": [0.0399, 0.0601], "z": [0.0599, 0.0601]}
    motion = path((0.0, STOP), [[0.0] * 3, [0.0, 0.0, -0.02 * DEPTH]])
    punch = {"body": "block", "where": {"box": top}, "motion": motion, "until": RELEASE}
    more: Data = {"cell": "hex", "mass": 0.864, "duration": 4.0, "supports": FLOOR | {"punch": punch}}
    more["solvers"] = {"continuum": options}
    return scene_from_data(box_scene(LAW, size=SIZE, cells=list(cells), **more))


@cache
def blind_record() -> ExperimentRecord:
    """Return what was seen of G2: large strain, friction, all numbers drawn within a factor of 2."""
    scene = truth((20, 4, 5), step=0.05, branch=300.0, friction={"floor": 0.5, "punch": 0.4})
    drawn = hidden(scene, 2.0, np.random.default_rng(1))
    return twin(drawn, "continuum", TIMES, noise=Noise(force=0.0, volume=0.0), points=CAPTURED)[0]


@cache
def record() -> ExperimentRecord:
    """Return what was seen of it; volume and force without errors."""
    return twin(truth(), "continuum", TIMES, noise=Noise(force=0.0, volume=0.0), points=CAPTURED)[0]


def truth_volumes() -> Values:
    """Compute A7: V/8 [cm3], and how the force relaxes."""
    seen = record()
    assert seen.volume is not None and seen.force is not None
    found = {f"V({t:.1f})": 1e6 * v / 8.0 for t, v in zip(seen.volume.times, seen.volume.values, strict=True)}
    force = np.linalg.norm(seen.force.values, axis=1)
    return found | {"F(3.3)/F(1.0)": float(force[1] / force[0])}


def problem_of_model(model: Model, seen: ExperimentRecord | None = None, *, layers: bool = False) -> CalibrationProblem:
    """Return the calibration of one law, or of one in the core and one at the surface (`layers`), on a record.

    The punch is a centimetre of the virtual body wide.
    """
    core = STIFFNESS, 510.0, 3470.0
    printed = Printed(core, core if layers else None, cell=model.cell, large=model.large)
    data = scene(printed)
    data["supports"]["punch"]["where"]["box"]["x"] = [2.0 - 1e-6, 3.0 + 1e-6]
    data["bodies"]["block"]["law"] = "core"
    surface = {"surface_laws": {"block": "surface"}} if layers else {}
    data["solvers"] = {"truss": {"match": "edge", **surface, **model.options}}
    wide = [Parameter(place, place, 1e-3, 1e8, 1e3) for place in PLACES]
    printed_bounds = [Parameter(place, place, low, 20_000.0, 2_000.0) for place, low in LAYERED]
    records = [record() if seen is None else seen]
    return CalibrationProblem(scene_from_data(data), "truss", records, printed_bounds if layers else wide)


def least_shape(model: Model, low: Array, high: Array, points: int, seen: ExperimentRecord | None = None) -> float:
    """Return the least S [cm] over the logarithms of C1/K and C2/K, by grids that close in."""
    problem, best = problem_of_model(model, seen), np.inf
    for _ in range(ROUNDS):
        axes = [np.linspace(*ends, points) for ends in zip(low, high, strict=True)]
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        totals = np.array([found.total for found in problem.evaluate(STIFFNESS * np.exp(grid))])
        best, at, width = min(best, float(totals.min())), grid[totals.argmin()], CLOSER * (high - low)
        low, high = at - width, at + width
    return 100.0 * best


def calibrated_shapes() -> Values:
    """Compute the least S [cm] of lattices with one law."""
    low, high = np.log([0.01, 0.3]), np.log([3.0, 20.0])
    return {name: least_shape(model, low, high, 12) for name, model in SMALL.items()}


def calibrated_extra_forces() -> Values:
    """Compute the same with extra internal forces, which run set after set."""
    extra = Model({"forces": {"extra": {}}})
    return {"6x4x6 M3E": least_shape(extra, np.log([0.05, 1.5]), np.log([0.3, 8.0]), 5)}


def calibrated_fine_shapes() -> Values:
    """Compute the same of finer lattices and trusses."""
    low, high = np.log([0.02, 0.8]), np.log([2.0, 8.0])
    return {name: least_shape(model, low, high, 8) for name, model in LARGE.items()}


def blind() -> Values:
    """Compute how S of models of 11 x 7 x 11 particles compare on a body that nobody knows."""
    low, high = np.log([0.005, 0.8]), np.log([1.0, 8.0])
    names = ("lattice+global", "lattice", "truss")
    first, second, third = (least_shape(LARGE[name], low, high, 8, blind_record()) for name in names)
    return {"lattice over lattice+global": second / first, "truss over lattice": third / second}


def lattice_against_truss() -> Values:
    """Compute P5: S of lattice and truss, five parameters each, at equal budget over the same seeds."""
    shapes = {}
    with opened("lanes") as workers:
        for name in ("lattice", "truss"):
            runs = search(problem_of_model(LARGE[name], layers=True), "least-squares", BUDGET, workers, seeds=SEEDS)
            shapes[name] = [run.best.shape for run in runs]
    return {"least S of the truss over S of the lattice's worst seed": min(shapes["truss"]) / max(shapes["lattice"])}


_check = partial(check, solvers=("truss",))
CHECKS = {
    "continuum_twin": (
        _check("calibration.A7", truth_volumes, name="truth-volumes"),
        _check("calibration.G2", blind, name="blind-body"),
        _check("calibration.P5", lattice_against_truss, name="lattice-against-truss"),
        _check("calibration.G1", calibrated_shapes, name="calibrated-shapes"),
        _check("calibration.G1/extra-forces", calibrated_extra_forces, name="calibrated-extra-forces"),
        _check("calibration.G1/fine", calibrated_fine_shapes, name="calibrated-fine-shapes"),
    )
}
