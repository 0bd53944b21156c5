"""Geometry files of gmsh (.geo), meshed by gmsh itself: an optional extra."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from rheotwin.errors import RheotwinError


def mesh_geometry(geometry: Path, target: Path) -> None:
    """Mesh a .geo file in its own highest dimension and sizes, and write the mesh to `target` (.msh)."""
    gmsh = _library(geometry)
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        gmsh.open(str(geometry))
        gmsh.model.mesh.generate(gmsh.model.getDimension())
        gmsh.write(str(target))
    # the binding raises bare Exception, with the last message of its log
    except Exception as error:
        said = " ".join(str(error).split()) or "gmsh gives no reason"
        raise RheotwinError(f"{geometry}: gmsh cannot mesh this geometry ({said}): correct the file") from error
    finally:
        gmsh.finalize()


def _library(geometry: Path) -> ModuleType:
    """Return the gmsh module, or say how to get it."""
    try:
        import gmsh
    # a missing system library surfaces as OSError
    except (ImportError, OSError) as error:
        raise RheotwinError(
            f'{geometry}: .geo files need gmsh: install it with `pip install "rheotwin[gmsh]"` '
            "or mesh the file elsewhere and give the .msh"
        ) from error
    module: ModuleType = gmsh
    return module
