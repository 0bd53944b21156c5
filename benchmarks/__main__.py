"""Run benchmarks and print their ratios: `python -m benchmarks [house ...] [--large]`.

`mutations` runs only if it is named; `--help` behind a name says what that one measures.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

ALL = (
    *("tree", "house", "first_result", "fem", "particles", "continuum", "local_shape", "slave", "contact"),
    "fixed_point",
    "calibration",
    "touch",
)
ASKED = ("mutations",)
"""What takes very long and runs only when it is named."""


def _about(path: Path) -> str:
    """Return the docstring of a module, without importing what it measures."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def main() -> int:
    """Measure the named groups (default: all); timing never fails, it only says OVER."""
    words = sys.argv[1:]
    names = [name for name in words if not name.startswith("-") and not name.isdigit()] or ALL
    unknown = [name for name in names if name not in ALL + ASKED]
    if unknown:
        print(f"no benchmark named {unknown[0]!r}; there are: {', '.join(ALL + ASKED)}", file=sys.stderr)
        return 2
    if {"-h", "--help"} & set(words):
        chosen = [f"{name}.py" for name in words if name in names] or ["__main__.py"]
        print("\n\n".join(_about(Path(__file__).with_name(name)) for name in chosen))
        return 0
    for name in names:
        print(f"{name}:", flush=True)
        for ratio in import_module(f"benchmarks.{name}").measure():
            print(f"  {ratio.line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
