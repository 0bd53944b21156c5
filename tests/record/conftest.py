"""A small block of tetrahedra with known fields: displacement = t (x, 2y, 3z), stress = t (1, ..., 6)."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skfem

from rheotwin.record import (
    BodyInfo,
    GridTopology,
    Manifest,
    MeshInfo,
    RecordWriter,
    SolverInfo,
    ToolSurface,
)

TIMES = (0.0, 0.1, 0.2, 0.30000000000000004)


@pytest.fixture(scope="session")
def mesh() -> skfem.MeshTet:
    return skfem.MeshTet().refined(1)


@pytest.fixture(scope="session")
def topology(mesh: skfem.MeshTet) -> GridTopology:
    cells = mesh.t.T.astype(np.int64)
    body = np.arange(len(cells), dtype=np.int64) % 2
    return GridTopology(cells=cells, cell_kind="tet", body=body, points=mesh.p.shape[1])


@pytest.fixture(scope="session")
def rest(mesh: skfem.MeshTet) -> np.ndarray:
    return np.ascontiguousarray(mesh.p.T)


@pytest.fixture
def manifest(topology: GridTopology) -> Manifest:
    count = len(topology.cells)
    return Manifest(
        title="block",
        scene={"duration": 0.3, "bodies": [{"name": "block"}]},
        solver=SolverInfo(name="fem", version="0.1.0", options={"mass": "lumped"}),
        mesh=MeshInfo(
            hash="abc",
            points=topology.points,
            cells=count,
            bodies=(BodyInfo(name="block", cell="tet", points=topology.points, cells=count),),
        ),
        probes={"tool.bar.force_x": "N", "energy.kinetic": "J"},
    )


@pytest.fixture(scope="session")
def frame_at(rest: np.ndarray) -> Callable[[float], tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Positions and fields at a time, from the closed forms above."""
    ones = np.ones(len(rest))

    def frame(time: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        displacement = time * rest * np.array([1.0, 2.0, 3.0])
        fields = {
            "displacement": displacement,
            "velocity": rest * np.array([1.0, 2.0, 3.0]),
            "stress": time * np.outer(ones, np.arange(1.0, 7.0)),
            "strain": 1e-3 * time * np.outer(ones, np.arange(1.0, 7.0)),
            "von_mises_stress": 7.0 * time * ones,
            "memory_stress": -time * np.outer(ones, np.arange(1.0, 7.0)),
            "contact_force": np.full_like(rest, time),
        }
        return rest + displacement, fields

    return frame


@pytest.fixture(scope="session")
def bar() -> ToolSurface:
    """A tool of two triangles and, as in 2D, one line."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    return ToolSurface(name="bar", points=points, faces=np.array([3, 0, 1, 2, 2, 0, 3, 3, 0, 2, 3]))


@pytest.fixture
def write_frames(
    frame_at: Callable[[float], Any], bar: ToolSurface
) -> Callable[[RecordWriter, tuple[float, ...]], None]:
    """Write frames, probes and checkpoints for the given times."""

    def write(writer: RecordWriter, times: tuple[float, ...] = TIMES) -> None:
        for time in times:
            positions, fields = frame_at(time)
            writer.write_frame(time, positions, fields, [bar])
            writer.write_probe_row(time, {"energy.kinetic": time / 3.0, "tool.bar.force_x": -time})
            writer.write_checkpoint(round(time * 10), {"time": time, "positions": positions})

    return write


@pytest.fixture(params=["pvd", "vtkhdf"])
def series_format(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def start(
    tmp_path: Path, manifest: Manifest, topology: GridTopology, series_format: str
) -> Callable[..., RecordWriter]:
    """Create a record in each format."""

    def create(folder: Path = tmp_path / "run", *, overwrite: bool = False) -> RecordWriter:
        return RecordWriter.create(folder, manifest=manifest, grid=topology, format=series_format, overwrite=overwrite)

    return create


@pytest.fixture
def file_size_limit() -> Callable[[int], AbstractContextManager[None]]:
    """Let no file grow beyond so many bytes: the system cuts writes off as it does on a full disk."""

    @contextmanager
    def limit(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limit
