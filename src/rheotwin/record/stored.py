"""The VTK files of a record read by checked code of our own: VTK's readers do not survive every damaged file.

Written are raw appended arrays without compression: the XML tells type, components and place of each, which is an
8-byte length and then its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from rheotwin.arrays import Array, Indices
from rheotwin.errors import RheotwinError
from rheotwin.record import atomic

_NUMBERS = {"Float64": "f8", "Float32": "f4", "Int64": "i8", "Int32": "i4", "UInt8": "u1"}
_ORDERS = {"LittleEndian": "<", "BigEndian": ">"}
_HEAP = re.compile(rb'<AppendedData encoding="raw">\s*_')
_PARTS = ("Cells", "Verts", "Lines", "Polys")
TIME_ARRAY = "TimeValue"
"""The name under which VTK looks for the time [s] of a file."""


@dataclass(frozen=True)
class Stored:
    """What a file of a frame holds: its time [s], points (N, 3) [m], cells, and arrays (rows, components) by name.

    `cells` has for each part of the file (cells; lines and polygons of a surface) the nodes and where each cell ends.
    """

    time: float | None
    points: Array
    cells: dict[str, tuple[Indices, Indices]]
    types: Indices
    on_points: dict[str, Array]
    on_cells: dict[str, Array]
    units: dict[str, str]
    names: tuple[str, ...]


def digest_of(data: bytes) -> str:
    """Return the checksum of a file's content, as manifests have it."""
    return f"sha256:{sha256(data).hexdigest()}"


def sum_line(name: str, data: bytes) -> bytes:
    """Return the line of a file in the list of checksums."""
    return f"{sha256(data).hexdigest()}  {name}\n".encode()


def read_sums(path: Path, checksum: str | None) -> dict[str, str]:
    """Return the checksums of a list by the names of their files; records of earlier versions have none."""
    if checksum is None and not path.exists():
        return {}
    lines = read_checked(path, checksum, "the list of checksums").decode(errors="replace").split("\n")[:-1]
    return {name: f"sha256:{digest}" for digest, _, name in (line.partition("  ") for line in lines)}


class Grown:
    """The checksum of a file that grows: "BYTES:sha256:..." is that of its first bytes."""

    def __init__(self, data: bytes) -> None:
        self._size, self._hash = len(data), sha256(data)

    def add(self, data: bytes) -> None:
        """Take bytes that were appended."""
        self._size += len(data)
        self._hash.update(data)

    def __str__(self) -> str:
        return f"{self._size}:sha256:{self._hash.hexdigest()}"


def read_checked(path: Path, checksum: str | None, what: str) -> bytes:
    """Return the content of a file of a record; refuse one that is not as it was written."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise RheotwinError(f"{path}: {what} is missing; resume or run the scene again") from error
    except OSError as error:
        raise RheotwinError(f"could not read {path}: {atomic.why(error)}; make it readable") from error
    head, _, digest = (checksum or "").rpartition("sha256:")
    size = int(head[:-1]) if head[:-1].isdecimal() else len(data)
    if checksum is not None and (len(data) < size or sha256(data[:size]).hexdigest() != digest):
        raise RheotwinError(
            f"{path}: {what} is damaged: it is not as it was written (the manifest has another checksum); restore it, "
            "or run the scene again"
        )
    return data


def read_stored(path: Path, checksum: str | None, what: str) -> Stored:
    """Read a frame (.vtu) or its tools (.vtp), as `what` calls it; damage is one sentence."""
    data = read_checked(path, checksum, what)
    try:
        return _File(data).stored()
    except (ElementTree.ParseError, LookupError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise RheotwinError(f"{path}: {what} is damaged; resume or run the scene again") from error


class _File:
    """One file: its XML and the heap of its numbers."""

    def __init__(self, data: bytes) -> None:
        place = _HEAP.search(data)
        if place is None:
            raise ValueError("no numbers")
        self.root = ElementTree.fromstring(data[: place.start()] + b"</VTKFile>")
        self.heap = memoryview(data)[place.end() :]
        self.order = _ORDERS[self.root.attrib["byte_order"]]
        if self.root.attrib["header_type"] != "UInt64":
            raise ValueError("other lengths")

    def bytes_of(self, entry: ElementTree.Element) -> memoryview:
        """Return the bytes of one array, which must lie in the file."""
        start = int(entry.attrib["offset"])
        length = int(np.frombuffer(self.heap[start : start + 8], self.order + "u8")[0])
        found = self.heap[start + 8 : start + 8 + length]
        if start < 0 or len(found) != length:
            raise ValueError("cut off")
        return found

    def numbers(self, entry: ElementTree.Element, rows: int | None = None) -> Any:
        """Return one array, as (rows, components) where the rows are known."""
        found = np.frombuffer(self.bytes_of(entry), self.order + _NUMBERS[entry.attrib["type"]])
        if rows is None:
            return found
        columns = int(entry.attrib.get("NumberOfComponents", "1"))
        if len(found) != rows * columns or columns < 1:
            raise ValueError("another size")
        return found.reshape(rows, columns)

    def arrays(self, place: str) -> Iterator[tuple[str, ElementTree.Element]]:
        """Yield the arrays at one place of the file with their names."""
        for entry in self.root.iterfind(f"./*/{place}/DataArray"):
            yield entry.attrib["Name"], entry

    def stored(self) -> Stored:
        """Return all that is in the file."""
        piece = self.root.find("./*/Piece")
        if piece is None:
            raise ValueError("no piece")
        count = int(piece.attrib["NumberOfPoints"])
        cells = {part: self.cells(part, count) for part in _PARTS if piece.find(part) is not None}
        size = sum(len(ends) for _, ends in cells.values())
        times = [float(self.numbers(entry)[0]) for name, entry in self.arrays("FieldData") if name == TIME_ARRAY]
        texts = [bytes(self.bytes_of(entry)).decode() for entry in self.root.iterfind("./*/FieldData/Array")]
        (points,) = (self.numbers(entry, count) for _, entry in self.arrays("Piece/Points"))
        types = [self.numbers(entry) for name, entry in self.arrays("Piece/Cells") if name == "types"]
        if points.shape[1] != 3 or count == 0 or (types and (len(types[0]) != size or np.ptp(types[0]))):
            raise ValueError("no grid of one kind of cell")
        units = {}
        for entry in self.root.iter("DataArray"):
            label = entry.find("./InformationKey[@name='UNITS_LABEL']")
            if label is not None:
                units[entry.attrib["Name"]] = (label.text or "").strip()
        return Stored(
            time=times[0] if times else None,
            points=points,
            cells=cells,
            types=types[0] if types else np.empty(0, dtype=np.int64),
            on_points={name: self.numbers(entry, count) for name, entry in self.arrays("Piece/PointData")},
            on_cells={name: self.numbers(entry, size) for name, entry in self.arrays("Piece/CellData")},
            units=units,
            names=tuple(texts[0].split("\0")[:-1]) if texts else (),
        )

    def cells(self, part: str, points: int) -> tuple[Indices, Indices]:
        """Return the nodes of all cells, which must be there, and where each cell ends."""
        found = {name: self.numbers(entry) for name, entry in self.arrays(f"Piece/{part}")}
        nodes, ends = found["connectivity"].astype(np.int64), found["offsets"].astype(np.int64)
        lengths = np.diff(ends, prepend=0)
        if part == "Cells" and (not len(lengths) or np.ptp(lengths)):
            raise ValueError("no cells of one size")
        if (lengths < 1).any() or lengths.sum() != len(nodes) or (nodes < 0).any() or (nodes >= points).any():
            raise ValueError("cells of nodes that are not there")
        return nodes, ends
