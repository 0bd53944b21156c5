"""Inelastic impact: held and touching components take the velocity of what holds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.sparse import block_array, block_diag, csc_matrix, csr_matrix, diags, hstack, vstack
from scipy.sparse.linalg import spsolve

from rheotwin.arrays import Array, Indices
from rheotwin.fem.contact import Contacts, NodeColumns
from rheotwin.fem.linear import Choice, Unknowns, factorise
from rheotwin.fem.model import Model

Solve = Callable[[Array, Array], Array]
"""Impulses (size, ...) [N s] and volume rates (pressures, ...) -> velocity changes (size, ...) [m/s]."""
MASSLESS = 1e-6
"""Mass, as a share of the smallest, that lets the equations of massless bubbles be solved."""


def contact_rows(model: Model, node: Indices, normal: Array) -> csr_matrix:
    """Return the normals (n, 3) of contacts as constraint rows (n, size), without held components."""
    d, count = model.dimension, len(node)
    columns = node[:, None] * d + np.arange(d)
    values = np.where(model.held[columns], 0.0, normal[:, :d])
    return csr_matrix((values.ravel(), columns.ravel(), d * np.arange(count + 1)), shape=(count, model.size))


def contact_normals(model: Model, contacts: Contacts) -> csc_matrix:
    """Return N (size, contacts): each contact's normal on the free components of its node."""
    return csc_matrix(contact_rows(model, contacts.node, contacts.normal).T)


class Impulses:
    """Velocity changes of impacts in steps of `h` [s]: M (v' - v) = N p + B' q, B v' = 2 C q/(K h^2).

    The impulses p act on the held and touching components alone, so the momentum of the others is balanced for any
    mass matrix. Without them the midpoint rule would reflect the velocity of a stopped node for ever; with them,
    impact is inelastic, as it is for a rigid tool on a soft body. The pressure impulses q keep rigid volumes (B v is
    their rate of change) as well as the step itself does: a stopped node that changed a volume would make pressures
    alternate for ever.
    """

    def __init__(self, model: Model, choice: Choice, h: float, near: Indices) -> None:
        """Prepare; `near` are the nodes that can touch anything."""
        self._model = model
        self._volumes = _volume_rates(model, h)
        self._solve = _mass_solver(model, choice, self._volumes)
        pressures = self._volumes[0].shape[0]
        # A lumped mass answers a blow at the node that takes it: nothing there to keep whole columns for.
        self.ease = _inverse_mass(model).diagonal() if model.lumped and not pressures else None
        """Inverse masses (size,) [1/kg]."""
        self.answer = partial(self._answer, self._solve, pressures)
        """Velocity changes of impulses (size, n) on free components."""
        self.columns = NodeColumns(self.answer, model.dimension, model.size, near)

    @staticmethod
    def _answer(solve: Solve, pressures: int, impulse: Array) -> Array:
        """Return the velocity changes of impulses that change no volume."""
        return solve(impulse, np.zeros((pressures, *impulse.shape[1:])))

    def after(self, velocity: Array, rate: Array, contacts: Contacts) -> Array:
        """Return the velocity with held and touching components at `rate` [m/s]."""
        model = self._model
        change = np.where(model.held, rate - velocity, 0.0)
        velocity = velocity + change
        velocity = velocity + self._solve(-(model.mass @ change), -(self._volumes[0] @ velocity))
        if len(contacts.node) and self.ease is not None and len(np.unique(contacts.node)) == len(contacts.node):
            d = model.dimension  # each node for itself
            of = contacts.node[:, None] * d + np.arange(d)
            normal = np.where(model.held[of], 0.0, contacts.normal[:, :d])
            missing, response = np.sum(normal * (rate - velocity)[of], axis=1), self.ease[of] * normal
            velocity[of] += response * (missing / np.sum(normal * response, axis=1))[:, None]
        elif len(contacts.node):
            normals = contact_normals(model, contacts)
            if self.ease is None:
                response = self.columns.along(contacts.node, contacts.normal)
            else:
                response = diags(self.ease) @ normals
            missing = normals.T @ (rate - velocity)
            velocity = velocity + response @ spsolve(csc_matrix(normals.T @ response), missing)
        return np.asarray(velocity)


def _volume_rates(model: Model, h: float) -> tuple[csr_matrix, csr_matrix]:
    """Return B (pressures, size) and 2 C/(K h^2) of all rigid volumes."""
    gradients, compliances = [csr_matrix((0, model.size))], [csr_matrix((0, 0))]
    for term, columns in model.terms:
        if term.rigid and term.augmentation is not None:
            rows = term.augmentation
            before, behind = (csr_matrix((rows.mass.shape[0], n)) for n in (columns.start, model.size - columns.stop))
            gradients.append(hstack([before, rows.gradient, behind]))
            compliances.append(2.0 / (term.channel.equilibrium * h**2) * rows.mass)
    return vstack(gradients, format="csr"), block_diag(compliances, format="csr")


def _massive(model: Model) -> Indices:
    """Return the free components that have mass."""
    return np.asarray(model.free[model.mass.diagonal()[model.free] > 0.0])


def _inverse_mass(model: Model) -> csr_matrix:
    """Return the inverse of a lumped mass [1/kg], zero where nothing moves."""
    inverse, free = np.zeros(model.size), _massive(model)
    inverse[free] = 1.0 / model.mass.diagonal()[free]
    return diags(inverse).tocsr()


def _mass_solver(model: Model, choice: Choice, volumes: tuple[csr_matrix, csr_matrix]) -> Solve:
    """Return the map to velocity changes of the free components that have mass."""
    if volumes[0].shape[0]:
        return _saddle_solver(model, choice, volumes)
    if model.lumped:
        lumped = _inverse_mass(model)
        return lambda impulse, _: np.asarray(lumped @ impulse)
    free = _massive(model)
    factor = factorise(model.mass[free][:, free], choice, nodes=Unknowns(model.points, free))

    def solve(impulse: Array, _: Array) -> Array:
        change = np.zeros_like(impulse)
        change[free] = factor.solve(impulse[free])
        return change

    return solve


def _saddle_solver(model: Model, choice: Choice, volumes: tuple[csr_matrix, csr_matrix]) -> Solve:
    """Solve for v and q on the free components; those without mass give way at no cost and keep their velocity."""
    free, (gradient, compliance) = model.free, volumes
    own, rows = model.mass.diagonal()[free], gradient[:, free]
    massive = own > 0.0
    if not massive.any():
        return lambda impulse, _: np.zeros_like(impulse)
    added = np.where(massive, 0.0, MASSLESS * own[massive].min())
    mass = model.mass[free][:, free] + diags(added)
    scale = float(own.max() / np.abs(rows.data).max())  # one size for masses and areas, whatever the units
    matrix = block_array([[mass, scale * rows.T], [scale * rows, -(scale**2) * compliance]], format="csr")
    factor = factorise(matrix, choice, kind="indefinite")
    moved, chosen = free[massive], np.flatnonzero(massive)

    def solve(impulse: Array, rate: Array) -> Array:
        change = np.zeros_like(impulse)
        change[moved] = factor.solve(np.concatenate([impulse[free], scale * rate]))[chosen]
        return change

    return solve
