"""Forces of other packages: what a plug-in of the entry-point group `rheotwin.forces` is, and how it is found.

A package announces a class. `options` is its table of options (a pydantic model); it is made of a problem and these,
and then adds stages to every program of the truss, its stiffness and viscosity to the stable step, and its energy to
the account. Its kernels are declared by `rheotwin.kernels.compiled.compiled` and follow their sources as ours do.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol, cast

from pydantic import BaseModel, ValidationError
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.errors import InputFaults, RheotwinError, nearest_name
from rheotwin.kernels.stage import Stage
from rheotwin.problem import Problem
from rheotwin.scene.faults import option_faults

GROUP = "rheotwin.forces"


class OutsideForce(Protocol):
    """A force on particles; arrays of positions, velocities and forces are (N, 3), padded with zeros."""

    options: ClassVar[type[BaseModel]]

    def __init__(self, problem: Problem, options: Any) -> None: ...

    def matrices(self) -> tuple[csr_matrix, csr_matrix]:
        """Return stiffness [N/m] and viscosity [N s/m] on the components (N*d), or what bounds them."""

    def stages(self, x: Array, v: Array, force: Array) -> list[Stage]:
        """Return the stages that add the force [N] at positions [m] and velocities [m/s]."""

    def energy(self, x: Array) -> float:
        """Return the energy stored at positions (N, 3) [J]."""


def outside_forces(problem: Problem, asked: Mapping[str, Mapping[str, Any]]) -> tuple[OutsideForce, ...]:
    """Make the forces asked for by name, each with its options."""
    return tuple(_force(problem, name, options) for name, options in asked.items())


def _force(problem: Problem, name: str, options: Mapping[str, Any]) -> OutsideForce:
    place, known = f"solvers.truss.forces.{name}", {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        there = f"; installed: {', '.join(sorted(known))}" if known else "; no package here announces any"
        raise RheotwinError(f"{place}: no force is named {name!r}{nearest_name(name, known)}{there}")
    try:
        made: Any = known[name].load()
    except Exception as error:
        raise RheotwinError(f"{place}: its package cannot be loaded: {type(error).__name__}: {error}") from error
    try:
        checked = made.options.model_validate(dict(options))
    except ValidationError as error:
        raise InputFaults("solver options", option_faults(error, place, made.options.model_fields)) from None
    return cast(OutsideForce, made(problem, checked))


def add_outside_matrices(
    others: list[tuple[csr_matrix, float]], forces: tuple[OutsideForce, ...]
) -> list[tuple[csr_matrix, float]]:
    """Add stiffness and viscosity of these forces to those of what is not in the network."""
    for force in forces:
        others = [(matrix + own, bound) for (matrix, bound), own in zip(others, force.matrices(), strict=True)]
    return others
