"""How large the house is: lines, modules, chains of imports, and what a truss pressed by a bar touches of it."""

from __future__ import annotations

import ast
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from benchmarks.side_by_side import Ratio

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {"rheotwin": "src/rheotwin", **{f"rheotwin.{room}": room for room in
         ("fem", "particles", "constraints", "meshing", "validation")}}  # fmt: skip
SHORT = 40
"""Lines of a module that belongs to its only importer."""
LAW_WORDS = re.compile(r"[\"'](penalty|integrated|impulse|viscous)[\"']")
PRESSED = ROOT / "scenes" / "bar-press-2d.toml"


@cache
def modules() -> dict[str, Path]:
    """Return the files of the package by module name."""
    found = {}
    for package, folder in ROOMS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


def _lines(paths: Iterator[Path]) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


@cache
def imports() -> dict[str, set[str]]:
    """Return what each module imports of the package, anywhere in it."""
    known, found = modules(), {}
    for name, path in known.items():
        asked: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                asked |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                asked |= {alias.name for alias in node.names}
        found[name] = (asked & known.keys()) - {name}
    return found


def single_importers() -> list[str]:
    """Return the short modules that one other module imports."""
    users: dict[str, list[str]] = {}
    for name, asked in imports().items():
        for module in asked:
            users.setdefault(module, []).append(name)
    paths = modules()
    return [name for name, by in users.items() if len(by) == 1 and _lines(iter([paths[name]])) <= SHORT]


def longest_chain() -> int:
    """Return how many modules import each other in a row at most; those in a circle count once."""
    depth: dict[str, int] = {}

    def of(name: str, above: frozenset[str]) -> int:
        if name not in depth:
            below = [of(module, above | {name}) for module in imports()[name] if module not in above]
            depth[name] = 1 + max(below, default=0)
        return depth[name]

    return max(of(name, frozenset()) for name in modules())


def touched() -> tuple[int, int]:
    """Return how many functions and modules of the package Python runs for a truss pressed by a bar, once compiled."""
    from rheotwin.running import RunRequest, run_scene
    from rheotwin.scene import load_scene

    def run(folder: str) -> None:
        run_scene(RunRequest(scene=load_scene(PRESSED), solver="truss", folder=Path(folder) / "record"))

    seen: set[CodeType] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        module = str(frame.f_globals.get("__name__", ""))
        if event == "call" and module.startswith("rheotwin") and not frame.f_code.co_name.startswith("<"):
            seen.add(frame.f_code)

    with tempfile.TemporaryDirectory() as folder:
        run(folder)
    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(look)
        try:
            run(folder)
        finally:
            sys.setprofile(None)
    return len(seen), len({code.co_filename for code in seen})


def measure() -> list[Ratio]:
    """Measure everything; limits are where the house should get to."""
    paths, functions = modules(), touched()
    any_words = sum(len(re.findall(r"\bAny\b", path.read_text())) for path in paths.values())
    laws = [name for name, path in paths.items() if LAW_WORDS.search(path.read_text()) and ".contact.laws" not in name]
    return [
        Ratio("lines of the product", _lines(iter(paths.values())), 46_000),
        Ratio("modules", len(paths), 330),
        Ratio("lines of tests", _lines((ROOT / "tests").rglob("*.py")), 30_000),
        Ratio(f"modules of at most {SHORT} lines with one importer", len(single_importers()), 0),
        Ratio("longest chain of imports", longest_chain()),
        Ratio("`Any`", any_words),
        Ratio("modules that know words of contact laws", len(laws), 5, ", ".join(laws)),
        Ratio("functions a truss pressed by a bar runs in Python", functions[0], 250),
        Ratio("modules they stand in", functions[1], 60),
    ]
