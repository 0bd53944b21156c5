"""One step of an explicit rule on the first-order system: impacts, the contacts of the step, and their release."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from rheotwin.arrays import Array
from rheotwin.constraints.feasible import RankReport, rank_report
from rheotwin.constraints.measure import measure_constraints
from rheotwin.constraints.motion import Motion, kink_times
from rheotwin.constraints.patches import PatchKind, patches
from rheotwin.constraints.stabilisation import Constraint
from rheotwin.errors import RheotwinError
from rheotwin.fem.contact import Contacts
from rheotwin.fem.links import model_links
from rheotwin.fem.model import Model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State, kinetic_energy
from rheotwin.fem.steppers.explicit_rules import EXPLICIT_RULES, stable_step
from rheotwin.fem.steppers.first_order import SLACK, FirstOrderSystem, Touching, touching_pairs

CORRECTION = 0.5
"""om h of the constraints unless the scene says otherwise: still smooth for nonlinear ones (spec 2.3)."""


class ExplicitStepper:
    """Takes steps of one explicit rule; supports, contact and further constraints are rows of one saddle system."""

    def __init__(self, model: Model, h: float, options: FemOptions, *, extra: Sequence[Constraint] = ()) -> None:
        self._model, self._rule, self._h = model, EXPLICIT_RULES[options.stepper], h
        self._account, choice = options.energy_balance, options.linear_solver
        volumes, self._reports = volume_constraints(model, options) if options.constrained else ([], [])
        links = [model_links(model)] if model.problem.links else []
        frequency = options.constraint_frequency
        self._frequency = CORRECTION / h if frequency is None else frequency
        constraints = [*volumes, *links, *extra]
        self._system = FirstOrderSystem(model, h, self._frequency, constraints, choice, account=self._account)
        fastest = self._rule.damped_limit / frequency if frequency else float("inf")
        self.stable_step = min(stable_step(model, self._rule, choice), fastest)
        self._require_stable()
        for report in self._reports:
            if report.locks:
                warnings.warn(f"solvers.fem.formulation: {report.sentence()}", stacklevel=2)

    def _require_stable(self) -> None:
        name = self._rule.name
        if self.stable_step == 0.0:
            raise RheotwinError(
                f"solvers.fem.stepper: {name} is unstable at any step for a body without damping; "
                'choose "rk4" or "midpoint"'
            )
        if self._h > self.stable_step:
            raise RheotwinError(
                f"solvers.fem.step: {self._h:.6g} s is above the {self.stable_step:.6g} s up to which {name} is stable "
                f'here; choose at most {0.9 * self.stable_step:.3g}, or the stepper "midpoint"'
            )

    def statistics(self) -> dict[str, Any]:
        """Return the rule and its constraints."""
        found: dict[str, Any] = {
            "scheme": self._rule.name,
            "unknowns": len(self._model.free),
            "stable_step": self.stable_step,
            "constraint_frequency": self._frequency,
        }
        if self._reports:
            found["constraints"] = [report.sentence() for report in self._reports]
        return found

    def save(self) -> dict[str, Array]:
        """Return nothing: all that lasts is in the state."""
        return {}

    def restore(self, saved: Mapping[str, Array]) -> None:
        """Take over nothing."""

    def step(self, state: State, begin: float, end: float) -> None:
        """Take `state` over one step.

        Which contacts push is decided at its beginning, with the stabilised gap. So a contact that is left in an
        instant parts only where the flight would outlast the correction time 1/om; what returns sooner stays.
        """
        system = self._system
        self._follow_kinked_supports(state, begin)
        touching, fresh = touching_pairs(self._model, begin, state.u, state.contacts)
        if np.any(fresh) or any(self._has_kink(begin, tool.motion) for tool in self._model.tools):
            self._strike(state, begin, touching)
        y = system.packed(state)
        if len(touching.node):
            pull = system.respond_to(y, begin, touching, after=True, unilateral=True).contact
            touching = touching.kept(pull > 0.0)
        y = self._rule.advance(lambda z, time, *, after: system.rate(z, time, touching, after=after), y, begin, end)
        system.unpack(y, state)
        self._look(state, y, end, touching)
        state.rate = state.v.copy()

    def _look(self, state: State, y: Array, end: float, touching: Touching) -> None:
        """Evaluate contacts and accelerations at the end of the step.

        Volume constraints push inside the body: their share of the acceleration is left out, so that mass times
        acceleration plus internal forces minus loads is what supports and tools exert, and nothing else.
        """
        system, model = self._system, self._model
        answer = system.respond_to(y, end, touching, after=False, unilateral=True)
        state.acceleration = answer.acceleration - system.inertia.accelerations(answer.inner)
        active = answer.contact > 0.0
        kept = touching.kept(active)
        normals = kept.motion(model, end, state.u, state.v, after=False, slack=0.0).normal
        state.contacts = Contacts(kept.tool, kept.node, normals, answer.contact[active])

    def _has_kink(self, begin: float, motion: Motion) -> bool:
        """Tell whether a motion had a kink since the last step began; the first step is the first to see one at 0."""
        times = kink_times(motion)
        return bool(np.any((times > begin - (1.0 - SLACK) * self._h) & (times <= begin + SLACK * self._h)))

    def _follow_kinked_supports(self, state: State, begin: float) -> None:
        """Let held components take the new velocity of their supports: impulses S p = s' - v on them alone."""
        system = self._system
        if not any(self._has_kink(begin, item.motion) for item in self._model.problem.prescribed):
            return
        _, speed, _ = system.support_motion(begin, after=True)
        change, impulse = system.supports.response(np.zeros(self._model.size), state.v[system.held] - speed)
        self._enter_impact(state, change, float(impulse @ speed))

    def _strike(self, state: State, begin: float, touching: Touching) -> None:
        """Stop what moves into a tool."""
        if not len(touching.node):
            return
        system, model = self._system, self._model
        gaps = touching.motion(model, begin, state.u, state.v, after=True, slack=SLACK * self._h)
        if gaps.rate.min() >= 0.0:
            return
        pressing = system.pressing(touching, gaps.normal, system.yielding(state.u, state.v))
        impulse = pressing.multipliers(gaps.rate, unilateral=True)
        tool_speed = pressing.rows @ state.v - gaps.rate
        self._enter_impact(state, pressing.changes(impulse), float(impulse @ tool_speed))

    def _enter_impact(self, state: State, change: Array, work: float) -> None:
        """Change the velocity; `work` [J] is impulse times velocity of what exerts it, the rest of it is lost."""
        before = kinetic_energy(self._model, state.v)
        state.v = state.v + change
        if self._account:
            state.ledger.external += work
            state.ledger.impact += work - (kinetic_energy(self._model, state.v) - before)


def volume_constraints(model: Model, options: FemOptions) -> tuple[list[Constraint], list[RankReport]]:
    """Return constant volumes of the patches of every body, and what they leave of its freedom (spec 5)."""
    kind = cast(PatchKind, options.formulation)
    if any(body.space.axisymmetric for body in model.bodies):
        raise RheotwinError(
            "solvers.fem.incompressible: volume constraints do not know rings; choose another stepper for "
            'plane = "axisymmetric"'
        )
    constraints: list[Constraint] = []
    reports = []
    for body, first in zip(model.bodies, model.first_rows, strict=True):
        space = patches(kind, body.space.mesh.t.T + first, model.points)
        constraint = measure_constraints(space, model.points)
        constraints.append(constraint)
        reports.append(rank_report(kind, constraint.gradient(model.points), model.held))
    return constraints, reports
