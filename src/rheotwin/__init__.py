"""Rheotwin: finite-element and particle models of soft rheological bodies on one scene, compared.

The names below load on first use, so that `import rheotwin` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES: dict[str, str] = {
    "Problem": "rheotwin.problem",
    "build_problem": "rheotwin.build",
    "Scene": "rheotwin.scene",
    "load_scene": "rheotwin.scene",
    "Record": "rheotwin.record",
    "open_record": "rheotwin.record",
    "reproducible": "rheotwin.same_bits",
    "run_scene": "rheotwin.run",
}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rheotwin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
