"""What was identified, as a picture and a page of one screen: data, model, band and residuals beside the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from rheotwin.arrays import Array
from rheotwin.validation.identification.result import Curve, Identified, OrderRow, Parameter
from rheotwin.validation.report.charts import PALETTE, Plot, chart, paler
from rheotwin.validation.report.page import TEMPLATES as SHARED_TEMPLATES
from rheotwin.validation.report.page import own_svg, page_environment

LEGEND_LETTER = 0.08
"""Width of a letter of the legend [inches]."""
MOST_POINTS, MOST_ORDERS = 400, 16
"""Points drawn of a record; candidates in the table, the best by BIC."""


def picture(found: Identified) -> Plot:
    """Return the picture, a column per quantity: data, model and 95 % band; below, what is left [% of the peak]."""
    quantities = list(dict.fromkeys(curve.quantity for curve in found.curves))
    records = list(dict.fromkeys(curve.record for curve in found.curves))
    alt = f"{found.title}: {', '.join(quantities)} of data and of the model ({found.model}). {found.adequacy.sentence}"
    width = max(4.7 * len(quantities), 7.5)
    with chart("identified", "Data, model, band and residuals", alt, size=(width, 4.6)) as draft:
        axes: Any = draft.figure.subplots(2, len(quantities), squeeze=False, sharex="col", height_ratios=[3.0, 1.0])
        for column, quantity in enumerate(quantities):
            curves = [curve for curve in found.curves if curve.quantity == quantity]
            for curve in curves:
                _draw(axes[0, column], axes[1, column], curve, PALETTE[records.index(curve.record) % len(PALETTE)])
            _label(axes[:, column], curves[0])
        handles, labels = axes[0, 0].get_legend_handles_labels()
        columns = max(1, int(width / LEGEND_LETTER / (8 + max(map(len, labels)))))
        draft.figure.legend(handles, labels, loc="outside upper left", ncols=columns)
    return draft.plot


def _draw(above: Any, below: Any, curve: Curve, colour: str) -> None:
    """Draw one record: data as points, the model as a line (dashed where it was predicted), its band, the residuals."""
    few = np.unique(np.linspace(0, len(curve.at) - 1, MOST_POINTS).round().astype(int))
    kind = "" if curve.fitted else ", predicted"
    above.plot(curve.at[few], curve.measured[few], "o", markersize=3.0, color=paler(colour, 0.6))
    label = f"{curve.record}{kind} ({100 * curve.misfit:.2g} %)"
    above.plot(curve.at, curve.model, "-" if curve.fitted else "--", color=colour, linewidth=1.3, label=label)
    above.fill_between(curve.at, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0.0)
    below.plot(curve.at[few], _left(curve)[few], ".", markersize=2.5, color=colour)


def _left(curve: Curve) -> Array:
    """Return what the model leaves [%]: of the peak, over frequency of the value."""
    whole = np.abs(curve.measured) if _is_modulus(curve) else np.abs(curve.measured).max()
    return np.asarray(100.0 * (curve.measured - curve.model) / whole)


def _is_modulus(curve: Curve) -> bool:
    return curve.quantity.endswith("modulus")


def _label(axes: Sequence[Any], curve: Curve) -> None:
    above, below = axes
    quantity = {("force", "Pa"): "stress", ("displacement", "1"): "strain"}.get(
        (curve.quantity, curve.unit), curve.quantity
    )
    above.set_ylabel(f"{quantity} [{curve.unit}]")
    below.axhline(0.0, color="#888888", linewidth=0.8)
    if _is_modulus(curve):
        above.set_xscale("log")
        above.set_yscale("log")
        below.set_xlabel("reduced angular frequency [rad/s]")
        below.set_ylabel("left [%]")
    else:
        below.set_xlabel("time [s]")
        below.set_ylabel("left [% of peak]")


def page(found: Identified, plot: Plot | None = None) -> str:
    """Return the page, with nothing from the network."""
    environment = page_environment(Path(__file__).parent / "templates")
    environment.filters |= {"svg": own_svg, "interval": interval, "value": value}
    return environment.get_template("identified.html.j2").render(
        found=found,
        plot=picture(found) if plot is None else plot,
        orders=shown(found.orders),
        law=found.no_law if found.law is None else found.to_toml(),
        style=Markup((SHARED_TEMPLATES / "style.css").read_text(encoding="utf-8")),
    )


def shown(orders: Sequence[OrderRow]) -> list[OrderRow]:
    """Return the candidates of the table: the chosen one and the best by BIC, in their order."""
    best = sorted(orders, key=lambda row: (not row.verdict.startswith(("chosen", "the best")), row.bic))[:MOST_ORDERS]
    return [row for row in orders if row in best]


def value(parameter: Parameter) -> str:
    """Return a value to the digits its interval allows, one more."""
    return _digits(parameter.value, 0.5 * (parameter.high - parameter.low))


def interval(parameter: Parameter) -> str:
    """Return the 95 % interval as "9.98 to 10.02"."""
    half = 0.5 * (parameter.high - parameter.low)
    return f"{_digits(parameter.low, half)} to {_digits(parameter.high, half)}"


def _digits(number: float, uncertain: float) -> str:
    if not uncertain > 0.0 or not np.isfinite(uncertain) or number == 0.0:
        return f"{number:.4g}"
    count = int(np.floor(np.log10(abs(number))) - np.floor(np.log10(uncertain))) + 2
    return f"{number:.{min(max(count, 2), 7)}g}"
