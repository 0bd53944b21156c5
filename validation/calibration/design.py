"""What to measure next: which parameters the cost feels at all, and which push would tell most about them.

The volume of what is known of parameters goes with det(A + 1)^-1/2, A = J^T J of all that is measured, in logarithms;
the 1 stands for what is known without (a factor e). A further push adds its own J^T J, known before it is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.running import scene_as_run
from rheotwin.scene import Scene, scene_from_data
from rheotwin.scene.load import put_at
from rheotwin.validation.calibration.campaign import Problem
from rheotwin.validation.calibration.problem import CalibrationProblem
from rheotwin.validation.calibration.result import normal_at
from rheotwin.validation.calibration.searches import Space
from rheotwin.validation.calibration.twins import twin

LEVELS = 8
"""Levels of a parameter on Morris' paths."""


def shrinkage(
    problem: CalibrationProblem, theta: Array, pushes: Mapping[str, Scene], times: Sequence[float]
) -> dict[str, float]:
    """Return by which factor each push would shrink the volume of what is known at a set `theta`, the best first.

    A push is a scene in which the parameters have the same places, captured at `times` [s] as well as a twin is.
    """
    known, found = _information(problem, theta), {}
    for name, scene in pushes.items():
        data = scene_as_run(scene.with_case())
        for parameter, value in zip(problem.parameters, theta, strict=True):
            put_at(data, parameter.place, float(value))
        pushed = scene_from_data(data, base=scene.resolve("."), source=scene.source)
        record, _ = twin(pushed, problem.solver, times)
        further = CalibrationProblem(pushed, problem.solver, [record], problem.parameters, problem.costs)
        gain = _volume(known + _information(further, theta)) - _volume(known)
        found[name] = float(np.exp(gain))
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _information(problem: Problem, theta: Array) -> Array:
    sums = normal_at(problem, Space(problem.parameters), theta)
    if sums is None:
        raise RheotwinError(
            "what to measure next cannot be told: the set of parameters has no result, or none beside it"
        )
    return sums.matrix


def _volume(information: Array) -> float:
    """Return the logarithm of the volume, but for a constant."""
    return float(-0.5 * np.linalg.slogdet(information + np.eye(len(information)))[1])


def sensitivities(problem: Problem, paths: int = 20, seed: int = 0) -> dict[str, float]:
    """Return how much the logarithm of the cost changes with each parameter from bound to bound, the largest first.

    It is mu* of Morris, the mean size of his elementary effects, over `paths` of n + 1 evaluations (package SALib).
    """
    try:
        salib: Any = import_module("SALib")
    except ImportError as error:
        raise RheotwinError("sensitivities need SALib; install it with: pip install 'rheotwin[search]'") from error
    space = Space(problem.parameters)
    names = [item.name for item in space.parameters]
    spec = salib.ProblemSpec({"names": names, "bounds": [[0.0, 1.0]] * len(names)})
    spec.sample_morris(paths, num_levels=LEVELS, seed=seed)
    costs = np.array([item.total for item in problem.evaluate(space.unit(spec.samples))])
    worst = np.max(costs, where=np.isfinite(costs), initial=0.0)
    if worst == 0.0:
        raise RheotwinError("sensitivities cannot be told: no set between the bounds has a result")
    spec.set_results(np.log(np.where(np.isfinite(costs), costs, worst)))
    effects = dict(zip(names, map(float, spec.analyze_morris(num_levels=LEVELS).analysis["mu_star"]), strict=True))
    return dict(sorted(effects.items(), key=lambda item: -item[1]))
