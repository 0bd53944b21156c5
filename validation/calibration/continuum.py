"""G1: the continuum of the calibration specification (section 10) by finite elements in rates, for records of its own.

Inertia is negligible. On the mesh x_n, with d = sym grad v, w = skew grad v, deviator by deviator and volume by volume:

    (mu1, eta1) side by side, eta2 in series:   D = 2 eta1 + 2 eta2 + 2 mu1 h,   d1 = (2 eta2 dev d - 2 mu1 e)/D,
    s = 2 eta2 (dev d - d1),   p = kappa (th + h tr d)/(1 + kappa h/zeta),   div (s + p I) = 0

is linear in v: one solve per step. Then e += h (d1 + w e - e w), th = p/kappa, x += h v. The deviator is integrated at
eight points, the volume at the middle of each hexahedron, so that it does not lock. No code of a solver is in here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu
from skfem import Basis, ElementHex1, MeshHex1
from skfem.quadrature import get_quadrature

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import RheotwinError
from rheotwin.materials import ThreeElement
from rheotwin.population import Courses
from rheotwin.problem import Problem

STEP = 0.02
"""Step [s] of the specification."""
MIDDLE = np.full((3, 1), 0.5), np.ones(1)
"""The middle of the reference hexahedron and its weight."""


class Constants(NamedTuple):
    """mu1 [Pa], eta1, eta2 [Pa s] of the deviator, kappa [Pa], zeta [Pa s] of the volume."""

    mu1: float
    eta1: float
    eta2: float
    kappa: float
    zeta: float


def constants_of(law: object) -> Constants:
    """Return the constants of a three-element law whose dashpot beside the spring resists shear only."""
    if not isinstance(law, ThreeElement) or law.parts[1].bulk > 0.0:
        raise RheotwinError("continuum: it takes a three-element law without a bulk viscosity beside its spring")
    spring, beside, series = law.parts
    return Constants(spring.shear, beside.shear, series.shear, spring.bulk, series.bulk)


def continuum_course(problem: Problem, times: Array, *, step: float = STEP) -> Courses:
    """Return the course of one body of hexahedra between supports that hold all components of their nodes."""
    if len(problem.bodies) != 1 or problem.bodies[0].cell != "hex" or problem.tools or problem.loads:
        raise RheotwinError("continuum: it takes one body of hexahedra between supports, without tools and forces")
    body = _Continuum(problem, step)
    places = np.zeros((len(times), 3, len(problem.points), 1))
    forces = {f"support.{item.support}": np.zeros((len(times), 3, 1)) for item in problem.prescribed}
    for k, time in enumerate(times):
        while body.steps * step < time - 0.5 * step:
            body.advance()
        places[k, :, :, 0] = body.x.T
        for item in problem.prescribed:
            if item.begin <= time <= item.end:
                forces[f"support.{item.support}"][k, :, 0] += body.force[item.nodes].sum(axis=0)
    return Courses(places, forces, (None,))


class _Continuum:
    """Places x (N, 3) [m] and force (N, 3) [N] of nodes on their supports, the states e (3, 3, E, Q) and th (E,)."""

    def __init__(self, problem: Problem, step: float) -> None:
        self._problem, self._h = problem, step
        self._law = constants_of(problem.bodies[0].law)
        self._cells: Indices = problem.bodies[0].mesh.t
        self.x, self.steps = problem.points.copy(), 0
        self.force = np.zeros_like(self.x)
        self._e, self._th = np.zeros((3, 3, self._cells.shape[1], 8)), np.zeros(self._cells.shape[1])
        dofs = (3 * self._cells.T[:, :, None] + np.arange(3)).reshape(self._cells.shape[1], 24)
        self._rows, self._columns = np.repeat(dofs, 24, axis=1).ravel(), np.tile(dofs, (1, 24)).ravel()
        self._dofs = dofs

    def advance(self) -> None:
        """Take a step."""
        law, h = self._law, self._h
        mesh = MeshHex1(np.ascontiguousarray(self.x.T), self._cells, validate=False, sort_t=False)
        slopes, weights = _slopes(mesh, get_quadrature(mesh.elem.refdom, 2))
        middle, volumes = (array[..., 0] for array in _slopes(mesh, MIDDLE))
        d = 2.0 * (law.eta1 + law.eta2 + law.mu1 * h)
        shear, memory = law.eta2 * (1.0 - 2.0 * law.eta2 / d), 4.0 * law.eta2 * law.mu1 / d
        bulk = law.kappa / (1.0 + law.kappa * h / law.zeta)
        products = np.einsum("aieq,bjeq,eq->eaibj", slopes, slopes, weights, optimize=True)
        trace = np.einsum("eakbk->eab", products)
        stiffness = shear * products.transpose(0, 1, 4, 3, 2) - (2.0 / 3.0) * shear * products
        stiffness += np.einsum("aie,bje,e->eaibj", middle, middle, h * bulk * volumes, optimize=True)
        for i in range(3):
            stiffness[:, :, i, :, i] += shear * trace
        stored = memory * np.einsum("ijeq,ajeq,eq->eai", self._e, slopes, weights, optimize=True)
        stored += np.einsum("aie,e->eai", middle, bulk * self._th * volumes)
        size = self.x.size
        load = np.bincount(self._dofs.ravel(), weights=stored.ravel(), minlength=size)
        matrix = csc_matrix((stiffness.ravel(), (self._rows, self._columns)), shape=(size, size))
        v, free = self._held()
        right = -load - matrix @ v
        solved = splu(matrix[free][:, free], permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        v[free] = solved.solve(right[free])
        self.force = -(matrix @ v + load).reshape(-1, 3)
        velocity = v.reshape(-1, 3)
        gradient = np.einsum("ajeq,aei->ijeq", slopes, velocity[self._cells], optimize=True)
        rate, spin = 0.5 * (gradient + gradient.swapaxes(0, 1)), 0.5 * (gradient - gradient.swapaxes(0, 1))
        deviator = rate - np.einsum("kkeq,ij->ijeq", rate, np.eye(3)) / 3.0
        own = (2.0 * law.eta2 * deviator - 2.0 * law.mu1 * self._e) / d
        turned = np.einsum("ikeq,kjeq->ijeq", spin, self._e)
        self._e = self._e + h * (own + turned + turned.swapaxes(0, 1))
        change = np.einsum("aie,aei->e", middle, velocity[self._cells])
        self._th = (self._th + h * change) / (1.0 + law.kappa * h / law.zeta)
        self.x = self.x + h * velocity
        self.steps += 1

    def _held(self) -> tuple[Array, Flags]:
        """Return velocities (3 N,) with those of supports in this step, and which components are free."""
        begin, end = self.steps * self._h, (self.steps + 1) * self._h
        v, free = np.zeros(self.x.shape), np.ones(self.x.shape, dtype=bool)
        for item in self._problem.prescribed:
            if item.begin <= begin + 0.5 * self._h < item.end:
                at = np.ix_(item.nodes, np.array(item.components))
                v[at] = (item.motion.at(end) - item.motion.at(begin))[: len(item.components)] / self._h
                free[at] = False
        return v.ravel(), free.ravel()


def _slopes(mesh: MeshHex1, quadrature: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return gradients (8, 3, E, Q) [1/m] of the shape functions and weights (E, Q) [m3] of the places they are at."""
    basis = Basis(mesh, ElementHex1(), quadrature=quadrature)
    return np.stack([item[0].grad for item in basis.basis]), np.abs(basis.dx)
