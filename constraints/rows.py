"""Constraint forces in the compiled loop: (A^T M^-1 A + eps) L = right, without ever forming the matrix (spec 5).

Conjugate gradients with the diagonal as preconditioner; every product goes from multipliers to the nodes and back.
They start from the multipliers of the step before, which most of the time are nearly those of this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rheotwin.arrays import Array
from rheotwin.kernels.compiled import compiled

Indices = NDArray[np.uint32]
"""Without a sign, since compilers otherwise ask of every index whether it counts from the end."""
Places = NDArray[np.integer[Any]]

EXACT = 1e-12
"""Residual, relative to what cancels in the right-hand side, at which multipliers count as found."""


class Turned(NamedTuple):
    """The entries node by node: node `touched[n]` has the places `start[n]:start[n + 1]`.

    At each stand the constraint it is of, its entry there, and a copy of that (places, 3). Sums over a node's own
    constraints need no memory between them, as adding to the nodes from constraint to constraint does.
    """

    start: Indices
    row: Indices
    entry: Indices
    gradient: Array


class Rows(NamedTuple):
    """Gradients A^T of C constraints on N nodes: entries `start[i]:start[i + 1]` belong to constraint i.

    `inverse_mass` (N, 3) [1/kg] is zero where a component does not give way, `share` (C,) is eps as a share of the
    diagonal. The rest is room: vectors (C,), `push` (N, 3), of which only rows `touched` are used, and `work` (1,)
    counts iterations.
    """

    start: Indices
    node: Indices
    gradient: Array
    inverse_mass: Array
    share: Array
    touched: Indices
    turned: Turned
    diagonal: Array
    residual: Array
    direction: Array
    image: Array
    push: Array
    work: Array


def room_for_rows(start: Places, node: Places, inverse_mass: Array, share: Array) -> Rows:
    """Return rows with the pattern `start` (C + 1,), `node` (entries,) and no gradients yet."""
    count, touched = len(share), np.unique(node)
    return Rows(
        start=start.astype(np.uint32),
        node=node.astype(np.uint32),
        gradient=np.zeros((len(node), 3)),
        inverse_mass=inverse_mass,
        share=share,
        touched=touched.astype(np.uint32),
        turned=_turned(start, node, touched),
        diagonal=np.zeros(count),
        residual=np.zeros(count),
        direction=np.zeros(count),
        image=np.zeros(count),
        push=np.zeros_like(inverse_mass),
        work=np.zeros(1),
    )


def _turned(start: Places, node: Places, touched: Places) -> Turned:
    """Return where entries stand node by node."""
    entry = np.argsort(node, kind="stable")
    return Turned(
        start=np.searchsorted(node[entry], np.append(touched, touched[-1:] + 1)).astype(np.uint32),
        row=np.repeat(np.arange(len(start) - 1), np.diff(start))[entry].astype(np.uint32),
        entry=entry.astype(np.uint32),
        gradient=np.zeros((len(entry), 3)),
    )


def joined(patterns: Sequence[tuple[Places, Places]]) -> tuple[Places, Places]:
    """Put patterns (start, node) one after the other."""
    starts: list[Places] = [np.zeros(1, np.int64)]
    nodes: list[Places] = [np.zeros(0, np.int64)]
    entries = 0
    for start, node in patterns:
        starts.append(start[1:] + entries)
        nodes.append(node)
        entries += len(node)
    return np.concatenate(starts), np.concatenate(nodes)


@compiled(contract=True)
def add_along(rows: Rows, multipliers: Array, out: Array) -> None:
    """Add A L of the first rows, one for each of the `multipliers`, to vectors (N, 3)."""
    start, nodes, gradient = rows.start, rows.node, rows.gradient
    for i in range(multipliers.shape[0]):
        pull = multipliers[i]
        for k in range(start[i], start[i + 1]):
            node = nodes[k]
            out[node, 0] += gradient[k, 0] * pull
            out[node, 1] += gradient[k, 1] * pull
            out[node, 2] += gradient[k, 2] * pull


@compiled(spliced=True)
def along(rows: Rows, i: int, vectors: Array) -> float:
    """Return row i of A^T times vectors (N, 3)."""
    nodes, gradient, x, y, z = rows.node, rows.gradient, 0.0, 0.0, 0.0
    for k in range(rows.start[i], rows.start[i + 1]):
        node = nodes[k]
        x += gradient[k, 0] * vectors[node, 0]
        y += gradient[k, 1] * vectors[node, 1]
        z += gradient[k, 2] * vectors[node, 2]
    return x + y + z


@compiled(contract=True)
def fill_diagonal(rows: Rows) -> None:
    """Put the diagonal of A^T M^-1 A into `diagonal`."""
    nodes, gradient, inverse_mass = rows.node, rows.gradient, rows.inverse_mass
    for i in range(rows.share.shape[0]):
        x, y, z = 0.0, 0.0, 0.0
        for k in range(rows.start[i], rows.start[i + 1]):
            node = nodes[k]
            x += gradient[k, 0] * gradient[k, 0] * inverse_mass[node, 0]
            y += gradient[k, 1] * gradient[k, 1] * inverse_mass[node, 1]
            z += gradient[k, 2] * gradient[k, 2] * inverse_mass[node, 2]
        rows.diagonal[i] = x + y + z


@compiled
def turn_rows(rows: Rows) -> None:
    """Copy gradients to where `accelerate` reads them node by node; to be called when they have changed."""
    turned, gradient = rows.turned, rows.gradient
    for k in range(turned.entry.shape[0]):
        entry = turned.entry[k]
        for c in range(3):
            turned.gradient[k, c] = gradient[entry, c]


@compiled(spliced=True)
def _pull_at(turned: Turned, n: int, multipliers: Array) -> tuple[float, float, float]:
    """Return A L at node `touched[n]`."""
    row, gradient, x, y, z = turned.row, turned.gradient, 0.0, 0.0, 0.0
    for k in range(turned.start[n], turned.start[n + 1]):
        pull = multipliers[row[k]]
        x += gradient[k, 0] * pull
        y += gradient[k, 1] * pull
        z += gradient[k, 2] * pull
    return x, y, z


@compiled(contract=True)
def accelerate(rows: Rows, multipliers: Array) -> None:
    """Put M^-1 A L into `push`; `turn_rows` must have been called for the gradients at hand."""
    push, inverse_mass = rows.push, rows.inverse_mass
    for n in range(rows.touched.shape[0]):
        node = rows.touched[n]
        x, y, z = _pull_at(rows.turned, n, multipliers)
        push[node, 0] = inverse_mass[node, 0] * x
        push[node, 1] = inverse_mass[node, 1] * y
        push[node, 2] = inverse_mass[node, 2] * z


@compiled(contract=True)
def add_by_node(rows: Rows, multipliers: Array, out: Array) -> None:
    """Do what `add_along` does for all rows, node by node; `turn_rows` must have been called for these gradients."""
    for n in range(rows.touched.shape[0]):
        node = rows.touched[n]
        x, y, z = _pull_at(rows.turned, n, multipliers)
        out[node, 0] += x
        out[node, 1] += y
        out[node, 2] += z


@compiled(contract=True)
def collect(rows: Rows, multipliers: Array, out: Array) -> None:
    """Put A^T of `push` plus eps L into `out`; rows that nothing can follow stay zero."""
    for i in range(multipliers.shape[0]):
        out[i] = along(rows, i, rows.push) + rows.share[i] * rows.diagonal[i] * multipliers[i]


@compiled
def solve_rows(rows: Rows, right: Array, scale: Array, multipliers: Array) -> None:
    """Improve `multipliers` (C,) until they solve the system, to EXACT times `scale` (C,), the terms of `right`."""
    count, diagonal = multipliers.shape[0], rows.diagonal
    residual, direction, image = rows.residual, rows.direction, rows.image
    turn_rows(rows)
    accelerate(rows, multipliers)
    collect(rows, multipliers, image)
    size, rho = 0.0, 0.0
    for i in range(count):
        if diagonal[i] > 0.0:
            size += scale[i] ** 2 / diagonal[i]
            residual[i] = right[i] - image[i]
            direction[i] = residual[i] / diagonal[i]
        else:
            residual[i], direction[i], multipliers[i] = 0.0, 0.0, 0.0
        rho += residual[i] * direction[i]
    for _ in range(2 * count + 50):
        if not rho > EXACT**2 * size:
            return
        rows.work[0] += 1.0
        accelerate(rows, direction)
        collect(rows, direction, image)
        energy = 0.0
        for i in range(count):
            energy += direction[i] * image[i]
        step, before, rho = rho / energy, rho, 0.0
        for i in range(count):
            multipliers[i] += step * direction[i]
            residual[i] -= step * image[i]
            if diagonal[i] > 0.0:
                rho += residual[i] ** 2 / diagonal[i]
        for i in range(count):
            own = residual[i] / diagonal[i] if diagonal[i] > 0.0 else 0.0
            direction[i] = own + rho / before * direction[i]
