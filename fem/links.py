"""Rigid links in finite-element steps: R = 0 at the end of every step, by Schur complement as contact (spec 5).

    du = du_free + K^-1 A_s L,      R(x + du) = 0,      A_s^T = dR/dx at x + s du

s is where in the step forces act: at s = 1/2 links do no work, since R is of degree two (see `constraints.links`).
Velocities lose, by impulses along the links, what stretches these at the end of the step: M (v' - v) = A p, A^T v' = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_matrix, hstack

from rheotwin.arrays import Array
from rheotwin.constraints.feasible import ConstraintReport, constraint_report
from rheotwin.constraints.links import LinkConstraints
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact import NodeColumns
from rheotwin.fem.model import Model
from rheotwin.problem import Problem
from rheotwin.tensors import padded

Touched = TypeVar("Touched")

ROUNDS = 60
"""Rounds of a step: each brings the lengths from an error to its square, or contact and links closer to each other."""
SETTLED = 1e-12
"""Share of its length to which a link has its length, and of the shortest to which a step is found."""
REDUNDANT = 1e-10
"""Singular value, relative to the largest, below which a combination of links is a redundant one."""


def require_no_links(problem: Problem, who: str, instead: str) -> None:
    """Refuse links where nothing keeps them."""
    if problem.links:
        raise RheotwinError(f"links.{problem.links[0].name}: {who} knows no rigid links; use {instead}")


def model_links(model: Model) -> LinkConstraints:
    """Return the links of the model's problem on its rows."""
    links = model.problem.links
    nodes = np.concatenate([np.zeros((0, 2), np.int64), *(link.nodes for link in links)])
    lengths = np.concatenate([np.zeros(0), *(link.lengths for link in links)])
    return LinkConstraints(model.vertex_rows[nodes].astype(np.int64), lengths, model.size)


def link_report(model: Model) -> ConstraintReport:
    """Return how many links count on what supports leave free, and which depend on each other."""
    names = [name for link in model.problem.links for name in link.members]
    return constraint_report(names, model_links(model).gradient(model.points), model.held)


def free_gradient(model: Model, links: LinkConstraints, u: Array) -> csr_matrix:
    """Return A^T at displacements u (size,) on the components that may move, zero on the others."""
    gradient = links.gradient(model.points + u.reshape(model.points.shape))
    gradient.data[model.held[gradient.indices]] = 0.0
    return gradient


@dataclass
class LinkSolver:
    """Keeps the lengths of a model's links in steps whose increment answers to forces by `columns`, taken at `share`.

    `impulse` (size,) [N s] -> change of velocity [m/s]; None where nothing has inertia.
    """

    model: Model
    columns: NodeColumns
    share: float
    impulse: Callable[[Array], Array] | None = None
    links: LinkConstraints = field(init=False)
    force: Array = field(init=False)
    """What the links exerted in the last step (size,) [N]."""

    def __post_init__(self) -> None:
        self.links = model_links(self.model)
        self.force = np.zeros(self.model.size)

    def step(
        self, u: Array, free: Array, with_contact: Callable[[Array], tuple[Array, Touched]]
    ) -> tuple[Array, Touched]:
        """Return the increment from u (size,) and its contacts; `free` is the increment without links and contact.

        `with_contact` turns an increment without contact into one with it. The two take turns until both agree.
        """
        pushed, error, linearised = np.zeros_like(free), 0.0, free
        self.force = np.zeros_like(free)
        for _ in range(ROUNDS):
            du, touched = with_contact(free + pushed)
            # forces act along links where they were last looked at: that must be where the step really goes
            error = max(self._error(u + du), float(np.abs(du - linearised).max() / self.links.lengths.min()))
            if error <= SETTLED:
                return du, touched
            linearised = du
            pushed = self._pushed(u, du, du - pushed)
        raise RheotwinError(
            f"links: lengths are still off by {error:.2g} of themselves after {ROUNDS} rounds of one step; reduce "
            "solvers.fem.step, or look for links that a tool or a support keeps from having their length"
        )

    def _positions(self, u: Array) -> Array:
        return np.asarray(self.model.points + u.reshape(self.model.points.shape))

    def _error(self, u: Array) -> float:
        return float(np.max(np.abs(self.links.value(self._positions(u))) / self.links.lengths, initial=0.0))

    def _pushed(self, u: Array, du: Array, without: Array) -> Array:
        """Return what the links add to the increment `without` them, linearised at `du`."""
        positions, acting = self._positions(u + du), self._positions(u + self.share * du)
        at_end, links = self.links.gradient(positions), self.links
        slope = padded((acting[links.nodes[:, 1]] - acting[links.nodes[:, 0]]) / links.lengths[:, None])
        answers = self.columns.along(links.nodes[:, 1], slope) - self.columns.along(links.nodes[:, 0], slope)
        missing = links.value(positions) + at_end @ (without - du)
        multipliers = -np.linalg.lstsq(at_end @ answers, missing, rcond=REDUNDANT)[0]
        self.force = np.asarray(links.gradient(acting).T @ multipliers)
        return np.asarray(answers @ multipliers)

    def struck(self, u: Array, velocity: Array, with_contact: Callable[[Array], Array]) -> Array:
        """Return the velocity (size,) [m/s] after impulses that leave no link at u being stretched.

        `with_contact` stops again what these impulses set in motion against supports and tools.
        """
        if self.impulse is None:
            return velocity
        gradient, own = self.links.gradient(self._positions(u)), free_gradient(self.model, self.links, u)
        answers = self.impulse(own.T.toarray())
        for _ in range(ROUNDS):
            rate = gradient @ velocity
            impulses = -np.linalg.lstsq(own @ answers, rate, rcond=REDUNDANT)[0]
            velocity = velocity + answers @ impulses
            stopped = with_contact(velocity)
            change, velocity = np.abs(stopped - velocity).max(initial=0.0), stopped
            if change <= SETTLED * np.abs(velocity).max(initial=0.0):
                break
        return velocity


def without_links(model: Model, u: Array, residual: Array, known: Array, others: csr_matrix) -> tuple[Array, Array]:
    """Split the forces `residual` (size,) [N] that keep a body at u in its motion: those of no link, and L of links.

    They are found on free components, where besides links only forces that are `known` (size,) [N] act and `others`,
    directions (size, n) such as those of contacts: the least squares take both, so that a node with both has the right
    share of each.
    """
    links = model_links(model)
    directions = hstack([free_gradient(model, links, u).T, others], format="csr")
    touched = np.flatnonzero(np.diff(directions.indptr))
    touched = touched[~model.held[touched]]
    found = np.linalg.lstsq(directions[touched].toarray(), (residual - known)[touched], rcond=REDUNDANT)[0]
    multipliers = np.asarray(found[: links.count])
    return residual - links.gradient(model.points + u.reshape(model.points.shape)).T @ multipliers, multipliers


def link_tensions(model: Model, u: Array, multipliers: Array) -> dict[str, Array]:
    """Return the tension (members,) [N] of each link of the scene."""
    found = model_links(model).tension(model.points + u.reshape(model.points.shape), multipliers)
    ends = np.cumsum([0, *(len(link.nodes) for link in model.problem.links)])
    return {f"link.{link.name}": found[ends[k] : ends[k + 1]] for k, link in enumerate(model.problem.links)}
