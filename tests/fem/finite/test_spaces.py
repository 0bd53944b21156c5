"""Quadratic and mixed elements in all planes: tangents, patches, rings and sheets."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import InputFaults, RheotwinError
from rheotwin.fem.finite.body import FiniteBody
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.validation.checks.running import Data, box_scene, path, problem_of, run_to, side, start
from rheotwin.validation.closed_forms import held_share
from tests.conftest import command

Array = np.ndarray
SCENES = Path(__file__).parents[3] / "scenes"
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
    blocks, h = part.respond(state, start, end, 0.2)[1], 1e-4
    scale = np.abs(blocks).max()
    np.testing.assert_allclose(blocks, np.swapaxes(blocks, 1, 2), atol=1e-13 * scale)
    for component in rng.permutation(size)[:20]:
        change = np.where(np.arange(size) == component, h, 0.0)
        shifted = {k: part.respond(state, start, end + k * change, 0.2)[0] for k in (-2, -1, 1, 2)}
        slope = (8.0 * (shifted[1] - shifted[-1]) - (shifted[2] - shifted[-2])) / (12.0 * h)
        found = np.where((part.dofs == component)[:, None, :], blocks, 0.0).sum(axis=2)
        np.testing.assert_allclose(found, slope, rtol=0, atol=1e-7 * scale)


@EVERY
def test_newton_is_of_second_order_and_a_patch_stays_uniform(
    cell: str, options: Data, plane: str, distorted: Any
) -> None:
    """A distorted block pulled to 1.4 of its length: one stress everywhere, residuals that fall as their squares."""
    dimension = 3 if cell in ("tet", "hex") else 2
    ring = plane == "axisymmetric"
    sides = {"bottom": "y"} if ring else {"left": "x", "bottom": "y"}
    if dimension == 3:
        sides = {"left": "x", "front": "y", "bottom": "z"}
    top, axis = ("top", 1) if ring else ("right", 0)
    far = [0.4 if k == axis else 0.0 for k in range(dimension)]
    supports = {name: side(name, fix=[letter]) for name, letter in sides.items()}
    supports["grip"] = side(top, fix=["xyz"[axis]], motion=path([0.0, 1.0], [[0.0] * dimension, far]))
    more: Data = {"plane": plane} if dimension == 2 else {}
    data = box_scene(RUBBER, size=[1.0] * dimension, cells=[2] * dimension, cell=cell, supports=supports, **more)
    problem = distorted(problem_of(data), spacing=0.5)
    simulation: Any = start(problem, **options_of(options, step=0.5, newton_tolerance=1e-12))
    run_to(simulation, 0.5)
    residuals = np.array(simulation._stepper.solve(simulation._state, 0.5, 1.0)[1][1:])
    falling = residuals[residuals > 1e-9 * residuals[0]]
    assert residuals[-1] < 1e-10 * residuals[0] and len(residuals) <= 9
    assert (falling[1:] * residuals[0] / falling[:-1] ** 2).max(initial=0.0) < 10.0
    stress = run_to(simulation, 1.0).fields()["stress"]
    np.testing.assert_allclose(stress, np.tile(stress[0], (len(stress), 1)), atol=1e-7 * np.abs(stress).max())
    loaded = [axis, 2] if plane == "strain" and dimension == 2 else [axis]
    assert np.abs(stress[0, axis]) > 20.0 and np.abs(np.delete(stress[0], loaded)).max() < 1e-7 * np.abs(stress).max()


@pytest.mark.parametrize(
    ("law", "options", "words"),
    [
        ({"model": "neo-hooke", "shear": 1.0, "poisson": 0.5}, {}, 'needs a pressure space: use formulation = "b-bar"'),
        ({"model": "neo-hooke", "shear": 1.0, "poisson": 0.4995}, {}, "locks linear quad cells"),
        (RUBBER, {"formulation": "stabilized"}, "knows the formulations displacement, b-bar, p2-p0, taylor-hood, mini"),
        (RUBBER, {"formulation": "b-bar", "stepper": "midpoint"}, "needs stepper = 'quasi-static'"),
        (RUBBER, {"kinematics": "small", "formulation": "b-bar"}, 'is an energy of large strain.* "total-lagrangian"'),
    ],
)
def test_what_would_lock_or_is_not_there_is_said(law: Data, options: Data, words: str) -> None:
    data = box_scene(law, size=[1.0, 1.0], cells=[2, 2], cell="quad", supports={"floor": side("bottom")})
    with pytest.raises((RheotwinError, InputFaults), match=words):
        start(data, **options_of(options))


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (
            {"model": "mooney-rivlin", "c10": 1.0, "c01": -2.0, "bulk": 1.0},
            "is -2 Pa: give an energy whose",
        ),
        ({"model": "ogden", "terms": [{"shear": -1.0, "exponent": 2.0}], "bulk": 1.0}, "is -1 Pa: give an energy"),
        ({"model": "yeoh", "c10": 1.0}, "give either `bulk` or `poisson`"),
        (
            {"model": "ogden", "terms": [{"shear": 1.0, "exponent": 0.0}], "bulk": 1.0},
            "an `exponent` of 0",
        ),
        (RUBBER | {"relaxation": [{"share": 0.7, "time": 1.0}] * 2}, "at most 1 in sum"),
    ],
)
def test_energies_that_cannot_be_are_refused(law: Data, words: str) -> None:
    with pytest.raises(InputFaults, match=words):
        problem_of(box_scene(law, cells=[1, 1]))


@pytest.mark.usefixtures("own_folder")
def test_a_scene_of_rubber_runs_to_its_record() -> None:
    """The gallery's disc: its volume is kept, its force falls by the shares of its law, the record says how."""
    said = command("run", SCENES / "rubber-2d.toml", "--output", "rubber", "--set", "fem.step=0.25", "--quiet")
    assert said.code == 0, said.err
    table = np.genfromtxt("rubber/probes.csv", delimiter=",", names=True, deletechars="")
    force, volume = (table[name] for name in ("tool.punch.force_y_[N]", "volume.disc_[m3]"))
    np.testing.assert_allclose(volume, volume[0], rtol=1e-6)
    # As if the stress had grown evenly; contact makes it grow faster at the end, so some more is left to relax.
    times = list(table["time_[s]"])
    left = force[times.index(4.0)] / force[times.index(1.0)]
    expected = [held_share((0.2, 0.15), (0.3, 3.0), 1.0, time) for time in (4.0, 1.0)]
    assert left == pytest.approx(expected[0] / expected[1], rel=0.02)
    told = json.loads(Path("rubber/manifest.json").read_text())["statistics"]
    assert told["halved_steps"] == 0 and told["shortest_newton_step"] == 1.0 and told["newton_iterations"] > 16
