"""The first run on a machine: loops without counted references compile with nothing compiled before them.

Functions are compiled like whoever calls them first. One that asks for memory fails in such a loop, but goes unnoticed
where something else has compiled it earlier.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST_STEP = """
from rheotwin.build import build_problem
from rheotwin.particles import TrussSolver
from rheotwin.scene import scene_from_data
from rheotwin.solver import checked_options

box = {"shape": "box", "cells": [2, 2, 2], "size": [1.0, 1.0, 1.0], "law": "stuff", "density": 1.0}
data = {"schema": 1, "dimension": 3, "duration": 1.0, "output": {"interval": 1.0}, "bodies": {"block": box}}
data["laws"] = {"stuff": {"model": "elastic", "young": 12.0, "poisson": 0.25}}
solver = TrussSolver()
options = checked_options(solver, {"kernel": KERNEL, "volume_term": False})
simulation = solver.start(build_problem(scene_from_data(data)), options)
simulation.advance(1.0, 2)
assert simulation.step_count == 2
"""


@pytest.mark.parametrize("kernel", ["structured", "unstructured"])
def test_a_loop_compiles_with_nothing_compiled_before_it(kernel: str, tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_STEP.replace("KERNEL", repr(kernel))]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
