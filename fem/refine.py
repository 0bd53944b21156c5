"""Cells where the error is: solve, estimate, halve, until the force is as exact as asked for (size and strain 3).

The stress s of a solution jumps between cells. Its mean s* over the cells around a vertex, linear between vertices, is
better, and the difference is the error (Zienkiewicz and Zhu 1987):

    e2 = int (s* - s) : C^-1 : (s* - s),      W2 = int s : C^-1 : s

of every cell. Where supports or tools drive a body, its energy W2/2 is half of force times way, so that the force is
too large by the share sum e2/W2. Halved are the cells that hold half of sum e2.

On coarse meshes the estimate is low (7.8 % for 9.7 %), so two rounds are the least. Means do not cross from one law
to another, where stress may jump. A quasi-static run is judged at the output that stores most energy.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.build import build_problem
from rheotwin.errors import RheotwinError
from rheotwin.fem.body import LinearBody
from rheotwin.fem.options import FemOptions
from rheotwin.fem.simulation import FemSimulation
from rheotwin.fem.space import Space
from rheotwin.materials import Law
from rheotwin.meshing import bisected
from rheotwin.problem import Cells, Problem, ProblemBody

LEAST_ROUNDS, MOST_ROUNDS = 2, 40
HELD = 0.5
"""Share of sum e2 that the cells to halve hold."""
HALVINGS = 2
"""How often the cells of a round are halved: once more saves half of the rounds."""
MEGABYTES, PER_UNKNOWN = 200.0, {1: 3.0e-3, 2: 1.0e-3}
"""Memory of a run: of the program, and of an unknown of either order in space (measured); in a plane it is less."""


def refined_problem(problem: Problem, options: FemOptions) -> Problem:
    """Return the problem on meshes whose estimated error is below that of `options.refine`, or says why it is not."""
    for body in problem.bodies:
        if len(body.hanging):
            raise RheotwinError(
                f"solvers.fem.refine: bodies.{body.name} has finer cells already, on edges of coarser ones; leave "
                "`finer` or refine out"
            )
        if body.cell not in ("triangle", "tet"):
            raise RheotwinError(
                f"solvers.fem.refine: cells of kind {body.cell} (bodies.{body.name}) would leave hanging nodes; choose "
                'cell = "triangle" or "tet", or finer cells everywhere with `refinement`'
            )
    if problem.contact is not None and problem.contact.between_bodies:
        raise RheotwinError("solvers.fem.refine: bodies that touch each other are not refined; leave it out")
    plain = options.model_copy(update={"refine": None, "step": float(problem.tick)})
    found: list[dict[str, float]] = []
    order = 2 if options.order == 2 or options.formulation in ("taylor-hood", "p2-p0") else 1
    while True:
        errors, share, unknowns = estimated_errors(problem, plain)
        found.append({"unknowns": unknowns, "estimated_error": share})
        reached = share <= options.wanted_error and len(found) > LEAST_ROUNDS
        if reached or len(found) > MOST_ROUNDS:
            break
        finer = build_problem(problem.scene, None, _halved(problem, errors))
        growth = len(finer.points) / len(problem.points)
        if MEGABYTES + PER_UNKNOWN[order] * growth * unknowns > options.refine_memory:
            break
        problem = finer
    if not reached:
        warnings.warn(
            f"solvers.fem.refine: {100 * share:.2g} % of error are left by estimate on {unknowns} unknowns, more than "
            f"{options.refine!r} allows; a finer mesh would need more than refine_memory = {options.refine_memory:g} "
            "megabytes",
            stacklevel=2,
        )
    return replace(problem, refinement={"estimated_error": share, "reached": reached, "rounds": found})


def estimated_errors(problem: Problem, options: FemOptions) -> tuple[list[Array], float, int]:
    """Return e2 of the cells of every body, sum e2/W2 and the unknowns, where a run stores most energy."""
    simulation, best = FemSimulation(problem, options), (-1.0, [np.zeros(0)])
    for _ in range(round(problem.scene.duration / simulation.step_size)):
        simulation.advance(simulation.time + simulation.step_size, 1)
        pairs = [
            _body_errors(own, body, stress)
            for own, (body, stress) in zip(problem.bodies, simulation.point_stresses(), strict=True)
        ]
        energy = sum(float(whole) for _, whole in pairs)
        if energy > best[0]:
            best = energy, [errors for errors, _ in pairs]
    energy, errors = best
    share = sum(float(own.sum()) for own in errors) / energy if energy > 0.0 else 0.0
    return errors, share, int(simulation.statistics()["unknowns"])


def _body_errors(own: ProblemBody, body: LinearBody, stress: Array) -> tuple[Array, float]:
    """Return e2 (cells,) and W2 of a body from its stress (points, 6)."""
    space, total = body.space, 0.0
    errors = np.zeros(space.mesh.nelements)
    weights = space.weights.reshape(space.mesh.nelements, -1)
    for _, law, cells in own.laws:
        bulk, shear = _moduli(law)
        inside, volumes = stress.reshape(*weights.shape, 6)[cells], weights[cells].sum(axis=1)
        jumps = _jumps(space, cells, inside, volumes)
        # int l_i l_j = V (1 + [i = j])/(c (c + 1)) of the linear functions of c corners
        squares = _energy(jumps, bulk, shear).sum(axis=0) + _energy(jumps.sum(axis=0), bulk, shear)
        errors[cells] = volumes * squares / (len(jumps) * (len(jumps) + 1))
        total += float((weights[cells] * _energy(inside, bulk, shear)).sum())
    return errors, total


def _moduli(law: Law) -> tuple[float, float]:
    """Return bulk and shear modulus [Pa] that weigh stress: those at once, or of dashpots alone."""
    channels = law.channel("bulk"), law.channel("shear")
    bulk, shear = (channel.instantaneous or channel.viscosity for channel in channels)
    return bulk, shear


def _energy(stress: Array, bulk: float, shear: float) -> Array:
    """Return s : C^-1 : s = |dev s|^2/(2 mu) + tr^2/(9 K) of tensors (.., 6)."""
    trace = stress[..., :3].sum(axis=-1)
    square = (stress[..., :3] ** 2).sum(axis=-1) + 2.0 * (stress[..., 3:] ** 2).sum(axis=-1)
    return np.asarray((square - trace**2 / 3.0) / (2.0 * shear) + trace**2 / (9.0 * bulk))


def _jumps(space: Space, cells: Cells, stress: Array, volumes: Array) -> Array:
    """Return s* - s (corners, cells, 6) at the corners of cells: both are linear in between, s* is the mean there."""
    corners = space.mesh.t[:, cells]
    own = np.einsum("cq,mqi->cmi", np.linalg.pinv(space.corner_shares.T), stress)
    shares = np.tile(volumes, len(corners))
    whole = np.bincount(corners.ravel(), shares, space.vertices)
    sums = np.stack([np.bincount(corners.ravel(), column, space.vertices) for column in own.reshape(-1, 6).T * shares])
    return np.asarray((sums / np.where(whole > 0.0, whole, 1.0)).T[corners] - own)


def _halved(problem: Problem, errors: list[Array]) -> dict[str, ProblemBody]:
    """Return the bodies with those cells halved that together hold the share HELD of all errors."""
    every = np.concatenate(errors)
    order = np.argsort(-every, kind="stable")
    chosen = np.zeros(len(every), dtype=np.bool_)
    chosen[order[: 1 + np.searchsorted(np.cumsum(every[order]), HELD * every.sum())]] = True
    pieces = np.split(chosen, np.cumsum([len(own) for own in errors])[:-1])
    return {body.name: _finer(body, np.flatnonzero(piece)) for body, piece in zip(problem.bodies, pieces, strict=True)}


def _finer(body: ProblemBody, cells: Indices) -> ProblemBody:
    """Return a body with cells in quarters; parts and named nodes go on to them."""
    for _ in range(HALVINGS):
        found = bisected(body.mesh, cells)
        parts = tuple(
            part._replace(cells=np.flatnonzero(np.isin(found.parents, np.arange(body.mesh.nelements)[part.cells])))
            for part in body.parts
        )
        regions = {name: found.carried(nodes) for name, nodes in body.regions.items()}
        body = replace(body, mesh=found.mesh, parts=parts, regions=regions)
        cells = np.flatnonzero(np.isin(found.parents, cells))
    return body
