"""The constant matrix of an implicit rule: m M + sum kappa_X J_X, factorised once (mixed terms as extra rows)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import block_array, block_diag, csr_matrix, vstack

from rheotwin.arrays import Array
from rheotwin.fem.linear import Choice, Factor, Unknowns, WarmStart, factorise
from rheotwin.fem.model import Model


@dataclass(frozen=True)
class StepMatrix:
    """The operator on all components and its inverse on the free ones."""

    model: Model
    mass_factor: float
    stiffnesses: tuple[float, ...]
    """kappa per term of the model."""
    factor: Factor
    extra: int
    """Rows behind the displacements: pressures of mixed terms."""
    warm: WarmStart | None = None
    """Earlier solutions on the free components, kept where the solver iterates."""

    def apply(self, x: Array) -> Array:
        """Return (m M + sum kappa J) x on all components."""
        out = self.mass_factor * (self.model.mass @ x) if self.mass_factor else np.zeros_like(x)
        for (term, rows), stiffness in zip(self.model.terms, self.stiffnesses, strict=True):
            out[rows] += stiffness * term.force(term.measure(x[rows]))
        return np.asarray(out)

    def solve(self, right: Array) -> Array:
        """Solve for the free components with the held ones at zero; `right` is (size,) or (size, n)."""
        free = self.model.free
        reduced = right[free]
        if self.extra:
            reduced = np.concatenate([reduced, np.zeros((self.extra, *right.shape[1:]))])
        out = np.zeros_like(right)
        out[free] = self.factor.solve(reduced)[: len(free)]
        return out

    def next(self, right: Array, u: Array) -> Array:
        """Return the increment du of one step of a run that stands at `u`.

        An iterative solver looks for u + du, starting from what it has found before: its tolerance is then a share of
        the forces of the whole deformation, not of an increment that may be next to nothing.
        """
        if self.warm is None:
            return self.solve(right)
        free = self.model.free
        whole = right[free] + self.warm.matrix @ u[free]
        solution = self.factor.solve(whole, self.warm.guess(whole))
        self.warm.remember(solution)
        out = np.zeros_like(right)
        out[free] = solution - u[free]
        return out


def step_matrix(
    model: Model,
    mass_factor: float,
    stiffnesses: tuple[float, ...],
    choice: Choice,
    *,
    remember: bool = True,
) -> StepMatrix:
    """Assemble and factorise; `remember` lets an iterative solver start from what it has found before."""
    blocks, gradients, masses, kappas = [], [], [csr_matrix((0, 0))], iter(stiffnesses)
    for body, _ in model.parts():
        block, mixed = mass_factor * body.mass, []
        for term, kappa in zip(body.terms, kappas, strict=False):
            if term.matrix is not None:
                block = block + kappa * term.matrix
            elif term.augmentation is not None and kappa:
                mixed.append((term.augmentation, kappa))
        blocks.append(block)
        # One size for stiffnesses and areas, whatever the units: pivots are judged by their size.
        size, rows = float(np.abs(block.diagonal()).max()), [csr_matrix((0, body.space.size))]
        for term_rows, kappa in mixed:
            scale = size / float(np.abs(term_rows.gradient.data).max())
            rows.append(scale * term_rows.gradient)
            masses.append(scale**2 / kappa * term_rows.mass)
        gradients.append(vstack(rows, format="csr"))
    free = model.free
    matrix = block_diag(blocks, format="csr")[free][:, free]
    extra = sum(pressure.shape[0] for pressure in masses)
    if extra:
        gradient = block_diag(gradients, format="csr")[:, free]
        matrix = block_array([[matrix, gradient.T], [gradient, -block_diag(masses)]], format="csr")
        factor = factorise(matrix, choice, kind="indefinite")
    else:
        factor = factorise(matrix, choice, nodes=Unknowns(model.points, free))
    warm = WarmStart(matrix) if remember and factor.solver == "amg" else None
    return StepMatrix(model, mass_factor, stiffnesses, factor, extra, warm)
