"""Which solvers exist: the built-in ones first, then whatever installed packages announce.

A package adds a solver through the entry-point group `rheotwin.solvers`. A plug-in that cannot be loaded is a
warning, never a crash; an unknown name lists what exists.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.solver import Solver

GROUP = "rheotwin.solvers"
BUILT_IN: dict[str, str] = {
    "fem": "rheotwin.fem:FemSolver",
    "truss": "rheotwin.particles:TrussSolver",
    "fixed-point": "rheotwin.particles.fixed_point:FixedPointSolver",
    "shear-volume": "rheotwin.particles.shear_volume:ShearVolumeSolver",
}


def _outside_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP) if BUILT_IN.get(point.name) != point.value}


def _load_outside(point: EntryPoint) -> Solver | None:
    if point.name in BUILT_IN:
        warnings.warn(
            f"solver plug-in '{point.name}' ({point.value}) has the name of a built-in solver: ignored", stacklevel=3
        )
        return None
    try:
        solver = cast(Solver, point.load()())
        missing = [
            part for part in ("name", "description", "capabilities", "options", "start") if not hasattr(solver, part)
        ]
        if missing:
            raise TypeError(f"it lacks {', '.join(missing)}")
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        warnings.warn(
            f"solver plug-in '{point.name}' ({point.value}) could not be loaded ({reason}): ignored", stacklevel=3
        )
        return None
    return solver


def _load_built_in(name: str) -> Solver:
    module, attribute = BUILT_IN[name].split(":")
    return cast(Solver, getattr(import_module(module), attribute)())


def all_solvers() -> dict[str, Solver]:
    """Return every usable solver by name, built-in ones first; broken plug-ins only warn."""
    solvers = {name: _load_built_in(name) for name in BUILT_IN}
    for name, point in sorted(_outside_entry_points().items()):
        solver = _load_outside(point)
        if solver is not None:
            solvers[name] = solver
    return solvers


def solver_names() -> list[str]:
    """Return the names of all solvers that are announced, without loading any."""
    return [*BUILT_IN, *sorted(set(_outside_entry_points()) - set(BUILT_IN))]


def find_solver(name: str) -> Solver:
    """Return the solver of that name; an unknown name raises with what exists and the nearest one."""
    if name in BUILT_IN:
        return _load_built_in(name)
    solvers = all_solvers()
    if name not in solvers:
        raise RheotwinError(
            f"solver: there is no solver named {name!r}{nearest_name(name, solvers)}; installed: {', '.join(solvers)}"
        )
    return solvers[name]
