"""The papers' shear elements, as printed but for their sign, and pressures beside them (spec sections 3.2, 3.4, 9).

In the plane a corner with edges a, b has one strain (E1, E2, E22, E23), and a triangle has three of them, a
quadrilateral four:

    gamma_i = cot(theta_i) - cot(theta_i at rest),   cot(theta_i) = a . b/(a x b)             (4.1), (4.12)
    F_i = +tau_i/2 (a + b),   -F_i/2 on either neighbour                                      (4.3), (4.13), (4.16)

In space, with edges x_m, m = 1, 2, 3, unit edges e_m, unit normals n_m of the face of the other two, pointing to its
x_m side, and areas S_m of these faces, each ordered pair of edges has a strain and a force of its own (E1, E3-E6):

    gamma_mp = x_m . e_p/(x_m . n_m) - the same at rest                                        (4.22)-(4.27)
    f_mp = +tau_mp/4 (S_m e_p + S_p n_m)   on the corner                                       (4.28), (4.29)
    -r_t f_mp on the end of edge t,   r = alpha/sum(alpha),   S_m e_p + S_p n_m = sum_t alpha_t x_t

tau is what a network answers to gamma. Printed, signs are the opposite (E1), with which a corner that closes is shut
further, the last two rows of (4.29) are swapped (E6) and nothing takes the reaction in space. Here it goes term by term
to the point where the line of the force meets the opposite face; the only choice that is linear in small strains and
keeps both momenta. It is singular where a force is parallel to that face.

NOT CONSERVATIVE: momenta are kept, but only equilateral triangles have a potential (and the shear modulus 1.5 G). Any
other does work in a closed cycle of strain, 8 pi G S a^2 in a right isosceles one, and its stiffness has a negative
eigenvalue, -0.79 G there. Quadrilaterals do not resist e_xx - e_yy at all. A regular tetrahedron is cubic, with shear
moduli 4.31 G and 2.34 G; those of other shapes are indefinite. Strains are as printed: on the dual basis of the edges
(E4) the moduli are 6.55 G and 0.85 G, no better. Kept to repeat the papers' figures; the other elements are for work.

Networks that soften do so as on the edges of a truss, with strain rates r of the present velocities:

    g = k d + (c1 + k h) r,     |f| (1 + (c1 + k h)/c2(|f|)) = |g|,     d <- d + h (r - f/c2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.kernels.blocks import STEP
from rheotwin.kernels.layouts import add, apart, one_by_one, subtract
from rheotwin.kernels.program import Clock, Program
from rheotwin.kernels.stage import Stage
from rheotwin.kernels.vectors import formula, load, store
from rheotwin.particles.forces.cells import tetrahedron, triangle
from rheotwin.particles.forces.edges import dot
from rheotwin.particles.forces.elements import REST, STIFFNESS, constants_of, linear_response
from rheotwin.particles.forces.softening import softened
from rheotwin.particles.network import Constants, kernel_elements
from rheotwin.particles.shear_volume.elements import AllElements, Elements, corner_cotangents, corner_rows
from rheotwin.particles.shear_volume.softening import SofteningConstants, joined, rows_at

STRAINS = 6
"""Strains of a corner in space: (m, p) = (0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)."""
_EVEN = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 0, 1, 3], [3, 0, 2, 1]])
"""Corners of a cell, each first once, in orders that keep its orientation."""


class Remembered(NamedTuple):
    """Arms (arms, n) of n strains, the stress of what softens behind them, and Voigt parts (n,) if any does."""

    arms: Array
    voigt: Array


class Networks(NamedTuple):
    """Constants of n strains: `linear` rows as in `forces.elements`; where some soften their measure, 0 elsewhere.

    `rows` (7, n) are those of `softening`, `step` [s] is 0 to leave Voigt parts as they are.
    """

    linear: Array
    size: Array
    rows: Array
    step: float


@dataclass(frozen=True)
class Strains:
    """Elements with `corners` (M, c) whose networks answer n scalar strains; `numbers` (1, n) are REST."""

    element: Any
    corners: Indices
    numbers: Array
    networks: Networks
    arms: int

    def nothing(self) -> Remembered:
        """Return what networks remember at rest."""
        count, soft = self.numbers.shape[1], len(self.networks.size)
        return Remembered(np.zeros((self.arms + (soft > 0), count)), np.zeros(soft))

    def stages(self, memory: Remembered, x: Array, v: Array, force: Array) -> list[Stage]:
        """Return the stage that advances networks and adds forces (N, 3) [N]; none without elements."""
        add, arguments = one_by_one(self.element, self.corners.shape[1]), (self.numbers, self.networks, memory, STEP)
        return [Stage(add, (self.corners, x, v, force, *arguments))] if len(self.corners) else []

    def without_springs(self) -> Strains:
        """Return the elements with their arms alone."""
        linear = self.networks.linear.copy()
        linear[STIFFNESS] = 0.0
        return replace(self, networks=self.networks._replace(linear=linear))

    def add_forces(self, memory: Remembered, x: Array, v: Array, force: Array) -> None:
        """Take the stage once."""
        Program(self.stages(memory, x, v, force), 0.0, Clock()).run(0, 1)


@cache
def _response(arms: int, softens: bool) -> Any:
    """Return f(networks, numbers, memory, at, strain, rate): the stress, all internal variables advanced."""
    linear = linear_response(True, arms, None)

    @formula
    def response(networks: Networks, numbers: Any, memory: Remembered, at: Any, strain: Any, rate: Any) -> Any:
        found = linear(networks.linear, numbers, memory.arms, at, strain, rate)
        if softens and networks.size[at] > 0.0:
            spring, voigt, stiff, soft, start, end, exponent = rows_at(networks.rows, at)
            h, d = networks.step, memory.voigt[at]
            c, guess = voigt + spring * h, load(memory.arms, arms, at)
            f, flow = softened(spring * d + c * rate, c, stiff, soft, start, end, exponent, guess)
            memory.voigt[at] = d + h * (rate - flow)
            store(memory.arms, arms, at, f)
            found = found + networks.size[at] * f
        return found

    return response


@cache
def corner(response: Any) -> Any:
    """Return the element of a corner in the plane and its two neighbours."""

    @formula
    def corner(
        x: Any, v: Any, force: Any, corners: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:  # fmt: skip
        i, j, k = corners[0], corners[1], corners[2]
        a, b, u, w = apart(x, i, j), apart(x, i, k), apart(v, i, j), apart(v, i, k)
        double_area = a[0] * b[1] - a[1] * b[0]
        cotangent = (a[0] * b[0] + a[1] * b[1]) / double_area
        turning = u[0] * b[1] + a[0] * w[1] - u[1] * b[0] - a[1] * w[0]
        rate = (u[0] * b[0] + a[0] * w[0] + u[1] * b[1] + a[1] * w[1] - cotangent * turning) / double_area
        stress = response(constants, numbers, states, at, cotangent - load(numbers, REST, at), rate)
        fx, fy = 0.5 * stress * (a[0] + b[0]), 0.5 * stress * (a[1] + b[1])
        add(force, i, (fx, fy, 0.0))
        subtract(force, j, (0.5 * fx, 0.5 * fy, 0.0))
        subtract(force, k, (0.5 * fx, 0.5 * fy, 0.0))

    return corner


@cache
def quadrilateral(response: Any) -> Any:
    """Return the element that pushes the corners of a quadrilateral by its signed area S = (x2 - x0) x (x3 - x1)/2."""

    @formula
    def quadrilateral(
        x: Any, v: Any, force: Any, corners: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:  # fmt: skip
        i, j, k, m = corners[0], corners[1], corners[2], corners[3]
        a, b, u, w = apart(x, i, k), apart(x, j, m), apart(v, i, k), apart(v, j, m)
        per_rest = load(numbers, REST, at)
        rate = 0.5 * (u[0] * b[1] + a[0] * w[1] - u[1] * b[0] - a[1] * w[0]) * per_rest
        strain = 0.5 * (a[0] * b[1] - a[1] * b[0]) * per_rest - 1.0
        half = 0.5 * response(constants, numbers, states, at, strain, rate)
        across, along = (half * b[1], -half * b[0], 0.0), (half * a[1], -half * a[0], 0.0)
        add(force, i, across)
        subtract(force, k, across)
        subtract(force, j, along)
        add(force, m, along)

    return quadrilateral


@formula
def _cross(a: Any, b: Any) -> Any:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@formula
def _with_normals(a: Any) -> Any:
    """Return edges x_m, cross products c_m = x_(m+1) x x_(m+2), |x_m|, |c_m| and six times the signed volume."""
    c = _cross(a[1], a[2]), _cross(a[2], a[0]), _cross(a[0], a[1])
    lengths = np.sqrt(dot(a[0], a[0])), np.sqrt(dot(a[1], a[1])), np.sqrt(dot(a[2], a[2]))
    areas = np.sqrt(dot(c[0], c[0])), np.sqrt(dot(c[1], c[1])), np.sqrt(dot(c[2], c[2]))
    return a, c, lengths, areas, dot(a[0], c[0])


@formula
def _pair_strain(shape: Any, m: int, p: int) -> Any:
    """Return x_m . e_p/(x_m . n_m) = (x_m . x_p) |c_m|/(|x_p| volume)."""
    a, _, lengths, areas, volume = shape
    return dot(a[m], a[p]) * areas[m] / (lengths[p] * volume)


@formula
def _pair_rate(shape: Any, b: Any, m: int, p: int) -> Any:
    """Return the rate of that at the rates b of the edges [1/s]."""
    a, c, lengths, areas, volume = shape
    n, q = (m + 1) % 3, (m + 2) % 3
    one, other = _cross(b[n], a[q]), _cross(a[n], b[q])
    turned = dot(c[m], one) + dot(c[m], other)
    flow = dot(b[0], c[0]) + dot(b[1], c[1]) + dot(b[2], c[2])
    grown = turned / areas[m] ** 2 - dot(a[p], b[p]) / lengths[p] ** 2 - flow / volume
    scale = areas[m] / (lengths[p] * volume)
    return (dot(b[m], a[p]) + dot(a[m], b[p])) * scale + dot(a[m], a[p]) * scale * grown


@cache
def tetrahedron_corner(response: Any) -> Any:
    """Return the element of a corner in space and the other three."""

    @formula
    def tetrahedron_corner(
        x: Any, v: Any, force: Any, corners: Any, at: Any, numbers: Any, constants: Any, states: Any, h: Any
    ) -> None:  # fmt: skip
        o, i, j, k = corners[0], corners[1], corners[2], corners[3]
        shape = _with_normals((apart(x, o, i), apart(x, o, j), apart(x, o, k)))
        a, c, lengths, areas, volume = shape
        b = apart(v, o, i), apart(v, o, j), apart(v, o, k)
        for s in range(STRAINS):
            m, p, row = s // 2, (s // 2 + 1 + s % 2) % 3, STRAINS * at + s
            strain = _pair_strain(shape, m, p) - load(numbers, REST, row)
            stress = response(constants, numbers, states, row, strain, _pair_rate(shape, b, m, p))
            along, across = 0.125 * stress * areas[m] / lengths[p], 0.125 * stress * areas[p] / areas[m]
            e, n = a[p], c[m]
            pull = along * e[0] + across * n[0], along * e[1] + across * n[1], along * e[2] + across * n[2]
            total = along
            for t in range(3):
                total += across * dot(n, c[t]) / volume
            if total != 0.0:
                add(force, o, pull)
                for t in range(3):
                    share = across * dot(n, c[t]) / volume
                    share = (share + along if t == p else share) / total
                    subtract(force, corners[t + 1], (share * pull[0], share * pull[1], share * pull[2]))

    return tetrahedron_corner


def tetrahedron_corners(cells: Indices) -> Indices:
    """Return (4E, 4): every corner of tetrahedra (E, 4) followed by the others, oriented as the cell."""
    return np.ascontiguousarray(cells[:, _EVEN].reshape(-1, 4))


def shear_strains(points: Array, corners: Indices) -> Array:
    """Return strains (C,) of corner rows (C, 3), or (6 C,) of rows (C, 4), to be taken off as those at rest."""
    if corners.shape[1] == 3:
        return corner_cotangents(points, corners)
    shape = _with_normals(tuple((points[corners[:, m]] - points[corners[:, 0]]).T for m in (1, 2, 3)))
    pairs = [_pair_strain(shape, s // 2, (s // 2 + 1 + s % 2) % 3) for s in range(STRAINS)]
    return np.stack(pairs, axis=1).ravel()


def shear_elements(
    corners: Indices, points: Array, constants: Constants, h: float, soft: SofteningConstants | None = None
) -> Strains:
    """Pack corner rows (C, 3) in the plane or (C, 4) in space with rest points (N, 3) [m] for steps of `h` [s].

    Constants are the shear modulus [Pa] times the thickness [m] of every strain.
    """
    element = corner if corners.shape[1] == 3 else tetrahedron_corner
    return _strains(element, corners, shear_strains(points, corners), constants, h, soft)


def pressure_elements(kind: Elements, h: float, dimension: int) -> Strains:
    """Pack the changes of volume or area of simplices or quadrilaterals."""
    corners = kind.cells.shape[1]
    element = triangle if corners == 3 else tetrahedron if dimension == 3 else quadrilateral
    made = element if element is quadrilateral else _with_spring(element)
    return _strains(made, kind.cells, 1.0 / kind.rest, _per_size(kind.volume, kind, 1), h, _soft(kind, "volume", 1))


@cache
def _with_spring(element: Any) -> Any:
    return lambda response: element(True, response)


def _strains(
    element: Any, corners: Indices, rest: Array, constants: Constants, h: float, soft: SofteningConstants | None
) -> Strains:
    elements, arms = kernel_elements(corners, rest, constants, h), len(constants.arm_stiffness)
    size, rows = (np.zeros(0), np.zeros((7, 0))) if soft is None else (soft.size, soft.rows)
    networks = Networks(constants_of(elements), size, rows, h)
    return Strains(element(_response(arms, soft is not None)), elements.corners, rest[None], networks, arms)


def _per_size(constants: Constants, elements: Elements, times: int) -> Constants:
    """Return constants divided by rest measures, each `times` over."""
    share = 1.0 / elements.rest
    return Constants(
        np.repeat(constants.stiffness * share, times),
        np.repeat(constants.viscosity * share, times),
        np.repeat(constants.arm_stiffness * share, times, axis=1),
        np.repeat(constants.arm_rate, times, axis=1),
    )


def _soft(kind: Elements, strain: str, times: int) -> SofteningConstants | None:
    """Return what softens of shear or volume, its measure over that of the elements, each `times` over."""
    found: SofteningConstants | None = getattr(kind, f"soft_{strain}")
    return None if found is None else found.repeated(times, kind.size / kind.rest)


def all_shear_elements(simplices: Elements, quadrilaterals: Elements, points: Array, h: float) -> Strains:
    """Pack the corners of all cells: those of simplices, and behind them those of quadrilaterals."""
    if simplices.cells.shape[1] == 4:
        corners, sorts = tetrahedron_corners(simplices.cells), [(simplices, 4 * STRAINS)]
    else:
        corners = np.concatenate([corner_rows(simplices.cells), corner_rows(quadrilaterals.cells)])
        sorts = [(simplices, 3), (quadrilaterals, 4)]
    parts = [_per_size(kind.shear, kind, times) for kind, times in sorts]
    arms = max(len(part.arm_stiffness) for part in parts)
    constants = Constants(
        np.concatenate([part.stiffness for part in parts]),
        np.concatenate([part.viscosity for part in parts]),
        np.concatenate([_with_arms(part.arm_stiffness, arms, 0.0) for part in parts], axis=1),
        np.concatenate([_with_arms(part.arm_rate, arms, 1.0) for part in parts], axis=1),
    )
    soft = joined([(_soft(kind, "shear", times), times * len(kind)) for kind, times in sorts])
    return shear_elements(corners, points, constants, h, soft)


def _with_arms(rows: Array, arms: int, unused: float) -> Array:
    """Return rows (arms, n) filled up with arms that do nothing."""
    return np.pad(rows, ((0, arms - len(rows)), (0, 0)), constant_values=unused)


def seed_matrices(elements: AllElements, points: Array) -> dict[str, Array]:
    """Return K_e (E, k d, k d) [1/m2] of the papers' elements per unit of modulus times size; points are (N, 3) [m].

    It is what a dashpot of unit viscosity answers to unit velocities at rest. Forces are linear in velocity, and a
    spring's tangent at rest is the same matrix: K_e = -dF/dv is exact.
    """
    names = [name for name in elements.kinds if name.startswith("seed") and len(elements.kinds[name])]
    return {name: _matrices(elements.kinds[name], name, points) for name in names}


def _matrices(kind: Elements, name: str, points: Array) -> Array:
    (count, corners), x = kind.cells.shape, points[kind.cells.ravel()]
    space = corners == 4 and name == "seed_simplices"
    cells = np.arange(count * corners).reshape(count, corners)
    rows = tetrahedron_corners(cells) if space else corner_rows(cells)
    times, dimension = (4 * STRAINS, 3) if space else (corners, 2)
    none, nothing = np.zeros((0, count)), np.zeros(count)
    unit = _per_size(Constants(nothing, kind.size, none, none), kind, times)
    strains = shear_elements(rows, x, unit, 0.0)
    memory, found = strains.nothing(), np.empty((count, corners * dimension, corners * dimension))
    for node in range(corners):
        for axis in range(dimension):
            v, force = np.zeros_like(x), np.zeros_like(x)
            v[node::corners, axis] = 1.0
            strains.add_forces(memory, x, v, force)
            found[:, :, node * dimension + axis] = -force[:, :dimension].reshape(count, -1) / kind.size[:, None]
    return found
