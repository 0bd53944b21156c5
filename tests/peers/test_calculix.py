"""CalculiX on the same mesh: elastic statics with nodal supports and forces.

Tables of CalculiX carry seven digits, so each number there is off by at most half a unit of its seventh digit: 5e-7
of itself. Displacements are compared with that share of the largest, reactions with that share of the sum of the
forces they are made of.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.running import run_to

CCX = shutil.which("ccx")
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(CCX is None, reason="CalculiX (ccx) is not installed; `make peers` says how"),
]

DIGITS = 5e-7
ELEMENTS = {
    ("triangle", 1): "CPE3",
    ("quad", 1): "CPE4",
    ("tet", 1): "C3D4",
    ("hex", 1): "C3D8",
    ("triangle", 2): "CPE6",
    ("tet", 2): "C3D10",
}


def deck(posed: Any, kind: str, time: float) -> str:
    """Return the input of a linear static step."""
    target, load = posed.target(time), posed.load(time)
    points = (", ".join(f"{x:.12e}" for x in point) for point in posed.points)
    lines = [
        "*NODE, NSET=ALL",
        *(f"{n}, {place}" for n, place in enumerate(points, 1)),
        f"*ELEMENT, TYPE={kind}, ELSET=BLOCK",
        *(f"{e}, " + ", ".join(map(str, cell + 1)) for e, cell in enumerate(posed.cells, 1)),
        "*MATERIAL, NAME=STUFF\n*ELASTIC\n300., 0.35\n*SOLID SECTION, ELSET=BLOCK, MATERIAL=STUFF",
        *(["1."] if posed.points.shape[1] == 2 else []),
        "*STEP\n*STATIC\n*BOUNDARY",
        *(f"{n + 1}, {c + 1}, {c + 1}, {target[n, c]:.12e}" for n, c in np.argwhere(posed.held)),
        "*CLOAD",
        *(f"{n + 1}, {c + 1}, {load[n, c]:.12e}" for n, c in np.argwhere(load)),
        "*NODE PRINT, NSET=ALL\nU, RF\n*END STEP\n",
    ]
    return "\n".join(lines)


def table(text: str, title: str, posed: Any) -> np.ndarray:
    """Read the table of a nodal vector (n, d) from the printed results."""
    body = text.split(f"{title} (", 1)[1].split("\n", 2)[2]
    out = np.zeros((len(posed.points), 3))
    for line in body.splitlines():
        if not line.strip():
            break
        node, *values = line.split()
        out[int(node) - 1] = [float(value) for value in values]
    return out[:, : posed.points.shape[1]]


@pytest.mark.parametrize(("cell", "order"), ELEMENTS)
def test_elastic_statics(cell: str, order: int, pose: Callable[..., Any], tmp_path: Path) -> None:
    """The block of the other programs: clamped below, driven above, pushed from the left."""
    posed = pose(cell, order, push=2.0)
    simulation = posed.ours(step=1.0)
    run_to(simulation, 1.0)
    (tmp_path / "block.inp").write_text(deck(posed, ELEMENTS[cell, order], 1.0))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # more threads than work
    command = [str(CCX), "block"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    printed = (tmp_path / "block.dat").read_text()
    there, here = table(printed, "displacements", posed), posed.displaced(simulation)
    np.testing.assert_allclose(here, there, rtol=0, atol=DIGITS * np.abs(there).max())
    forces, found = table(printed, "forces", posed), simulation.reactions()
    for name, force in posed.reactions(forces, 1.0).items():
        np.testing.assert_allclose(found[name], force, rtol=0, atol=DIGITS * np.abs(forces).sum())


FLOWING = {"model": "elastoplastic", "young": 300.0, "poisson": 0.35, "yield_stress": 1.5, "hardening_modulus": 12.0}
STEPS = 40


@pytest.mark.parametrize(("kinematics", "scale", "share"), [("small", 0.3, 1e-6), ("total-lagrangian", 1.0, 3e-3)])
def test_a_block_upset_and_sheared_flows(
    kinematics: str, scale: float, share: float, pose: Callable[..., Any], tmp_path: Path
) -> None:
    """Von Mises with hardening, step by step: digits at small strain; at 5 % its energy of the volume differs.

    With CalculiX's K/2 ((J^2 - 1)/2 - ln J) in the place of K/2 (J - 1)^2 twice that strain agrees within 1e-3.
    """
    posed = pose("hex", law=FLOWING, scale=scale)
    simulation = posed.ours(step=0.5 / STEPS, kinematics=kinematics)
    run_to(simulation, 1.0)
    large = kinematics != "small"
    text = deck(posed, "C3D8", 1.0).replace("300., 0.35", "300., 0.35\n*PLASTIC\n1.5, 0.\n121.5, 10.")
    text = text.replace("*STEP\n*STATIC\n", f"*STEP{', NLGEOM' * large}, INC=1000\n*STATIC, DIRECT\n{1 / STEPS}, 1.\n")
    (tmp_path / "block.inp").write_text(text.replace("*NODE PRINT,", "*NODE PRINT, FREQUENCY=1000,"))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [str(CCX), "block"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-2000:]
    forces, found = table((tmp_path / "block.dat").read_text(), "forces", posed), simulation.reactions()
    for name, force in posed.reactions(forces, 1.0).items():
        np.testing.assert_allclose(found[name], force, rtol=0, atol=share * np.abs(forces).sum())
