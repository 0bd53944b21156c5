"""Newton's method for one step: full tangent, contact by active set, line search that keeps elements upright.

The equations of a step are M a + f_int(u) - f_ext = N lambda at a share of it (spec 2.3, 6). Without inertia they hold
at its end (share 1), with inertia in the middle (share 1/2):

    (2/h^2) M (du - h v_n) + f_int,mid = f_ext,mid + N lambda,      v = 2 du/h - v_n

with the strains of both ends averaged: momentum and angular momentum are kept exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array, Flags, Indices
from rheotwin.fem.finite.body import FinitePart, Inverted, PointState
from rheotwin.fem.finite.contact import ToolContact, ToolPairs
from rheotwin.fem.finite.loops import eliminate, recover, reduce, scatter
from rheotwin.fem.linear import SingularMatrix
from rheotwin.fem.options import FemOptions

Factorise = Callable[[csr_matrix, bool], Callable[[Array], Array]]
"""Takes a matrix, and whether solutions may be rough, and returns the solver of its equations."""

CLOSED = 1e-11
"""Gap, as a share of the body's size, below which a contact is closed."""
ROUNDS, LEFT = 20, 1e-7
"""Rounds in which softened pressures are made up for, and what of the load may be left."""
SHORTEST = 1.0 / 16.0
"""Share of a Newton step below which the line search gives up."""


class NotConverged(ArithmeticError):
    """Newton's method did not reach its tolerance: why, the residual [N] left and the component it is largest in."""

    def __init__(self, reason: str, residual: float, component: int) -> None:
        self.residual, self.component = residual, component
        super().__init__(reason)


@dataclass(frozen=True)
class Pattern:
    """Where each entry of the element blocks goes in the compressed rows."""

    size: int
    indptr: Indices
    indices: Indices
    places: tuple[Indices, ...]
    """Per kind of block, of its flattened entries: position in the matrix data, -1 where row or column is not free."""
    dofs: tuple[Indices, ...]
    """Components (e, m) of the elements, one array per kind of block."""

    @classmethod
    def of(cls, dofs: Sequence[Indices], free: Flags) -> Pattern:
        """Return the pattern of elements with components `dofs` (e, m) of each kind; `free` (size,) marks unknowns."""
        size = int(free.sum())
        number = np.full(len(free), -1)
        number[free] = np.arange(size)
        rows = np.concatenate([np.repeat(number[d], d.shape[1], axis=1).ravel() for d in dofs])
        columns = np.concatenate([np.tile(number[d], (1, d.shape[1])).ravel() for d in dofs])
        places = np.full(len(rows), -1)
        kept = np.flatnonzero((rows >= 0) & (columns >= 0))
        entries, places[kept] = np.unique(rows[kept] * size + columns[kept], return_inverse=True)
        indptr = np.searchsorted(entries, np.arange(size + 1) * size)
        ends = np.cumsum([d.size * d.shape[1] for d in dofs])[:-1]
        return cls(size, indptr, entries % max(size, 1), tuple(np.split(places, ends)), tuple(dofs))

    def matrix(self, blocks: Sequence[Array]) -> csr_matrix:
        """Return the sum of blocks (e, m, m) of each kind over the free components."""
        data = np.zeros(len(self.indices))
        for places, block in zip(self.places, blocks, strict=True):
            scatter(places, np.ascontiguousarray(block), data)
        return csr_matrix((data, self.indices, self.indptr), shape=(self.size, self.size))


@dataclass(frozen=True)
class Tangent:
    """The matrix of a step, from blocks of elements and, last, of nodes: K of `rheotwin.fem.finite.contact`."""

    frame: Frame
    blocks: Sequence[Array]

    def product(self, step: Array) -> Array:
        """Return K du (N, d) [N] of nodal vectors (N, d) [m], held components too."""
        return self.frame.product(self.blocks, step.ravel()).reshape(step.shape)

    def solve(self, right: Array, within: Array) -> Array:
        """Return P y (N, d) of (P K P + s W) y = P r on the free components, P = 1 - W, W (N, d, d) of each node.

        Unknowns of single elements are eliminated before, and found after. Pressures that hardly give way, if at all,
        are made softer in that (`soft`), and what is then left of the equations is solved for again: with Schur's
        complement S >= b/mu of the pressures and their compliance c each round leaves c/(S + c) of the error.
        """
        across, touched = np.eye(right.shape[1]) - within, np.asarray(within.any(axis=(1, 2)))
        frame = self.frame
        kinds = zip(frame.pattern.dofs, frame.nodes, self.blocks, strict=True)
        blocks = [_across(*each, across, touched) for each in kinds]
        blocks[-1] = blocks[-1] + np.abs(np.diagonal(self.blocks[0], axis1=1, axis2=2)).mean() * within
        solve, softened = self._prepared(blocks)
        load = np.where(frame.free, (across @ right[:, :, None]).ravel(), 0.0)
        out, left = np.zeros(right.size), load
        for _ in range(ROUNDS):
            out += solve(left)
            if not softened:
                break
            left = np.where(frame.free, load - frame.product(blocks, out), 0.0)
            if np.abs(left).max() <= LEFT * np.abs(load).max():
                break
        return np.asarray(across @ out.reshape(*right.shape, 1))[:, :, 0]

    def _prepared(self, blocks: Sequence[Array]) -> tuple[Callable[[Array], Array], bool]:
        """Return the solver (size,) -> (size,) of the equations of blocks with softened pressures, and if there are."""
        frame, reduced, softened = self.frame, list(blocks), False
        for k, (own, soft) in enumerate(zip(frame.own, frame.soft, strict=True)):
            if len(own):
                reduced[k] = blocks[k].copy()
                stiff = (soft > 0.0) & (blocks[k][:, own, own] > -soft)
                reduced[k][:, own, own] = np.where(stiff, -soft, blocks[k][:, own, own])
                softened = softened or bool(stiff.any())
                eliminate(reduced[k], own)
        factor = frame.factorise(frame.pattern.matrix(reduced), softened)

        def solve(load: Array) -> Array:
            load, local = load.copy(), []
            for dofs, own, block in zip(frame.pattern.dofs, frame.own, reduced, strict=True):
                local.append(np.zeros(dofs.shape if len(own) else (0, 0)))
                if len(own):
                    local[-1][:, own] = load[dofs[:, own]]
                    reduce(block, own, local[-1])
                    others = np.setdiff1d(np.arange(dofs.shape[1]), own)
                    load += np.bincount(dofs[:, others].ravel(), local[-1][:, others].ravel(), len(load))
            out = np.zeros_like(load)
            out[frame.solved] = factor(load[frame.solved])
            for dofs, own, block, found in zip(frame.pattern.dofs, frame.own, reduced, local, strict=True):
                if len(own):
                    values = out[dofs]
                    recover(block, own, found, values)
                    out[dofs[:, own]] = values[:, own]
            return out

        return solve, softened


def _across(dofs: Indices, count: int, block: Array, across: Array, touched: Flags) -> Array:
    """Return P B P of blocks (e, m, m) whose first components are those of `count` nodes, P (N, d, d).

    P is one but for the nodes `touched` (N,).
    """
    d, m = across.shape[1], dofs.shape[1]
    nodes = dofs[:, : count * d : d] // d
    where = np.flatnonzero(touched[nodes].any(axis=1))
    if not len(where):
        return block
    new = block[where]
    for _ in range(2):  # B' P and (B' P)' P; what stands behind the nodes is in no normal's way
        turned = across[nodes[where]] @ new[:, : nodes.shape[1] * d].reshape(len(where), -1, d, m)
        new = np.concatenate([turned.reshape(len(where), -1, m), new[:, nodes.shape[1] * d :]], axis=1).swapaxes(1, 2)
    out = block.copy()
    out[where] = new
    return out


@dataclass(frozen=True)
class Frame:
    """What stays the same from step to step: parts, unknowns, pattern, contact, sizes."""

    parts: Sequence[tuple[FinitePart, slice]]
    """With the components of their bodies."""
    free: Flags
    pattern: Pattern
    """Of the elements of each part, then of single nodes."""
    solved: Indices
    """Free components that no element has for itself: those of the equations to solve."""
    own: tuple[Indices, ...]
    """Per kind of block: places of the components that one element alone has."""
    soft: tuple[Array, ...]
    """Per kind of block: least size of the diagonal entries of `own` in the matrix to solve with (e, own); 0: none."""
    nodes: tuple[int, ...]
    """Per kind of block: how many nodes its components begin with."""
    contact: ToolContact
    points: Array
    factorise: Factorise
    element_size: float
    extent: float

    def product(self, blocks: Sequence[Array], change: Array) -> Array:
        """Return the sum of blocks (e, m, m) of each kind times a vector (size,)."""
        total = np.zeros(len(change))
        for dofs, block in zip(self.pattern.dofs, blocks, strict=True):
            local = np.einsum("emn,en->em", block, change[dofs])
            total += np.bincount(dofs.ravel(), weights=local.ravel(), minlength=len(change))
        return total


@dataclass(frozen=True)
class Trial:
    """A displacement u (size,) [m] at the end of a step with everything evaluated there."""

    u: Array
    residual: Array
    """Without contact (size,) [N]."""
    scale: float
    """The largest force in it [N]."""
    blocks: list[Array]
    """Tangents of the elements of each part [N/m]."""
    pairs: ToolPairs
    multipliers: Array
    open_force: Array
    """What is left of the residual on free components, with contact [N]."""

    @property
    def merit(self) -> float:
        """Largest open force [N]."""
        return float(np.abs(self.open_force).max(initial=0.0))


@dataclass(frozen=True)
class StepEquations:
    """One step of length `step` [s] from displacement and velocity (size,) and the states of the parts."""

    frame: Frame
    states: Sequence[PointState]
    start: Array
    velocity: Array
    step: float
    share: float
    inertia: Array
    """2 M/h^2 per component [N/m], or zero."""
    external: Array
    """Loads at the share of the step [N]."""
    target: Array
    """Where held components end (size,) [m]."""
    end: float
    """Time at which tools are looked at [s]."""
    shares: list[float] = field(default_factory=list)
    """Of every Newton step so far: how much of it the line search took."""

    def at(self, u: Array, multipliers: Array) -> Trial:
        """Evaluate at the displacement `u` of the end of the step."""
        frame = self.frame
        inertial = self.inertia * (u - self.start - self.step * self.velocity)
        internal, blocks = np.zeros_like(u), []
        for (part, rows), state in zip(frame.parts, self.states, strict=True):
            forces, tangents = part.respond(state, self.start[rows], u[rows], self.step, self.share)
            internal[rows] += np.bincount(part.dofs.ravel(), forces.ravel(), rows.stop - rows.start)
            blocks.append(tangents)
        largest = max(float(np.abs(force).max()) for force in (internal, inertial, self.external))
        residual = inertial + internal - self.external
        pairs = frame.contact.pairs(frame.points + u.reshape(frame.points.shape), self.end)
        pushed = pairs.forces(multipliers, frame.points.shape).ravel()
        return Trial(u, residual, largest, blocks, pairs, multipliers, (residual - pushed)[frame.free])

    def solve(self, touching: Flags, options: FemOptions) -> tuple[Trial, list[float]]:
        """Return the solution, and the residual [N] of each iteration; `touching` (k,) marks pairs that touched before.

        Raises `NotConverged`, or `Inverted` if the step turns elements inside out however short it is made.
        """
        trial, free = self.at(self.start, np.zeros(len(touching))), self.frame.free
        residuals, scale = [trial.merit], trial.scale
        for iteration in range(options.newton_iterations):
            scale = max(scale, trial.scale)
            if iteration and self._converged(trial, options.newton_tolerance * scale):
                return trial, residuals
            touched = trial.multipliers > 0.0 if iteration else touching
            trial = self._next(trial, touched, any_change=iteration == 0)
            residuals.append(trial.merit)
        if self._converged(trial, options.newton_tolerance * max(scale, trial.scale)):
            return trial, residuals
        worst = np.flatnonzero(free)[int(np.argmax(np.abs(trial.open_force)))] if free.any() else 0
        raise NotConverged(f"no equilibrium in {options.newton_iterations} iterations", trial.merit, int(worst))

    def _converged(self, trial: Trial, tolerance: float) -> bool:
        """Tell whether forces balance (to rounding at least), held components arrived, tools touch without overlap."""
        frame = self.frame
        stiffest = max(float(np.abs(np.diagonal(block, axis1=1, axis2=2)).max()) for block in trial.blocks)
        rounding = 16.0 * np.finfo(float).eps * stiffest * frame.element_size
        held, active, slack = ~frame.free, trial.multipliers > 0.0, CLOSED * frame.extent
        return bool(
            trial.merit <= max(tolerance, rounding)
            and np.array_equal(trial.u[held], self.target[held])
            and np.all(trial.pairs.gap >= -slack)
            and np.all(np.abs(trial.pairs.gap[active]) <= slack)
        )

    def _next(self, trial: Trial, touching: Flags, *, any_change: bool) -> Trial:
        """Take one Newton step with contact, shortened until no element is inverted and the residual falls.

        The first step of all moves supports and tools at once, so there the residual may grow.
        """
        step, multipliers = self._newton_step(trial, touching)
        best, kept, share, fault = None, 1.0, 1.0, None
        while share >= SHORTEST:
            u = trial.u + share * step
            if share == 1.0:
                u = np.where(self.frame.free, u, self.target)
            try:
                found = self.at(u, trial.multipliers + share * (multipliers - trial.multipliers))
            except Inverted as error:
                fault = error
            else:
                if best is None or found.merit < best.merit:
                    best = found
                if best is found:
                    kept = share
                if any_change or found.merit < trial.merit:
                    break
            share *= 0.5
        if best is None:
            assert fault is not None
            raise fault
        self.shares.append(kept)
        return best

    def _newton_step(self, trial: Trial, touching: Flags) -> tuple[Array, Array]:
        """Return the full step (size,) [m] and the multipliers (k,) [N] of the linearised equations."""
        frame, free, shape = self.frame, self.frame.free, self.frame.points.shape
        held, slack = np.where(free, 0.0, self.target - trial.u).reshape(shape), 0.1 * CLOSED * frame.extent
        nodal = trial.pairs.stiffness(trial.multipliers, shape) + self.inertia.reshape(shape)[:, :, None] * np.eye(
            shape[1]
        )
        tangent = Tangent(frame, [*trial.blocks, nodal])
        try:
            right = -trial.residual.reshape(shape)
            step, multipliers = frame.contact.step(trial.pairs, tangent, right, held, touching, slack)
        except (np.linalg.LinAlgError, SingularMatrix):
            component = int(np.argmax(np.abs(np.where(free, trial.residual, 0.0))))
            raise NotConverged("the tangent is singular", trial.merit, component) from None
        return step.ravel(), multipliers
