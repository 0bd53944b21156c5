"""The compiled loops over simplices of one kind: forces of springs, arms, dashpots and what softens, and recovery.

Inverted bodies come back as they were by dashpots in all elements of a body while one of them is inverted:

    eta = mu T,      T = V^(1/d) (rho/mu)^(1/2), the time a shear wave takes through the body

An inverted body has many ways to turn itself right. Left to swing, its parts take different ones, and what they meet in
is a fan of triangles that goes round twice: every element upright again, the body wound up for good. With a dashpot of
that time beside the springs it sinks back the straight way, all of its elements through J = 0 together. Dashpots in
inverted elements alone are not enough: it is the upright ones that swing. They are the Newtonian ones of the elements,
so momenta are kept; no body feels them as long as none of its elements is inverted.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from rheotwin.arrays import Array, Flags
from rheotwin.kernels.compiled import compiled
from rheotwin.kernels.vectors import add_rows, any_of, formula, load, numbers_of, put_rows, slots, store
from rheotwin.particles.shear_volume.corners import (
    CHUNK,
    gather_tetrahedra,
    gather_triangles,
    scatter_tetrahedra,
    scatter_triangles,
)
from rheotwin.particles.shear_volume.simplices import Group, Memory, Network, Simplex
from rheotwin.particles.shear_volume.softening import drive, give_way, step_of

LANES = 8
"""Elements at once."""
_slot = slots(LANES)


@compiled(spliced=True)
def parts_of(group: Group, stiffer: float) -> float:
    """Return into how many parts a step has to be divided for elements `stiffer` times as stiff and viscous as at rest.

    K h^2 < 4 and 2 C h < 4: springs ask for the square root of what dashpots do, and for twice as many parts as are
    stable, because without dashpots nothing takes away what an element gains that gets stiffer during a part.
    """
    return group.stretch * (stiffer if group.viscous else 2.0 * np.sqrt(stiffer))


@compiled(nogil=True)
def _fill_gains(rates: Array, part: float, decay: Array, gain: Array) -> None:
    """Write exp(-A h) and (1 - exp(-A h))/(A h) of arms (arms, CHUNK) for a part of a step, h = `part` [s]."""
    for arm in range(rates.shape[0]):
        for k in range(CHUNK):
            turns = rates[arm, k] * part
            decay[arm, k], gain[arm, k] = np.exp(-turns), -np.expm1(-turns) / turns


@formula
def _advance_arms(
    network: Network, chunk: int, room: Any, decay: Any, gain: Any, arms: Any, before: Any, first: int, at: Any
) -> None:  # fmt: skip
    """Advance arms (arms, strains, CHUNK) to strains in rows from `first` on; add what they answer to tensions."""
    strains = before.shape[0]
    for arm in range(arms.shape[0]):
        kappa, z = load(network.arm_stiffness[chunk], arm, at), arms[arm]
        kept, gained = load(decay, arm, at), load(gain, arm, at)
        for s in range(strains):
            moved = load(room.strain, first + s, at) - load(before, s, at)
            state = kept * load(z, s, at) + gained * moved
            store(z, s, at, state)
            store(room.tension, first + s, at, load(room.tension, first + s, at) + kappa * state)
    for s in range(strains):
        store(before, s, at, load(room.strain, first + s, at))


@cache
def _soften(simplex: Simplex) -> Any:
    """Return the formula that lets shear and volume give way, each by its own stress, or both by one."""
    row, stresses_at, size_of = simplex.strains, numbers_of(simplex.strains + 1), simplex.size

    @formula
    def soften(
        group: Group, memory: Memory, chunk: int, part: float, shape: Any, constants: Any, left: Any, at: Any
    ) -> Any:  # fmt: skip
        """Add spring stresses to tensions and advance Voigt parts; return viscosities `left` with those that remain.

        Where both soften together, in plane stress, the size is von Mises/sqrt(3) of shear t and area stress p,
        (t^2 + p^2/3)^(1/2). With one Poisson ratio c/c2 of both is the same, and with it f/g.
        """
        room, of_shear, of_volume = group.room, left[0], left[1]
        shear, volume = group.soft_shear, group.soft_volume
        h, h_volume = step_of(shear, part), step_of(volume, part)
        if shear.size.shape[0] > 0:
            drive(shear, chunk, h, memory.shear_voigt[chunk], memory.shear_before[chunk], room, 0, at)
        if volume.size.shape[0] > 0:
            drive(volume, chunk, h_volume, memory.volume_voigt[chunk], memory.volume_before[chunk], room, row, at)
        driving = stresses_at(room.driving, at)
        size, pressure = size_of(shape, constants, driving), abs(driving[row])
        if group.together:
            whole = (1.0 + load(room.strain, row, at)) * driving[row]
            size = math.sqrt(size * size + whole * whole * (1.0 / 3.0))
            pressure = size
        if shear.size.shape[0] > 0:
            voigt, before = memory.shear_voigt[chunk], memory.shear_before[chunk]
            of_shear = of_shear + give_way(shear, chunk, h, voigt, before, room, 0, size, at)
        if volume.size.shape[0] > 0:
            voigt, before = memory.volume_voigt[chunk], memory.volume_before[chunk]
            of_volume = of_volume + give_way(volume, chunk, h_volume, voigt, before, room, row, pressure, at)
        return of_shear, of_volume

    return soften


@cache
def _stiffest(simplex: Simplex) -> Any:
    """Return the largest s^2 of a chunk."""
    edges_at, constants_at = numbers_of(simplex.edges), numbers_of(simplex.rows)
    shape_of, stiffness = simplex.shape, simplex.stiffness

    @compiled(inside=True, vectors=True)
    def stiffest(edges: Array, constants: Array) -> float:
        worst = 0.0
        for k in range(CHUNK):
            c = constants_at(constants, k)
            worst = max(worst, stiffness(shape_of(edges_at(edges, k), c), c))
        return worst

    return stiffest


@cache
def add_forces(simplex: Simplex, remembers: bool, viscous: bool, softens: bool) -> Any:
    """Return the compiled function that adds the forces of elements with or without arms, dashpots and softening.

    It advances arms to positions x (N, 3) [m] and adds all forces at velocities v [m/s] to `force` (N, 3) [N]. `part`
    [s] is the step that led here, 0 for a whole one. It returns into how many parts the next has to be divided.
    """
    gather, scatter = _corners_of(simplex)
    edges_at, constants_at, strains = numbers_of(simplex.edges), numbers_of(simplex.rows), simplex.strains + 1
    tensions_at, nothing, soften, stiffest = numbers_of(strains), (0.0,) * strains, _soften(simplex), _stiffest(simplex)
    shape_of, strain_of, flow_of, pulls, dashpots = _formulas(simplex)
    newtonian = dashpots is not None
    by_rates = viscous and not newtonian  # dashpots that answer strain rates
    tense = remembers or by_rates

    @compiled(inside=True, vectors=True)
    def add_forces(group: Group, memory: Memory, x: Array, v: Array, part: float, force: Array) -> float:
        stiffer, room, rows = 0.0, group.room, strains - 1
        for chunk in range(group.constants.shape[0]):
            first, constants, severe = chunk * CHUNK, group.constants[chunk], False
            gather(group.corners, first, x, room.edges)
            if viscous:
                gather(group.corners, first, v, room.rates)
            decay, gain = group.shear.arm_decay[chunk], group.shear.arm_gain[chunk]
            slower, less = group.volume.arm_decay[chunk], group.volume.arm_gain[chunk]
            if remembers and part > 0.0:
                shears, volumes = decay.shape[0], slower.shape[0]
                decay, gain = room.decay[:shears], room.gain[:shears]
                slower, less = room.decay[shears : shears + volumes], room.gain[shears : shears + volumes]
                _fill_gains(group.shear.arm_rate[chunk], part, decay, gain)
                _fill_gains(group.volume.arm_rate[chunk], part, slower, less)
            for k in range(0, CHUNK, LANES):
                at = _slot(k)
                c = constants_at(constants, at)
                shape = shape_of(edges_at(room.edges, at), c)
                left = load(group.shear.viscosity, chunk, at), load(group.volume.viscosity, chunk, at)
                if tense:
                    put_rows(room.tension, at, nothing)
                if remembers:
                    put_rows(room.strain, at, strain_of(shape, c))
                if softens or by_rates:
                    put_rows(room.flow, at, flow_of(shape, edges_at(room.rates, at), c))
                if softens:
                    left = soften(group, memory, chunk, part, shape, c, left, at)
                if by_rates:
                    for s in range(strains):
                        eta = left[0] if s < rows else left[1]
                        store(room.tension, s, at, load(room.tension, s, at) + eta * load(room.flow, s, at))
                if remembers:
                    shear, volume = memory.shear_arms[chunk], memory.volume_arms[chunk]
                    before, grown = memory.shear_before[chunk], memory.volume_before[chunk]
                    _advance_arms(group.shear, chunk, room, decay, gain, shear, before, 0, at)
                    _advance_arms(group.volume, chunk, room, slower, less, volume, grown, rows, at)
                if tense:
                    pulled, hard = pulls(shape, c, tensions_at(room.tension, at), group.limit)
                else:
                    pulled, hard = pulls(shape, c, nothing, group.limit)
                put_rows(room.pulls, at, pulled)
                if viscous and newtonian:
                    add_rows(room.pulls, at, dashpots(shape, edges_at(room.rates, at), c, left))
                severe |= any_of(hard)
            if severe:
                stiffer = max(stiffer, stiffest(room.edges, constants))
            scatter(group.corners, first, room.pulls, force)
        return parts_of(group, stiffer)

    return add_forces


def _formulas(simplex: Simplex) -> tuple[Any, ...]:
    return simplex.shape, simplex.strain, simplex.flow, simplex.pulls, simplex.dashpots


def _corners_of(simplex: Simplex) -> tuple[Any, Any]:
    if simplex.dimension == 2:
        return gather_triangles, scatter_triangles
    return gather_tetrahedra, scatter_tetrahedra


@cache
def mark_inverted(simplex: Simplex) -> Any:
    """Return the compiled function that marks the bodies (B,) with an inverted element at positions x (N, 3) [m]."""
    gather, _ = _corners_of(simplex)
    edges_at, constants_at, ratio = numbers_of(simplex.edges), numbers_of(simplex.rows), simplex.edges
    shape_of = simplex.shape

    @compiled(inside=True)
    def mark_inverted(group: Group, x: Array, inverted: Flags) -> None:
        for chunk in range(group.recovery.viscosity.shape[0]):
            gather(group.corners, chunk * CHUNK, x, group.room.edges)
            for k in range(CHUNK):
                shape = shape_of(edges_at(group.room.edges, k), constants_at(group.constants[chunk], k))
                if shape[ratio] < 0.0:
                    inverted[group.recovery.body[chunk, k]] = True

    return mark_inverted


@cache
def add_recovery(simplex: Simplex) -> Any:
    """Return the compiled function that adds the dashpots of bodies with `inverted` elements.

    It returns into how many parts the step has to be divided.
    """
    gather, scatter = _corners_of(simplex)
    edges_at, constants_at, stiffest = numbers_of(simplex.edges), numbers_of(simplex.rows), _stiffest(simplex)
    shape_of, dashpots = simplex.shape, simplex.dashpots

    @compiled(inside=True, vectors=True)
    def add_recovery(group: Group, inverted: Flags, x: Array, v: Array, force: Array) -> float:
        stiffer, room, recovery = 0.0, group.room, group.recovery
        for chunk in range(recovery.viscosity.shape[0]):
            first, constants, some = chunk * CHUNK, group.constants[chunk], False
            for k in range(CHUNK):
                acts = inverted[recovery.body[chunk, k]]
                room.strain[0, k] = recovery.viscosity[chunk, k] if acts else 0.0
                some = some or acts
            if some:
                gather(group.corners, first, x, room.edges)
                gather(group.corners, first, v, room.rates)
                for k in range(0, CHUNK, LANES):
                    at = _slot(k)
                    c, eta = constants_at(constants, at), load(room.strain, 0, at)
                    shape = shape_of(edges_at(room.edges, at), c)
                    put_rows(room.pulls, at, dashpots(shape, edges_at(room.rates, at), c, (eta, eta)))
                scatter(group.corners, first, room.pulls, force)
                stiffer = max(stiffer, stiffest(room.edges, constants))
        return recovery.haste * stiffer

    return add_recovery
