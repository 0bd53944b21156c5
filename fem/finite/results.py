"""What a model at large strain reports: stresses at nodes, forces on tools and supports, energies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rheotwin.constraints.contact.setup import POSE_SIZE
from rheotwin.fem.contact.memory import Pushes
from rheotwin.fem.contact.results import tool_reactions
from rheotwin.fem.finite.body import BodyState, FiniteBody
from rheotwin.fem.finite.model import FiniteModel
from rheotwin.fem.finite.state import State
from rheotwin.strain import vertex_strain
from rheotwin.tensors import padded, von_mises

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def residual(model: FiniteModel, state: State, time: float) -> Array:
    """Return M a + f_int - f_ext (size,) [N] at `time` [s], the end of the last step: what supports and tools exert."""
    flow = [b.forces(state.u, b.flow_stress(now)) for b, now in zip(model.bodies, state.bodies, strict=True)]
    return np.asarray(model.mass * state.acceleration + state.force + model.nodal_sum(flow) - model.loads(time))


def contact_forces(model: FiniteModel, state: State, time: float) -> tuple[Indices, Indices, Array]:
    """Return tool, node and force (n, 3) [N] on the node of each contact: N p = residual, p >= 0."""
    positions = model.problem.points + state.u.reshape(model.problem.points.shape)
    pairs = model.frame.contact.pairs(positions, time)
    chosen, normals = np.flatnonzero(state.touching), model.normals(pairs, state.touching)
    sizes = np.linalg.solve(normals.T @ normals, normals.T @ residual(model, state, time))
    return pairs.tool[chosen], pairs.node[chosen], np.maximum(sizes, 0.0)[:, None] * pairs.normal[chosen]


def reactions(model: FiniteModel, state: State, time: float) -> dict[str, Array]:
    """Return the force (d,) [N] on each tool and support at `time` [s]; with `contact` moments on tools, too."""
    problem = model.problem
    tools, nodes, forces = contact_forces(model, state, time)
    held = residual(model, state, time).reshape(problem.points.shape)
    np.subtract.at(held, nodes, forces[:, : problem.dimension])
    places = padded(problem.points + state.u.reshape(problem.points.shape))
    pushes = Pushes(nodes[:, None], forces[:, None], tools, places[nodes], forces)
    poses = np.array([tool.motion.at(time) for tool in problem.tools]).reshape(-1, POSE_SIZE)
    found = tool_reactions(problem.tools, pushes, poses, problem.dimension)
    if problem.contact is None:
        found = {f"tool.{tool.name}": found[f"tool.{tool.name}"] for tool in problem.tools}
    for index, item in enumerate(problem.prescribed):
        found[f"support.{item.name}"] = -np.where(problem.owners == index, held, 0.0).sum(axis=0)
    return found


def energy(model: FiniteModel, state: State) -> dict[str, float]:
    """Return energies [J]: kinetic, stored, dissipated, lost in impacts, work from outside, and what is amiss."""
    kinetic = 0.5 * float(model.mass @ state.v**2) * model.inertia
    stored = sum(body.stored(now) for body, now in zip(model.bodies, state.bodies, strict=True))
    found = {"kinetic": kinetic, "stored": stored} | state.ledger.entries()
    return found | {"defect": state.ledger.defect(kinetic, stored)}


def _nodal_stress(model: FiniteModel, state: State, part: Callable[[FiniteBody, BodyState], Array]) -> Array:
    """Return Cauchy stresses (N, 6) [Pa], averaged to nodes with the volumes of the elements around."""
    count, d = model.problem.points.shape
    total, volume = np.zeros((count, 6)), np.zeros(count)
    for body, now in zip(model.bodies, state.bodies, strict=True):
        weights, nodes = body.geometry.weights, body.geometry.dofs[:, ::d] // d
        stress = body.kinematics.cauchy(state.u, part(body, now))
        np.add.at(total, nodes, np.einsum("eq,eqi->ei", weights, stress)[:, None])
        np.add.at(volume, nodes, weights.sum(axis=1)[:, None])
    return np.asarray(total / volume[:, None])


def fields(model: FiniteModel, state: State, time: float) -> dict[str, Array]:
    """Return the nodal results under their common names."""
    problem = model.problem
    displacement = state.u.reshape(problem.points.shape)
    stress = _nodal_stress(model, state, FiniteBody.stress)
    _, nodes, forces = contact_forces(model, state, time)
    contact = np.zeros((len(displacement), 3))
    np.add.at(contact, nodes, forces)
    strains = [vertex_strain(body.mesh, body.cell).of(displacement[body.nodes]) for body in problem.bodies]
    return {
        "displacement": padded(displacement),
        "velocity": padded(state.v.reshape(displacement.shape)),
        "stress": stress,
        "strain": np.concatenate(strains),
        "von_mises_stress": von_mises(stress),
        "memory_stress": _nodal_stress(model, state, FiniteBody.memory_stress),
        "contact_force": contact,
    }
