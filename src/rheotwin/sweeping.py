"""A scene over a grid of values: every combination run by every solver, one row of numbers each."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.errors import RheotwinError, table_cell
from rheotwin.shown import Shown, wanted

if TYPE_CHECKING:
    from rheotwin.executor import Executor
    from rheotwin.validation.report.charts import Plot

Row = dict[str, Any]


@dataclass(frozen=True)
class Sweep:
    """A scene file and its text, what is varied in it (place -> values, solver options as `truss.step`), who runs it.

    `scene` and `options` are what `--set` changes in all runs.
    """

    file: Path
    text: str
    vary: Mapping[str, Sequence[Any]]
    solvers: Sequence[str]
    cases: Sequence[str | None]
    scene: Mapping[str, Any]
    options: Mapping[str, Mapping[str, Any]]

    @property
    def runs(self) -> tuple[Row, ...]:
        """What tells the runs apart: the coordinates of the table."""
        cases = {"case": self.cases} if any(self.cases) else {}
        axes: Mapping[str, Sequence[Any]] = {**self.vary, **cases, "solver": self.solvers}
        return tuple(dict(zip(axes, values, strict=True)) for values in product(*axes.values()))

    @property
    def identity(self) -> Mapping[str, Any]:
        """What its numbers depend on beside the coordinates."""
        return {"text": self.text, "scene": dict(self.scene), "options": {k: dict(v) for k, v in self.options.items()}}

    def request(self, run: Row, folder: Path) -> Any:
        """Return what to run, scene and options with the values of this run."""
        from rheotwin.running import RunRequest
        from rheotwin.scene import Scene, parse_scene

        tables = {field.alias or name for name, field in Scene.model_fields.items()}
        changes, options = dict(self.scene), dict(self.options.get(run["solver"], {}))
        for place in self.vary:
            first, _, option = place.partition(".")
            if first in tables:
                changes[place] = run[place]
            elif first == run["solver"]:
                options[option] = run[place]
        scene = parse_scene(self.text, base=self.file.parent, source=self.file, changes=changes)
        return RunRequest(scene, run["solver"], folder, run.get("case"), options)

    def check(self) -> None:
        """Raise for what is wrong in any run, before the first one begins."""
        from rheotwin.running import check_request

        with tempfile.TemporaryDirectory() as folder:
            for run in self.runs:
                check_request(self.request(run, Path(folder) / "run"))


@dataclass(frozen=True, repr=False)
class SweepTable(Shown):
    """The rows of a sweep in the order of its grid, and the places that were varied."""

    runs: tuple[Row, ...]
    varied: tuple[str, ...]

    @property
    def headline(self) -> str:
        """How many runs there are, and how many of them came to their end."""
        complete = sum(row["status"] == "complete" for row in self.runs)
        return f"{len(self.runs)} runs over {', '.join(self.varied)}, {complete} complete"

    @property
    def rows(self) -> list[Row]:
        """A row for each run: coordinates, then numbers with their units, remarks last."""
        return list(self.runs)

    def to_xarray(self) -> Any:
        """Return the numbers over a grid of what was varied, case and solver."""
        wanted("xarray")
        axes = [*self.varied, *(name for name in ("case", "solver") if name in self.runs[0])]
        return self.to_dataframe().set_index(axes).to_xarray()

    def plot(self) -> Plot:
        """Return the picture of every number over what was varied first."""
        from rheotwin.validation.report.sweep import sweep_plot

        return sweep_plot(self.runs, self.varied)

    def save(self, folder: Path | str) -> Path:
        """Write table and picture into a folder."""
        from rheotwin.record.atomic import creating, write_text

        place = Path(folder)
        with creating(place):
            place.mkdir(parents=True, exist_ok=True)
            write_text(place / "sweep.csv", written(self.runs))
            self.plot().save(place / "sweep.png")
        return place


def measured(sweep: Sweep, run: Row) -> Row:
    """Run once; return its coordinates, how it ended, and its numbers, in their units [N, m, 1, s]."""
    from rheotwin.record import open_record
    from rheotwin.running import run_scene
    from rheotwin.validation import view_of
    from rheotwin.validation.study import UNITS, numbers_of

    row: Row = dict(run)
    with tempfile.TemporaryDirectory(prefix="rheotwin-") as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        try:
            outcome = run_scene(sweep.request(run, Path(folder) / "run"))
            row |= {"status": outcome.status, "remarks": outcome.message}
            if outcome.status == "interrupted":
                raise KeyboardInterrupt
            view = view_of(open_record(Path(folder) / "run"))
            row |= {f"{name} [{UNITS[name]}]": value for name, value in numbers_of(view).items()}
            row["wall time [s]"] = view.cost.wall_time
        except RheotwinError as error:
            row |= {"status": "failed", "remarks": str(error)}
    remarks = [row["remarks"], *(str(item.message) for item in said if issubclass(item.category, UserWarning))]
    return row | {"remarks": "; ".join(" ".join(text.split()) for text in dict.fromkeys(remarks) if text)}


def table(sweep: Sweep, executor: Executor, known: Collection[int] = ()) -> Iterator[tuple[int, Row]]:
    """Yield the place and the row of each run, as they come in, but for places that are known."""
    places = [place for place in range(len(sweep.runs)) if place not in known]
    for index, row in executor.each(measured, sweep, [sweep.runs[place] for place in places]):
        yield places[index], row


def written(rows: Sequence[Row]) -> str:
    """Return rows as CSV: coordinates first, then numbers with their units, remarks last.

    `pandas.read_csv(FILE).set_index(COORDINATES).to_xarray()` makes a grid of it.
    """
    names = list(dict.fromkeys(name for row in rows for name in row if name != "remarks"))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*names, "remarks"], restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else table_cell(value) if isinstance(value, str) else value


def read_rows(text: str, runs: Sequence[Row]) -> dict[int, Row]:
    """Return the rows of a table of `written` that are of these runs, by their places: coordinates, then numbers."""
    found, columns = {}, csv.DictReader(io.StringIO(text))
    known = {tuple(row.get(name) for name in runs[0]): row for row in columns}
    for place, run in enumerate(runs):
        row = known.get(tuple(str("" if value is None else _cell(value)) for value in run.values()))
        if row is not None:
            rest = {name: value for name, value in row.items() if name not in run and value != ""}
            found[place] = run | {name: float(v) if name.endswith("]") else v for name, v in rest.items()}
            found[place].setdefault("remarks", "")
    return found
