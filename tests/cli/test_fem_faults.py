"""Wrong input to the finite-element solver: one sentence with place and remedy, its exit code, no traceback, no folder.

What can be known before the first step is refused with exit code 2 and leaves nothing behind; a step that has no
solution ends the run with exit code 3 and leaves a record that is valid up to there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshio
import numpy as np
import pytest

from rheotwin.errors import EXIT_BAD_INPUT, EXIT_DIVERGED, EXIT_OK
from rheotwin.meshing import BoxShape, make_shape, write_mesh
from rheotwin.record import open_record

Command = Callable[..., Any]
Replacements = list[tuple[str, str]]
FLOOR = '[supports.floor]\nbody = "block"\nwhere = { side = "bottom" }\n'
ROLLER = FLOOR.replace("}\n", '}\nfix = ["y"]\n')
GEL = ('law = "dough"', 'law = "gel"')
SOFT = ("poisson = 0.3\n\n[bodies", "poisson = 0.4995\n\n[bodies")
STRESS = ("duration = 0.2", 'duration = 0.2\nplane = "stress"')
RING = ("duration = 0.2", 'duration = 0.2\nplane = "axisymmetric"')


def settings(**options: Any) -> list[str]:
    """Return the words that set options of the solver."""
    return [word for name, value in options.items() for word in ("--set", f"fem.{name}={value}")]


REFUSED: dict[str, tuple[Replacements, dict[str, Any], str]] = {
    # replacements in the scene, options, words of the sentence
    "no support without inertia": (
        [(FLOOR, "")],
        {"stepper": "quasi-static"},
        "bodies.block: without inertia 'block' can still move along x, move along y and rotate about z; add a support",
    ),
    "a support that lets it slide": (
        [(FLOOR, ROLLER)],
        {"stepper": "quasi-static"},
        "bodies.block: without inertia 'block' can still move along x; add a support that stops it",
    ),
    "the same at large strain": (
        [(FLOOR, ROLLER)],
        {"stepper": "quasi-static", "kinematics": "total-lagrangian"},
        "bodies.block: without inertia 'block' can still move along x; add a support that stops it",
    ),
    "a ring that slides along its axis": (
        [(FLOOR, FLOOR.replace("}\n", '}\nfix = ["x"]\n')), RING],
        {"stepper": "quasi-static"},
        "bodies.block: without inertia 'block' can still move along y; add a support that stops it",
    ),
    "locks": (
        [GEL, SOFT],
        {},
        "bodies.block.law: 0.4995 locks linear triangle cells, their answer would be wrong: "
        'use formulation = "taylor-hood" (or stabilized)',
    ),
    "locks as a ring": ([GEL, SOFT, RING], {}, "bodies.block.law: 0.4995 locks linear triangle cells"),
    "flows without end": (
        [],
        {"stepper": "static"},
        "bodies.block.law: a three-element law relaxes to nothing, so no static equilibrium exists; use stepper = "
        '"quasi-static", or a law with a long-term modulus',
    ),
    "central differences too fast": (
        [],
        {"stepper": "central-difference", "step": 0.01},
        "solvers.fem.step: 0.01 s is above the stable step of 0.002",
    ),
    "Euler too fast": (
        [],
        {"stepper": "euler", "step": 0.01},
        "up to which explicit Euler is stable here; choose at most 0.002",
    ),
    "Runge-Kutta too fast": (
        [],
        {"stepper": "rk4", "step": 0.01},
        "up to which Runge-Kutta is stable here; choose at most 0.003",
    ),
    "Euler without damping": (
        [GEL],
        {"stepper": "euler"},
        'is unstable at any step for a body without damping; choose "rk4" or',
    ),
    "central differences with a full mass": (
        [],
        {"stepper": "central-difference", "mass": "consistent"},
        'solvers.fem.mass: central differences need lumped masses; choose mass = "lumped"',
    ),
    "central differences with massless bubbles": (
        [],
        {"stepper": "central-difference", "formulation": "mini"},
        "solvers.fem.stepper: central differences need a mass at every unknown",
    ),
    "Runge-Kutta with massless bubbles": (
        [],
        {"stepper": "rk4", "formulation": "mini"},
        "explicit rules need a mass on every unknown, which the bubbles of mini elements",
    ),
    "elements for other cells": (
        [],
        {"formulation": "b-bar"},
        "solvers.fem.formulation: 'b-bar' does not exist on triangle cells: use one of taylor-hood, mini, stabilized",
    ),
    "rigid volume free to change": (
        [STRESS],
        {"formulation": "mini"},
        "solvers.fem.formulation: mini holds the volume, which a bar or plane stress leaves free; use",
    ),
    "large rotation of a ring": (
        [RING],
        {"kinematics": "corotational"},
        'solvers.fem.kinematics: "corotational" knows plane = "strain" only, not "axisymmetric"; choose',
    ),
    "multigrid of pressures": (
        [],
        {"formulation": "mini", "linear_solver": "amg"},
        "solvers.fem.linear_solver: amg cannot solve the indefinite systems of mixed elements; choose pardiso or splu",
    ),
    "no such option": (
        [],
        {"steper": "rk4"},
        "solvers.fem.steper: unknown option (did you mean 'stepper'?); allowed: ",
    ),
    "no such stepper": (
        [],
        {"stepper": "rk5"},
        "solvers.fem.stepper: 'rk5' is not allowed (did you mean 'rk4'?); use ",
    ),
    "no such order": ([], {"order": 3}, "solvers.fem.order: 3 is not allowed; use 1 or 2"),
    "rigid without pressures": (
        [],
        {"incompressible": "true"},
        'solvers.fem: incompressible needs a pressure space: set formulation = "taylor-hood" or another one',
    ),
    "order twice": (
        [],
        {"order": 2, "formulation": "mini"},
        "solvers.fem: order comes with formulation = 'mini': leave",
    ),
    "explicit at large strain": (
        [],
        {"kinematics": "total-lagrangian", "stepper": "rk4"},
        "solvers.fem: kinematics = 'total-lagrangian' knows the steppers midpoint and quasi-static only",
    ),
    "an option large strain lacks": (
        [],
        {"kinematics": "corotational", "order": 2},
        "solvers.fem: kinematics = 'corotational' has no choice of order: leave it out",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_before_anything_is_written(command: Command, scene_file: Any, tmp_path: Path, name: str) -> None:
    replacements, options, words = REFUSED[name]
    path = scene_file(*replacements)
    said = command("run", path, "--output", "deep/out", "--quiet", *settings(**options))
    assert (said.code, said.out) == (EXIT_BAD_INPUT, "")
    assert said.err.startswith("error: ")
    assert words in said.err
    # a sentence, or a heading and one line for the fault
    assert len(said.err.splitlines()) <= 2
    assert "Value error" not in said.err
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_negative_jacobian_is_named_with_its_element(command: Command, scene_file: Any, tmp_path: Path) -> None:
    write_mesh(tmp_path / "good.vtu", make_shape(BoxShape((0.2, 0.1, 0.1), (2, 1, 1), cell="hex")))
    good = meshio.read(tmp_path / "good.vtu")
    cells = good.cells[0].data.copy()
    cells[1] = cells[1][[1, 0, 2, 3, 4, 5, 6, 7]]  # its bottom twisted: positive at some corners, negative at others
    meshio.write(tmp_path / "bad.vtu", meshio.Mesh(good.points, [("hexahedron", cells)]))
    flat = ('shape = "box"\nsize = [0.2, 0.1]\ncells = [4, 2]\n', 'shape = "file"\npath = "{}.vtu"\n')
    to_space = [
        ("dimension = 2", "dimension = 3"),
        ("width = 0.1", "width = [0.1, 0.2]"),
        ("[0.1, 0.1]", "[0.1, 0.05, 0.1]"),
    ]
    to_space += [("[0.0, -1.0]", "[0.0, 0.0, -1.0]")]
    to_space += [("[[0.0, 0.0], [0.0, -0.01], [0.0, 0.0]]", "[[0.0, 0.0, 0.0], [0.0, 0.0, -0.01], [0.0, 0.0, 0.0]]")]
    for name, code in (("good", EXIT_OK), ("bad", EXIT_BAD_INPUT)):
        path = scene_file((flat[0], flat[1].format(name)), *to_space)
        said = command("run", path, "--output", name, "--quiet")
        assert said.code == code, said.err
    assert "element 1" in said.sentence and "bad.vtu" in said.sentence
    assert not Path("bad").exists()


CRUSHED = [("[0.0, -0.01]", "[0.0, -0.15]"), ("interval = 0.1", "interval = 0.02\ncheckpoint_interval = 0.02")]
"""The bar goes through the floor: no equilibrium on the way there."""


@pytest.mark.parametrize(
    ("kinematics", "stepper"),
    [("corotational", "quasi-static"), ("total-lagrangian", "quasi-static"), ("total-lagrangian", "midpoint")],
)
def test_a_step_without_equilibrium_keeps_the_last_good_state(
    command: Command, scene_file: Any, kinematics: str, stepper: str
) -> None:
    words = settings(kinematics=kinematics, stepper=stepper, step=0.004)
    said = command("run", scene_file(*CRUSHED), "--output", "out", "--quiet", *words)
    assert said.code == EXIT_DIVERGED
    assert said.err.count("\n") == 1 and said.err.endswith("record: out\n")
    for part in (
        "the run diverged at t = 0.",
        "in body 'block' at node ",
        "even with the step of 0.004 s halved 6 times",
        "reduce solvers.fem.step, slow the motions down or refine the mesh there",
    ):
        assert part in said.err
    assert "turned inside out" in said.err or "no equilibrium in 25 iterations (residual " in said.err
    record = open_record(Path("out"))
    assert record.manifest.status == "diverged" and record.manifest.message in said.err
    stopped = float(said.err.split("t = ")[1].split(" s")[0])
    # frames are planned every 0.02 s: the last one is the last plan not behind the stop
    assert record.times[-1] <= stopped < record.times[-1] + 0.02
    assert record.times[-1] >= 0.02
    assert np.isfinite(record.field("displacement")).all()
    assert np.isfinite(record.probes["energy.stored"]).all()
    assert command("info", "out").code == EXIT_OK
    # resuming from the last good state comes to the same end
    again = command("run", "--resume", "out", "--quiet")
    assert (again.code, again.err) == (EXIT_DIVERGED, said.err)


def test_an_element_turned_inside_out_is_named(command: Command, scene_file: Any) -> None:
    words = settings(kinematics="corotational", stepper="quasi-static", step=0.004)
    said = command("run", scene_file(*CRUSHED), "--output", "out", "--quiet", *words)
    assert "element " in said.err and " of body 'block' turned inside out (det F = " in said.err
