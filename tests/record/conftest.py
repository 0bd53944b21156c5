"""A small block of tetrahedra with known fields: displacement = t (x, 2y, 3z), stress = t (1, ..., 6)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skfem

from rheotwin.record import BodyInfo, GridTopology, Manifest, MeshInfo, RecordWriter, SolverInfo, ToolSurface

TIMES = (0.0, 0.1, 0.2, 0.30000000000000004)
MESH = skfem.MeshTet().refined(1)
REST = np.ascontiguousarray(MESH.p.T)
CELLS = MESH.t.T.astype(np.int64)
TOPOLOGY = GridTopology(cells=CELLS, cell_kind="tet", body=np.arange(len(CELLS), dtype=np.int64) % 2, points=len(REST))
BAR = ToolSurface(
    name="bar",
    points=np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]),
    faces=np.array([3, 0, 1, 2, 2, 0, 3, 3, 0, 2, 3]),
)
"""A tool of two triangles and, as in 2D, one line."""
FOLDER = Path("run")


def manifest() -> Manifest:
    body = BodyInfo(name="block", cell="tet", points=len(REST), cells=len(CELLS))
    return Manifest(
        title="block",
        scene={"duration": 0.3, "bodies": [{"name": "block"}]},
        solver=SolverInfo(name="fem", version="0.1.0", options={"mass": "lumped"}),
        mesh=MeshInfo(hash="abc", points=len(REST), cells=len(CELLS), bodies=(body,)),
        probes={"tool.bar.force_x": "N", "energy.kinetic": "J"},
    )


def frame_at(time: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Positions and fields at a time, from the closed forms above."""
    rates, components = REST * np.array([1.0, 2.0, 3.0]), np.outer(np.ones(len(REST)), np.arange(1.0, 7.0))
    fields = {
        "displacement": time * rates,
        "velocity": rates,
        "stress": time * components,
        "strain": 1e-3 * time * components,
        "von_mises_stress": 7.0 * time * np.ones(len(REST)),
        "memory_stress": -time * components,
        "contact_force": np.full_like(REST, time),
    }
    return REST + fields["displacement"], fields


def write_frames(writer: RecordWriter, times: Sequence[float] = TIMES) -> None:
    """Write frames, probes and checkpoints for the given times."""
    for time in times:
        positions, fields = frame_at(time)
        writer.write_frame(time, positions, fields, [BAR])
        writer.write_probe_row(time, {"energy.kinetic": time / 3.0, "tool.bar.force_x": -time})
        writer.write_checkpoint(round(time * 10), {"time": time, "positions": positions})


def start(format: str = "pvd", folder: Path = FOLDER, **how: Any) -> RecordWriter:
    return RecordWriter.create(folder, manifest=manifest(), grid=TOPOLOGY, format=format, **{"overwrite": False} | how)


@pytest.fixture(autouse=True)
def in_own_folder(own_folder: Path) -> None: ...
