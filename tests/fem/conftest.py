"""Small scenes for the finite-element solver, and the laws they are made of."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from rheotwin.build import build_problem
from rheotwin.constraints import Motion
from rheotwin.fem import FemSolver
from rheotwin.fem.model import Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.state import State
from rheotwin.fem.steppers import make_stepper
from rheotwin.problem import Prescribed, Problem
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, checked_options
from rheotwin.validation.checks.running import EQUAL_RATIO

Data = dict[str, Any]


@pytest.fixture(params=list(EQUAL_RATIO))
def any_law(request: pytest.FixtureRequest) -> Data:
    return dict(EQUAL_RATIO[request.param])


@pytest.fixture
def laws() -> dict[str, Data]:
    return {name: dict(law) for name, law in EQUAL_RATIO.items()}


@pytest.fixture
def scene() -> Callable[..., Data]:
    """Return scene data with one box body `block`; keywords of the body and of the scene itself are told apart."""

    def build(law: Data, *, size: list[float], cells: list[int], duration: float = 10.0, **more: Any) -> Data:
        keys = ("cell", "pattern", "mass", "density", "mass_sharing", "origin", "rotation")
        body = {key: more.pop(key) for key in keys if key in more}
        if not {"mass", "density"} & set(body):
            body["density"] = 1e-12
        return {
            "schema": 1,
            "dimension": len(size),
            "duration": duration,
            "laws": {"stuff": law},
            "bodies": {"block": {"shape": "box", "size": size, "cells": cells, "law": "stuff", **body}},
            "output": {"interval": duration},
            **more,
        }

    return build


@pytest.fixture
def problem_of() -> Callable[[Data], Problem]:
    return lambda data: build_problem(scene_from_data(data))


@pytest.fixture
def start() -> Callable[..., Simulation]:
    """Start the solver on scene data or on a problem."""

    def begin(what: Data | Problem, **options: Any) -> Simulation:
        problem = what if isinstance(what, Problem) else build_problem(scene_from_data(what))
        return FemSolver().start(problem, checked_options(FemSolver, options))

    return begin


@pytest.fixture
def run_to() -> Callable[[Simulation, float], None]:
    return lambda simulation, time: simulation.advance(time, 10**9)


@pytest.fixture
def step_once() -> Callable[[Simulation], None]:
    return lambda simulation: simulation.advance(simulation.time + 2.0 * simulation.step_size, 1)


@pytest.fixture
def with_state() -> Callable[..., None]:
    """Overwrite parts of a simulation's state, such as u or v."""

    def overwrite(simulation: Simulation, **arrays: Any) -> None:
        simulation.restore(simulation.save() | {name: np.asarray(array) for name, array in arrays.items()})

    return overwrite


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


@pytest.fixture
def press(scene: Callable[..., Data]) -> Callable[..., Data]:
    """The papers' pressing scene without inertia: 16 x 6 squares of 5, a bar of width 20 goes down 10 in 10 s."""

    def build(law: Data, pattern: str = "se-nw", mass: float = 1e-12) -> Data:
        motion = {"times": [0.0, 10.0, 20.0], "displacement": [[0.0, 0.0], [0.0, -10.0], [0.0, 0.0]]}
        bar = {"shape": "bar", "center": [40.0, 30.0], "normal": [0.0, -1.0], "width": 20.0, "motion": motion}
        return scene(
            law,
            size=[80.0, 30.0],
            cells=[16, 6],
            pattern=pattern,
            mass=mass,
            mass_sharing="equal",
            duration=20.0,
            supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
            tools={"bar": bar},
        )

    return build


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
