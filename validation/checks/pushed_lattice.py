"""The papers' calibrated lattices under one push: volumes, scale, global condition, twin (calibration, section 9).

Lengths of 1 are a virtual centimetre. In the kinematics KF a block of 5 x 3 x 5 on a floor that holds it is pushed down
by 0.88 within a second along two rows of its top that the punch holds, and let go at 3.4 s. Printed numbers are those
of every element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from rheotwin.arrays import Array
from rheotwin.meshing import boundary_faces
from rheotwin.particles.forces.global_pressure import add_global_pressure, make_global_pressure
from rheotwin.record.grid import GridTopology
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import FLOOR, LAWS, Data, box_scene, path, problem_of, run_to, start
from rheotwin.validation.experiments.synthetic import SIGMA_OF_MEAN, sample_surface
from rheotwin.validation.metrics import shape_difference, surface_distance, surface_of
from rheotwin.validation.run_view import RunView, tributary_weights

Constants = Sequence[float]

LENGTH, HEIGHT, VOLUME, DEPTH, STOP, RELEASE = 5.0, 3.0, 75.0, 0.88, 1.0, 3.4
"""Sides, volume [cm3], depth of the push [cm], its duration and the time when the punch is gone [s]."""
POINT_MASS = 6.0
"""Mass of a point [g], whatever the size: inertia is negligible."""
REAL = 0.02
"""A real length [m] per virtual one [cm]."""


class Printed(NamedTuple):
    """K [gf/cm], C1, C2 [gf s/cm] of elements in the core and at the surface, of half elements, and the structure."""

    core: Constants
    surface: Constants | None = None
    inside: Sequence[Constants] | None = None
    local: bool = False
    cell: str = "hex"
    large: bool = False
    extra: bool = False

    @property
    def options(self) -> Data:
        """Options of the solver; half elements without numbers of their own have half of those of the others."""
        found: Data = {"local_volume": self.local, "forces": {"extra": {}} if self.extra else {}}
        if self.surface is not None:
            found["surface_laws"] = {"block": "surface"}
        if self.inside is not None:
            found |= {"voxel_laws": {"block": "core-in"}, "voxel_surface_laws": {"block": "surface-in"}}
            found["local_volume_scale"] = 1.0
        return found

    @property
    def laws(self) -> dict[str, Data]:
        """Laws by name."""
        sets = [self.core, self.surface, *(self.inside or ())]
        names = ("core", "surface", "core-in", "surface-in")
        return {name: three_element(*numbers) for name, numbers in zip(names, sets, strict=False) if numbers}

    def scaled(self, factor: float) -> Printed:
        """Return one set with all numbers times a factor."""
        k, c1, c2 = self.core
        return self._replace(core=(factor * k, factor * c1, factor * c2))


def three_element(k: float, c1: float, c2: float) -> Data:
    """Return the law of an element: a spring with a dashpot beside it, and one in series."""
    return {"model": "three-element", "young": k, "poisson": 0.25, "voigt_viscosity": c1, "series_viscosity": c2}


SETS = {name: Printed(**numbers) for name, numbers in LAWS["lattice"].items()}
"""Sets by table and model."""


def scene(printed: Printed) -> Data:
    """Return the block with its punch, which lets go."""
    along, up = (10, 6) if printed.large else (5, 3)
    rows = np.array([(along + 1) // 2 - 1, (along + 1) // 2]) * LENGTH / along
    top = {"x": [float(rows[0]) - 1e-6, float(rows[1]) + 1e-6], "z": [HEIGHT - 1e-6, HEIGHT + 1e-6]}
    motion = path((0.0, STOP), [[0.0] * 3, [0.0, 0.0, -DEPTH]])
    punch = {"body": "block", "where": {"box": top}, "motion": motion, "until": RELEASE}
    supports = FLOOR | {"punch": punch}
    more: Data = {"cell": printed.cell, "equal_mass": POINT_MASS * (along + 1) ** 2 * (up + 1), "supports": supports}
    size, cells = [LENGTH, LENGTH, HEIGHT], [along, along, up]
    data = box_scene(printed.laws["core"], size=size, cells=cells, duration=4.0, **more)
    data["laws"] |= printed.laws
    return data


class Push:
    """A run of that scene."""

    def __init__(self, printed: Printed, *, pressure: float = 1e-9, **options: object) -> None:
        # without pressure no volume is kept account of
        settings = {"match": "edge", "global_pressure": pressure, **printed.options, **options}
        self.problem = problem_of(scene(printed))
        self._simulation = start(self.problem, "truss", **settings)

    def at(self, time: float) -> Simulation:
        """Go to a time [s]."""
        run_to(self._simulation, time)
        return self._simulation

    def volume(self, time: float) -> float:
        """Return the volume [cm3] at a time [s]."""
        return VOLUME * float(self.at(time).statistics()["volume_ratio"]["block"])


def volumes(*names: str) -> Values:
    """Compute the volumes of printed sets at 4 s."""
    return {name: Push(SETS[name]).volume(4.0) for name in names}


def by_both_rules() -> Values:
    """Compute how far the volume by the implicit rule, with steps beyond those of the others, is from the default."""
    implicit = Push(SETS["R2 M1"], stepper="implicit", step=0.02).volume(4.0)
    return {"implicit - explicit": abs(implicit - Push(SETS["R2 M1"]).volume(4.0))}


TIMES = (1.0, 3.3, 3.6, 4.0)
"""When points are captured [s]."""


def same_shape() -> Values:
    """Compute A4: the largest change of a point, and the ratio of forces that is furthest from ten."""
    one, ten = Push(SETS["R2 M1"]), Push(SETS["R2 M1"].scaled(10.0))
    moved, ratios = [], []
    for time in TIMES:
        first, second = one.at(time), ten.at(time)
        moved.append(float(np.abs(first.positions - second.positions).max()))
        if time < RELEASE:
            ratios.append(second.reactions()["support.punch"][2] / first.reactions()["support.punch"][2])
    furthest = max(ratios, key=lambda ratio: abs(ratio - 10.0))
    return {"largest change of a point": max(moved), "force": float(furthest)}


def global_condition() -> Values:
    """Compute A6: how far the volume gets from 75 cm3, and the net force of the pressure over the sum of its parts."""
    stiffness = 1e4
    push, off, net = Push(SETS["R2 M1"], pressure=stiffness), [], []
    rest = np.ascontiguousarray(push.problem.points)
    faces = boundary_faces(push.problem.bodies[0].mesh).astype(np.int64)
    pressure = make_global_pressure(rest, [faces], stiffness=stiffness, damping=0.0)
    for time in np.linspace(0.1, 4.0, 40):
        off.append(abs(push.volume(float(time)) - VOLUME))
        force = np.zeros_like(rest)
        place = np.ascontiguousarray(push.at(float(time)).positions)
        add_global_pressure(pressure, place, np.zeros_like(place), force)
        net.append(float(np.linalg.norm(force.sum(axis=0)) / np.linalg.norm(force, axis=1).sum()))
    return {"max abs(V - 75)": max(off), "net surface force": max(net)}


CAPTURED, MEAN_ERROR = 15_235, 5e-4
"""Points over four times, and the mean of their errors [m]."""


def captured(push: Push, times: Sequence[float], chance: np.random.Generator) -> list[Array]:
    """Return the distances [m] of noisy points on the block to the block itself, by time."""
    problem = push.problem
    mesh = problem.bodies[0].mesh
    cells = mesh.t.T.astype(np.int64)
    topology = GridTopology(cells, "hex", np.zeros(len(cells), np.int64), len(problem.points))
    rest, vtk = REAL * problem.points, topology.vtk_cells()
    view = RunView(
        label="truth",
        solver="truss",
        case=None,
        times=np.array(times),
        displacement=np.zeros((len(times), *rest.shape)),
        rest=rest,
        cells=vtk,
        cell_kind="hex",
        node_weights=tributary_weights(rest, vtk, "hex"),
    )
    seen, found = np.zeros(len(rest), dtype=bool), []
    for part, time in zip(np.array_split(np.arange(CAPTURED), len(times)), times, strict=True):
        place = REAL * push.at(time).positions
        points, normals = sample_surface(view, place, len(part), chance, hidden=seen)
        errors = chance.normal(0.0, SIGMA_OF_MEAN * MEAN_ERROR, len(part))
        found.append(surface_distance(points + errors[:, None] * normals, surface_of(place, vtk, "hex")))
    return found


def twin() -> Values:
    """Compute A5: S of the true model on its own points, and S/N of a plane whose errors are spread as they should."""
    truth = shape_difference(captured(Push(SETS["R2 M1"]), TIMES, np.random.default_rng(0)))
    spread = ndtri((np.arange(100_000) + 0.5) / 100_000)
    plane = shape_difference([np.abs(SIGMA_OF_MEAN * MEAN_ERROR * spread)])
    return {"S": 100.0 * truth.total, "S/N of a perfect model": 100.0 * plane.mean}


_FITTED = ("R2 M1", "R8 M2", "R12 lattice")
_OTHERS = ("R3 M1", "R7 RA", "R7 GA", "R12 truss")
_EXTRA = ("R2 M3E", "R3 M3E")
_MISSED = ("R2 M2", "R3 M2", "R8 M2'", "R9 M2", "R12 lattice + local")

_check = partial(check, solvers=("truss",))
CHECKS = {
    "pushed_lattice": (
        _check("calibration.A3", lambda: volumes(*_FITTED), name="pushed-volumes"),
        _check("calibration.A3.implicit", by_both_rules, name="pushed-volume-implicit"),
        _check("calibration.KF", lambda: volumes(*_OTHERS), name="pushed-volumes-others"),
        _check("calibration.KF/extra-forces", lambda: volumes(*_EXTRA), name="pushed-volumes-extra"),
        _check("calibration.KF/not-reproduced", lambda: volumes(*_MISSED), name="pushed-volumes-local"),
        _check("calibration.A4", same_shape, name="scale-of-a-law", quick=True),
        _check("calibration.A5", twin, name="twin", quick=True),
        _check("calibration.A6", global_condition, name="global-condition", quick=True),
    )
}
