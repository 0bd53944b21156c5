"""The PVD index: which file shows which part at which time.

An entry is appended before the closing tags in a single write, so the cost of a frame does not
grow with the number of frames and the index is valid at any moment.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from rheotwin.errors import RheotwinError
from rheotwin.record import atomic

_HEAD = '<?xml version="1.0"?>\n<VTKFile type="Collection" version="0.1" byte_order="LittleEndian">\n  <Collection>\n'
_TAIL = "  </Collection>\n</VTKFile>\n"


@dataclass(frozen=True)
class PvdEntry:
    """One file of the series: time [s], part number, file relative to the index."""

    time: float
    part: int
    file: str

    def xml(self) -> str:
        """Return the entry as its line of XML; the time is written so that it reads back bit for bit."""
        return f'    <DataSet timestep="{self.time!r}" group="" part="{self.part}" file={quoteattr(self.file)}/>\n'


class PvdIndex:
    """An index open for appending."""

    def __init__(self, path: Path) -> None:
        self._file = io.FileIO(path, "r+")

    def append(self, entries: Sequence[PvdEntry]) -> None:
        """Add the files of one frame."""
        lines = "".join(entry.xml() for entry in entries)
        atomic.extend(self._file, lines.encode(), tail=_TAIL.encode())

    def close(self) -> None:
        """Close the file; the index needs no ending."""
        self._file.close()


def write_pvd(path: Path, entries: Sequence[PvdEntry] = ()) -> None:
    """Write a whole index atomically."""
    atomic.write_text(path, _HEAD + "".join(entry.xml() for entry in entries) + _TAIL)


def read_pvd(path: Path) -> list[PvdEntry]:
    """Read an index, in the order of the file."""
    try:
        root = ElementTree.fromstring(path.read_bytes())
        return [
            PvdEntry(
                time=float(element.attrib["timestep"]),
                part=int(element.attrib.get("part", "0")),
                file=element.attrib["file"],
            )
            for element in root.iter("DataSet")
        ]
    except FileNotFoundError as error:
        raise RheotwinError(f"{path}: the index of the series is missing; run the scene again") from error
    except OSError as error:
        raise RheotwinError(f"could not read {path}: {atomic.why(error)}; make it readable") from error
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise RheotwinError(f"{path}: the index of the series is damaged; run the scene again") from error
