"""Write a comparison to a folder: comparison.json, plots/*.png, report.html, all or nothing."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.validation.assess import compare, group_by_case
from rheotwin.validation.chart_style import Plot
from rheotwin.validation.checks.outcome import Verification
from rheotwin.validation.comparison import Comparison
from rheotwin.validation.cross_check_plots import cross_check_plots
from rheotwin.validation.folder import NUMBERS, PLOTS, REPORT, SUMMARY, records_inside, refuse_existing, remove_earlier
from rheotwin.validation.pictures import draw_pictures
from rheotwin.validation.plots import case_plots, overview_plots
from rheotwin.validation.report import render_report, slug
from rheotwin.validation.run_view import RunView, view_of
from rheotwin.validation.study import labelled, with_limits
from rheotwin.validation.summary import markdown_summary


def compare_records(
    folders: Sequence[Path],
    out: Path,
    *,
    reference: str | None = None,
    overwrite: bool = False,
    names: Mapping[Path, str] | None = None,
    references: Verification | None = None,
) -> Path:
    """Compare the records in `folders`, write the comparison to `out` and return the path of its page.

    `names` tells methods apart that use one solver, with other options or in scenes with other cells: their records go
    by these names instead of the solver's, also in `reference`. `references` is a validation, whose numbers
    the page then shows, too.
    """
    from rheotwin.record import open_record

    records = records_inside(out, folders)
    refuse_existing(out, overwrite=overwrite, records=records)
    found = {folder: view_of(open_record(folder)) for folder in folders}
    found |= {folder: found[folder].of_method(name) for folder, name in (names or {}).items()}
    views = with_limits(labelled(list(found.values())), reference)
    comparison = dataclasses.replace(compare(views, reference=reference), records=records)
    return write_comparison(out, comparison, views, overwrite=overwrite, references=references)


def write_comparison(
    folder: Path,
    comparison: Comparison,
    views: Sequence[RunView],
    *,
    overwrite: bool = False,
    references: Verification | None = None,
) -> Path:
    """Write JSON, plots and page to `folder` and return the path of the page.

    All is built aside and moved in at the end. Of an earlier comparison goes what its comparison.json names,
    records that are not in this one included; other contents of `folder` stay as they are.
    """
    refuse_existing(folder, overwrite=overwrite, records=comparison.records)
    runs = group_by_case(views)
    plots = {case.case: case_plots(comparison, case, runs[case.case]) for case in comparison.cases}
    overview = overview_plots(comparison, plots)
    pictures = draw_pictures(comparison, views)
    cross_plots = cross_check_plots(comparison)
    page = render_report(
        comparison, overview=overview, plots=plots, pictures=pictures, cross_plots=cross_plots, references=references
    )
    drawn = [overview[0], *(plot for case in plots.values() for plot in case), *cross_plots]
    named = dataclasses.replace(comparison, plots=tuple(f"{PLOTS}/{_file_name(plot)}" for plot in drawn))
    with _filled_aside(folder, named) as aside:
        _write_plots(aside / PLOTS, drawn)
        (aside / NUMBERS).write_text(named.to_json() + "\n", encoding="utf-8")
        (aside / SUMMARY).write_text(markdown_summary(named), encoding="utf-8")
        (aside / REPORT).write_text(page, encoding="utf-8")
    return folder / REPORT


def _write_plots(folder: Path, plots: Sequence[Plot]) -> None:
    folder.mkdir()
    for plot in plots:
        (folder / _file_name(plot)).write_bytes(plot.png)


def _file_name(plot: Plot) -> str:
    return f"{slug(plot.name)}.png"


@contextmanager
def _filled_aside(folder: Path, comparison: Comparison) -> Iterator[Path]:
    """Yield an empty folder beside the target; move its contents in at the end, or leave no trace."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".partial", dir=folder.parent))
        try:
            yield aside
            _move_in(aside, folder, comparison)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise RheotwinError(
            f"could not write the comparison to {folder}: {error.strerror}; free space or choose another folder"
        ) from error


def _move_in(aside: Path, folder: Path, comparison: Comparison) -> None:
    """Move the files in, the page last: it is there only if all of it is."""
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    remove_earlier(folder, keep=comparison.records)
    for name in (NUMBERS, SUMMARY, *comparison.plots, REPORT):
        (aside / name).replace(folder / name)
