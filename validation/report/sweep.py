"""The picture of a sweep: every number over what is varied first, a line for each solver and value of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rheotwin.validation.report.charts import DASHES, PALETTE, Plot, chart

WIDE = 8.0
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""


def sweep_plot(rows: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> Plot:
    """Return the plot of the rows of a sweep; places in `varied` are columns, the first is the axis."""
    names = list(dict.fromkeys(name for row in rows for name in row if name.endswith("]")))
    keys = [*varied[1:], *(name for name in ("case", "solver") if name in rows[0])]
    lines = dict.fromkeys(tuple(str(row[key]) for key in keys) for row in rows)
    values = list({str(row[varied[0]]): row[varied[0]] for row in rows}.values())
    straight = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    places = {str(value): float(value) if straight else float(k) for k, value in enumerate(values)}
    caption = f"What follows from {', '.join(varied)}"
    with chart("sweep", caption, caption, size=(4.2 * max(len(names), 1), 3.4)) as draft:
        panels = draft.figure.subplots(1, max(len(names), 1), squeeze=False)[0]
        for axes, name in zip(panels, names, strict=False):
            for k, line in enumerate(lines):
                own = [
                    row for row in rows if tuple(str(row[key]) for key in keys) == line and row.get(name) is not None
                ]
                own.sort(key=lambda row: places[str(row[varied[0]])])
                axes.plot(
                    [places[str(row[varied[0]])] for row in own],
                    [row[name] for row in own],
                    marker="o",
                    color=PALETTE[k % len(PALETTE)],
                    linestyle=DASHES[k % len(DASHES)],
                    label=", ".join(f"{key} {word}" for key, word in zip(keys, line, strict=True)),
                )
            axes.set(title=name, xlabel=varied[0])
            if not straight:
                axes.set_xticks(list(places.values()), list(places))
            elif _wide(list(places.values())):
                axes.set_xscale("log")
            if _wide([row[name] for row in rows if row.get(name) is not None]):
                axes.set_yscale("log")
        handles, labels = panels[0].get_legend_handles_labels()
        if handles:
            draft.figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(4, len(labels))))
    return draft.plot


def _wide(values: Sequence[float]) -> bool:
    known = np.array([value for value in values if np.isfinite(value)])
    return bool(known.size and known.min() > 0.0 and known.max() > WIDE * known.min())
