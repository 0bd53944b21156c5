"""Help is quick because nothing heavy is imported; it names every verb and every exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rheotwin import __version__
from rheotwin.__main__ import VERBS

HEAVY = {
    "h5py",
    "jinja2",
    "matplotlib",
    "meshio",
    "numba",
    "numpy",
    "pydantic",
    "pyvista",
    "rich",
    "scipy",
    "skfem",
    "vtk",
    "vtkmodules",
}
SCRIPT = """
import sys
from rheotwin.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit as leave:
    print("left with", leave.code)
print("loaded", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def loaded_by(script: str, *words: str) -> tuple[str, set[str]]:
    """Return what a fresh interpreter printed and the top-level modules it had loaded at the end."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "COV_"))}
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True, env=bare)
    text, _, modules = done.stdout.rpartition("loaded ")
    return text, set(modules.split())


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_loads_nothing_heavy(verb: str) -> None:
    text, modules = loaded_by(SCRIPT, *([verb] if verb else []), "--help")
    assert text.rstrip().endswith("left with 0")
    assert text.startswith(f"usage: rheotwin {verb}".rstrip())
    assert modules & HEAVY == set()


def test_importing_the_package_loads_nothing_heavy() -> None:
    _, modules = loaded_by("import sys, rheotwin; print('loaded', *{m.partition('.')[0] for m in sys.modules})")
    assert modules & HEAVY == set()
    assert "rheotwin" in modules


def test_help_names_every_verb_and_exit_code(command: Callable[..., Any]) -> None:
    said = command("--help")
    assert said.code == 0
    assert all(f"\n    {verb} " in said.out or f"\n    {verb}\n" in said.out for verb in VERBS)
    assert all(f"\n  {code} " in said.out for code in (0, 1, 2, 3, 130))


def test_version(command: Callable[..., Any]) -> None:
    said = command("--version")
    assert (said.code, said.out) == (0, f"rheotwin {__version__}\n")


@pytest.mark.parametrize("words", [[], ["rn"], ["run", "--colour"], ["run", "a.toml", "--format", "xdmf"]])
def test_a_command_that_is_none_is_refused_with_its_usage(command: Callable[..., Any], words: list[str]) -> None:
    said = command(*words)
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("usage: rheotwin")


def test_the_public_names_load_on_first_use() -> None:
    import rheotwin

    for name in rheotwin.__all__:
        assert getattr(rheotwin, name) is not None
    assert set(rheotwin.__all__) <= set(dir(rheotwin))
    with pytest.raises(AttributeError, match="has no attribute 'run_scenes'"):
        _ = rheotwin.run_scenes
