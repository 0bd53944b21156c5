"""How results show: one line, a table in a notebook, a data frame."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any

from rheotwin.errors import RheotwinError


def wanted(package: str) -> Any:
    """Return an optional package, or say how to get it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise RheotwinError(
            f"this needs the package {package}, which is not installed; install it with: pip install {package}"
        ) from error


class Shown:
    """A result with a `headline` and `rows`, which prints as the one and shows as the other."""

    @property
    def headline(self) -> str:
        """What it is, in one line."""
        raise NotImplementedError

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What it holds, as a table: a row for each thing, values by the names of the columns."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.headline}>"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        rows = self.rows
        names = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(shown(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p><b>{escape(self.headline)}</b></p>{table if rows else ''}"

    def to_dataframe(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        return wanted("pandas").DataFrame(self.rows)


def shown(value: Any) -> str:
    """Return a value in four digits, nothing for None."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
