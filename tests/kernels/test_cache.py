"""Kernels follow the sources they are made of: an edit is seen at once, and nothing else is compiled anew."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rheotwin.__main__ import main
from rheotwin.kernels import cache

PLUG_IN = """
from rheotwin.kernels.compiled import compiled
from .factors import FACTOR

def multiplied(by):
    @compiled
    def multiply(x):
        return FACTOR * by * x
    return multiply
"""
FORMULA = "from rheotwin.kernels.vectors import formula\n\n@formula\n"
MULTIPLY = "from plug_in.forces import multiplied\nprint(multiplied(2.0)(1.0), multiplied(5.0)(1.0))"


@dataclass(frozen=True)
class Package:
    """Sources in the ordinary layout, and the folder where their kernels go."""

    home: Path
    kernels: Path

    def begin(self, script: str) -> subprocess.Popen[str]:
        # Python itself takes sources of one size, edited within a second, for the same
        fresh = {"PYTHONDONTWRITEBYTECODE": "1"}
        there = os.environ | fresh | {"PYTHONPATH": str(self.home), cache.PLACE: str(self.kernels)}
        return subprocess.Popen([sys.executable, "-c", script], env=there, text=True, stdout=subprocess.PIPE)

    def run(self, script: str) -> list[float]:
        printed, _ = self.begin(script).communicate()
        return [float(number) for number in printed.split()]

    def edit(self, module: str, old: str, new: str) -> None:
        text = (self.home / module).read_text()
        assert text.count(old) == 1
        (self.home / module).write_text(text.replace(old, new))

    @property
    def files(self) -> set[str]:
        return {file.name for file in self.kernels.iterdir()}


def plug_in(home: Path) -> Package:
    (home / "plug_in").mkdir(parents=True)
    for name, text in {"__init__": "", "factors": "FACTOR = 1.0\n", "forces": PLUG_IN, "unrelated": ""}.items():
        (home / "plug_in" / f"{name}.py").write_text(text)
    return Package(home, home.parent / "kernels")


def test_kernels_follow_their_sources_and_constants(tmp_path: Path) -> None:
    package = plug_in(tmp_path / "copy")
    assert package.run(MULTIPLY) == [2.0, 5.0]
    first = package.files
    assert len(first) == 2
    package.edit("plug_in/factors.py", "1.0", "7.0")
    assert package.run(MULTIPLY) == [14.0, 35.0]
    both = package.files
    assert first < both
    package.edit("plug_in/factors.py", "7.0", "1.0")
    (package.home / "plug_in" / "unrelated.py").write_text("EDITED = True\n")
    assert package.run(MULTIPLY) == [2.0, 5.0]
    assert package.files == both  # the first kernels were found again, and an unrelated edit compiles nothing
    assert plug_in(tmp_path / "elsewhere").run(MULTIPLY) == [2.0, 5.0]
    assert package.files == both  # so does another checkout of the same sources
    for file in package.kernels.iterdir():
        file.write_bytes(file.read_bytes()[:-1])
    assert package.run(MULTIPLY) == [2.0, 5.0]  # damaged files are noticed and written again
    assert package.files == both
    # a formula of another package again, asked for by a formula
    (package.home / "other.py").write_text(f"{FORMULA}def third(x):\n    return 4.0 * x\n")
    (package.home / "plug_in" / "factors.py").write_text("from other import third\nFACTOR = 1.0\n")
    package.edit("plug_in/forces.py", "return FACTOR * by * x", "return third(x) * by")
    package.edit("plug_in/forces.py", "import FACTOR", "import third")
    assert package.run(MULTIPLY) == [8.0, 20.0]
    package.edit("other.py", "4.0", "5.0")
    assert package.run(MULTIPLY) == [10.0, 25.0]


def test_processes_share_a_folder(tmp_path: Path) -> None:
    package = plug_in(tmp_path / "copy")
    both = [package.begin(MULTIPLY) for _ in range(2)]
    assert [process.communicate()[0].split() for process in both] == [["2.0", "5.0"]] * 2
    assert {name.rpartition(".")[2] for name in package.files} == {"kernel"}  # nothing half-written is left


def test_without_a_folder_and_with_fresh_sources_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.PLACE, str(tmp_path / "file" / "kernels"))
    cache.save("kernel", b"code")
    assert cache.load("kernel") is None
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "written_just_now.py").write_text("import math\n")
    assert cache.stamp("written_just_now") is None and cache.stamp("rheotwin.kernels.cache") is not None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.PLACE, str(tmp_path))
    monkeypatch.setattr(cache, "LARGEST", 4000)
    for age, name in enumerate(("new", "used", "old", "older")):
        cache.save(name, bytes(1000))
        os.utime(tmp_path / f"{name}{cache.SUFFIX}", (1e9 - age, 1e9 - age))
    assert cache.load("older") == bytes(1000)  # now the newest
    cache._shrink_once.cache_clear()
    cache.save("last", bytes(10))
    assert {file.stem for file in tmp_path.iterdir()} == {"older", "last"}


def test_the_verb_tells_place_and_size_and_clears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(cache.PLACE, str(tmp_path / "kernels"))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'kernels'}\nkernels: 0 (0.0 MB)\n"
    cache.save("kernel", bytes(2_000_000))
    (tmp_path / "kernels" / "notes.txt").write_text("somebody's own")
    assert main(["cache", "--clear"]) == 0 and capsys.readouterr().out.endswith("deleted: 1 (2.0 MB)\n")
    assert [file.name for file in (tmp_path / "kernels").iterdir()] == ["notes.txt"]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cache.PLACE, str(tmp_path / "file"))
    assert main(["cache"]) == 2 and "RHEOTWIN_CACHE_DIR: the cache cannot be read" in capsys.readouterr().err
