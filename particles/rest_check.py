"""What a body must be like at rest for its particles to move: elements, edges, neighbours, constants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rheotwin.errors import RheotwinError
from rheotwin.meshing import check_elements
from rheotwin.particles.network import Constants, TrussNetwork
from rheotwin.problem import Problem

FLAT = 1e-12
"""An edge shorter than this share of the body's extent has no direction."""


def check_rest_shape(problem: Problem) -> None:
    """Refuse inverted or flat elements and edges without length, before anything is derived from them."""
    for body in problem.bodies:
        ends = body.mesh.p[:, body.mesh.t]
        for a in range(body.mesh.t.shape[0]):
            for b in range(a):
                lengths = np.linalg.norm(ends[:, a] - ends[:, b], axis=0)
                cell = int(np.argmin(lengths))
                if not lengths[cell] > FLAT * problem.extent:
                    first, second = sorted((int(body.mesh.t[a, cell]), int(body.mesh.t[b, cell])))
                    raise RheotwinError(
                        f"bodies.{body.name}: the edge between nodes {first} and {second} has no length and so no "
                        "direction; merge the two nodes or move them apart"
                    )
        check_elements(body.mesh, f"bodies.{body.name}")


def check_network(problem: Problem, network: TrussNetwork) -> None:
    """Refuse particles without neighbours and elements whose constants would feed energy into them."""
    bound = np.zeros(len(problem.points), dtype=bool)
    bound[network.edges.ravel()] = True
    bound[network.cells.ravel()] = True
    bound[(problem.owners >= 0).all(axis=1)] = True
    if not bound.all():
        raise RheotwinError(
            f"{_node(problem, np.flatnonzero(~bound)[0])} has no neighbours, so nothing holds it; "
            "remove it from the mesh or connect it"
        )
    _check_constants("edge", network.edge_constants, problem, network.edges)
    _check_constants("volume spring", network.cell_constants, problem, network.cells)


def _check_constants(kind: str, constants: Constants, problem: Problem, corners: NDArray[np.int64]) -> None:
    """Refuse k, kappa, eta below zero and decay rates A not above zero: B or A of the law would be negative."""
    rows = {
        "stiffness": constants.stiffness,
        "viscosity": constants.viscosity,
        "arm stiffness (kappa = B^2 k)": constants.arm_stiffness,
        "decay rate (A)": constants.arm_rate,
    }
    for word, values in rows.items():
        worst = np.atleast_2d(values).min(axis=0, initial=np.inf)
        if worst.size and not worst.min() >= 0.0:
            element = int(np.flatnonzero(~(worst >= 0.0))[0])
            body = problem.body_of(int(corners[element, 0]))
            raise RheotwinError(
                f"bodies.{body.name}: {kind} {element} has the {word} {worst[element]:.6g}, which would feed energy "
                "into it; give its law moduli and viscosities that are not negative"
            )


def _node(problem: Problem, node: int) -> str:
    body = problem.body_of(int(node))
    return f"bodies.{body.name}: node {int(node) - body.first_node}"
