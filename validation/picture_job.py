"""One picture to draw, as plain arrays that travel to another process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rheotwin.validation.run_view import Array, Surface

EDGE_COLOUR = "#3a3a3a"
TOOL_COLOUR = "#9a9a9a"
MOST_EDGES = 20_000
"""Cells up to which element edges are drawn; beyond, they would hide the colours."""


@dataclass(frozen=True)
class PictureJob:
    """A deformed body coloured by a nodal value.

    `points` (N, 3) [m] current positions, `values` (N,) and their colour range, `bounds`
    (x0, x1, y0, y1, z0, z1) [m] that the camera frames, `size` (width, height) [pixels].
    """

    key: str
    points: Array
    cells: NDArray[np.int64]
    cell_kind: str
    values: Array
    value_range: tuple[float, float]
    colours: str
    bounds: tuple[float, float, float, float, float, float]
    size: tuple[int, int]
    tools: tuple[Surface, ...] = ()

    @property
    def flat(self) -> bool:
        """Whether the body is 1D or 2D and is seen from the front."""
        return self.cell_kind in ("line", "triangle", "quad")


def save_jobs(folder: Path, jobs: Sequence[PictureJob]) -> None:
    """Write jobs to `folder`/jobs.json and jobs.npz."""
    arrays: dict[str, NDArray[np.generic]] = {}
    described = []
    for number, job in enumerate(jobs):
        for name in ("points", "cells", "values"):
            arrays[f"{number}.{name}"] = getattr(job, name)
        for place, tool in enumerate(job.tools):
            arrays[f"{number}.tool.{place}.points"] = tool.points
            arrays[f"{number}.tool.{place}.faces"] = tool.faces
        described.append(
            {
                "key": job.key,
                "cell_kind": job.cell_kind,
                "value_range": job.value_range,
                "colours": job.colours,
                "bounds": job.bounds,
                "size": job.size,
                "tools": [tool.name for tool in job.tools],
            }
        )
    np.savez(folder / "jobs.npz", **arrays)  # type: ignore[arg-type]
    (folder / "jobs.json").write_text(json.dumps(described))


def load_jobs(folder: Path) -> list[PictureJob]:
    """Read the jobs written by `save_jobs`."""
    described = json.loads((folder / "jobs.json").read_text())
    with np.load(folder / "jobs.npz", allow_pickle=False) as arrays:
        return [
            PictureJob(
                key=item["key"],
                points=arrays[f"{number}.points"],
                cells=arrays[f"{number}.cells"],
                cell_kind=item["cell_kind"],
                values=arrays[f"{number}.values"],
                value_range=tuple(item["value_range"]),
                colours=item["colours"],
                bounds=tuple(item["bounds"]),
                size=tuple(item["size"]),
                tools=tuple(
                    Surface(name, arrays[f"{number}.tool.{place}.points"], arrays[f"{number}.tool.{place}.faces"])
                    for place, name in enumerate(item["tools"])
                ),
            )
            for number, item in enumerate(described)
        ]
