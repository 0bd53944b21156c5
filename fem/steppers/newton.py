"""Steps of bodies in large motion: each solves nonlinear equations; halved where they have no solution (spec 2.3, 6).

Without inertia every step ends in equilibrium; with inertia the step is the implicit midpoint rule with averaged
strains. Only an accepted step moves memories on, and one without solution leaves the state as it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from rheotwin.arrays import Array
from rheotwin.errors import Diverged, RheotwinError
from rheotwin.fem.contact import Contacts
from rheotwin.fem.finite.body import FiniteBody, Inverted
from rheotwin.fem.finite.contact import ToolContact
from rheotwin.fem.finite.newton import Factorise, Frame, NotConverged, Pattern, StepEquations, Trial
from rheotwin.fem.linear import Unknowns, choose, factorise
from rheotwin.fem.linear.factor import Factor, Kind
from rheotwin.fem.model import Model, require_held
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import Ledger, State
from rheotwin.fem.steppers.impulses import contact_normals

INEXACT = 1e-6
"""Residual over the right-hand side at which multigrid leaves a Newton step."""
ROUGH = 1e-2
"""The same where rounds follow that correct it."""
SLOWER = 2.0
"""So many times the iterations of a step's first tangent, later ones get levels of their own."""
Levels = dict[bool, tuple[Factor, int]]
"""Multigrid of a step's first tangent and its iterations, for solutions that may be rough and that may not."""
HALVINGS = 6
"""How often a step that finds no equilibrium is halved before the run stops."""


class NewtonStepper:
    """Takes steps of a model in large motion; the state is only ever replaced by that of a solved step."""

    stable_step = float("inf")

    def __init__(self, model: Model, options: FemOptions) -> None:
        self._model, self._options, self._inertia = model, options, options.inertia
        if not self._inertia:
            require_held(model)
        self._bodies = [(body, rows) for body, rows in model.parts() if isinstance(body, FiniteBody)]
        self._solvers: Counter[str] = Counter()
        self._levels: Levels = {}
        self._frame = _frame(model, self._bodies, self._solvers, self._levels, inertia=self._inertia)
        self._mass = model.mass.diagonal()
        self._iterations = self._halvings = self._shortened = 0
        self._shortest = 1.0

    def statistics(self) -> dict[str, Any]:
        """Return the scheme and how hard it was to solve."""
        return {
            "scheme": "midpoint with averaged strains" if self._inertia else "equilibrium at the end of each step",
            "kinematics": self._options.kinematics,
            "unknowns": len(self._model.free),
            "newton_iterations": self._iterations,
            "halved_steps": self._halvings,
            "shortened_newton_steps": self._shortened,
            "shortest_newton_step": self._shortest,
            "linear_solvers": dict(self._solvers),
        }

    def save(self) -> dict[str, Array]:
        """Return nothing: all that lasts is in the state."""
        return {}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over nothing."""

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` over one step; stop the run, naming the place, where even short steps have no solution."""
        try:
            state.take_over(self._carry(state, begin, end, HALVINGS))
        except (NotConverged, Inverted) as fault:
            raise self._diverged(fault, begin, end - begin) from None

    def _diverged(self, fault: NotConverged | Inverted, time: float, step: float) -> Diverged:
        """Say where and when no equilibrium was found, and what helps."""
        problem, left = self._model.problem, ""
        if isinstance(fault, Inverted):
            row = self._model.first_rows[[body.name for body in problem.bodies].index(fault.body)] + fault.node
        else:
            row, left = fault.component // problem.dimension, f" (residual {fault.residual:.3g} N)"
        node = int(np.abs(self._model.vertex_rows - row).argmin())
        body = problem.body_of(node)
        return Diverged(
            time=time,
            body=body.name,
            node=node - body.first_node,
            position=tuple(float(x) for x in problem.points[node]),
            advice=f"{fault}{left}, even with the step of {step:.4g} s halved {HALVINGS} times; reduce "
            "solvers.fem.step, slow the motions down or refine the mesh there",
        )

    def _carry(self, state: State, begin: float, end: float, halvings: int) -> State:
        """Return the state at `end` [s], in one step or, where that has no solution, in two halves."""
        try:
            return self._accepted(state, self.solve(state, begin, end)[0], end - begin)
        except (NotConverged, Inverted):
            if halvings == 0:
                raise
        self._halvings += 1
        middle = 0.5 * (begin + end)
        half = self._carry(state, begin, middle, halvings - 1)
        return self._carry(half, middle, end, halvings - 1)

    def solve(self, state: State, begin: float, end: float) -> tuple[Trial, list[float]]:
        """Return the solution of the equations of a step, and the residual [N] of each iteration."""
        model, h, share = self._model, end - begin, 0.5 if self._inertia else 1.0
        bodies = zip(self._bodies, state.memories, strict=True)
        self._levels.clear()  # so that a run goes on from a checkpoint with the same bits
        equations = StepEquations(
            frame=self._frame,
            states=[now for (body, rows), memories in bodies for now in body.states(state.u[rows], memories)],
            start=state.u,
            velocity=state.v,
            step=h,
            share=share,
            inertia=2.0 / h**2 * self._mass * self._inertia,
            external=model.applied(begin + share * h),
            target=model.prescribed(end),
            end=end,
        )
        solution, residuals = equations.solve(self._frame.contact.touching(state.contacts), self._options)
        self._iterations += len(residuals) - 1
        self._shortened += sum(share < 1.0 for share in equations.shares)
        self._shortest = min(self._shortest, *equations.shares)
        return solution, residuals

    def _accepted(self, state: State, solution: Trial, h: float) -> State:
        """Return the state after a solved step; only here do memories move on."""
        rate, pairs, touching = (solution.u - state.u) / h, solution.pairs, solution.multipliers > 0.0
        contacts = Contacts(
            pairs.tool[touching], pairs.node[touching], pairs.normal[touching], solution.multipliers[touching]
        )
        velocity = before = 2.0 * rate - state.v if self._inertia else rate
        if self._inertia:
            velocity = self._after_impulses(before, rate, contacts)
        memories, ledger = self._moved_on(state, solution.u, rate, h)
        if self._inertia:
            # An impulse M dv on parts that move at `rate` does the work M dv . rate, of which dv . M dv/2 is lost.
            jump = velocity - before
            ledger.external += float(self._mass @ (2.0 * (rate - state.v) * rate + jump * rate))
            ledger.impact += 0.5 * float(self._mass @ jump**2)
        acceleration = (velocity - state.v) / h * self._inertia
        return State(solution.u, velocity, rate, acceleration, memories, contacts, ledger)

    def _after_impulses(self, velocity: Array, rate: Array, contacts: Contacts) -> Array:
        """Return v with held and touching components at the rate of what holds them: M (v' - v) = N p.

        As in the small-strain step: without these impulses the midpoint rule would reflect a stopped node for ever.
        """
        velocity = np.where(self._frame.free, velocity, rate)
        normals = contact_normals(self._model, contacts).toarray()
        response = np.divide(normals, self._mass[:, None], out=np.zeros_like(normals), where=normals != 0.0)
        return np.asarray(velocity + response @ np.linalg.solve(normals.T @ response, normals.T @ (rate - velocity)))

    def _moved_on(self, state: State, u: Array, rate: Array, h: float) -> tuple[list[list[Array]], Ledger]:
        """Return what bodies remember after a step to `u`, and the ledger with what they and their loads did.

        Work from outside is what bodies took up: springs and memories by the trapezoidal rule, Newtonian arms at the
        rate of the step.
        """
        flow = dissipated = trapezoid = 0.0
        memories = []
        for (body, rows), old in zip(self._bodies, state.memories, strict=True):
            new, forces = [], np.zeros(rows.stop - rows.start)
            for part, before in zip(body.parts, body.states(state.u[rows], old), strict=True):
                after = part.commit(before, u[rows], h)
                forces += part.nodal_force(state.u[rows], before.stress)
                forces += part.nodal_force(u[rows], after.stress)
                flow += part.flow_work(before, after)
                dissipated += part.dissipated(before, after, h)
                new += [after.volume, after.pressures, after.memory, after.stress, after.flow]
            trapezoid += 0.5 * h * float(forces @ rate[rows])
            memories.append(new)
        ledger = state.ledger
        done = Ledger(ledger.external + trapezoid + flow, ledger.dissipated + dissipated + flow, ledger.impact)
        return memories, done


def _frame(
    model: Model, bodies: list[tuple[FiniteBody, slice]], used: Counter[str], levels: Levels, *, inertia: bool
) -> Frame:
    """Return what stays the same in all steps of a model."""
    parts = [(part, rows) for body, rows in bodies for part in body.parts]
    free = ~model.held
    components = np.arange(model.size).reshape(model.points.shape)
    dofs = [part.dofs + rows.start for part, rows in parts]
    shared = free.copy()
    for (part, _), numbers in zip(parts, dofs, strict=True):
        shared[numbers[:, part.own]] = False
    volume = max(float(part.geometry.weights.sum(axis=1).max()) for part, _ in parts)
    unsymmetric = inertia or any(not part.law.symmetric for part, _ in parts)
    return Frame(
        parts=parts,
        free=free,
        pattern=Pattern.of([*dofs, components], shared),
        solved=np.flatnonzero(shared),
        own=(*(part.own for part, _ in parts), np.zeros(0, dtype=np.int64)),
        soft=(*(part.soft for part, _ in parts), np.zeros((0, 0))),
        nodes=(*(part.geometry.gradients.shape[2] for part, _ in parts), 1),
        contact=ToolContact(model.tools, free.reshape(model.points.shape)),
        points=model.points,
        factorise=_solver(
            Unknowns(model.points, np.flatnonzero(shared)),
            used,
            levels,
            symmetric=not unsymmetric,
            definite=all(part.pressure is None or not part.pressure.shared for part, _ in parts),
        ),
        element_size=float((volume / model.problem.thickness) ** (1.0 / model.dimension)),
        extent=model.problem.extent,
    )


def _solver(nodes: Unknowns, used: Counter[str], levels: Levels, *, symmetric: bool, definite: bool) -> Factorise:
    """Return the map from tangents to solvers, which counts whose it `used`.

    A tangent without rows of pressures is tried as a definite one, by multigrid where there are many unknowns: Newton's
    method corrects what it leaves. Once it finds no solution, and for all others, a factor takes both signs,
    or multigrid's iterations where there is no symmetry and the unknowns are many. The levels of a step's first tangent
    serve the others of the step until iterations become SLOWER times as many.
    """
    many = definite and symmetric and choose(len(nodes.free), nodes.dimension)[0] == "amg"

    def direct(matrix: csr_matrix) -> Callable[[Array], Array]:
        kind: Kind = "indefinite" if symmetric else "unsymmetric"
        factor = factorise(matrix, "auto", kind=kind, nodes=nodes if definite else None)
        used[factor.solver] += 1
        return factor.solve

    def prepare(matrix: csr_matrix, rough: bool) -> Callable[[Array], Array]:
        if matrix.shape[0] == 0:
            return lambda right: right
        if not many:
            return direct(matrix)
        used["amg"] += 1
        old, usual = levels.get(rough, (None, 0))
        new = old is None or old.again is None
        factor = fresh(matrix, rough) if old is None or old.again is None else old.again(matrix)

        def solve(right: Array) -> Array:
            nonlocal many, factor, new
            try:
                found = factor.solve(right)
            except (RheotwinError, np.linalg.LinAlgError):
                if new:
                    many = False
                    return direct(matrix)(right)
                levels.pop(rough, None)
                factor, new = fresh(matrix, rough), True
                return solve(right)
            if new:
                levels.setdefault(rough, (factor, factor.iterations))
            elif factor.iterations > SLOWER * usual:
                levels.pop(rough, None)
            return found

        return solve

    def fresh(matrix: csr_matrix, rough: bool) -> Factor:
        return factorise(matrix, "amg", nodes=nodes, tolerance=ROUGH if rough else INEXACT)

    return prepare
