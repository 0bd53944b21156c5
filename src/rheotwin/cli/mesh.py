"""`rheotwin mesh`: quality and topology of a mesh file or of a scene's bodies, and conversion of meshes."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError, nearest_name

if TYPE_CHECKING:
    from rheotwin.arrays import Indices
    from rheotwin.meshing import Mesh, MeshSummary

NAME = "mesh"
HELP = "report quality and topology of a mesh file or of a scene's bodies, or convert a mesh"


@dataclass(frozen=True)
class NamedMesh:
    """One mesh to report on, with its named groups."""

    name: str
    mesh: Mesh
    regions: dict[str, Indices] = field(default_factory=dict)
    cell_regions: dict[str, Indices] = field(default_factory=dict)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("source", metavar="FILE_OR_SCENE", type=Path, help="mesh file, .geo geometry or scene (.toml)")
    parser.add_argument("--to", metavar="OUT", type=Path, help="write the mesh in the format of this suffix")
    parser.add_argument("--body", metavar="NAME", help="look at this body of a scene only")
    parser.add_argument("--drop-unused", action="store_true", help="drop points that no element uses")
    parser.add_argument("--min-quality", metavar="Q", type=float, help="exit code 1 if an element is below Q (0..1)")
    parser.add_argument("--overwrite", action="store_true", help="let --to replace an existing file")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def execute(args: argparse.Namespace) -> int:
    """Report on every mesh of the source, convert it if asked; return the exit code."""
    from rheotwin.meshing import summarise

    if args.min_quality is not None and not 0.0 <= args.min_quality <= 1.0:
        raise RheotwinError(f"--min-quality {args.min_quality:g}: quality lies between 0 and 1")
    _check_target(args.to, overwrite=args.overwrite)
    meshes = _scene_meshes(args) if args.source.suffix.lower() == ".toml" else _file_mesh(args)
    if args.to is not None:
        _convert(meshes, args.to)
    summaries = [
        summarise(item.name, item.mesh, regions=item.regions, cell_regions=item.cell_regions) for item in meshes
    ]
    poor = [
        summary
        for summary in summaries
        if args.min_quality is not None and summary.quality.quality_min < args.min_quality
    ]
    if args.json:
        print(json.dumps(_report(args, summaries, poor), indent=2))
    else:
        print("\n\n".join(summary.as_text() for summary in summaries))
        if args.to is not None:
            print(f"\nwritten to {args.to}")
    for summary in poor:
        element, quality = summary.quality.worst[0]
        print(
            f"{summary.name}: element {element} has quality {quality:.4f}, below {args.min_quality:g}", file=sys.stderr
        )
    return EXIT_FALLS_SHORT if poor else EXIT_OK


def _report(args: argparse.Namespace, summaries: list[MeshSummary], poor: list[MeshSummary]) -> dict[str, Any]:
    return {
        "source": str(args.source),
        "written": None if args.to is None else str(args.to),
        "min_quality": args.min_quality,
        "good_enough": not poor,
        "meshes": [summary.as_dict() for summary in summaries],
    }


def _file_mesh(args: argparse.Namespace) -> list[NamedMesh]:
    from rheotwin.meshing import read_mesh

    if args.body is not None:
        raise RheotwinError(f"--body {args.body}: {args.source} is a mesh file, not a scene: leave --body out")
    imported = read_mesh(args.source, drop_unused=args.drop_unused)
    return [NamedMesh(args.source.name, imported.mesh, imported.regions, imported.cell_regions)]


def _scene_meshes(args: argparse.Namespace) -> list[NamedMesh]:
    from rheotwin.build import body_mesh
    from rheotwin.scene import load_scene

    if args.drop_unused:
        raise RheotwinError("--drop-unused is for mesh files: in a scene write drop_unused = true in the body's table")
    scene = load_scene(args.source)
    names = list(scene.bodies)
    if args.body is not None:
        if args.body not in names:
            raise RheotwinError(
                f"--body {args.body}: the scene has no such body{nearest_name(args.body, names)}: "
                f"it has {', '.join(names)}"
            )
        names = [args.body]
    found = [(name, body_mesh(scene, name)) for name in names]
    return [NamedMesh(name, mesh, regions) for name, (mesh, regions) in found]


def _check_target(target: Path | None, *, overwrite: bool) -> None:
    if target is None:
        return
    if target.is_dir():
        raise RheotwinError(f"--to {target}: this is a folder: name a file in it")
    if target.exists() and not overwrite:
        raise RheotwinError(f"--to {target}: the file exists: name another one or add --overwrite")


def _convert(meshes: list[NamedMesh], target: Path) -> None:
    from rheotwin.meshing import write_mesh
    from rheotwin.meshing.files import GROUP_FORMATS

    if len(meshes) > 1:
        names = ", ".join(item.name for item in meshes)
        raise RheotwinError(f"--to {target}: one file holds one mesh: choose a body ({names}) with --body")
    item = meshes[0]
    write_mesh(target, item.mesh, regions=item.regions, cell_regions=item.cell_regions)
    groups = sorted({*item.regions, *item.cell_regions})
    if groups and target.suffix.lower() not in GROUP_FORMATS:
        print(
            f"{target}: this format does not keep the named groups {', '.join(groups)}: "
            f"{', '.join(GROUP_FORMATS)} does",
            file=sys.stderr,
        )
