"""Draw measured records beside the solvers that run their test pieces with the laws identified from other records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt

from rheotwin.validation.checks import pieces, records
from rheotwin.validation.experiments import datasets

NAME = "identified"
STYLES = {"fem": ("#0072B2", "-"), "truss": ("#D55E00", "--"), "shear-volume": ("#009E73", ":")}


def draw_identified(images: Path) -> None:
    """Draw adhesive, foam and silicone, where their data are there."""
    missing = [text for name in (datasets.OCA, datasets.VINYL, datasets.SILICONE) if (text := datasets.missing(name))]
    if missing:
        print(missing[0])
        return
    with plt.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(1, 3, figsize=(12.9, 3.9), layout="constrained")
        _adhesive(axes[0])
        _foam(axes[1])
        _silicone(axes[2])
        for one in axes:
            one.grid(color="#e4e4e4", linewidth=0.7)
            one.set_axisbelow(True)
        figure.savefig(images / f"{NAME}.png", dpi=100)
    plt.close(figure)


def _adhesive(axes: Any) -> None:
    law = pieces.adhesive_law().law
    assert law is not None
    for test, marker in ((datasets.OCA_TESTS[1], "o"), (datasets.OCA_TESTS[4], "s")):
        record = pieces.first_step(records.adhesive(test))
        axes.plot(
            record.time, 1e-3 * record.force, marker, color="#999999", markersize=3, label=f"record, {record.name}"
        )
        even = np.linspace(0.0, record.time[-1], 10 * len(record.time))
        shear = np.interp(even, record.time, record.displacement)
        for name, (colour, line) in STYLES.items():
            piece = pieces.PIECES[name]
            stress = pieces.sheared(piece, law, even, shear, even[1] / piece.substeps)
            axes.plot(even, 1e-3 * stress, line, color=colour, label=name if marker == "o" else None)
    axes.set(title="Adhesive sheared to 2: rates not used", xlabel="time [s]", ylabel="shear stress [kPa]")
    axes.legend(frameon=False)


def _foam(axes: Any) -> None:
    law, record = pieces.foam_law().law, records.foam()
    assert law is not None and record.temperature is not None
    there = np.flatnonzero(record.temperature == pieces.LEVEL)
    for values, colour, word in ((record.storage, "#333333", "storage"), (record.loss, "#999999", "loss")):
        axes.plot(record.frequency[there[::2]], values[there[::2]], "o", mfc="none", color=colour, markersize=5)
        axes.plot(record.frequency[there[1::2]], values[there[1::2]], "o", color=colour, markersize=5, label=word)
    omega = record.frequency[there[list(pieces.SHAKEN)]]
    marks = {"fem": "+", "truss": "x", "shear-volume": "1"}
    for name, (colour, _) in STYLES.items():
        found = np.array([pieces.shaken(pieces.PIECES[name], law, float(w)) for w in omega])
        for part, label in ((found.real, name), (found.imag, None)):
            axes.plot(omega, part, marks[name], color=colour, markersize=11, label=label)
    axes.set(xscale="log", yscale="log", title="Foam shaken at 10 C: filled ones not used")
    axes.set(xlabel="angular frequency [rad/s]", ylabel="modulus [unit of the data]")
    axes.legend(frameon=False, ncols=2)


def _silicone(axes: Any) -> None:
    for radius, line in zip(pieces.RADII, ("-", "--", ":"), strict=True):
        times, measured, forces = pieces.indented(radius)
        ramp = times < 30.0
        factor = float(forces[ramp] @ measured[ramp] / (forces[ramp] @ forces[ramp]))
        if radius == pieces.RADII[0]:
            axes.plot(times, measured, "o", color="#999999", markersize=3, label="record, P002-1")
        label = f"fem, sphere of {1e3 * radius:g} mm"
        axes.plot(times, factor * forces, line, color="#0072B2", label=label)
    axes.set(title="Silicone under an unknown indenter", xlabel="time [s]", ylabel="force [N]")
    axes.legend(frameon=False)
