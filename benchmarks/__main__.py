"""Run benchmarks and print their ratios: `python -m benchmarks [house ...] [--large]`.

`mutations` runs only if it is named.
"""

from __future__ import annotations

import sys
from importlib import import_module

ALL = ("tree", "house", "first_result", "fem", "particles", "continuum", "contact", "fixed_point")
ASKED = ("mutations",)
"""What takes very long and runs only when it is named."""


def main() -> int:
    """Measure the named groups (default: all); timing never fails, it only says OVER."""
    names = [name for name in sys.argv[1:] if not name.startswith("--") and not name.isdigit()] or ALL
    unknown = [name for name in names if name not in ALL + ASKED]
    if unknown:
        print(f"no benchmark named {unknown[0]!r}; there are: {', '.join(ALL + ASKED)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"{name}:", flush=True)
        for ratio in import_module(f"benchmarks.{name}").measure():
            print(f"  {ratio.line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
