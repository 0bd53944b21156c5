"""Wrong input to the finite-element solver: one sentence with place and remedy, its exit code, no traceback, no
folder.
What can be known before the first step is refused with exit code 2 and leaves nothing behind; a step that has no
solution ends the run with exit code 3 and leaves a record that is valid up to there."""

from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_DIVERGED, EXIT_OK
from rheotwin.meshing import BoxShape, make_shape, write_mesh
from rheotwin.record import open_record
from tests.conftest import SOLID, Data, command, scene_file, settings

GEL: Data = {"bodies.block.law": "gel"}
STIFF: Data = GEL | {"laws.gel.poisson": 0.4995}
STRESS: Data = {"plane": "stress"}
RING: Data = {"plane": "axisymmetric"}
ROLLER: Data = {"supports.floor.fix": ["y"]}
SLIDES = "bodies.block: without inertia 'block' can still move along "
LOCKS = "bodies.block.law: 0.4995 locks linear triangle cells"

REFUSED: list[tuple[Data, str, str]] = [
    # changes of the scene, options, words of the sentence
    ({"supports": ...}, "stepper=quasi-static", SLIDES + "x, move along y and rotate about z; add a support"),
    (ROLLER, "stepper=quasi-static", SLIDES + "x; add a support that stops it"),
    (ROLLER, "stepper=quasi-static kinematics=total-lagrangian", SLIDES + "x; add a support that stops it"),
    (RING | {"supports.floor.fix": ["x"]}, "stepper=quasi-static", SLIDES + "y; add a support that stops it"),
    (STIFF, "", f'{LOCKS}, their answer would be wrong: use formulation = "taylor-hood" (or stabilized)'),
    (STIFF | RING, "", LOCKS),
    (
        {},
        "stepper=static",
        "bodies.block.law: a three-element law relaxes to nothing, so no static equilibrium exists; use stepper = "
        '"quasi-static", or a law with a long-term modulus',
    ),
    ({}, "stepper=central-difference step=0.01", "fem.step: 0.01 s is above the stable step of 0.002"),
    ({}, "stepper=euler step=0.01", "up to which explicit Euler is stable here; choose at most 0.002"),
    ({}, "stepper=rk4 step=0.01", "up to which Runge-Kutta is stable here; choose at most 0.003"),
    (GEL, "stepper=euler", 'is unstable at any step for a body without damping; choose "rk4" or'),
    ({}, "stepper=central-difference mass=consistent", 'need lumped masses; choose mass = "lumped"'),
    ({}, "stepper=central-difference formulation=mini", "central differences need a mass at every unknown"),
    ({}, "stepper=rk4 formulation=mini", "need a mass on every unknown, which the bubbles of mini elements"),
    ({}, "formulation=b-bar", "does not exist on triangle cells: use one of taylor-hood, mini, stabilized"),
    (STRESS, "formulation=mini", "mini holds the volume, which a bar or plane stress leaves free; use"),
    (RING, "kinematics=corotational", '"corotational" knows plane = "strain" only, not "axisymmetric"; choose'),
    ({}, "formulation=mini linear_solver=petsc", "petsc is set up for definite matrices only; choose"),
    ({}, "stepper=rk5", "solvers.fem.stepper: 'rk5' is not allowed (did you mean 'rk4'?); use "),
    ({}, "incompressible=true", 'incompressible needs a pressure space: set formulation = "taylor-hood" or another'),
    ({}, "order=2 formulation=mini", "solvers.fem: order comes with formulation = 'mini': leave"),
    ({}, "kinematics=total-lagrangian stepper=rk4", "knows the steppers midpoint and quasi-static only"),
    ({}, "kinematics=corotational order=2", "kinematics = 'corotational' has no choice of order: leave it out"),
]


@pytest.mark.parametrize(("changes", "options", "words"), REFUSED)
def test_refused_before_anything_is_written(changes: Data, options: str, words: str) -> None:
    given = dict(option.split("=") for option in options.split())
    said = command("run", scene_file(changes), "--output", "deep/out", "--quiet", *settings(**given))
    assert (said.code, said.out) == (EXIT_BAD_INPUT, "") and said.err.startswith("error: ")
    assert words in said.err
    assert len(said.err.splitlines()) <= 2, "a sentence, or a heading and one line for the fault"
    assert "Value error" not in said.err and [entry.name for entry in Path().iterdir()] == ["press.toml"]


def test_a_negative_jacobian_is_named_with_its_element() -> None:
    write_mesh(Path("good.vtu"), make_shape(BoxShape((0.2, 0.1, 0.1), (2, 1, 1), cell="hex")))
    good = meshio.read("good.vtu")
    cells = good.cells[0].data.copy()
    cells[1] = cells[1][[1, 0, 2, 3, 4, 5, 6, 7]]  # its bottom twisted: positive at some corners, negative at others
    meshio.write("bad.vtu", meshio.Mesh(good.points, [("hexahedron", cells)]))
    for name, code in (("good", EXIT_OK), ("bad", EXIT_BAD_INPUT)):
        block = {"shape": "file", "path": f"{name}.vtu", "law": "dough", "density": 1000.0}
        path = scene_file({key: value for key, value in SOLID.items() if "." not in key} | {"bodies.block": block})
        said = command("run", path, "--output", name, "--quiet")
        assert said.code == code, said.err
    assert "element 1" in said.sentence and "bad.vtu" in said.sentence and not Path("bad").exists()


@pytest.mark.parametrize(
    ("kinematics", "stepper"),
    [("corotational", "quasi-static"), ("total-lagrangian", "quasi-static"), ("total-lagrangian", "midpoint")],
)
def test_a_step_without_equilibrium_keeps_the_last_good_state(kinematics: str, stepper: str) -> None:
    """The bar goes through the floor: no equilibrium on the way there."""
    crushed: dict[str, Any] = {
        "units": {"virtual": True},
        "tools.bar.motion.displacement": [[0.0, 0.0], [0.0, -0.15], [0.0, 0.0]],
        "output": {"interval": 0.02, "checkpoint_interval": 0.02},
    }
    words = settings(kinematics=kinematics, stepper=stepper, step=0.004)
    said = command("run", scene_file(crushed), "--output", "out", "--quiet", *words)
    assert said.code == EXIT_DIVERGED and said.err.count("\n") == 1 and said.err.endswith("record: out\n")
    for part in (
        "the run diverged at t = 0.",
        "in body 'block' at node ",
        "even with the step of 0.004 s halved 6 times",
        "reduce solvers.fem.step, slow the motions down or refine the mesh there",
    ):
        assert part in said.err
    inside_out = "element " in said.err and " of body 'block' turned inside out (det F = " in said.err
    assert inside_out or (kinematics != "corotational" and "no equilibrium in 25 iterations (residual " in said.err)
    record = open_record(Path("out"))
    assert record.manifest.status == "diverged" and record.manifest.message in said.err
    stopped = float(said.err.split("t = ")[1].split(" s")[0])
    # frames are planned every 0.02 s: the last one is the last plan not behind the stop
    assert record.times[-1] <= stopped < record.times[-1] + 0.02 and record.times[-1] >= 0.02
    assert np.isfinite(record.field("displacement")).all()
    assert np.isfinite(record.probes["energy.stored"]).all() and command("info", "out").code == EXIT_OK
    # resuming from the last good state comes to the same end
    again = command("run", "--resume", "out", "--quiet")
    assert (again.code, again.err) == (EXIT_DIVERGED, said.err)
