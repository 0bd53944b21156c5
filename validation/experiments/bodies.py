"""Records of real bodies as a calibration takes them, made of the data sets of `datasets`: clay, silicone, Ecoflex.

`rheotwin experiment convert NAME --output DIR` writes one as a folder. What differs from test to test is in `setup`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.meshing import Mesh, cylinder, element_measures, write_mesh
from rheotwin.validation.experiments import datasets as data
from rheotwin.validation.experiments.metadata import Punch, Specimen, Uncertainty
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.record import Course, ExperimentRecord, Frame
from rheotwin.validation.experiments.writer import write_experiment

SCENES = Path(__file__).parent / "scenes"
"""Scenes of these bodies, with what is to be found in `[calibrate]`."""
CLAY_SETTLED = 1.2
"""When the shape after a push is compared [s]: the tool has left by .75 s."""
GRID, RIM = 2e-3, 0.5
"""Distance of the rays that find a lump's height [m]; least height at its rim, and of points that count, of its top."""
LUMP = (6, 3)
"""Hexahedra across a lump and along its height."""
LUMP_FILE = "lump.mesh"
TIP = 0.015
"""Radius of round tips, half the width of the flat one [m]."""


@dataclass(frozen=True)
class Lump:
    """Heights (nx, ny) [m] of a lump of clay over the lines `x`, `y` [m]; zero beside it."""

    x: Array
    y: Array
    height: Array

    @property
    def volume(self) -> float:
        """Volume under the heights [m3]."""
        return float(self.height.sum()) * GRID**2

    @property
    def seen(self) -> Array:
        """Points (M, 3) [m] of the surface a camera above sees, but for its rim."""
        places = np.stack(np.meshgrid(self.x, self.y, indexing="ij"), axis=-1)
        high = self.height >= RIM * self.height.max()
        return np.column_stack([places[high], self.height[high]])

    def meshed(self) -> Mesh:
        """Return hexahedra of the lump's volume: a cylinder's, its circle on the outline, its top on the heights.

        Where the rim slopes to the table it stands upright at `RIM` of the height, and the outline moves in instead.
        """
        rim = self.seen
        middle = rim[:, :2].mean(axis=0)
        angle, radius = _polar(rim[:, :2] - middle)
        turns = np.linspace(-np.pi, np.pi, 73)
        near = np.abs((angle - turns[:, None] + np.pi) % (2.0 * np.pi) - np.pi) < 0.1
        outline = np.max(np.where(near, radius, 0.0), axis=1)
        smooth = np.convolve(np.concatenate([outline[-4:-1], outline, outline[1:4]]), np.full(7, 1.0 / 7.0), "valid")
        heights = RegularGridInterpolator((self.x, self.y), self.height, bounds_error=False, fill_value=0.0)
        unit = cylinder(radius=1.0, height=1.0, cells=LUMP, cell="hex")
        around, away = _polar(unit.p[:2].T)
        flat = unit.p[:2].T * np.interp(around, turns, smooth)[:, None]
        inner = np.where(away > 0.9, 0.95, 1.0)[:, None]
        scale, mesh = 1.0, unit
        for _ in range(20):
            top = np.maximum(heights(inner * scale * flat + middle), RIM * self.height.max())
            mesh = replace(unit, doflocs=np.vstack([(scale * flat + middle).T, top * unit.p[2]]))
            scale *= np.sqrt(self.volume / element_measures(mesh).sum())
        return mesh


def _polar(places: Array) -> tuple[Array, Array]:
    return np.arctan2(places[:, 1], places[:, 0]), np.hypot(places[:, 0], places[:, 1])


def read_lump(path: Path, middle: Array) -> Lump:
    """Return a lump's heights about `middle` (2,) [m], the highest hits of upright rays: inner shells are not seen."""
    import pyvista

    mesh: Any = pyvista.read(path)
    mesh.points = np.asarray(mesh.points, dtype=float) - [*middle, 0.0]
    least, most = mesh.points.min(axis=0), mesh.points.max(axis=0)
    x, y = (np.arange(least[k] - GRID, most[k] + 2.0 * GRID, GRID) for k in (0, 1))
    height = np.zeros((len(x), len(y)))
    for place in np.ndindex(height.shape):
        hits = mesh.ray_trace([x[place[0]], y[place[1]], most[2] + 1.0], [x[place[0]], y[place[1]], -1.0])[0]
        height[place] = max((hit[2] for hit in hits), default=0.0)
    return Lump(x, y, height)


def clay(motion: int, tool: str, trial: int) -> tuple[ExperimentRecord, Mesh]:
    """Return one push into clay, the tool's path and the shape after it, and the lump before it as a mesh."""
    folder = data.data_set(data.CLAY)
    place = folder / f"data-motion-poking-{motion}" / f"eef-{tool}"
    top = np.load(place / f"mesh_{trial}0_repaired_centre_top.npy")
    before, after = (read_lump(place / f"mesh_{trial}{k}_repaired.obj", top[:2]) for k in (0, 1))
    mesh = before.meshed()
    corner = mesh.p.min(axis=1)
    speed = np.load(folder / "trajectories" / f"tr_poking_{motion}_v_dt_0.01.npy")[:, 2]
    path = np.zeros((len(speed) + 1, 3))
    path[1:, 2] = 0.01 * np.cumsum(speed)
    tip = np.array([0.0, 0.0, top[2]]) - corner
    shapes: Mapping[str, dict[str, Any]] = {
        "cylinder": {"shape": "cylinder", "radius": TIP, "axis": [0.0, 1.0, 0.0], "center": _above(tip, TIP)},
        "rectangle": {
            "shape": "box",
            "size": [2.0 * TIP, 2.0 * TIP, 0.06],
            "angle": np.pi / 4.0,
            "center": _above(tip, 0.03),
        },
        "round": {"shape": "sphere", "radius": TIP, "center": _above(tip, TIP)},
    }
    record = ExperimentRecord(
        id=f"clay-{motion}-{tool}-{trial}",
        kind="measured",
        specimen=Specimen(size=tuple(np.ptp(mesh.p, axis=1).tolist()), up="z", floor="fixed"),
        frames=(Frame(CLAY_SETTLED, after.seen - corner, phase="after"),),
        punch=Punch(shape="other"),
        path=Course(0.01 * np.arange(len(path), dtype=float), path),
        uncertainty=Uncertainty(mean_abs=0.5e-3),
        title=f"Clay poked with the {tool} tool, motion {motion}, trial {trial}",
        source="github.com/IanYangChina/SI4RP-data, MIT; Yang, Ji, Lai (IJRR 2025)",
        notes="points: heights seen from above, every 2 mm; no forces were recorded",
        setup={"bodies.lump.path": LUMP_FILE, "tools.eef": shapes[tool]},
    )
    return record, replace(mesh, doflocs=mesh.p - corner[:, None])


def _above(tip: Array, height: float) -> list[float]:
    return [float(tip[0]), float(tip[1]), float(tip[2] + height)]


PLATE = 1.11
"""Way of the plate on the silicone cube over the approach of bead layers 1 and 7 [1]: 1.10 to 1.12 in all models."""


def cube(state: int) -> ExperimentRecord:
    """Return one state of the silicone cube, a second of pressing: bead places, moved and turned as a rigid body.

    The plate's way is that of the bead layers times `PLATE`; drift across and turning of the whole are taken out.
    """
    record = data.read_truth_cube()
    frame = record.frames[state - 1]
    rest = frame.rest
    assert rest is not None
    affine = np.linalg.lstsq(np.c_[rest, np.ones(len(rest))], frame.points, rcond=None)[0][:3].T
    left, _, right = np.linalg.svd(affine)
    points = frame.points @ (left @ right)
    points[:, :2] += (rest - points)[:, :2].mean(axis=0)
    layers = [data.layer(k) for k in (1, 7)]
    way = PLATE * abs(float(np.subtract(*((points - rest)[among, 2].mean() for among in layers))))
    return replace(
        record,
        id=f"cube-{state}",
        frames=(Frame(1.0, points, rest=rest, phase=frame.phase),),
        path=Course(np.array([0.0, 1.0]), np.array([[0.0] * 3, [0.0, 0.0, way]])),
        notes="the plate's way is not measured: 1.11 times the approach of bead layers 1 and 7",
    )


BEAM_FRAMES, BEAM_EVERY, BEAM_NOISE = 60, 3, 0.2e-3
"""Pictures of the beam that are compared, one in so many of the 100 a second; noise of guessed places [m]."""


def beam(test: str) -> ExperimentRecord:
    """Return the three tip markers of a test from the release on; of the loaded beam the shape at rest only.

    The straight beam is where `gravity_a` was held. Times of the loaded one are those of its creep: 5 s, no mass.
    """
    motion, straight = data.read_clamped_beam(test), data.read_clamped_beam(data.BEAM_TESTS[0]).tip[0]
    begin = int(np.searchsorted(motion.times, motion.release)) - 1
    loaded = test.startswith("load")
    # laboratory: x up, the beam along z away from its base, which makes y its width
    along = np.sign(straight[:, 2].mean() - data.common_base()[:, 2].mean())
    turn = np.array([[0.0, 0.0, along], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    markers = np.array([[0.1, 0.015, 0.030], [0.1, 0.0, 0.024], [0.1, 0.030, 0.006]])
    held = straight if loaded else motion.tip[begin]
    if loaded:
        times, tips = np.array([5.0]), motion.at_rest[None]
    else:
        chosen = begin + BEAM_EVERY * np.arange(1, BEAM_FRAMES + 1)
        times, tips = motion.times[chosen] - motion.times[begin], motion.tip[chosen]
    frames = [
        Frame(float(t), markers + (tip - held) @ turn.T, rest=markers) for t, tip in zip(times, tips, strict=True)
    ]
    size = (data.BEAM_LENGTH, data.BEAM_WIDTH, data.BEAM_HEIGHT)
    setup = {"forces.load.total": [0.0, 0.0, -data.BEAM_LOAD]} if loaded else {}
    return ExperimentRecord(
        id=f"beam-{test}",
        kind="measured",
        specimen=Specimen(size=size, mass=data.BEAM_DENSITY * float(np.prod(size)), up="z", floor=None),
        frames=tuple(frames),
        uncertainty=Uncertainty(mean_abs=BEAM_NOISE),
        title=f"Silicone cantilever let go, {test}",
        source="github.com/srl-ethz/diffPD_sim2real, MIT",
        notes="places of markers are approximate; the pose it is let go from is held by hand",
        setup=setup,
    )


ECOFLEX_EVERY, ECOFLEX_NOISE = 20, 0.02
"""One in so many rows of a compression test counts, 2 s; how far repeats lie apart, of the largest force [1]."""


def ecoflex(phantom: str, test: str) -> ExperimentRecord:
    """Return a compression test, a row every 2 s."""
    record = data.read_ecoflex(phantom, test)
    assert record.path is not None and record.force is not None

    def thinned(course: Course) -> Course:
        return Course(course.times[::ECOFLEX_EVERY], course.values[::ECOFLEX_EVERY])

    path, force = thinned(record.path), thinned(record.force)
    begin = path.values[0]
    return replace(
        record,
        id=f"ecoflex-{record.id}",
        path=replace(path, values=path.values - begin, times=path.times - path.times[0]),
        force=replace(force, times=force.times - path.times[0]),
        uncertainty=Uncertainty(force_rel=ECOFLEX_NOISE),
    )


RECORDS: dict[str, Callable[[], ExperimentRecord | tuple[ExperimentRecord, Mesh]]] = {
    **{f"clay-{m}-{tool}-{k}": partial(clay, m, tool, k) for m, tool, k in data.CLAY_TRIALS},
    **{f"cube-{state}": partial(cube, state) for state in (1, 2, 3)},
    **{f"beam-{test}": partial(beam, test) for test in data.BEAM_TESTS},
    **{
        f"ecoflex-{phantom}_{test}": partial(ecoflex, phantom, test)
        for phantom in data.ECOFLEX_PHANTOMS
        for test in data.ECOFLEX_TESTS
    },
}
"""What can be converted, by name."""


def convert(name: str, folder: Path, *, overwrite: bool = False) -> ExperimentRecord:
    """Write a real record as a folder, with the mesh of its body if it has one of its own, and return it as read."""
    if name not in RECORDS:
        raise RheotwinError(f"there is no record '{name}'{nearest_name(name, RECORDS)}; there are {', '.join(RECORDS)}")
    found = RECORDS[name]()
    record, mesh = found if isinstance(found, tuple) else (found, None)
    write_experiment(folder, record, overwrite=overwrite)
    if mesh is not None:
        write_mesh(folder / LUMP_FILE, mesh)
    return read_experiment(folder)


def converted(*names: str) -> list[ExperimentRecord]:
    """Return records by name, as if they had been written to folders."""
    return [_kept(name) for name in names]


@cache
def _folder() -> TemporaryDirectory[str]:
    """Return where records are kept as long as this process lasts."""
    return TemporaryDirectory(prefix="rheotwin-")


@cache
def _kept(name: str) -> ExperimentRecord:
    return convert(name, Path(_folder().name) / name)
