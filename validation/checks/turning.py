"""Bodies that turn and stretch: false stress of the small-strain theory, and the large-strain law (section 6)."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.fem.finite.body import DESCRIPTIONS, FinitePart
from rheotwin.fem.finite.channels import ChannelLaw
from rheotwin.fem.finite.kinematics import element_geometry, stress_tensor
from rheotwin.fem.space import vector_basis
from rheotwin.materials import Channel
from rheotwin.scene import scene_from_data
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.matrices import END, distorted_problem
from rheotwin.validation.checks.running import ELASTIC, RHEOLOGICAL, VISCOPLASTIC, Data, box_scene, named, run_to, start

YOUNG = 300.0
"""Young's modulus [Pa] of the elastic law."""
ANGLES = (10, 30)
STRAINS = (1e-2, 1e-3, 1e-4)
STEP = 0.3
"""Step [s] of the large-strain law."""


def false_stress() -> Values:
    """Return the stress over E [%] that linear elements find in a body that only turns."""
    found = []
    for angle in ANGLES:
        turn = Rotation.from_euler("z", angle, degrees=True).as_matrix() - np.eye(3)
        simulation = start(distorted_problem("triangle", ELASTIC, gradient=turn), step=END)
        run_to(simulation, END)
        found.append(100.0 * float(simulation.fields()["stress"][:, 0].mean()) / YOUNG)
    return named("{} degrees", ANGLES, found)


def channels(law: Data) -> tuple[Channel, Channel]:
    """Return the bulk and the shear channel of a law."""
    stuff = scene_from_data(box_scene(law, cells=[1, 1])).laws["stuff"].law()
    return stuff.channel("bulk"), stuff.channel("shear")


def distorted_part(description: str, law: Data) -> tuple[FinitePart, Array]:
    """Return a distorted cube of tets in one of the descriptions of large motion, and its points (N, 3) [m]."""
    problem = distorted_problem("tet", law)
    kinematics, measure = DESCRIPTIONS[description]
    elements = kinematics(element_geometry(vector_basis(problem.bodies[0].mesh, "tet")))
    bulk, shear = channels(law)
    return FinitePart("block", elements, measure, bulk, ChannelLaw(measure, shear, bulk.viscosity)), problem.points


def turned_stress() -> float:
    """Return by how much R' sigma R differs between two runs of random large strains, of which one also tumbles."""
    part, points = distorted_part("total-lagrangian", RHEOLOGICAL)
    generator, worst = np.random.default_rng(0), 0.0
    still = tumbling = part.state(np.zeros(points.size), part.at_rest())
    for angle in (90.0, -70.0, 170.0, 200.0):
        moved = points + 0.05 * generator.uniform(-1.0, 1.0, points.shape)
        frame = Rotation.from_rotvec(angle * np.array([2.0, -1.0, 2.0]) / 3.0, degrees=True).as_matrix()
        u, turned = (moved - points).ravel(), (moved @ frame.T - points).ravel()
        still, tumbling = part.commit(still, u, STEP), part.commit(tumbling, turned, STEP)
        wanted = stress_tensor(part.kinematics.cauchy(u, part.stress(still)))
        found = stress_tensor(part.kinematics.cauchy(turned, part.stress(tumbling)))
        worst = max(worst, float(np.abs(frame.T @ found @ frame - wanted).max() / np.abs(wanted).max()))
    return worst


def distance(strain: float) -> float:
    """Return how far the large-strain law is from the linear one under a uniaxial strain, over the largest stress."""
    stresses = []
    for description in ("total-lagrangian", "corotational"):
        part, points = distorted_part(description, VISCOPLASTIC)
        u = (strain * points * [1.0, 0.0, 0.0]).ravel()
        state = part.commit(part.state(np.zeros(points.size), part.at_rest()), u, STEP)
        stresses.append(part.kinematics.cauchy(u, part.stress(state)))
    return float(np.abs(stresses[0] - stresses[1]).max() / np.abs(stresses[1]).max())


def objectivity() -> Values:
    """Return what a turn changes, the distances, and their ratios from strain to strain."""
    found = [distance(strain) for strain in STRAINS]
    ratios = {"1e-2 over 1e-3": found[0] / found[1], "1e-3 over 1e-4": found[1] / found[2]}
    return {"rotated stress": turned_stress(), **named("strain {}", ("1e-2", "1e-3", "1e-4"), found), **ratios}


_check = partial(check, quick=True)
CHECKS = {
    "turning": (
        _check("fem.S6.rotation", false_stress, name="turned-small-strain"),
        _check("fem.S6.objective", objectivity, name="turned-large-strain"),
    )
}
