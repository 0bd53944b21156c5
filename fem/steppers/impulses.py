"""Inelastic impact: held and touching components take the velocity of what holds them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, diags
from scipy.sparse.linalg import spsolve

from rheotwin.fem.contact import Contacts, NodeColumns
from rheotwin.fem.linear import Choice, Nodes, factorise
from rheotwin.fem.model import Model

Array = NDArray[np.float64]


def contact_normals(model: Model, contacts: Contacts) -> csc_matrix:
    """Return N (size, contacts): each contact's normal on the free components of its node."""
    d, count = model.dimension, len(contacts.node)
    rows = contacts.node[:, None] * d + np.arange(d)
    values = np.where(model.held[rows], 0.0, contacts.normal[:, :d])
    return csc_matrix((values.ravel(), (rows.ravel(), np.repeat(np.arange(count), d))), shape=(model.size, count))


class Impulses:
    """Velocity changes of impacts: M (v' - v) = N p.

    The impulses p act on the held and touching components alone, so the momentum of the others is balanced for any
    mass matrix. Without them the midpoint rule would reflect the velocity of a stopped node for ever; with them,
    impact is inelastic, as it is for a rigid tool on a soft body.
    """

    def __init__(self, model: Model, choice: Choice) -> None:
        self._model = model
        self._solve = _mass_solver(model, choice)
        self._columns = NodeColumns(self._solve, model.dimension, model.size)

    def after(self, velocity: Array, rate: Array, contacts: Contacts) -> Array:
        """Return the velocity with held and touching components at `rate` [m/s]."""
        model = self._model
        change = np.where(model.held, rate - velocity, 0.0)
        velocity = velocity + change - self._solve(model.mass @ change)
        if len(contacts.node):
            normals = contact_normals(model, contacts)
            columns = self._columns
            response = self._solve(normals) if model.lumped else columns.along(contacts.node, contacts.normal)
            missing = normals.T @ (rate - velocity)
            velocity = velocity + response @ spsolve(csc_matrix(normals.T @ response), missing)
        return np.asarray(velocity)


def _mass_solver(model: Model, choice: Choice) -> Callable[[Array], Array]:
    """Return the map from impulses [N s] to velocity changes [m/s] of the free components that have mass."""
    diagonal = model.mass.diagonal()
    free = model.free[diagonal[model.free] > 0.0]
    if model.lumped:
        inverse = np.zeros(model.size)
        inverse[free] = 1.0 / diagonal[free]
        lumped = diags(inverse)
        return lambda impulse: lumped @ impulse
    factor = factorise(model.mass[free][:, free], choice, nodes=Nodes(model.points, free))

    def solve(impulse: Array) -> Array:
        change = np.zeros_like(impulse)
        change[free] = factor.solve(impulse[free])
        return change

    return solve
