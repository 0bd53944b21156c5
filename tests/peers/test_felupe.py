"""FElupe on the same mesh: elastic statics, a Prony law of the shear, and a neo-Hookean body at large strain.

Both programs solve the same linear equations with the same shape functions and integration points, so results
differ by rounding only: 1e-16 times the condition number, which is below 1e3 on these meshes. Nonlinear equations
are solved until the residual is 1e-12 of the largest force (FElupe: 1e-10 of its reactions) by iterations that
converge quadratically, so displacements and reactions agree to 1e-10 at least.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.solver import Simulation
from rheotwin.validation.checks.running import run_to

felupe = pytest.importorskip("felupe", reason="FElupe is not installed; `make peers` does it")
pytestmark = pytest.mark.peer

Data = dict[str, Any]
ROUNDING = 1e-12
CONVERGED = 1e-10
REGIONS = {
    ("triangle", 1): "RegionTriangle",
    ("quad", 1): "RegionQuad",
    ("tet", 1): "RegionTetra",
    ("hex", 1): "RegionHexahedron",
    ("quad", 2): "RegionBiQuadraticQuad",
    ("tet", 2): "RegionQuadraticTetra",
    ("hex", 2): "RegionTriQuadraticHexahedron",
}
"""No quadratic triangle: dh/ds of its last node is wrong in FElupe 11.3 (t1 - t2 for t1 - t3); SfePy stands in."""
CELL_TYPES = {"triangle": "triangle", "quad": "quad", "tet": "tetra", "hex": "hexahedron"}
_A, _B = (5 - 5**0.5) / 20, (5 + 3 * 5**0.5) / 20
FOUR_POINTS = np.array([[_A, _A, _A], [_B, _A, _A], [_A, _B, _A], [_A, _A, _B]])
"""Integration points of a quadratic tetrahedron; FElupe's own carry eight digits, which would show."""
PRONY: Data = {
    "model": "generalized-maxwell",
    "equilibrium": {"bulk": 300.0, "shear": 40.0},
    "units": [
        {"bulk": 0.0, "shear": 60.0, "viscosity": {"bulk": 0.0, "shear": 30.0}},
        {"bulk": 0.0, "shear": 25.0, "viscosity": {"bulk": 0.0, "shear": 100.0}},
    ],
}


def _integration(posed: Any, ring: bool) -> Data:
    """Return the integration points where FElupe's default is not ours: more of them divide by the radius."""
    if ring:
        return {"quadrature": felupe.GaussLegendre(order=2, dim=2)}
    if (posed.cell, posed.order) == ("tet", 2):
        return {"quadrature": felupe.quadrature.Scheme(FOUR_POINTS, np.full(4, 1 / 24))}
    return {}


class Peer:
    """A posed problem in FElupe, solved step by step; a ring has its axis along x there, along y here."""

    def __init__(self, posed: Any, material: Any) -> None:
        self.posed, plane = posed, posed.problem.plane
        ring = posed.points.shape[1] == 2 and plane == "axisymmetric"
        self.axes = slice(None, None, -1) if ring else slice(None)
        points, cells = posed.points[:, self.axes], posed.cells[:, ::-1] if ring else posed.cells
        mesh = felupe.Mesh(points, cells, CELL_TYPES[posed.cell])
        region = getattr(felupe, REGIONS[posed.cell, posed.order])(mesh, **_integration(posed, ring))
        flat = {"strain": felupe.FieldPlaneStrain, "axisymmetric": felupe.FieldAxisymmetric, "stress": felupe.Field}
        kind = flat[plane] if points.shape[1] == 2 else felupe.Field
        self.field = felupe.FieldContainer([kind(region, dim=points.shape[1])])
        self.body = felupe.SolidBody(material, self.field)
        self.load = felupe.PointLoad(self.field, np.arange(len(posed.points)))

    def solve(self, time: float, tolerance: float) -> np.ndarray:
        """Find equilibrium at a time [s]; return the displacements (n, d) [m]."""
        held = self.posed.held[:, self.axes].ravel()
        self.load.update(self.posed.load(time)[:, self.axes])
        felupe.newtonraphson(
            items=[self.body, self.load],
            dof0=np.flatnonzero(held),
            dof1=np.flatnonzero(~held),
            ext0=self.posed.target(time)[:, self.axes].ravel()[held],
            tol=tolerance,
            verbose=0,
        )
        return np.array(self.field[0].values[:, self.axes])

    def take(self, displacements: np.ndarray) -> None:
        """Evaluate the stresses of given displacements (n, d) [m]."""
        self.field[0].values[:] = displacements[:, self.axes]
        self.body.assemble.vector(self.field)

    def forces(self) -> np.ndarray:
        """Nodal forces (n, d) [N] of the stresses."""
        return np.asarray(self.body.results.force.toarray()).reshape(self.posed.points.shape)[:, self.axes]


def same_reactions(peer: Peer, simulation: Simulation, share: float) -> None:
    """Compare the reactions of all supports with a share of the largest."""
    expected, found = peer.posed.reactions(peer.forces(), simulation.time), simulation.reactions()
    size = max(np.abs(force).max() for force in expected.values())
    for name, force in expected.items():
        np.testing.assert_allclose(found[name], force, rtol=0, atol=share * size)


def agree(peer: Peer, there: np.ndarray, simulation: Simulation, share: float) -> None:
    """Compare displacements and reactions, each with a share of its largest value."""
    here = peer.posed.displaced(simulation)
    np.testing.assert_allclose(here, there, rtol=0, atol=share * np.abs(there).max())
    same_reactions(peer, simulation, share)


@pytest.mark.parametrize(
    ("cell", "order", "plane"),
    [(*kind, "strain") for kind in REGIONS]
    + [("triangle", 1, "stress"), ("quad", 1, "stress"), ("quad", 1, "axisymmetric")],
)
def test_elastic_statics(cell: str, order: int, plane: str, pose: Callable[..., Any]) -> None:
    """A distorted block, sheared, pressed and pushed: P1, P2, Q1 and Q2 in plane strain and in space.

    Other planes: a thin plate, and a thick ring whose cross section is the block half a metre off the axis.
    """
    posed = pose(cell, order, push=2.0, **({"plane": plane, "origin": [0.5, 0.0]} if plane != "strain" else {}))
    simulation = posed.ours(step=1.0)
    run_to(simulation, 1.0)
    law = felupe.LinearElasticPlaneStress if plane == "stress" else felupe.LinearElastic
    peer = Peer(posed, law(E=300.0, nu=0.35))
    agree(peer, peer.solve(1.0, 1e-8), simulation, ROUNDING)


@pytest.mark.parametrize("history", ["nodal", "quadrature"])
@pytest.mark.parametrize("cell", ["triangle", "hex"])
def test_prony_series_of_the_shear(cell: str, history: str, pose: Callable[..., Any]) -> None:
    """Two shear arms (0.5 s, 4 s) beside an elastic bulk: ramp and hold under a constant push.

    FElupe's update b = 2 G tau (1 - a)/dt with a = exp(-dt/tau) is the one of our quasi-static rule, so both agree
    at any step. Its own law starts from rest at the first step, which carries the push as a step load in both.
    """
    posed = pose(cell, law=PRONY, duration=2.0, push=1.0)
    simulation, bulk, shear = posed.ours(step=0.25, history=history), 300.0, 40.0
    material = felupe.MaterialStrain(
        material=felupe.linear_elastic_viscoelastic,
        λ=bulk - 2 / 3 * shear,
        μ=shear,
        G=[60.0, 25.0],
        τ=[0.5, 4.0],
        Δt=0.25,
        statevars=((2, 3, 3),),
    )
    peer, moved = Peer(posed, material), []
    for time in 0.25 * np.arange(1, 9):
        run_to(simulation, time)
        moved.append(peer.solve(time, 1e-8))
        agree(peer, moved[-1], simulation, ROUNDING)
    creep = np.abs(moved[-1] - moved[3]).max() / np.abs(moved[3]).max()
    assert creep > 1e-3, "the field does not change while held, so histories would not show"


def at_large_strain(posed: Any, kinematics: str, material: Callable[[float, float], Any]) -> tuple[Peer, Simulation]:
    """Begin a run whose Newton iteration stops at 1e-12 of the forces; `material` takes bulk and shear modulus."""
    law, newton = posed.problem.bodies[0].law, {"newton_tolerance": 1e-12, "newton_iterations": 30}
    peer = Peer(posed, material(law.channel("bulk").equilibrium, law.channel("shear").equilibrium))
    return peer, posed.ours(step=0.125, kinematics=kinematics, **newton)


@pytest.mark.parametrize(
    ("cell", "order", "plane"),
    [
        *((cell, 1, "strain") for cell in ("triangle", "quad", "tet", "hex")),
        *(("quad", 2, "strain"), ("tet", 2, "strain"), ("quad", 1, "axisymmetric")),
    ],
)
def test_total_lagrangian_is_neo_hooke(cell: str, order: int, plane: str, pose: Callable[..., Any]) -> None:
    """W = mu/2 (J^(-2/3) tr C - 3) + K/2 (J - 1)^2; FElupe's Newton stops at 1e-10 of its reactions.

    The block is sheared by 40 % of its height and pressed, with dead forces.
    """
    ring = {"plane": plane, "origin": [0.5, 0.0]} if plane == "axisymmetric" else {}
    posed = pose(cell, order, scale=5.0, push=20.0, **ring)
    peer, simulation = at_large_strain(posed, "total-lagrangian", lambda k, g: felupe.NeoHooke(mu=g, bulk=k))
    for time in 0.125 * np.arange(1, 9):
        run_to(simulation, time)
        agree(peer, peer.solve(time, 1e-10), simulation, CONVERGED)


@pytest.mark.parametrize("cell", ["triangle", "tet"])
def test_corotational_is_biot_strain(cell: str, pose: Callable[..., Any]) -> None:
    """P = R (lambda tr(U - I) I + 2 mu (U - I)): one rotation per linear simplex is one per integration point.

    FElupe's own iteration has an approximate tangent and does not converge here, so it judges our solution: its
    forces there balance the loads at every free node, and its reactions are ours.
    """

    def material(bulk: float, shear: float) -> Any:
        framework = {"framework": "co-rotational", "material": felupe.linear_elastic}
        return felupe.MaterialStrain(λ=bulk - 2 / 3 * shear, μ=shear, **framework)

    posed = pose(cell, scale=5.0, push=20.0)
    peer, simulation = at_large_strain(posed, "corotational", material)
    for time in 0.125 * np.arange(1, 9):
        run_to(simulation, time)
        peer.take(posed.displaced(simulation))
        residual = np.where(posed.held, 0.0, peer.forces() - posed.load(time))
        np.testing.assert_allclose(residual, 0.0, atol=CONVERGED * np.abs(peer.forces()).max())
        same_reactions(peer, simulation, CONVERGED)
