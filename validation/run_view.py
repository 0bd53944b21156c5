"""What validation sees of a run: plain arrays on the frame times, probes on their own times, by their columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.arrays import Array, Indices, corner_parts
from rheotwin.errors import RheotwinError
from rheotwin.record.grid import CellKind

if TYPE_CHECKING:
    from rheotwin.record.reader import Record

AXES = ("x", "y", "z")
FORCE_KINDS = ("tool", "support")
"""Who can exchange a force with a body, the more telling first."""


def names_with(probes: Mapping[str, Array], kind: str, quantity: str) -> tuple[str, ...]:
    """Return the names N, in column order, for which `kind.N.quantity_x` (or _y, _z) exists."""
    found: dict[str, None] = {}
    for column in probes:
        parts = column.split(".")
        if len(parts) == 3 and parts[0] == kind and parts[2].rpartition("_")[0] == quantity:
            found[parts[1]] = None
    return tuple(found)


def vector(probes: Mapping[str, Array], kind: str, name: str, quantity: str) -> Array:
    """Return `kind.name.quantity_x/_y/_z` as (rows, 3), absent components zero."""
    columns = [probes.get(f"{kind}.{name}.{quantity}_{axis}") for axis in AXES]
    rows = next(len(column) for column in columns if column is not None)
    return np.stack([np.zeros(rows) if column is None else column for column in columns], axis=1)


def force_sources(probes: Mapping[str, Array]) -> tuple[tuple[str, str], ...]:
    """Return (kind, name) of what exchanges a force with the bodies: the tools, else the supports."""
    for kind in FORCE_KINDS:
        if names := names_with(probes, kind, "force"):
            return tuple((kind, name) for name in names)
    return ()


def main_axis(values: Array) -> int:
    """Return the component (0, 1, 2) that reaches the largest magnitude in (rows, 3)."""
    return int(np.argmax(np.abs(values).max(axis=0)))


def bodies_with_volume(probes: Mapping[str, Array]) -> tuple[str, ...]:
    """Return the bodies whose volume is probed, in column order."""
    return tuple(column.removeprefix("volume.") for column in probes if column.startswith("volume."))


def shown_name(label: str, solver: str, cell_kind: str, statistics: Mapping[str, Any]) -> str:
    """Return what readers see for a label: of the solver `truss` what its springs are, of all others the label.

    truss@2 is "lattice@2" on quads and hexahedra and "truss with volume springs@2" where its cells have such springs,
    which no truss of the papers has; numbers of edges and cells alone say so (statistics).
    """
    if solver != "truss" or not label.startswith(solver):
        return label
    matches = dict(statistics.get("material_match") or {}).values()
    found = [statistics, *(match for match in matches if isinstance(match, Mapping))]
    springs = " with volume springs" if any(item.get("volume_cells") for item in found) else ""
    kind = "lattice" if cell_kind in ("quad", "hex") else "truss"
    return f"{kind}{springs}{label.removeprefix(solver)}"


@dataclass(frozen=True)
class Surface:
    """Rigid tools as drawn: points (n, 3) [m] and padded cells [count, i, j, ...], lines where count is 2."""

    name: str
    points: Array
    faces: Indices

    def cells(self) -> list[Indices]:
        """Return the node indices of each line or polygon."""
        found, place = [], 0
        while place < len(self.faces):
            count = int(self.faces[place])
            found.append(self.faces[place + 1 : place + 1 + count])
            place += count + 1
        return found


def no_tools(frame: int) -> tuple[Surface, ...]:
    """Return no tool surfaces, whatever the frame."""
    return ()


@dataclass(frozen=True)
class Cost:
    """What a run cost: wall time of the solver [s], number of steps, step size [s], time of its circuit [s].

    None if not recorded.
    """

    wall_time: float | None = None
    steps: int | None = None
    step_size: float | None = None
    circuit_time: float | None = None


@dataclass(frozen=True)
class RunView:
    """One run as arrays: F frames of N nodes, SI units, vectors with three components.

    `times` (F,) [s], `displacement` (F, N, 3) [m], `velocity` (F, N, 3) [m/s] or None, `stress` (F, N, 6) [Pa] or
    None, `rest` (N, 3) [m],
    `cells` (C, k) in VTK node order, `node_weights` (N,) tributary volume [m3, m2 or m],
    `probes` column -> samples on `probe_times` [s], `tools_at(frame)` the rigid tools of a frame.
    """

    label: str
    solver: str
    case: str | None
    times: Array
    displacement: Array
    rest: Array
    cells: Indices
    cell_kind: CellKind
    node_weights: Array
    velocity: Array | None = None
    stress: Array | None = None
    probe_times: Array = field(default_factory=lambda: np.zeros(0))
    probes: Mapping[str, Array] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    tools_at: Callable[[int], tuple[Surface, ...]] = no_tools
    bodies: Indices | None = None
    """Body of each cell (C,); None: all are one."""
    remark: str = ""
    """What the reader has to know of this run."""

    @property
    def dimension(self) -> int:
        """Number of space dimensions the body fills: 1, 2 or 3."""
        return {"line": 1, "triangle": 2, "quad": 2}.get(self.cell_kind, 3)

    @property
    def shown(self) -> str:
        """What readers see for its label."""
        return shown_name(self.label, self.solver, self.cell_kind, dict(self.manifest.get("statistics") or {}))

    @property
    def mesh_hash(self) -> str | None:
        """Identity of the mesh, None if the run did not record it."""
        return dict(self.manifest.get("mesh") or {}).get("hash")

    @property
    def cell_body(self) -> Indices:
        """Body of each cell (C,)."""
        return np.zeros(len(self.cells), np.int64) if self.bodies is None else self.bodies

    @property
    def refinement(self) -> int:
        """Into how many the scene's cells were divided along each side."""
        return int(dict(self.manifest.get("scene") or {}).get("refinement") or 1)

    @property
    def pushers(self) -> tuple[tuple[str, str], ...]:
        """`force_sources`, those that move first: a floor or a wall stands still."""
        scene = dict(self.manifest.get("scene") or {})

        def stands(source: tuple[str, str]) -> bool:
            entry = dict(dict(scene.get(f"{source[0]}s") or {}).get(source[1]) or {})
            return not (entry.get("motion") or entry.get("drive"))

        return tuple(sorted(force_sources(self.probes), key=stands))

    def nearest_frame(self, time: float) -> int:
        """Return the index of the frame nearest to `time` [s]."""
        return int(np.argmin(np.abs(self.times - time)))

    def renamed(self, label: str) -> RunView:
        """Return the same run under another label."""
        return dataclasses.replace(self, label=label)

    def of_method(self, name: str) -> RunView:
        """Return the same run as that of a method of its own: a solver with certain options, or on certain cells."""
        return dataclasses.replace(self, label=name, solver=name)


def tributary_weights(rest: Array, cells: Indices, cell_kind: str) -> Array:
    """Return the volume each node stands for: w_n = sum over its cells of |cell| / nodes per cell.

    [m3] for tets and hexes, [m2] for triangles and quads, [m] for lines.
    """
    sized = body_grid(rest, cells, cell_kind).compute_cell_sizes()
    sizes = np.abs(np.asarray(sized.cell_data[_SIZE_NAME[cell_kind]], dtype=float))
    share = corner_parts(cells.T, sizes).T
    return np.bincount(cells.ravel(), weights=share.ravel(), minlength=len(rest)).astype(float)


_SIZE_NAME = {"line": "Length", "triangle": "Area", "quad": "Area", "tet": "Volume", "hex": "Volume"}
_VTK_NAME = {"line": "LINE", "triangle": "TRIANGLE", "quad": "QUAD", "tet": "TETRA", "hex": "HEXAHEDRON"}


def body_grid(points: Array, cells: Indices, cell_kind: str) -> Any:
    """Return the pyvista grid of a body with `points` (N, 3) [m]."""
    import pyvista

    return pyvista.UnstructuredGrid({pyvista.CellType[_VTK_NAME[cell_kind]]: cells}, points)


def view_of(record: Record, *, label: str | None = None) -> RunView:
    """Read an opened record into arrays; `label` defaults to the solver's name.

    A record without frames, with non-increasing times or with non-finite displacements is refused.
    """
    manifest = _as_dict(record.manifest)
    solver = str(_as_dict(manifest.get("solver") or {}).get("name", "unknown"))
    name = label or solver
    times = np.asarray(record.times, dtype=float)
    _check_times(name, times)
    displacement = np.asarray(record.field("displacement"), dtype=float)
    _check_finite(name, times, displacement)
    rest = np.asarray(record.rest_positions, dtype=float)
    topology = record.topology()
    cells, kind = np.asarray(topology.vtk_cells(), dtype=np.int64), topology.cell_kind
    probes = {column: np.asarray(values, dtype=float) for column, values in record.probes.items()}
    return RunView(
        label=name,
        solver=solver,
        case=manifest.get("case"),
        times=times,
        displacement=displacement,
        velocity=_optional_field(record, manifest, "velocity"),
        stress=_optional_field(record, manifest, "stress"),
        rest=rest,
        cells=cells,
        cell_kind=kind,
        node_weights=tributary_weights(rest, cells, kind),
        probe_times=probes.pop("time", np.zeros(0)),
        probes=probes,
        units=dict(record.probe_units),
        cost=_cost_of(manifest),
        manifest=manifest,
        tools_at=_tools_of(record),
        bodies=np.asarray(topology.body, dtype=np.int64),
    )


def _as_dict(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "model_dump"):
        return dict(value.model_dump(mode="json"))
    return dict(value)


def _check_times(name: str, times: Array) -> None:
    if times.size == 0:
        raise RheotwinError(f"record '{name}': it holds no frames yet; let the run write at least one")
    if np.any(np.diff(times) <= 0):
        raise RheotwinError(f"record '{name}': its frame times do not increase; run it again with --overwrite")


def _check_finite(name: str, times: Array, displacement: Array) -> None:
    bad = ~np.isfinite(displacement).all(axis=(1, 2))
    if bad.any():
        raise RheotwinError(
            f"record '{name}': displacements are not finite from t = {times[np.argmax(bad)]:.6g} s on; "
            "run it again with a smaller step"
        )


def _optional_field(record: Record, manifest: Mapping[str, Any], name: str) -> Array | None:
    if name not in (manifest.get("fields") or {}):
        return None
    return np.asarray(record.field(name), dtype=float)


def _cost_of(manifest: Mapping[str, Any]) -> Cost:
    step, timings = _as_dict(manifest.get("step") or {}), _as_dict(manifest.get("timings") or {})
    # Output is no part of a solver's cost: the stepping time counts where it was measured apart.
    wall = next((timings[part] for part in ("solve", "total") if part in timings), None)
    wall = sum(timings.values()) if wall is None and timings else wall
    steps, of_circuit = step.get("count"), _as_dict(manifest.get("statistics") or {}).get("circuit_seconds_per_step")
    circuit = steps * of_circuit if steps is not None and of_circuit is not None else None
    return Cost(wall_time=wall, steps=steps, step_size=step.get("size"), circuit_time=circuit)


def _tools_of(record: Record) -> Callable[[int], tuple[Surface, ...]]:
    def tools_at(frame: int) -> tuple[Surface, ...]:
        data = record.tools(frame)
        if data is None or data.n_points == 0:
            return ()
        faces = np.concatenate([np.asarray(data.lines), np.asarray(data.faces)]).astype(np.int64)
        return (Surface("tools", np.asarray(data.points, dtype=float), faces),)

    return tools_at
