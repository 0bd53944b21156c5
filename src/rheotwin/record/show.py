"""What a record becomes: a picture of its curves, an xarray Dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.shown import wanted

if TYPE_CHECKING:
    from rheotwin.record.reader import Record
    from rheotwin.validation.report.charts import Plot

SMALL = 1e-6
"""A force below this share of the largest one is left out of a picture that names none."""


def curves(records: Sequence[Record], names: Sequence[str] = ()) -> Plot:
    """Return probes over time, a panel for each unit; without names the forces that are not zero."""
    from rheotwin.validation.report.charts import DASHES, PALETTE, chart

    values, units = records[0].probes, records[0].probe_units
    known = [name for name in values if name != "time"]
    for name in names:
        if name not in known:
            raise RheotwinError(f"there is no probe '{name}'{nearest_name(name, known)}; there: {', '.join(known)}")
    sizes = {name: float(np.abs(values[name]).max(initial=0.0)) for name in known if ".force_" in name}
    chosen = names or [name for name, size in sizes.items() if size > SMALL * max(sizes.values())] or known[:1]
    panels = list(dict.fromkeys(units[name] for name in chosen))
    title = ": ".join([records[0].manifest.title, *(record.method for record in records[:1] if len(records) == 1)])
    size, alt = (6.0, 0.6 + 2.6 * len(panels)), f"{title}: {', '.join(chosen)} over time"
    with chart("probes", title, alt, size=size) as draft:
        draft.figure.suptitle(title, fontsize=10.5, fontweight="bold")
        for axes, unit in zip(draft.figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
            lines = [(record, name) for name in chosen if units[name] == unit for record in records]
            for k, (record, name) in enumerate(lines):
                label = f"{name}, {record.method}" if len(records) > 1 else name
                colour, dashes = PALETTE[k % len(PALETTE)], DASHES[k % len(DASHES)]
                axes.plot(record.probes["time"], record.probes[name], dashes, color=colour, label=label)
            axes.set(xlabel="time [s]", ylabel=f"[{unit}]")
            axes.legend()
    return draft.plot


def dataset(record: Record) -> Any:
    """Return fields over (time, node or cell, component) and probes over probe_time, with units as attributes."""
    xarray: Any = wanted("xarray")
    fields, probes = record.manifest.fields, record.probes
    found: dict[str, Any] = {}
    for name, info in fields.items():
        values, sides = record.field(name), ["time", "cell" if info.on_cells else "node"]
        if info.components == 1:
            values = values[..., 0]
        else:
            sides.append("axis" if info.components == 3 else f"component_{info.components}")
        found[name] = (sides, values, {"units": info.unit, "long_name": info.description})
    units = record.probe_units
    found |= {name: ("probe_time", row, {"units": units[name]}) for name, row in probes.items() if name != "time"}
    along: dict[str, Any] = {"time": ("time", record.times, {"units": "s"}), "axis": ["x", "y", "z"]}
    along["probe_time"] = ("probe_time", probes["time"], {"units": "s"})
    if "displacement" in fields:
        along["rest"] = (["node", "axis"], record.rest_positions, {"units": "m"})
    about = {"title": record.manifest.title, "solver": record.manifest.solver.name, "case": record.manifest.case or ""}
    return xarray.Dataset(found, along, about)
