"""Two runs on common points: the nodes of one of them, whatever mesh the other has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import vstack

from rheotwin.validation.metrics import Transfer, transfer
from rheotwin.validation.run_view import Array, RunView

SAME = 1e-6
"""Nodes that differ by less than this share of the extent are the same."""
OUTSIDE = 0.5
"""How far nodes may lie outside of the other mesh, in its cell sizes: a round side is drawn by chords."""

Values = Callable[[Array], Array]


def same_nodes(run: RunView, other: RunView) -> bool:
    """Tell whether two runs have the same nodes; equal mesh hashes identify them, else rest positions have to do."""
    if run.rest.shape != other.rest.shape:
        return False
    hashes = run.mesh_hash, other.mesh_hash
    if None not in hashes and hashes[0] != hashes[1]:
        return False
    return bool(np.abs(run.rest - other.rest).max() <= SAME * max(np.ptp(other.rest), 1e-300))


def at_nodes_of(target: RunView, source: RunView) -> Values:
    """Return what takes nodal values (..., N, components) of `source` to the nodes of `target`.

    That is the source's own interpolation: exact for whatever its elements can represent.
    """
    return (lambda values: values) if same_nodes(target, source) else between(target, source)


def between(target: RunView, source: RunView) -> Transfer:
    """Return the transfer to the nodes of `target`, body by body: what touches does not mix."""
    parts, places = [], []
    for body in np.unique(target.cell_body):
        nodes = np.unique(target.cells[target.cell_body == body])
        own = source.cells[source.cell_body == body]
        parts.append(transfer(source.rest, own, source.cell_kind, target.rest[nodes]))
        places.append(nodes)
    order = np.argsort(np.concatenate(places))
    matrix = vstack([part.matrix for part in parts], format="csr")[order]
    return Transfer(matrix, np.concatenate([part.distance for part in parts])[order])


def pairing_obstacle(run: RunView, reference: RunView) -> str | None:
    """Return in words why two runs have no points in common, None if they have."""
    if same_nodes(run, reference):
        return None
    because = None
    if run.dimension != reference.dimension:
        because = f"{run.dimension}D and {reference.dimension}D"
    elif set(run.cell_body) != set(reference.cell_body):
        because = f"{len(set(run.cell_body))} and {len(set(reference.cell_body))}"
    elif _outside(run, reference) or _outside(reference, run):
        because = "the nodes of one lie outside of the other"
    if because is None:
        return None
    return (
        f"'{run.label}' and '{reference.label}' have different bodies ({because}), "
        "so displacements are not compared point by point; forces and residuals still are."
    )


def _outside(run: RunView, other: RunView) -> bool:
    """Tell whether nodes of a run lie well outside of another one's body."""
    extent, cells = np.ptp(other.rest, axis=0), max(len(other.cells), 1)
    size = float(np.prod(extent[extent > 0.0]) / cells) ** (1.0 / other.dimension)
    return bool(between(run, other).distance.max(initial=0.0) > OUTSIDE * size)
