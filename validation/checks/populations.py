"""Evaluations of many parameter sets at once against set after set (calibration, section 15)."""

from __future__ import annotations

from functools import partial

from rheotwin.scene import scene_from_data
from rheotwin.validation.calibration import CalibrationProblem, Parameter, twin
from rheotwin.validation.calibration.problem import Evaluation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.pushed_lattice import CAPTURED, REAL, SETS, TIMES, Printed, scene

NUMBERS = ("young", "voigt_viscosity", "series_viscosity")
NAMES = ("R2 M1", "R7 GA", "R7 RA")


def _sets() -> list[list[float]]:
    """Return printed sets: numbers of the core, then of the surface."""
    return [[*SETS[name].core, *(SETS[name].surface or SETS[name].core)] for name in NAMES]


def _evaluated(lanes: bool) -> list[Evaluation]:
    """Evaluate printed sets on the points of the first."""
    core, *_ = _sets()
    data = scene(Printed(tuple(core[:3]), tuple(core[3:])))
    data["solvers"] = {"truss": {"match": "edge", "surface_laws": {"block": "surface"}}}
    places = [f"laws.{law}.{number}" for law in ("stuff", "surface") for number in NUMBERS]
    marked = [Parameter(place, place, 50.0, 20_000.0, 1000.0) for place in places]
    body = scene_from_data(data)
    record, _ = twin(body, "truss", TIMES, scale=REAL, points=CAPTURED)
    return CalibrationProblem(body, "truss", [record], marked, lanes=lanes).evaluate(_sets())


def error_of_shape() -> Values:
    """Compute the largest relative error of S that steps of 2 ms with raised masses make."""
    pairs = zip(_evaluated(True), _evaluated(False), strict=True)
    return {"S": float(max(abs(one.total / other.total - 1.0) for one, other in pairs))}


def volumes() -> Values:
    """Compute the volumes at 4 s [cm3 of the virtual body]."""
    return {name: found.volume[-1] / REAL**3 for name, found in zip(NAMES, _evaluated(True), strict=True)}


_check = partial(check, solvers=("truss",), quick=True)
CHECKS = {
    "populations": (
        _check("calibration.lanes", error_of_shape, name="error-in-lanes"),
        _check("calibration.lanes/volumes", volumes, name="volumes-in-lanes"),
    )
}
