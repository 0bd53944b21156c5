"""Readers of real data sets, which stay outside of the package, in the folder that RHEOTWIN_DATA names.

Truth cube: 343 beads in a silicone cube under four compressions (Apache-2.0, opensurgsim).
Clamped beam: a silicone cantilever let go under its weight, with and without 52 g at its tip (MIT, ETH Zurich).
Clay: lumps poked by a robot, shapes before and after (MIT, Yang, Ji, Lai 2025).
Ecoflex: silicone cylinders compressed by two thirds of their height (CC BY 4.0, Dawood et al. 2026).
OCA shear: a soft adhesive layer, ramps and holds at four rates and one long ramp (MIT, Zhao).
Silicone indentation: ramp, hold and recovery at nearly no force (GPL-3.0: keep apart from the package).
Vinyl foam: oscillation of a vinyl nitrile foam at 19 temperatures (NIST open data).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.arrays import Array
from rheotwin.errors import RheotwinError
from rheotwin.validation.experiments.metadata import Punch, Specimen, Uncertainty
from rheotwin.validation.experiments.record import Course, ExperimentRecord, Frame

VARIABLE = "RHEOTWIN_DATA"
"""Environment variable that names the folder of all data sets."""
DEFAULT = Path(__file__).resolve().parents[2].parent / "shared" / "data"
"""Beside a checkout of the repository."""


def data_set(name: str) -> Path:
    """Return the folder of a data set; a missing one is one sentence with the remedy."""
    folder = Path(os.environ.get(VARIABLE) or DEFAULT) / name
    if not folder.is_dir():
        raise RheotwinError(
            f"measured data '{name}' are not there; set {VARIABLE} to the folder that holds {name}/ "
            "(docs/experiments.md says where it comes from)"
        )
    return folder


def missing(name: str) -> str:
    """Return why a data set cannot be read, nothing if it can: the reason for which a test is skipped."""
    try:
        data_set(name)
    except RheotwinError as error:
        return str(error)
    return ""


def numbers(path: Path, names: Sequence[str], *, skip: int = 0) -> Array:
    """Return the rows (n, columns) of a CSV file whose header, after `skip` lines, begins with these names."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()[skip:]
    except OSError as error:
        raise RheotwinError(f"{path.name}: cannot be read ({error.strerror}); get the data set again") from error
    found = [cell.strip() for cell in lines[0].split(",")] if lines else []
    if found[: len(names)] != list(names):
        raise RheotwinError(f"{path.name}: its columns are {', '.join(found)}, not {', '.join(names)}; get it again")
    try:
        rows = np.loadtxt(lines[1:], delimiter=",", ndmin=2, usecols=range(len(names)))
    except ValueError as error:
        raise RheotwinError(f"{path.name}: {error}; get the data set again") from error
    if not len(rows) or not np.isfinite(rows).all():
        raise RheotwinError(f"{path.name}: it has no rows, or entries that are not finite; get the data set again")
    return np.asarray(rows)


def choice(name: str, known: Sequence[str], what: str) -> str:
    """Return a name that exists, or raise with those that do."""
    if name not in known:
        raise RheotwinError(f"there is no {what} '{name}' in the data set; choose from {', '.join(known)}")
    return name


CUBE = "truth-cube"
CUBE_EDGE, CUBE_YOUNG, CUBE_POISSON, CUBE_DENSITY = 0.080, 15.3e3, 0.499, 980.0
"""Edge [m], Young's modulus [Pa], Poisson's ratio, density [kg/m3] as published with the data."""
CUBE_LAYERS = 7
CUBE_NOMINAL = ("no strain", "5 %", "12.5 %", "18.25 %")


def read_truth_cube() -> ExperimentRecord:
    """Return the bead field: three frames of tracked points (343, 3) [m] about the middle of the cube.

    Beads are ordered by i, j, k, each 1 to 7 along x, y, z; k = 1 is nearest the fixed face (z largest), k = 7 nearest
    the plate, which moves to +z. Times are the numbers of the states: the test was quasi-static. The nominal strains
    are no boundary values (layers 1 and 7 approach by 6.8, 15.5, 22.7 %), so there is no path of the plate.
    """
    names = ("i", "j", "k", *(f"{axis}{state}" for state in range(4) for axis in "xyz"))
    rows = numbers(data_set(CUBE) / "uniaxial_positions.csv", names, skip=6)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    places = 1e-3 * rows[:, 3:].reshape(-1, 4, 3)
    places = places - places[:, 0].mean(axis=0)
    rest = places[:, 0]
    frames = tuple(
        Frame(float(state), places[:, state], rest=rest, phase=f"nominal strain {CUBE_NOMINAL[state]}")
        for state in range(1, 4)
    )
    return ExperimentRecord(
        id=CUBE,
        kind="measured",
        specimen=Specimen(size=(CUBE_EDGE,) * 3, mass=CUBE_DENSITY * CUBE_EDGE**3, origin="center", up="z", floor=None),
        frames=frames,
        uncertainty=Uncertainty(mean_abs=0.3e-3),
        title="Beads in a silicone cube under compression",
        source="github.com/simquest/opensurgsim, Apache-2.0",
    )


def layer(k: int) -> Array:
    """Return which beads are in layer k (1 to 7), as a mask (343,)."""
    return np.asarray(np.arange(CUBE_LAYERS**3) % CUBE_LAYERS == k - 1)


BEAM = "clamped-beam-mocap"
BEAM_LENGTH, BEAM_WIDTH, BEAM_HEIGHT = 0.100, 0.030, 0.030
"""Free length and section of the beam [m]."""
BEAM_YOUNG, BEAM_POISSON, BEAM_DENSITY, GRAVITY = 263_824.0, 0.499, 1070.0, 9.80709
"""Young's modulus [Pa], Poisson's ratio, density [kg/m3], gravity [m/s2] as published with the data."""
BEAM_LOAD = 0.51012
"""Weight at the tip's edge in the tests `load52` [N]."""
BEAM_TESTS = ("gravity_a", "gravity_b", "load52_a", "load52_b")
STARTED = 2e-4
"""A marker that has moved this far [m] has been let go."""


@dataclass(frozen=True)
class MarkerMotion:
    """Paths of markers: `times` (F,) [s], `tip` and `base` (F, 3, 3) [m] in laboratory axes, of which -x points down.

    Both are aligned: the frame of the three base markers of `gravity_a` at rest is the common one.
    """

    test: str
    times: Array
    tip: Array
    base: Array

    @property
    def height(self) -> Array:
        """Heights of the tip markers (F, 3) [m], upwards."""
        return np.asarray(self.tip[:, :, 0])

    @property
    def release(self) -> float:
        """When the beam was let go [s]."""
        moved = np.abs(self.height - self.height[0]).max(axis=1) > STARTED
        return float(self.times[int(np.argmax(moved))])

    @property
    def at_rest(self) -> Array:
        """Mean places of the tip markers (3, 3) [m] in the last quarter of a second."""
        return _rest(self.times, self.tip)


def read_clamped_beam(test: str) -> MarkerMotion:
    """Return one of the four tests, in the common frame of the base markers."""
    times, tip, base = raw_paths(choice(test, BEAM_TESTS, "test"))
    # the clamp gives way by 0.1 mm as the beam is let go, so the frame is that of the base at rest
    turned, moved = _alignment(_rest(times, base), common_base())
    return MarkerMotion(
        test, times, np.asarray(tip @ turned.T + moved), np.asarray(base @ turned.T + moved)
    )  # fmt: skip


def common_base() -> Array:
    """Return the base markers (3, 3) [m] of `gravity_a` at rest, which are the frame of all tests."""
    times, _, base = raw_paths(BEAM_TESTS[0])
    return _rest(times, base)


def _rest(times: Array, paths: Array) -> Array:
    """Return mean places in the last quarter of a second."""
    return np.asarray(paths[times > times[-1] - 0.25].mean(axis=0))


def raw_paths(test: str) -> tuple[Array, Array, Array]:
    """Return times (F,) [s] and paths of tip and base markers (F, 3, 3) [m] as they were recorded."""
    markers = [f"{end}{number}_{axis}_m" for end in ("tip", "base") for number in (1, 2, 3) for axis in "xyz"]
    rows = numbers(data_set(BEAM) / f"beam_{test}.csv", ("time_s", *markers))
    places = rows[:, 1:].reshape(len(rows), 6, 3)
    return rows[:, 0], places[:, :3], places[:, 3:]


def _alignment(markers: Array, target: Array) -> tuple[Array, Array]:
    """Return turn (3, 3) and shift (3,) [m] that bring markers onto their target."""
    turn, _ = Rotation.align_vectors(target - target.mean(axis=0), markers - markers.mean(axis=0))
    matrix = np.asarray(turn.as_matrix())
    return matrix, np.asarray(target.mean(axis=0) - matrix @ markers.mean(axis=0))


CLAY = "clay-poking"
CLAY_TOOLS = ("cylinder", "rectangle", "round")
CLAY_TRIALS = tuple((motion, tool, trial) for motion in (1, 2) for tool in CLAY_TOOLS for trial in (0, 1))
"""Pushes of 15 and 20 mm with each tool, two lumps each; `bodies` reads them."""

ECOFLEX = "ecoflex-compression"
ECOFLEX_DIAMETER, ECOFLEX_HEIGHT = 0.050, 0.030
"""The cylinders [m]."""
ECOFLEX_PHANTOMS = ("EF10_0T", "EF10_50T", "EF30_0T", "EF50_0T")
"""EcoFlex 00-10, the same with 50 % thinner, 00-30, 00-50."""
ECOFLEX_TESTS = ("A1", "A2", "B1")
"""Specimen A twice, specimen B once."""
_COLUMNS = ("Time (s)", "Compression (mm)", "Load (N)")


def read_ecoflex(phantom: str, test: str) -> ExperimentRecord:
    """Return one test: path of the upper plate and force on the cylinder, which stands on its base, up is z."""
    name = f"{choice(phantom, ECOFLEX_PHANTOMS, 'phantom')}_{choice(test, ECOFLEX_TESTS, 'test')}"
    rows = numbers(data_set(ECOFLEX) / f"{name}.csv", _COLUMNS, skip=7)
    path, force = np.zeros((2, len(rows), 3))
    path[:, 2], force[:, 2] = -1e-3 * rows[:, 1], -rows[:, 2]
    return ExperimentRecord(
        id=name,
        kind="measured",
        specimen=Specimen(
            size=(ECOFLEX_DIAMETER, ECOFLEX_DIAMETER, ECOFLEX_HEIGHT), shape="cylinder", up="z", floor=None
        ),
        punch=Punch(shape="plate"),
        path=Course(rows[:, 0], path),
        force=Course(rows[:, 0], force),
        uncertainty=Uncertainty(),
        title=f"Compression of {name}",
        source="github.com/abubakardawood/tissue-phantom-material-database, CC BY 4.0, Dawood et al. (2026)",
        notes="friction at the plates is not known",
    )


def published_ecoflex(phantom: str, law: str = "Neo Hookean") -> tuple[tuple[float, ...], float]:
    """Return the authors' parameters [Pa] of a law, fitted to nominal stress, and the residual S [Pa] they state."""
    path = data_set(ECOFLEX) / "hyperelastic_parameters.json"
    try:
        laws: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["engineering"][phantom]
    except (OSError, ValueError, KeyError) as error:
        raise RheotwinError(f"{path.name}: cannot be read ({error}); get the data set again") from error
    found = laws[choice(law, tuple(laws), "law")]
    return tuple(1e3 * value for value in found["parameters"]), 1e3 * float(found["S"])


OCA = "oca-shear"
OCA_THICKNESS, OCA_AREA = 0.13e-3, 100e-6
"""The layer: thickness [m] and area [m2]."""
OCA_TESTS = (
    "step_relaxation_5-per-min",
    "step_relaxation_2-per-min",
    "step_relaxation_1-per-min",
    "step_relaxation_0p1-per-s",
    "monotonic_0p05-per-s",
)


@dataclass(frozen=True)
class ShearTest:
    """Simple shear over time: `times` (F,) [s], amount of `shear` (F,) [1], nominal shear `stress` (F,) [Pa]."""

    test: str
    times: Array
    shear: Array
    stress: Array


def read_oca_shear(test: str) -> ShearTest:
    """Return one test."""
    path = data_set(OCA) / f"{choice(test, OCA_TESTS, 'test')}.csv"
    rows = numbers(path, ("time_s", "shear", "nominal_stress_kPa"))
    return ShearTest(test, rows[:, 0], rows[:, 1], 1e3 * rows[:, 2])


SILICONE = "silicone-indentation"
SILICONE_TESTS = ("P002-1", "P002-4")
SILICONE_SIZE = 0.05
"""The specimen's size [m] is not stated; a block this large around the indenter stands for it."""


def read_silicone_indentation(test: str) -> ExperimentRecord:
    """Return path of the indenter and force on the block, both downwards along -z; the indenter's shape is unknown."""
    rows = numbers(
        data_set(SILICONE) / f"{choice(test, SILICONE_TESTS, 'test')}.csv", ("time_s", "force_N", "displacement_mm")
    )
    path, force = np.zeros((2, len(rows), 3))
    path[:, 2], force[:, 2] = -1e-3 * rows[:, 2], -rows[:, 1]
    return ExperimentRecord(
        id=test,
        kind="measured",
        specimen=Specimen(size=(SILICONE_SIZE,) * 3, up="z", floor="fixed"),
        punch=Punch(shape="other"),
        path=Course(rows[:, 0], path),
        force=Course(rows[:, 0], force),
        uncertainty=Uncertainty(),
        title=f"Indentation of a silicone block, {test}",
        source="github.com/SarahIaquinta/perineal_indentation, GPL-3.0",
        notes="shapes of specimen and indenter are not stated; P002-4 overshoots when it returns to low force",
    )


VINYL = "vinyl-foam-dma"


@dataclass(frozen=True)
class Oscillation:
    """Moduli at frequencies: `temperature` (n,) [Celsius], angular `frequency` (n,) [rad/s], `storage`, `loss` (n,).

    The moduli's unit is not stated in the data (their size suggests MPa): only ratios of them mean something.
    """

    temperature: Array
    frequency: Array
    storage: Array
    loss: Array

    @property
    def loss_factor(self) -> Array:
        """tan(delta) = loss over storage modulus (n,) [1]."""
        return self.loss / self.storage


def read_vinyl_foam() -> Oscillation:
    """Return all temperatures, each with 11 frequencies."""
    names = ("temperature_C", "angular_frequency_rad_s", "storage_modulus", "loss_modulus")
    return Oscillation(*numbers(data_set(VINYL) / "vinyl_foam_dma.csv", names).T)
