"""Explicit models of small scenes."""

from collections.abc import Callable

import pytest

from rheotwin.fem.fast.explicit_loop import ExplicitModel
from rheotwin.fem.model import Model, build_model
from rheotwin.fem.options import FemOptions
from rheotwin.fem.steppers.central_difference import explicit_boundary, explicit_terms
from rheotwin.problem import Problem


@pytest.fixture
def model_of() -> Callable[..., Model]:
    return lambda problem, **choice: build_model(problem, FemOptions(**choice))


@pytest.fixture
def explicit(model_of: Callable[..., Model]) -> Callable[..., ExplicitModel]:
    """Prepare a problem of linear elements for explicit steps of a given size, or a share of the stable one."""

    def build(problem: Problem, step: float | None = None, *, share: float = 0.5, **choice: str) -> ExplicitModel:
        model = model_of(problem, **choice)
        boundary, terms = explicit_boundary(model), explicit_terms(model)
        if step is None:
            step = share * ExplicitModel.build(boundary, terms, 1.0).stable_step
        return ExplicitModel.build(boundary, terms, step)

    return build
