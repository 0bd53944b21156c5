"""SfePy on the same mesh: fading memory of bulk and shear with different times, a dashpot beside, ramp and hold.

SfePy's exponential memory takes the strain increment of a step as a jump at its end, h <- exp(-x)(h + H de), while
ours is exact for a ramp: g (1 - exp(-x))/x de with x = dt/tau. Both are geometric sums of the same ratio, so with
H = g (1 - exp(-x))/x the two answers are the same numbers at any step, up to rounding: 1e-16 times the condition
number, which is below 1e3 here. With H = g they differ by the first order of the step, which is the second test.

The problem must not be declared linear: SfePy would solve all steps with the matrix of the first one.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rheotwin.materials import Channel
from rheotwin.validation.checks.running import seen

pytest.importorskip("sfepy", reason="SfePy is not installed; `make peers` does it")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from sfepy.base.base import Struct, output
    from sfepy.discrete import Equation, Equations, FieldVariable, Integral, Material, Problem
    from sfepy.discrete.conditions import Conditions, EssentialBC
    from sfepy.discrete.fem import FEDomain, Field, Mesh
    from sfepy.discrete.functions import Function
    from sfepy.mechanics.matcoefs import stiffness_from_lame
    from sfepy.solvers.ls import ScipyDirect
    from sfepy.solvers.nls import Newton
    from sfepy.solvers.ts_solvers import SimpleTimeSteppingSolver
    from sfepy.terms import Term

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore::DeprecationWarning:sfepy")]

Data = dict[str, Any]
ROUNDING = 1e-12
DURATION = 2.0
SHAPES = {"triangle": "2_3", "quad": "2_4", "tet": "3_4", "hex": "3_8"}
POINTS = {("triangle", 1): 1, ("tet", 1): 1, ("quad", 1): 3, ("hex", 1): 3, ("triangle", 2): 2, ("tet", 2): 2}
"""Order of the integration."""
LAW: Data = {
    "model": "generalized-maxwell",
    "equilibrium": {"bulk": 90.0, "shear": 40.0},
    "units": [{"bulk": 200.0, "shear": 60.0, "viscosity": {"bulk": 60.0, "shear": 90.0}}],
    "viscosity": {"bulk": 3.0, "shear": 12.0},
}


def stiffness(bulk: float, shear: float, dimension: int) -> np.ndarray:
    """Stiffness matrix of moduli [Pa] in space or in plane strain."""
    return np.asarray(stiffness_from_lame(dimension, bulk - 2 / 3 * shear, shear))


def ramp_share(x: float) -> float:
    """Share (1 - exp(-x))/x of a ramp that an arm remembers after a step of x relaxation times."""
    return float(-np.expm1(-x) / x)


class Peer:
    """A posed problem in SfePy with one term per arm of each channel."""

    def __init__(self, posed: Any, bulk: Channel, shear: Channel, step: float, *, as_ramp: bool) -> None:
        output.set_output(quiet=True)
        self.posed, self.d = posed, posed.points.shape[1]
        vertices = SHAPES[posed.cell]
        corners = posed.cells[:, : int(vertices[2:])]
        used = posed.problem.points
        mesh = Mesh.from_data("block", used, None, [corners], [np.zeros(len(corners), np.int32)], [vertices])
        self.domain = FEDomain("block", mesh)
        self.omega = self.domain.create_region("Omega", "all")
        field = Field.from_args("displacement", np.float64, "vector", self.omega, approx_order=posed.order)
        self.u = FieldVariable("u", "unknown", field, history=1)
        v = FieldVariable("v", "test", field, primary_var_name="u")
        self.coordinates, self.moved = field.get_coor(), []
        terms = self._terms(bulk, shear, step, as_ramp, v)
        self.problem = Problem("block", equations=Equations([Equation("balance", sum(terms[1:], terms[0]))]))
        self.problem.set_bcs(ebcs=self._supports())
        count = round(DURATION / step) + 1
        newton = Newton({"i_max": 2, "eps_a": 1e-12, "is_linear": False}, lin_solver=ScipyDirect({}))
        options = {"t0": 0.0, "t1": DURATION, "n_step": count, "quasistatic": True, "verbose": False}
        self.stepper = SimpleTimeSteppingSolver(options, nls=newton, context=self.problem)
        self.problem.set_solver(self.stepper)

    def _terms(self, bulk: Channel, shear: Channel, step: float, as_ramp: bool, v: Any) -> list[Any]:
        integral = Integral("i", order=POINTS[self.posed.cell, self.posed.order])
        ts = Struct(dt=step)

        def term(name: str, rate: str, **values: np.ndarray) -> Any:
            material = Material(f"m{len(terms)}", values=values)
            names = ", ".join(f"{material.name}.{key}" for key in values)
            first = "ts, " if "eth" in name else ""
            arguments = {material.name: material, "u": self.u, "v": v} | ({"ts": ts} if first else {})
            return Term.new(f"{name}({first}{names}, v, {rate})", integral, self.omega, **arguments)

        terms: list[Any] = []
        terms.append(term("dw_lin_elastic", "u", D=stiffness(bulk.equilibrium, shear.equilibrium, self.d)))
        terms.append(term("dw_lin_elastic", "du/dt", D=stiffness(bulk.viscosity, shear.viscosity, self.d)))
        for channel, unit in ((bulk, (1.0, 0.0)), (shear, (0.0, 1.0))):
            for strength, time in zip(channel.strengths, channel.times, strict=True):
                x = step / time
                start = strength * (ramp_share(x) if as_ramp else 1.0) * stiffness(*unit, self.d)
                decay = np.array([[np.exp(-x)]])
                terms.append(term("dw_lin_elastic_eth", "du/dt", H=start, decay=decay))
        return terms

    def _supports(self) -> Conditions:
        """Hold and drive the sides of the problem by their vertices; nodes between them go along."""
        found = []
        for item in self.posed.problem.prescribed:
            chosen = "vertex " + ", ".join(map(str, item.nodes))
            region = self.domain.create_region(item.name, chosen, "facet")

            def value(ts: Any, coordinates: np.ndarray, motion: Any = item.motion, **_: Any) -> np.ndarray:
                return np.tile(motion.at(ts.time), (len(coordinates), 1))

            found.append(EssentialBC(item.name, region, {"u.all": Function(item.name, value)}))
        return Conditions(found)

    def solve(self) -> np.ndarray:
        """Return displacements (steps + 1, nodes, d) [m], nodes in our order."""
        distances = np.linalg.norm(self.posed.points[:, None] - self.coordinates, axis=2)
        nearest = distances.argmin(axis=1)
        assert distances.min(axis=1).max() < 1e-12
        found: list[np.ndarray] = []

        def keep(problem: Any, ts: Any, variables: Any) -> None:
            found.append(np.array(variables["u"]()).reshape(-1, self.d)[nearest])

        self.problem.solve(save_results=False, step_hook=keep)
        return np.array(found)


def both(posed: Any, step: float, as_ramp: bool) -> tuple[np.ndarray, np.ndarray]:
    """Run ramp and hold in both programs: displacements (steps + 1, nodes, d) [m] of ours and of SfePy."""
    law = posed.problem.bodies[0].law
    there = Peer(posed, law.channel("bulk"), law.channel("shear"), step, as_ramp=as_ramp).solve()
    simulation, here = posed.ours(step=step), [np.zeros_like(posed.points)]
    here += seen(simulation, step * np.arange(1, len(there)), lambda: posed.displaced(simulation))
    return np.array(here), there


@pytest.mark.parametrize(("cell", "order"), POINTS)
def test_fading_memory(cell: str, order: int, pose: Callable[..., Any]) -> None:
    """Bulk (0.3 s) and shear (1.5 s) relax apart, so the inner field moves while the sides are held."""
    here, there = both(pose(cell, order, LAW, duration=DURATION), 0.25, as_ramp=True)
    np.testing.assert_allclose(here, there, rtol=0, atol=ROUNDING * np.abs(there).max())
    creep = np.abs(there[-1] - there[len(there) // 2]).max() / np.abs(there).max()
    assert creep > 1e-4, "the field does not change while held, so histories would not show"


def test_difference_to_the_untouched_rule_is_of_first_order(pose: Callable[..., Any]) -> None:
    """SfePy's own rectangle rule has an error of x/2 per arm: half the step, half the difference.

    Terms of second order are a share x of it or less, x = 1/6 at most, so halving is known to log2((1 + x)/(1 + x/2)).
    """
    found = []
    for step in (0.05, 0.025, 0.0125):
        here, there = both(pose("triangle", 1, LAW, duration=DURATION), step, as_ramp=False)
        found.append(np.abs(here[-1] - there[-1]).max() / np.abs(there[-1]).max())
    np.testing.assert_allclose(np.diff(np.log2(found)), -1.0, atol=0.11)
