"""What both formats of a time series offer, to the writer and to the reader of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from rheotwin.record.grid import Floats, GridTopology, ToolSurface

if TYPE_CHECKING:
    import pyvista


class SeriesWriter(Protocol):
    """Takes the frames of a run one after the other."""

    @property
    def last_time(self) -> float | None:
        """Time [s] of the last frame, None before the first."""
        ...

    def write(self, time: float, positions: Floats, fields: Mapping[str, Floats], tools: Sequence[ToolSurface]) -> None:
        """Add the frame at `time` [s]; afterwards the series on disk is complete up to it."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class SeriesReader(Protocol):
    """Gives the frames of a record by their index."""

    @property
    def times(self) -> Floats:
        """Times of the frames [s]."""
        ...

    def topology(self) -> GridTopology:
        """Return the cells, nodes in scikit-fem's order."""
        ...

    def positions(self, index: int) -> Floats:
        """Return the current positions (N, 3) [m] of one frame."""
        ...

    def values(self, index: int, name: str) -> Floats:
        """Return one field (N, components) of one frame."""
        ...

    def grid(self, index: int) -> pyvista.UnstructuredGrid:
        """Return one frame with everything on it."""
        ...

    def tools(self, index: int) -> pyvista.PolyData | None:
        """Return the tools' surfaces of one frame, None where there are none."""
        ...


def time_tolerance(time: float) -> float:
    """Return the difference [s] below which two times are the same: 1e-12 max(1, |t|)."""
    return 1e-12 * max(1.0, abs(time))


def is_repeated(time: float, last: float | None) -> bool:
    """Return whether `time` is the one already written; a restart writes its first frame a second time."""
    return last is not None and abs(time - last) <= time_tolerance(last)
