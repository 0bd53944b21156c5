"""Laws in turn, distorted meshes and driven boundaries; and, for the tests of contact, scenes and solvers."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from rheotwin.constraints import Motion
from rheotwin.fem.model import Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers import make_stepper
from rheotwin.problem import Prescribed, Problem
from rheotwin.validation.checks import running
from rheotwin.validation.checks.running import EQUAL_RATIO, Data, box_scene

TELLING = ("elastic", "three-element", "generalized-maxwell")
"""No arm, an arm beside a dashpot, several arms beside a spring and a dashpot: the others are their special cases."""


@pytest.fixture(
    params=[name if name in TELLING else pytest.param(name, marks=pytest.mark.exhaustive) for name in EQUAL_RATIO]
)
def any_law(request: pytest.FixtureRequest) -> Data:
    return dict(EQUAL_RATIO[request.param])


@pytest.fixture
def scene() -> Callable[..., Data]:
    return partial(box_scene, duration=10.0)


@pytest.fixture
def problem_of() -> Callable[..., Any]:
    return running.problem_of


@pytest.fixture
def start() -> Callable[..., Any]:
    return running.start


@pytest.fixture
def run_to() -> Callable[..., None]:
    return running.run_to


@pytest.fixture
def with_state() -> Callable[..., None]:
    return running.put


@pytest.fixture
def distorted() -> Callable[..., Problem]:
    """Move the inner nodes of a one-body problem by random amounts up to a share of the spacing."""

    def move(problem: Problem, *, spacing: float, share: float = 0.2, seed: int = 7) -> Problem:
        body, points = problem.bodies[0], problem.points.copy()
        inner = np.ones(len(points), dtype=bool)
        inner[body.mesh.boundary_nodes() if points.shape[1] > 1 else [0, -1]] = False
        points[inner] += share * spacing * np.random.default_rng(seed).uniform(-1, 1, (inner.sum(), points.shape[1]))
        mesh = replace(body.mesh, doflocs=np.ascontiguousarray(points.T))
        return replace(problem, points=points, bodies=(replace(body, mesh=mesh),))

    return move


@pytest.fixture
def driven_boundary() -> Callable[..., Problem]:
    """Let every boundary node follow x -> x + gradient x t up to the end of the scene."""

    def drive(problem: Problem, gradient: np.ndarray) -> Problem:
        nodes, duration = problem.bodies[0].mesh.boundary_nodes(), problem.scene.duration
        components = tuple(range(problem.dimension))
        held = (
            Prescribed(
                f"node-{node}",
                np.array([node]),
                components,
                Motion(
                    np.array([0.0, duration]),
                    np.array([np.zeros(len(components)), duration * gradient @ problem.points[node]]),
                ),
            )
            for node in nodes
        )
        return replace(problem, prescribed=tuple(held))

    return drive


@dataclass(frozen=True)
class AffineModel(Model):
    """A model of one body whose boundary, nodes behind the vertices included, follows x -> x + gradient x course(t)."""

    gradient: np.ndarray
    course: Callable[[float], float]

    def prescribed(self, time: float) -> np.ndarray:
        return (np.where(self.owners == 0, self.points @ self.gradient.T, 0.0) * self.course(time)).ravel()

    def prescribed_rate(self, time: float) -> np.ndarray:
        shortly = 1e-6
        return (self.prescribed(time) - self.prescribed(time - shortly)) / shortly


@pytest.fixture
def affine() -> Callable[..., tuple[Model, State]]:
    """Drive the boundary of a problem by a gradient times a course in time; return the model and its end state."""

    def run(
        problem: Problem, gradient: np.ndarray, *, course: Callable[[float], float], steps: int, **options: Any
    ) -> tuple[Model, State]:
        chosen, end = FemOptions(**options), problem.scene.duration
        bare = build_model(problem, chosen)
        owners, space = bare.owners.copy(), bare.bodies[0].space
        owners[: space.nodes][space.boundary] = 0
        parts = {part.name: getattr(bare, part.name) for part in fields(bare)}
        model = AffineModel(**parts | {"owners": owners}, gradient=gradient, course=course)
        stepper, state = make_stepper(model, end / steps, chosen), State.at_rest(model)
        for k in range(steps):
            stepper.step(state, k * end / steps, (k + 1) * end / steps)
        return model, state

    return run


@pytest.fixture
def point_stress() -> Callable[[Model, State], np.ndarray]:
    """Stresses (points, 6) of a one-body model at its quadrature points, from displacements, rates and histories."""

    def stress(model: Model, state: State) -> np.ndarray:
        found = np.zeros((1, 6))
        for term, memory in zip(model.bodies[0].terms, state.memories[0], strict=True):
            channel = term.channel
            now = term.measure(channel.equilibrium * state.u + channel.viscosity * state.rate) + memory.sum(axis=0)
            found = found + term.strain_of(now) @ term.stress_map.T
        return found

    return stress
