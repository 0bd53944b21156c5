"""What makes a record useless for an identification, in one sentence with the row and the remedy."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from rheotwin.errors import RheotwinError
from rheotwin.validation.identification.record import TimeRecord

LEAST_ROWS = 10
STUCK_ROWS = 5
"""So many equal readings at the largest force are a cell at its end, if the piece moves meanwhile."""
MEAN = np.full(STUCK_ROWS, 1.0 / STUCK_ROWS)
MOVED = 0.05
"""Part of the peak that a moving mean, which has little noise, moves by if the piece moves at all."""
STILL = 1e-3
"""Part of the peak within which nothing has moved."""
BEGINNING = 0.1
"""Part of the largest displacement at which no piece begins without a force."""

ZERO = 0.05
"""Part of the peak that a force without any displacement is worth a warning at."""


def check_rows(path: Path, record: TimeRecord) -> None:
    """Refuse rows that tell nothing or are out of order."""
    rows = len(record.time)
    if rows < LEAST_ROWS:
        raise RheotwinError(f"{path}: {rows} rows are too few for a law; record {LEAST_ROWS} at least")
    back = np.flatnonzero(np.diff(record.time) <= 0.0)
    if len(back):
        row = int(back[0]) + 1
        raise RheotwinError(
            f"{path}: row {row + 1}: its time {record.time[row]:g} s is not after {record.time[row - 1]:g} s of the "
            "row before it; sort the rows by time and drop repeated ones"
        )
    for name, values in (("displacement", record.displacement), ("force", record.force)):
        if not np.abs(values).max() > 0.0:
            raise RheotwinError(f"{path}: its {name} is 0 throughout; record a test in which it is not")


def check_test(path: Path, record: TimeRecord) -> None:
    """Refuse a constant record, a wrong sign, a cell at its end, a hold without its ramp; warn of doubtful rows."""
    x, f = record.displacement, record.force
    depth, drive = np.abs(x).max(), record.phases[0].drive
    driven = record.phases[0].end
    name, seen = ("displacement", x) if drive == "force" else ("force", f)
    if not np.ptp(seen[1:]) > 0.0:  # the first row may be that of --ramp
        raise RheotwinError(f"{path}: its {name} is {seen[-1]:g} throughout; record a test in which it changes")
    if drive == "force" and np.ptp(f[:driven]) <= STILL * np.abs(f).max():
        raise RheotwinError(
            f"{path}: it is a load without its beginning, which leaves the dashpots open; say with --ramp S how long "
            "before the first row the piece was at rest"
        )
    if abs(x[0]) > BEGINNING * depth and abs(f[0]) < 10.0 * STILL * np.abs(f).max():
        raise RheotwinError(
            f"{path}: row 1: it begins at the displacement {x[0]:.4g} with next to no force; if the piece is at rest "
            "there, add --tare"
        )
    if drive == "displacement" and abs(f[0]) > ZERO * np.abs(f).max() and abs(x[0]) < STILL * depth:
        warnings.warn(
            f"{path}: row 1: it begins with the force {f[0]:.4g} at next to no displacement: if that is the zero of "
            "the cell, add --tare or --offset force-zero",
            stacklevel=3,
        )
    peak = int(np.argmax(np.abs(x[:driven])))
    if x[:driven] @ f[:driven] < 0.0:
        raise RheotwinError(
            f"{path}: row {peak + 1}: force {f[peak]:.4g} and displacement {x[peak]:.4g} have opposite signs; "
            "if that is how they were written, add --flip-force"
        )
    end = np.argmax(np.abs(f))
    stuck = end + int(np.argmin(np.append(f[end:] == f[end], False)))
    if (
        record.observed_force[end]
        and stuck - end >= STUCK_ROWS
        and np.ptp(np.convolve(x[end:stuck], MEAN, "valid")) > MOVED * depth
    ):
        raise RheotwinError(
            f"{path}: rows {end + 1} to {stuck}: the force stays at {f[end]:.6g} while the piece moves: the cell was "
            "at its end; repeat the test with a larger one"
        )
    if drive == "displacement" and np.ptp(x[:driven]) <= STILL * depth:
        raise RheotwinError(
            f"{path}: it is a hold without its ramp, which leaves the dashpot b_0 and all times shorter than the ramp "
            "open; record the ramp, or say with --ramp S how long it took"
        )
    quiet = len(f) - int(np.argmax(np.append(np.abs(f[::-1]) > 10.0 * STILL * np.abs(f).max(), True)))
    if record.phases[-1].drive == "displacement" and quiet < len(f) and np.ptp(x[quiet:]) > 10.0 * STILL * depth:
        time = record.time[max(quiet - 1, 0)]
        warnings.warn(
            f"{path}: from row {quiet + 1} on the piece moves without a force: if it was let go, add "
            f"--drive displacement:{time:g},free (and --mass)",
            stacklevel=3,
        )
    still = int(np.argmax(np.abs(x - x[0]) > STILL * depth))
    if still > LEAST_ROWS and drive == "displacement":
        warnings.warn(
            f"{path}: nothing moves in its first {still} rows: they give the noise of the force", stacklevel=3
        )
