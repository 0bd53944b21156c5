"""Extra internal forces (M3E): who gets how much of the punch's and the floor's force, and until when."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.errors import EXIT_OK, RheotwinError
from rheotwin.kernels.program import Clock, Program
from rheotwin.particles.forces.extra import ExtraForces, ExtraOptions
from rheotwin.record import open_record
from rheotwin.validation.checks.pushed_lattice import SETS, Push, scene
from rheotwin.validation.checks.running import problem_of
from tests.conftest import command

SCENE = str(Path(__file__).parents[2] / "scenes/calibrated-lattice-3d.toml")


def test_shares_are_those_of_the_papers_lattice() -> None:
    """Weights 2 beside the punch and below it, 1 at sqrt2 l; above the floor 2 under the punch, 1 beside that."""
    problem = problem_of(scene(SETS["R2 M3E"]))
    x = np.ascontiguousarray(problem.points)
    force = np.zeros_like(x)
    pushed, floor = (np.flatnonzero(np.isclose(x[:, 2], z)) for z in (3.0, 0.0))
    pushed = pushed[(x[pushed, 0] > 1.5) & (x[pushed, 0] < 3.5)]
    force[pushed, 2], force[floor, 2], force[floor[:6], 0] = -7.0 / len(pushed), -5.0 / len(floor), 1.0
    at_floor = 6.0 * np.hypot(5.0 / len(floor), 1.0) + 5.0 * (1.0 - 6.0 / len(floor))
    before = force.copy()
    Program(ExtraForces(problem, ExtraOptions()).stages(x, np.zeros_like(x), force), 1.0, Clock()).run(0, 1)
    got, middle = force - before, np.array([2.5, 2.5, 1.5])
    for k, (i, j) in enumerate(zip(np.rint(x[:, 0]), np.rint(x[:, 2]), strict=True)):
        away = (x[k] - middle) / np.linalg.norm(x[k] - middle)
        top = {(1, 3): 2.0, (4, 3): 2.0, (2, 2): 2.0, (3, 2): 2.0, (1, 2): 1.0, (4, 2): 1.0}.get((i, j), 0.0)
        low = {(2, 1): 2.0, (3, 1): 2.0, (1, 1): 1.0, (4, 1): 1.0}.get((i, j), 0.0)
        wanted = 7.0 * top / 60.0 * away + at_floor * low / 36.0 * away * [1.0, 1.0, 0.0]
        np.testing.assert_allclose(got[k], wanted, atol=1e-12, err_msg=f"column {i}, row {j}")


def test_a_scene_with_extra_forces_is_run(own_folder: Path) -> None:
    """Its sides are pressed out further than without them."""
    out = []
    for name, more in (("with", []), ("without", ["--set", "truss.forces={}"])):
        words = ["--case", "R2-M3E", "--set", "duration=0.3", "--set", "supports.punch.motion.ramp.time=0.2"]
        words += ["--set", "supports.punch.until=0.25", "--set", "output.interval=0.1", "--quiet", "--output", name]
        said = command("run", SCENE, "--solver", "truss", *words, *more)
        assert said.code == EXIT_OK, said.err
        out.append(float(np.abs(np.asarray(open_record(name).field("displacement"))[2, :, 0]).max()))
    assert out[0] > 1.1 * out[1]


def test_they_end_with_the_contact() -> None:
    problem = problem_of(scene(SETS["R2 M3E"]))
    gone = replace(problem, prescribed=tuple(item for item in problem.prescribed if item.support != "punch"))
    x = np.ascontiguousarray(problem.points)
    assert [len(ExtraForces(one, ExtraOptions()).stages(x, x, x)) for one in (problem, gone)] == [2, 0]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"forces": {"extra": {"punch": "pnch"}}}, "no support is named 'pnch' .did you mean 'punch'"),
        ({"stepper": "implicit"}, 'extra: it reads all other forces; use stepper = "semi-implicit"'),
    ],
)
def test_faults_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        Push(SETS["R2 M3E"], **options)
