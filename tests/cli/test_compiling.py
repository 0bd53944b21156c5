"""A first run says at once that it compiles, and how far it is; a second has nothing to say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from rheotwin.kernels import cache

SCENE = """\
schema = 1
dimension = 1
duration = 0.01

[laws.rubber]
model = "elastic"
young = 1.0e3
poisson = 0.0

[bodies.strand]
shape = "box"
size = [1.0]
cells = [4]
law = "rubber"
density = 1.0

[output]
interval = 0.01
"""


def test_what_is_compiled_is_said(tmp_path: Path) -> None:
    (tmp_path / "scene.toml").write_text(SCENE)
    there = os.environ | {cache.PLACE: str(tmp_path / "kernels")}
    command = [sys.executable, "-m", "rheotwin", "run", "scene.toml", "--solver", "truss", "--output", "record"]
    said = []
    for _ in range(2):
        done = subprocess.run(
            [*command, "--overwrite"], cwd=tmp_path, env=there, capture_output=True, text=True, check=True
        )
        said.append(done.stderr.splitlines())
    assert said[0] == ["compiling, once for all runs like this", *said[1]]


def test_listeners_hear_how_far_it_is() -> None:
    heard: list[str] = []
    with cache.listening(heard.append):
        cache.tell("1 of 2 kernels")
    cache.tell("2 of 2 kernels")
    assert heard == ["1 of 2 kernels"]
