"""Write a comparison to a folder: comparison.json, summary.md, plots/*.png, report.html, all or nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.validation.assess import compare, group_by_case
from rheotwin.validation.checks.outcome import Verification
from rheotwin.validation.comparison import Comparison
from rheotwin.validation.folder import (
    PLOTS,
    REPORT,
    SUMMARY,
    filled_aside,
    is_free,
    move_in,
    numbers_in,
    plain_names,
    remove_plots,
    write_texts,
)
from rheotwin.validation.report.charts import Plot
from rheotwin.validation.report.page import render_report, slug
from rheotwin.validation.report.pictures import draw_pictures
from rheotwin.validation.report.plots import case_plots, cross_check_plots, overview_plots
from rheotwin.validation.report.sentences import markdown_summary
from rheotwin.validation.run_view import RunView, view_of
from rheotwin.validation.study import labelled, with_limits

NUMBERS, RUNS = "comparison.json", "runs"


def compare_records(
    folders: Sequence[Path],
    out: Path,
    *,
    reference: str | None = None,
    overwrite: bool = False,
    names: Mapping[Path, str] | None = None,
    references: Verification | None = None,
    reason: str = "",
) -> Path:
    """Compare the records in `folders`, write the comparison to `out` and return the path of its page.

    `names` tells methods apart that use one solver, with other options or in scenes with other cells: their records go
    by these names instead of the solver's, also in `reference`, which `reason` gives a ground for. `references` is a
    validation, whose numbers the page then shows, too.
    """
    from rheotwin.record import open_record

    records = records_inside(out, folders)
    refuse_existing(out, overwrite=overwrite, records=records)
    found = {folder: view_of(open_record(folder)) for folder in folders}
    found |= {folder: found[folder].of_method(name) for folder, name in (names or {}).items()}
    views = with_limits(labelled(list(found.values())), reference)
    comparison = dataclasses.replace(compare(views, reference=reference), records=records, reason=reason)
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
    overview, cross_plots = overview_plots(comparison, plots), cross_check_plots(comparison)
    pictures = draw_pictures(comparison, views)
    page = render_report(
        comparison, overview=overview, plots=plots, pictures=pictures, cross_plots=cross_plots, references=references
    )
    drawn = {
        f"{PLOTS}/{slug(plot.name)}.png": plot
        for plot in (*overview, *(plot for case in plots.values() for plot in case), *cross_plots)
    }
    whole = dataclasses.replace(comparison, plots=tuple(drawn))
    with filled_aside(folder, "comparison") as aside:
        _write_plots(aside, drawn)
        texts = ((NUMBERS, whole.to_json() + "\n"), (SUMMARY, markdown_summary(whole)), (REPORT, page))
        write_texts(aside, texts)
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
        remove_earlier(folder, keep=comparison.records)
        move_in(aside, folder, (NUMBERS, SUMMARY, *whole.plots, REPORT))
    return folder / REPORT


def _write_plots(folder: Path, drawn: Mapping[str, Plot]) -> None:
    for name, plot in drawn.items():
        (folder / name).write_bytes(plot.png)


def refuse_existing(folder: Path, *, overwrite: bool, records: Collection[str] = ()) -> None:
    """Raise unless `folder` is new, empty, holds nothing but runs, or an earlier comparison that may be replaced.

    A folder is an earlier comparison only if its comparison.json is ours; any other contents are never touched.
    Once `records` of the comparison have been written there, files that came up beside them do no harm.
    """
    if is_free(folder):
        return
    if {"rheotwin_version", "orderings"} <= numbers_in(folder / NUMBERS).keys():
        if not overwrite:
            raise RheotwinError(
                f"{folder}: it already holds a comparison; choose another folder or allow it with --overwrite"
            )
        return
    clash = any((folder / name).exists() for name in (REPORT, NUMBERS, SUMMARY, PLOTS))
    if not holds_only_runs(folder) and (clash or not records):
        raise RheotwinError(
            f"{folder}: it is not empty and is not a comparison of Rheotwin; choose another folder with --output"
        )


def holds_only_runs(folder: Path) -> bool:
    """Return whether there is nothing in the folder but runs/, and nothing but records of Rheotwin in there.

    This is what a comparison leaves that ended before its report.
    """
    from rheotwin.record.folder import looks_like_record

    runs = folder / RUNS
    if not runs.is_dir() or any(path != runs for path in folder.iterdir()):
        return False
    return all(path.is_dir() and (looks_like_record(path) or not any(path.iterdir())) for path in runs.iterdir())


def remove_earlier(folder: Path, *, keep: Collection[str]) -> None:
    """Remove the page, the summary, the plots and the records that the comparison.json there names, and only those.

    Records named in `keep` (relative to the folder) stay, and comparison.json itself too: until it is replaced
    it tells that the folder is ours.
    """
    from rheotwin.record.folder import looks_like_record, remove_record_files

    data = numbers_in(folder / NUMBERS)
    for name in (REPORT, SUMMARY):
        (folder / name).unlink(missing_ok=True)
    remove_plots(folder, data.get("plots"))
    for name in plain_names(data.get("records")):
        record = folder / RUNS / name
        if f"{RUNS}/{name}" not in keep and looks_like_record(record):
            remove_record_files(record)
            with suppress(OSError):  # something else was put into the folder: it stays
                record.rmdir()


def records_inside(folder: Path, records: Iterable[Path]) -> tuple[str, ...]:
    """Return the records that lie in the folder's runs/, as `runs/NAME`."""
    runs = (folder / RUNS).absolute()
    return tuple(f"{RUNS}/{record.name}" for record in records if record.absolute().parent == runs)
