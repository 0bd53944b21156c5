"""G1 and G2: the continuum of the calibration specification (section 10) by finite elements in rates, for records.

Inertia is negligible. On the mesh x_n, with d = sym grad v, w = skew grad v, deviator by deviator and volume by volume:

    (mu1, eta1) side by side, eta2 in series:   D = 2 eta1 + 2 eta2 + 2 mu1 h,   d1 = (2 eta2 dev d - 2 mu1 e)/D,
    s = 2 eta2 (dev d - d1),   p = kappa (th + h tr d)/(1 + kappa h/zeta),   div (s + p I) = 0

is linear in v: one solve per step. Then e += h (d1 + w e - e w), th = p/kappa, x += h v. The deviator is integrated at
eight points, the volume at the middle of each hexahedron, so that it does not lock. No code of a solver is in here.

G2 adds a branch of large strain beside it and Coulomb's friction on supports, both linear in v in a step:

    F += h grad v F,   s += G J^(-5/3) dev(F F^T) + 2 G h dev d,      t = -c (v - V)_t,  c = mu |p|/max(|v - V|_t, v_s)

with the force p and the slip of the step before. A support with friction holds its nodes in the vertical alone, and on
a fixed one p is at least the body's weight shared out, so that the body is somewhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, ValidationError
from scipy.sparse import csc_matrix, diags
from scipy.sparse.linalg import splu
from skfem import Basis, ElementHex1, MeshHex1
from skfem.quadrature import get_quadrature

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.materials import ThreeElement
from rheotwin.population import Courses
from rheotwin.problem import Prescribed, Problem
from rheotwin.scene.faults import option_faults

STEP = 0.02
"""Step [s] of the specification."""
SLIP, GRAVITY = 1e-4, 9.81
"""Speed [m/s] below which friction grows with it; what presses a body on its floor [m/s2]."""
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


class ContinuumOptions(BaseModel):
    """What a scene says of the continuum in `[solvers.continuum]`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: float = Field(default=STEP, gt=0.0, description="length of a step [s]")
    branch: float = Field(default=0.0, ge=0.0, description="shear modulus G [Pa] of a neo-Hookean branch")
    friction: dict[str, NonNegativeFloat] = Field(default_factory=dict, description="mu by the name of a support")


def continuum_course(problem: Problem, times: Array, *, step: float | None = None) -> Courses:
    """Return the course of one body of hexahedra between supports that hold all components of their nodes."""
    if len(problem.bodies) != 1 or problem.bodies[0].cell != "hex" or problem.tools or problem.loads:
        raise RheotwinError("continuum: it takes one body of hexahedra between supports, without tools and forces")
    try:
        options = ContinuumOptions.model_validate(problem.scene.solvers.get("continuum", {}))
    except ValidationError as error:
        raise InputFaults(
            "solver options", option_faults(error, "solvers.continuum", ContinuumOptions.model_fields)
        ) from None
    if strange := set(options.friction) - set(problem.scene.supports):
        raise RheotwinError(f"solvers.continuum.friction: no support is named '{min(strange)}'")
    step = step or options.step
    body = _Continuum(problem, step, options)
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
    """Places x (N, 3) [m] and force (N, 3) [N] of nodes on their supports.

    States: e, F (3, 3, E, Q), th (E,), velocities (N, 3) [m/s].
    """

    def __init__(self, problem: Problem, step: float, options: ContinuumOptions) -> None:
        self._problem, self._h, self._options = problem, step, options
        self._law = constants_of(problem.bodies[0].law)
        self._cells: Indices = problem.bodies[0].mesh.t
        self.x, self.steps = problem.points.copy(), 0
        self.force = np.zeros_like(self.x)
        self._e, self._th = np.zeros((3, 3, self._cells.shape[1], 8)), np.zeros(self._cells.shape[1])
        self._f = np.tile(np.eye(3)[:, :, None, None], self._e.shape[2:])
        self._velocity = np.zeros_like(self.x)
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
        bulk, stress = law.kappa / (1.0 + law.kappa * h / law.zeta), memory * self._e
        if self._options.branch:
            shear += self._options.branch * h
            b = np.einsum("ikeq,jkeq->ijeq", self._f, self._f)
            volume = np.linalg.det(self._f.transpose(2, 3, 0, 1))
            stress = stress + self._options.branch * volume ** (-5.0 / 3.0) * _deviator(b)
        products = np.einsum("aieq,bjeq,eq->eaibj", slopes, slopes, weights, optimize=True)
        trace = np.einsum("eakbk->eab", products)
        stiffness = shear * products.transpose(0, 1, 4, 3, 2) - (2.0 / 3.0) * shear * products
        stiffness += np.einsum("aie,bje,e->eaibj", middle, middle, h * bulk * volumes, optimize=True)
        for i in range(3):
            stiffness[:, :, i, :, i] += shear * trace
        stored = np.einsum("ijeq,ajeq,eq->eai", stress, slopes, weights, optimize=True)
        stored += np.einsum("aie,e->eai", middle, bulk * self._th * volumes)
        size = self.x.size
        load = np.bincount(self._dofs.ravel(), weights=stored.ravel(), minlength=size)
        matrix = csc_matrix((stiffness.ravel(), (self._rows, self._columns)), shape=(size, size))
        v, free, rubbing, slides = self._held()
        right = rubbing * slides - load - matrix @ v
        rubbed = (matrix + diags(rubbing, format="csc"))[free][:, free]
        v[free] = splu(rubbed, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(right[free])
        self.force = -(matrix @ v + load).reshape(-1, 3)
        velocity = self._velocity = v.reshape(-1, 3)
        gradient = np.einsum("ajeq,aei->ijeq", slopes, velocity[self._cells], optimize=True)
        rate, spin = 0.5 * (gradient + gradient.swapaxes(0, 1)), 0.5 * (gradient - gradient.swapaxes(0, 1))
        deviator = _deviator(rate)
        own = (2.0 * law.eta2 * deviator - 2.0 * law.mu1 * self._e) / d
        turned = np.einsum("ikeq,kjeq->ijeq", spin, self._e)
        self._e = self._e + h * (own + turned + turned.swapaxes(0, 1))
        self._f = self._f + h * np.einsum("ikeq,kjeq->ijeq", gradient, self._f)
        change = np.einsum("aie,aei->e", middle, velocity[self._cells])
        self._th = (self._th + h * change) / (1.0 + law.kappa * h / law.zeta)
        self.x = self.x + h * velocity
        self.steps += 1

    def _held(self) -> tuple[Array, Flags, Array, Array]:
        """Return velocities (3 N,) with those of supports in this step, and which components are free.

        Then how friction resists [N s/m], and how fast slides what it acts on [m/s], by component.
        """
        begin, end = self.steps * self._h, (self.steps + 1) * self._h
        v, free = np.zeros(self.x.shape), np.ones(self.x.shape, dtype=bool)
        rubbing, slides = np.zeros(self.x.shape), np.zeros(self.x.shape)
        for item in self._problem.prescribed:
            if not item.begin <= begin + 0.5 * self._h < item.end:
                continue
            moved = (item.motion.at(end) - item.motion.at(begin))[:3] / self._h
            friction = self._options.friction.get(item.support)
            components = np.array(item.components if friction is None else item.components[-1:])
            at = np.ix_(item.nodes, components)
            v[at], free[at] = moved[components], False
            if friction is not None:
                rubbing[item.nodes, :2] = self._rubbing(item, friction, moved)[:, None]
                slides[item.nodes] = moved
        return v.ravel(), free.ravel(), rubbing.ravel(), slides.ravel()

    def _rubbing(self, item: Prescribed, friction: float, moved: Array) -> Array:
        """Return c (n,) [N s/m] of the nodes of a support."""
        pull = self.force[item.nodes, 2]  # of the body on the support
        weight = 0.0 if item.motion.moves else GRAVITY * self._problem.masses.sum() / len(item.nodes)
        pressure = np.maximum(pull if item.motion.moves else -pull, weight)
        slip = np.linalg.norm((self._velocity[item.nodes] - moved)[:, :2], axis=1)
        return np.asarray(friction * pressure / np.maximum(slip, SLIP))


def _deviator(tensor: Array) -> Array:
    """Return the deviator of tensors (3, 3, ..)."""
    return np.asarray(tensor - np.einsum("kk...,ij->ij...", tensor, np.eye(3)) / 3.0)


def _slopes(mesh: MeshHex1, quadrature: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return gradients (8, 3, E, Q) [1/m] of the shape functions and weights (E, Q) [m3] of the places they are at."""
    basis = Basis(mesh, ElementHex1(), quadrature=quadrature)
    return np.stack([item[0].grad for item in basis.basis]), np.abs(basis.dx)
