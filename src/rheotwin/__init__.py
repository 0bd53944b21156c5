"""Rheotwin: finite-element and particle models of soft rheological bodies on one scene, compared.

    import rheotwin as rt
    result = rt.run("scene.toml", "fem")

The names below load on first use, so that `import rheotwin` stays cheap; docs/python.md shows each.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheotwin.api import calibrate, compare, identify, run, sweep
    from rheotwin.errors import RheotwinError
    from rheotwin.record import Record, open_record
    from rheotwin.same_bits import reproducible
    from rheotwin.scene import Scene, load_scene

__version__ = "0.1.0"

_HOMES: dict[str, str] = {
    **dict.fromkeys(("calibrate", "compare", "identify", "run", "sweep"), "rheotwin.api"),
    **dict.fromkeys(("Scene", "load_scene"), "rheotwin.scene"),
    **dict.fromkeys(("Record", "open_record"), "rheotwin.record"),
    "RheotwinError": "rheotwin.errors",
    "reproducible": "rheotwin.same_bits",
}

__all__ = [
    "Record",
    "RheotwinError",
    "Scene",
    "__version__",
    "calibrate",
    "compare",
    "identify",
    "load_scene",
    "open_record",
    "reproducible",
    "run",
    "sweep",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rheotwin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
