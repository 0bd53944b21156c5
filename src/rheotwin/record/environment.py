"""What a run ran on: interpreter, platform, package versions, threads."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from rheotwin.record.manifest import EnvironmentInfo

RECORDED_PACKAGES = (
    "rheotwin",
    "numpy",
    "scipy",
    "numba",
    "scikit-fem",
    "meshio",
    "pyvista",
    "vtk",
    "pydantic",
    "h5py",
    "pypardiso",
)
"""Packages whose versions may change a result or a file; those absent are left out."""


def current_environment(*, threads: int | None = None) -> EnvironmentInfo:
    """Describe this process; `threads` defaults to the processors it may use."""
    packages = {}
    for name in RECORDED_PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return EnvironmentInfo(
        python=platform.python_version(),
        platform=platform.platform(),
        packages=packages,
        threads=threads if threads is not None else _available_processors(),
    )


def _available_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
