"""The command line called in this process, and a scene small enough to be run in milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rheotwin.__main__ import main

TEXT = """\
schema = 1
title = "a small press"
dimension = 2
duration = 0.2

[laws.dough]
model = "three-element"
young = 1.0e4
poisson = 0.3
voigt_viscosity = 200.0
series_viscosity = 5.0e3

[laws.gel]
model = "elastic"
young = 1.0e4
poisson = 0.3

[bodies.block]
shape = "box"
size = [0.2, 0.1]
cells = [4, 2]
law = "dough"
density = 1000.0

[supports.floor]
body = "block"
where = { side = "bottom" }

[tools.bar]
shape = "bar"
center = [0.1, 0.1]
normal = [0.0, -1.0]
width = 0.1

[tools.bar.motion]
times = [0.0, 0.1, 0.2]
displacement = [[0.0, 0.0], [0.0, -0.01], [0.0, 0.0]]

[output]
interval = 0.1

[solvers.fem]
step = 2.0e-3
"""


@dataclass(frozen=True)
class Said:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The one sentence of a refused command, without its "error: "."""
        assert self.err.startswith("error: "), self.err
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        return self.err.removeprefix("error: ").rstrip("\n")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run `rheotwin WORDS` in this process."""

    def call(*words: str | Path) -> Said:
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as leave:  # argparse leaves by itself
            code = int(leave.code or 0)
        streams = capsys.readouterr()
        assert "Traceback" not in streams.err
        return Said(code, streams.out, streams.err)

    return call


@pytest.fixture
def scene_file(tmp_path: Path) -> Callable[..., Path]:
    """Write the scene, with pieces of its text replaced, below tmp_path."""

    def write(*replacements: tuple[str, str], name: str = "press.toml", extra: str = "") -> Path:
        text = TEXT
        for old, new in replacements:
            assert text.count(old) >= 1, old
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text + extra)
        return path

    return write


@pytest.fixture
def scene(scene_file: Callable[..., Path]) -> Path:
    return scene_file()


@pytest.fixture(autouse=True)
def in_its_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Default output folders are relative: keep them out of the repository."""
    monkeypatch.chdir(tmp_path)
