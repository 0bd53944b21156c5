"""The packages named in pyproject.toml are the folders there are; every module can be imported from one name."""

from __future__ import annotations

import ast
import importlib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rheotwin
from rheotwin.__main__ import VERBS

ROOT = Path(__file__).parents[2]
ROOMS = ("constraints", "fem", "meshing", "particles", "validation")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def package_folders() -> dict[str, Path]:
    """Every folder with an __init__.py, by the name it is imported as."""
    found = {}
    for start, name in ((ROOT / "src" / "rheotwin", "rheotwin"), *((ROOT / r, f"rheotwin.{r}") for r in ROOMS)):
        for init in start.rglob("__init__.py"):
            parts = init.parent.relative_to(start).parts
            found[".".join((name, *parts))] = init.parent
    return found


def source_files() -> Iterator[tuple[str, Path]]:
    for name, folder in package_folders().items():
        for path in sorted(folder.glob("*.py")):
            yield (name if path.stem == "__init__" else f"{name}.{path.stem}"), path


def test_the_package_list_is_what_the_folders_hold(project: dict[str, Any]) -> None:
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(package_folders())


def test_every_package_is_mapped_to_its_folder(project: dict[str, Any]) -> None:
    mapping = project["tool"]["setuptools"]["package-dir"]
    for name, folder in package_folders().items():
        nearest = max((known for known in mapping if name == known or name.startswith(f"{known}.")), key=len)
        rest = name.removeprefix(nearest).strip(".").replace(".", "/")
        assert (ROOT / mapping[nearest] / rest).resolve() == folder.resolve()


def test_no_python_file_lies_outside_a_package() -> None:
    # a folder without __init__.py would silently be left out of the wheel
    for start in (ROOT / "src" / "rheotwin", *(ROOT / room for room in ROOMS)):
        for path in start.rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), f"{path.parent} lacks an __init__.py"


@pytest.mark.parametrize("name", [name for name, _ in source_files() if not name.endswith("__main__")])
def test_every_module_can_be_imported(name: str) -> None:
    if name.startswith("rheotwin.particles.fixed_point.rtl."):
        pytest.importorskip("amaranth", reason="the hardware modules need rheotwin[rtl]")
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", ()):
        assert hasattr(module, public), f"{name} does not have {public}"


def test_the_package_is_marked_as_typed() -> None:
    assert rheotwin.__file__ is not None
    assert (Path(rheotwin.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("path", [path for _, path in source_files()], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_are_absolute_and_by_the_one_name(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        assert not {name.partition(".")[0] for name in names} & set(ROOMS), f"{path}:{node.lineno}: bare import"


def imports_of(folder: str, *, but: str) -> set[str]:
    """Every rheotwin module that the files of a room import, inside functions too, one package left out."""
    found = set()
    for name, path in source_files():
        if name.startswith(but):
            continue
        if name == f"rheotwin.{folder}" or name.startswith(f"rheotwin.{folder}."):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rheotwin"):
                    found.add(node.module or "")
                if isinstance(node, ast.Import):
                    found |= {alias.name for alias in node.names if alias.name.startswith("rheotwin")}
    return found


@pytest.mark.parametrize(
    ("room", "others"),
    [
        ("fem", ("particles", "validation")),
        ("particles", ("fem", "validation")),
        ("meshing", ("fem", "particles", "constraints", "validation")),
        ("constraints", ("fem", "particles", "validation")),
        ("validation", ("fem", "particles", "constraints")),
    ],
)
def test_rooms_do_not_reach_into_each_other(room: str, others: tuple[str, ...]) -> None:
    """Validation sees records and protocols; only its verification suite looks into the backends it verifies."""
    imported = imports_of(room, but="rheotwin.validation.checks")
    assert imported
    for other in others:
        assert not {name for name in imported if name.split(".")[1:2] == [other]}, f"{room} imports {other}"


def test_entry_points_and_version_agree_with_the_code(project: dict[str, Any]) -> None:
    from rheotwin.registry import BUILT_IN, GROUP

    assert project["project"]["version"] == rheotwin.__version__
    assert project["project"]["scripts"] == {"rheotwin": "rheotwin.__main__:main"}
    assert project["project"]["entry-points"][GROUP] == BUILT_IN


def test_there_is_one_file_for_each_verb() -> None:
    files = {path.stem for path in (ROOT / "src" / "rheotwin" / "cli").glob("*.py")} - {"__init__"}
    assert files == set(VERBS)
    for verb in VERBS:
        module: Any = importlib.import_module(f"rheotwin.cli.{verb}")
        assert verb == module.NAME and module.HELP


def test_tests_mirror_the_folders() -> None:
    tests = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert set(ROOMS) <= tests
    assert not list((ROOT / "tests").rglob("__init__.py")), "test folders are not packages"
