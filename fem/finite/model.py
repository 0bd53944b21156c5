"""A problem made ready for large motion: bodies with kinematics and law, unknowns, masses, loads, supports, tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from rheotwin.errors import RheotwinError
from rheotwin.fem.finite.assembly import pattern
from rheotwin.fem.finite.body import FiniteBody
from rheotwin.fem.finite.contact import Pairs, ToolContact
from rheotwin.fem.finite.corotational import Corotational
from rheotwin.fem.finite.geometry import element_geometry
from rheotwin.fem.finite.isochoric_law import Isochoric
from rheotwin.fem.finite.newton import Frame
from rheotwin.fem.finite.small_strain_law import SmallStrain
from rheotwin.fem.finite.total_lagrangian import TotalLagrangian
from rheotwin.fem.linear import Nodes, factorise, require_no_free_modes
from rheotwin.fem.system import Discretisation, warn_of_locking
from rheotwin.problem import Problem, ProblemBody

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Description = Literal["corotational", "total-lagrangian"]
DESCRIPTIONS: dict[str, Description] = {"corotational": "corotational", "total-lagrangian": "total-lagrangian"}


@dataclass(frozen=True)
class FiniteModel:
    """Bodies and what acts on them; vectors (size,) run node-major over all bodies."""

    problem: Problem
    bodies: tuple[FiniteBody, ...]
    mass: Array
    """Lumped mass of each component [kg]."""
    inertia: bool
    """Whether the mass counts."""
    frame: Frame

    @property
    def size(self) -> int:
        """Number of components."""
        return len(self.mass)

    def loads(self, time: float) -> Array:
        """Return weight and applied forces (size,) [N] at `time` [s]."""
        problem = self.problem
        force = self.mass.reshape(problem.points.shape) * problem.gravity
        for load in problem.loads:
            np.add.at(force, load.nodes, load.factor.at(time)[0] * load.shares)
        return np.asarray(force).ravel()

    def held_displacement(self, time: float) -> Array:
        """Return the displacement (size,) [m] that the supports prescribe at `time` [s], zero elsewhere."""
        target = np.zeros(self.problem.points.shape)
        for item in reversed(self.problem.prescribed):
            target[np.ix_(item.nodes, np.array(item.components))] = item.motion.at(time)[list(item.components)]
        return target.ravel()

    def nodal_sum(self, forces: list[Array]) -> Array:
        """Return element forces (e, m) of all bodies added up at the components (size,) [N]."""
        total = np.zeros(self.size)
        for body, part in zip(self.bodies, forces, strict=True):
            total += body.geometry.nodal_sum(part, self.size)
        return total

    def normals(self, pairs: Pairs, touching: Flags) -> Array:
        """Return N (size, n): the normals of touching pairs on the free components of their nodes."""
        chosen, (count, d) = np.flatnonzero(touching), self.problem.points.shape
        normals = np.zeros((count, d, len(chosen)))
        normals[pairs.node[chosen], :, np.arange(len(chosen))] = pairs.normal[chosen, :d]
        return np.where(self.frame.free[:, None], normals.reshape(count * d, -1), 0.0)


def build_model(problem: Problem, description: Description, *, inertia: bool) -> FiniteModel:
    """Prepare a problem for the chosen description of large motion."""
    for body in problem.bodies:
        warn_of_locking(body, problem, Discretisation())
    bodies = tuple(_finite_body(body, problem, description) for body in problem.bodies)
    geometries = [body.geometry for body in bodies]
    free = problem.owners < 0
    if not inertia:
        for body in problem.bodies:
            require_no_free_modes(body.name, problem.points[body.nodes], ~free[body.nodes])
    flowing = any(body.viscous for body in bodies)
    unsymmetric = inertia or (flowing and description == "total-lagrangian")
    components = np.arange(problem.points.size).reshape(problem.points.shape)
    volume = max(float(geometry.weights.sum(axis=1).max()) for geometry in geometries)
    frame = Frame(
        free=free.ravel(),
        pattern=pattern([*(geometry.dofs for geometry in geometries), components], free.ravel()),
        contact=ToolContact(problem.tools, free),
        points=problem.points,
        factorise=_solver(Nodes(problem.points, np.flatnonzero(free)), symmetric=not unsymmetric),
        element_size=float((volume / problem.thickness) ** (1.0 / problem.dimension)),
        extent=problem.extent,
    )
    return FiniteModel(problem, bodies, np.repeat(problem.masses, problem.dimension), inertia, frame)


def _finite_body(body: ProblemBody, problem: Problem, description: Description) -> FiniteBody:
    """Return a body of the problem with the law that belongs to the description of its motion."""
    if problem.dimension == 1:
        raise RheotwinError(f'solvers.fem.kinematics: "{description}" needs two or three dimensions; choose "small"')
    if problem.dimension == 2 and problem.plane != "strain":
        raise RheotwinError(
            f'solvers.fem.kinematics: "{description}" knows plane = "strain" only, not "{problem.plane}"; '
            'choose that plane or kinematics = "small"'
        )
    geometry = element_geometry(body.mesh, body.cell, thickness=problem.thickness, first_node=body.first_node)
    bulk, shear = body.law.channel("bulk"), body.law.channel("shear")
    if description == "corotational":
        return FiniteBody(body.name, Corotational(geometry), SmallStrain(), bulk, shear)
    return FiniteBody(body.name, TotalLagrangian(geometry), Isochoric(), bulk, shear)


def _solver(nodes: Nodes, *, symmetric: bool) -> Callable[[csr_matrix], Callable[[Array], Array]]:
    """Return the map from tangents to solvers: any for symmetric ones, which may lose definiteness, else SuperLU."""

    def prepare(matrix: csr_matrix) -> Callable[[Array], Array]:
        if matrix.shape[0] == 0:
            return lambda right: right
        return factorise(matrix, "auto" if symmetric else "splu", kind="indefinite", nodes=nodes).solve

    return prepare
