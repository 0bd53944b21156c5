"""The packages named in pyproject.toml are the folders there are; every module can be imported from one name."""

import ast
import importlib
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import rheotwin
from rheotwin.__main__ import VERBS
from rheotwin.solver import BUILT_IN, GROUP

ROOT = Path(__file__).parents[2]
ROOMS = ("constraints", "fem", "meshing", "particles", "validation")
STARTS = {"rheotwin": ROOT / "src" / "rheotwin", **{f"rheotwin.{room}": ROOT / room for room in ROOMS}}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
FORBIDDEN = {
    "fem": {"particles", "validation"},
    "particles": {"fem", "validation"},
    "meshing": {"fem", "particles", "constraints", "validation"},
    "constraints": {"fem", "particles", "validation"},
    "validation": {"fem", "particles", "constraints"},
}
"""Rooms that a room does not reach into; validation sees records, only its checks look into the solvers."""


def package_folders() -> dict[str, Path]:
    """Every folder with an __init__.py, by the name it is imported as."""
    return {
        ".".join((name, *init.parent.relative_to(start).parts)): init.parent
        for name, start in STARTS.items()
        for init in start.rglob("__init__.py")
    }


def source_files() -> Iterator[tuple[str, Path]]:
    for name, folder in package_folders().items():
        for path in sorted(folder.glob("*.py")):
            yield (name if path.stem == "__init__" else f"{name}.{path.stem}"), path


def imports(path: Path) -> Iterator[tuple[int, str, int]]:
    """Line, module and level of everything a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or "", node.level
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, 0) for alias in node.names)


def test_the_package_list_is_what_the_folders_hold() -> None:
    folders, setuptools = package_folders(), PROJECT["tool"]["setuptools"]
    assert sorted(setuptools["packages"]) == sorted(folders)
    mapping = setuptools["package-dir"]
    for name, folder in folders.items():
        nearest = max((known for known in mapping if name == known or name.startswith(f"{known}.")), key=len)
        rest = name.removeprefix(nearest).strip(".").replace(".", "/")
        assert (ROOT / mapping[nearest] / rest).resolve() == folder.resolve()


def test_no_python_file_lies_outside_a_package() -> None:
    # a folder without __init__.py would silently be left out of the wheel
    paths = [path for start in STARTS.values() for path in start.rglob("*.py")]
    assert [path for path in paths if not (path.parent / "__init__.py").is_file()] == []


def test_every_module_can_be_imported() -> None:
    faults = []
    for name, _ in source_files():
        hardware = name.startswith("rheotwin.particles.fixed_point.rtl.")
        if name.endswith("__main__") or (hardware and not find_spec("amaranth")):
            continue
        try:
            module = importlib.import_module(name)
        except Exception as error:
            faults.append(f"{name}: {error!r}")
        else:
            faults += [f"{name}.{public}" for public in getattr(module, "__all__", ()) if not hasattr(module, public)]
    assert faults == []


def test_imports_are_absolute_by_the_one_name_and_do_not_reach_into_other_rooms() -> None:
    faults = []
    for name, path in source_files():
        room = name.split(".")[1] if "." in name and not name.startswith("rheotwin.validation.checks") else ""
        for line, module, level in imports(path):
            first, *rest = module.split(".")
            bare, reached = first in ROOMS, first == "rheotwin" and rest[:1] and rest[0] in FORBIDDEN.get(room, ())
            if level or bare or reached:
                faults.append(f"{path}:{line}: {'.' * level}{module}")
    assert faults == []
    assert {name.split(".")[1] for name, _ in source_files() if "." in name} > set(FORBIDDEN), "every room is looked at"


def test_entry_points_and_version_agree_with_the_code() -> None:
    project = PROJECT["project"]
    assert project["version"] == rheotwin.__version__
    assert f"\nversion: {rheotwin.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert project["scripts"] == {"rheotwin": "rheotwin.__main__:main"}
    assert project["entry-points"][GROUP] == BUILT_IN
    assert (Path(rheotwin.__file__).parent / "py.typed").is_file()


def test_there_is_one_file_for_each_verb() -> None:
    files = {path.stem for path in (ROOT / "src" / "rheotwin" / "cli").glob("*.py")} - {"__init__"}
    assert files == set(VERBS)
    for verb in VERBS:
        module: Any = importlib.import_module(f"rheotwin.cli.{verb}")
        assert verb == module.NAME and module.HELP


def test_tests_mirror_the_folders() -> None:
    assert set(ROOMS) <= {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert not list((ROOT / "tests").rglob("__init__.py")), "test folders are not packages"
