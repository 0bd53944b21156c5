"""Simplices of one kind in chunks, as plain arrays for the compiled loop, and what their arms remember.

An arm answers kappa z to a strain g,   z' = g' - A z.   In the step of h that led here g went from g_before to g:

    z <- exp(-A h) z + (1 - exp(-A h))/(A h) (g - g_before)

exact for a constant rate. With the difference in place of the rate at its end arms never lose count of the strain,
whatever the path: an arm that does not relax is a spring to the last digit.

psi replaces 1/J in elements, so that flattened and inverted ones are pushed back by finite forces:

    psi(J) = 1/J                             J >= J0
           = 2/J0 - 1/(2 J0 - J)             J <  J0,        J = V/V0 signed,   psi' = -1/(J0 + |J - J0|)^2

psi is positive, falls everywhere, has a continuous slope and ends at 2/J0. With energies (something that is zero for
conformal shapes and positive for others) times a power of psi, no inverted shape is in equilibrium: on the ray F -> s F
shear and volume both pull an element of J < 0 towards J = 0. The papers' elements have 1/J: an energy that is infinite
at J = 0 from both sides, behind which an inverted element stays.

The barrier between rest and J < 0 is finite: what is pushed through comes back. Squeezed, sheared and stretched
elements are stiffer than at rest, by a factor s^2 that each kind of element estimates; steps are divided by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rheotwin.arrays import Array, Indices, Integers
from rheotwin.kernels.vectors import aligned, aligned_copy, formula, select
from rheotwin.particles.network import Constants
from rheotwin.particles.shear_volume.corners import CHUNK, corners_in_chunks, in_chunks, in_elements
from rheotwin.particles.shear_volume.elements import Elements
from rheotwin.particles.shear_volume.softening import SPRING, Softening, pack_softening

FLAT = 0.2
"""J0. Elements above this share of their rest measure follow the exact energy."""
THIN = 0.25 * FLAT
"""Below this |J| what arms of a stress tensor are told of it stays finite; the tensor itself is singular at J = 0."""


@formula
def inverse_ratio(ratio: Any) -> Any:
    """Return psi and psi' of the ratio J, without a branch."""
    r = 1.0 / (FLAT + abs(ratio - FLAT))
    return select(ratio >= FLAT, r, 2.0 / FLAT - r), -r * r


@formula
def slope_of(ratio: Any, psi: Any) -> Any:
    """Return psi' of the ratio J, given psi, without a division."""
    r = select(ratio >= FLAT, psi, 2.0 / FLAT - psi)
    return -r * r


@formula
def guarded_inverse(ratio: Any) -> Any:
    """Return 1/J, or J/THIN^2 where J is smaller than THIN."""
    return ratio / max(ratio * ratio, THIN * THIN)


@dataclass(frozen=True, eq=False)
class Simplex:
    """A kind of element: formulas of its shape, of its constants and of the answers of networks to its strains.

    A shape begins with edges from corner 0, J and psi(J). `rows` are its constants, the springs of shear and of volume
    the last two. Strains are those of shear, `strains` of them, and J - 1.
    """

    dimension: int
    strains: int
    rows: int
    constants: Callable[[Elements, Array], Array]
    """Constants (rows - 2, E) of elements with rest points (N, 3)."""
    shape: Any
    """shape(edges, constants)."""
    strain: Any
    """strain(shape, constants)."""
    pulls: Any
    """pulls(shape, constants, tensions, limit): forces on corners 1 ... d, and whether s^2 is over the limit."""
    flow: Any
    """flow(shape, edge rates, constants): strain rates that dashpots of softening networks see, and J'."""
    dashpots: Any
    """dashpots(shape, edge rates, constants, viscosities): forces; None where dashpots answer strain rates."""
    size: Any
    """size(shape, constants, stresses): shear stress of simple shear."""
    stiffness: Any
    """stiffness(shape, constants): s^2, by how much an element is stiffer than at rest."""
    springs: Any
    """springs(shape, constants): energy [J]."""
    squares: Callable[[Array, Array, Array], Array]
    """squares(constants (rows, E), edges (E, d, 3), z (..., strains, E)): kappa z^2/2 is energy with these as z^2."""

    @property
    def edges(self) -> int:
        """Rows of edges; behind them are J and psi in the shape."""
        return self.dimension**2


class Network(NamedTuple):
    """Dashpots (chunks, CHUNK) and arms (chunks, arms, CHUNK) of one strain measure, times rest measure [J].

    Arm arrays are stiffness kappa, rate A, exp(-A h) and (1 - exp(-A h))/(A h) of a whole step; springs are among the
    elements' constants.
    """

    viscosity: Array
    arm_stiffness: Array
    arm_rate: Array
    arm_decay: Array
    arm_gain: Array


class Recovery(NamedTuple):
    """Viscosities T mu V0 (chunks, CHUNK) [J s] and the body of each element; no chunks without recovery.

    `haste` is into how many parts a step has to be divided for elements at rest.
    """

    viscosity: Array
    body: Indices
    haste: float


class Room(NamedTuple):
    """Room for one chunk: edges, their rates, forces on corners; strains, their rates, tensions, driving stresses g.

    `decay` and `gain` (arms, CHUNK) are those of a part of a step.
    """

    edges: Array
    rates: Array
    pulls: Array
    strain: Array
    flow: Array
    tension: Array
    driving: Array
    decay: Array
    gain: Array


class Group(NamedTuple):
    """Corners (filled, d+1) of `number` simplices and their constants (chunks, rows, CHUNK), springs among them.

    `viscous`: some network has a dashpot; `remembers`: one has arms or softens, as `softens` says.
    `together`: shear and volume soften by one stress. `recovery` acts in bodies with inverted elements.
    `stretch` is the step over the stable one: `limit` is the s^2 up to which it is short enough (see above).
    """

    number: int
    corners: Integers
    constants: Array
    shear: Network
    volume: Network
    viscous: bool
    remembers: bool
    stretch: float
    limit: float
    softens: bool
    soft_shear: Softening
    soft_volume: Softening
    together: bool
    recovery: Recovery
    room: Room

    def edges_at(self, x: Array) -> Array:
        """Return the edges (E, d, 3) [m] from corner 0 at positions (N, 3) [m]; in space (E, 3, 3)."""
        corners = self.corners[: self.number]
        edges: Array = x[corners[:, 1:]] - x[corners[:, :1]]
        return edges

    def without_springs(self) -> Group:
        """Return the elements with their arms alone."""
        constants = self.constants.copy()
        constants[:, -2:] = 0.0
        return self._replace(constants=constants)


class Memory(NamedTuple):
    """What the arms of a group remember, in chunks: arms (chunks, arms, strains, CHUNK), strains a step ago.

    Voigt parts of softening networks (chunks, strains, CHUNK) have no chunks where nothing softens.
    """

    shear_arms: Array
    shear_before: Array
    volume_arms: Array
    volume_before: Array
    shear_voigt: Array
    volume_voigt: Array


def pack_group(
    simplex: Simplex, elements: Elements, points: Array, h: float, stretch: float, haste: float = 0.0
) -> Group:
    """Pack elements with rest points (N, 3) [m] for steps of `h` [s]; with h = 0 arms stay as they are."""
    springs = np.vstack([elements.shear.stiffness, elements.volume.stiffness])
    rows = simplex.constants(elements, points)
    constants = np.concatenate([in_chunks(rows), in_chunks(springs, forces=True)], axis=1)
    shear, volume = _with_needed_arms(elements.shear), _with_needed_arms(elements.volume)
    softens = elements.soft_shear is not None or elements.soft_volume is not None
    viscous = bool(shear.viscosity.any() or volume.viscosity.any()) or softens
    short = stretch if viscous else stretch**2
    arms = len(shear.arm_stiffness) + len(volume.arm_stiffness)
    edges, strains = (simplex.edges,) * 3, (simplex.strains + 1,) * 4
    return Group(
        number=len(elements),
        corners=corners_in_chunks(elements.cells),
        constants=aligned_copy(constants, float),
        shear=_pack_network(shear, h),
        volume=_pack_network(volume, h),
        viscous=viscous,
        remembers=bool(shear.arm_stiffness.size or volume.arm_stiffness.size) or softens,
        stretch=stretch,
        limit=1.0 / short if short > 0.0 else np.inf,
        softens=softens,
        soft_shear=pack_softening(elements.soft_shear, h),
        soft_volume=pack_softening(elements.soft_volume, h),
        together=elements.together,
        recovery=_pack_recovery(elements, haste),
        room=Room(*(aligned((count, CHUNK), float) for count in (*edges, *strains, arms, arms))),
    )


def _with_needed_arms(constants: Constants) -> Constants:
    """Leave out arms that no element has."""
    used = constants.arm_stiffness.any(axis=1)
    return replace(constants, arm_stiffness=constants.arm_stiffness[used], arm_rate=constants.arm_rate[used])


def _pack_network(constants: Constants, h: float) -> Network:
    """Pack constants times rest measure [J, J s] of elements for steps of `h` [s]; h = 0 leaves arms as they are."""
    turns = constants.arm_rate * h
    gain = -np.expm1(-turns) / turns if h > 0.0 else np.zeros_like(turns)
    return Network(
        in_chunks(constants.viscosity, forces=True),
        in_chunks(constants.arm_stiffness, forces=True),
        in_chunks(constants.arm_rate),
        in_chunks(np.exp(-turns)),
        in_chunks(gain),
    )


def _pack_recovery(elements: Elements, haste: float) -> Recovery:
    if elements.recovery is None or elements.body is None or not haste > 0.0:
        return Recovery(np.zeros((0, CHUNK)), np.zeros((0, CHUNK), np.int64), 0.0)
    return Recovery(in_chunks(elements.recovery, forces=True), in_chunks(elements.body).astype(np.int64), haste)


def no_memory(group: Group) -> Memory:
    """Return what a group remembers at rest: nothing."""
    chunks, strains = len(group.constants), len(group.room.strain) - 1
    return Memory(
        np.zeros((chunks, group.shear.arm_stiffness.shape[1], strains, CHUNK)),
        np.zeros((chunks, strains, CHUNK)),
        np.zeros((chunks, group.volume.arm_stiffness.shape[1], 1, CHUNK)),
        np.zeros((chunks, 1, CHUNK)),
        np.zeros((len(group.soft_shear.size), strains, CHUNK)),
        np.zeros((len(group.soft_volume.size), 1, CHUNK)),
    )


def stored_energy(simplex: Simplex, group: Group, memory: Memory, x: Array) -> float:
    """Return the energy in springs, arms and Voigt parts that soften [J] at positions (N, 3) [m].

    Of arms and Voigt parts of a stress tensor it is exact for small strains; at large ones linear viscoelasticity of
    the second Piola stress has no energy to be exact about.
    """
    count, e = group.number, group.edges_at(x)
    c = in_elements(group.constants, count)
    shape = simplex.shape(tuple(e[:, :, : simplex.dimension].reshape(count, -1).T), c)
    total = float(np.sum(simplex.springs(shape, c)))
    for network, arms, soft, voigt, squares in (
        (group.shear, memory.shear_arms, group.soft_shear, memory.shear_voigt, simplex.squares),
        (group.volume, memory.volume_arms, group.soft_volume, memory.volume_voigt, _square),
    ):
        total += 0.5 * float(
            np.sum(in_elements(network.arm_stiffness, count) * squares(c, e, in_elements(arms, count)))
        )
        if len(voigt):
            springs = in_elements(soft.size * soft.rows[:, SPRING], count)
            total += 0.5 * float(np.sum(springs * squares(c, e, in_elements(voigt, count))))
    return total


def _square(constants: Array, edges: Array, z: Array) -> Array:
    return np.asarray(z[..., 0, :] ** 2)


def tensor_squares(constants: Array, edges: Array, z: Array) -> Array:
    """Return z:z/2 (..., E) of tensors in components (..., rows, E) along edges (E, d, 3).

    z is twice the deviatoric strain of an arm's spring, mu e:e its energy.
    """
    metric = np.einsum("eax,ebx->eab", edges, edges)
    tensor = z[..., PLANE if z.shape[-2] == 3 else SPACE, :]
    product = np.einsum("...ace,ecb->...abe", tensor, metric)
    return np.asarray(0.5 * np.einsum("...abe,...bae->...e", product, product))


PLANE = np.array([[0, 1], [1, 2]])
"""Which of s_11, s_12, s_22 each entry is."""
SPACE = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2]])
"""Which of s_11, s_22, s_33, s_12, s_23, s_13 each entry is."""


def metric_rows(elements: Elements, points: Array) -> Array:
    """Return 1/(d! V0) and the inverse metric of rest edges: 11, 22, 33, 12, 23, 13, and in the plane 11, 12, 22."""
    dimension = elements.cells.shape[1] - 1
    edges = (points[elements.cells[:, 1:]] - points[elements.cells[:, :1]])[:, :, :dimension]
    metric = np.linalg.inv(edges @ edges.transpose(0, 2, 1))
    pairs = ((0, 0), (0, 1), (1, 1)) if dimension == 2 else ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    scale = (0.5 if dimension == 2 else 1.0 / 6.0) / elements.rest
    return np.vstack([scale, *(metric[:, a, b] for a, b in pairs)])
