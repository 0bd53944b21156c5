"""Quadratic and mixed elements in all planes: tangents, patches, rings and sheets."""

from typing import Any

import numpy as np
import pytest

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fem.finite.body import FiniteBody
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.validation.checks.running import Data, box_scene, path, problem_of, run_to, side, start

Array = np.ndarray
RUBBER: Data = {"model": "mooney-rivlin", "c10": 20.0, "c01": 10.0, "bulk": 3000.0}
OGDEN: Data = {
    "model": "ogden",
    "terms": [{"shear": 30.0, "exponent": 3.0}, {"shear": 10.0, "exponent": -2.0}],
    "bulk": 300.0,
    "relaxation": [{"share": 0.4, "time": 0.5}],
}
SPACES = [
    ("triangle", {"order": 2}, "strain"),
    ("quad", {"order": 2}, "stress"),
    ("quad", {"order": 2}, "axisymmetric"),
    ("triangle", {}, "stress"),
    ("quad", {"formulation": "b-bar"}, "axisymmetric"),
    ("hex", {"formulation": "b-bar"}, "strain"),
    ("triangle", {"formulation": "p2-p0"}, "strain"),
    ("triangle", {"formulation": "taylor-hood", "incompressible": True}, "axisymmetric"),
    ("tet", {"formulation": "taylor-hood"}, "strain"),
    ("triangle", {"formulation": "mini"}, "strain"),
    ("tet", {"formulation": "mini", "incompressible": True}, "strain"),
    pytest.param("tet", {"order": 2}, "strain", marks=pytest.mark.exhaustive),
    pytest.param("hex", {"order": 2}, "strain", marks=pytest.mark.exhaustive),
    pytest.param("hex", {"formulation": "taylor-hood"}, "strain", marks=pytest.mark.exhaustive),
    pytest.param("quad", {"formulation": "taylor-hood"}, "strain", marks=pytest.mark.exhaustive),
    pytest.param("quad", {"formulation": "b-bar", "incompressible": True}, "strain", marks=pytest.mark.exhaustive),
]
EVERY = pytest.mark.parametrize(("cell", "options", "plane"), SPACES)


def options_of(options: Data, **more: Any) -> Data:
    return {"kinematics": "total-lagrangian", "stepper": "quasi-static", **options, **more}


def body_of(cell: str, options: Data, plane: str, law: Data) -> FiniteBody:
    dimension = 3 if cell in ("tet", "hex") else 2
    more: Data = {"plane": plane} if dimension == 2 else {}
    data = box_scene(law, size=[1.0] * dimension, cells=[1] * dimension, cell=cell, origin=[0.5] * dimension, **more)
    (body,) = build_model(problem_of(data), FemOptions(**options_of(options))).bodies
    assert isinstance(body, FiniteBody)
    return body


@EVERY
@pytest.mark.parametrize("law", [RUBBER, OGDEN], ids=["mooney-rivlin", "ogden"])
def test_tangent_is_exact(cell: str, options: Data, plane: str, law: Data) -> None:
    """Every entry of the blocks, rows of pressures and strains ZZ included, to 1e-7 of the largest; symmetric."""
    body, rng = body_of(cell, options, plane, law), np.random.default_rng(1)
    part, size = body.parts[0], body.space.size
    start, end = (0.05 * rng.normal(size=size) for _ in range(2))
    state = part.commit(part.state(np.zeros(size), part.at_rest()), start, 0.2)
    blocks, h = part.respond(state, start, end, 0.2)[1], 1e-5
    scale = np.abs(blocks).max()
    np.testing.assert_allclose(blocks, np.swapaxes(blocks, 1, 2), atol=1e-13 * scale)
    for component in rng.permutation(size)[:25]:
        change = np.where(np.arange(size) == component, h, 0.0)
        ahead, behind = (part.respond(state, start, end + s * change, 0.2)[0] for s in (1.0, -1.0))
        found = np.where((part.dofs == component)[:, None, :], blocks, 0.0).sum(axis=2)
        np.testing.assert_allclose(found, (ahead - behind) / (2 * h), rtol=0, atol=1e-7 * scale)
