"""Write a comparison to its folder.

The folder of a comparison: what is ours in it, when it may be written to, and what an overwrite removes.

Write a comparison to a folder: comparison.json, plots/*.png, report.html, all or nothing.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any

from rheotwin.errors import RheotwinError
from rheotwin.validation.assess import compare, group_by_case
from rheotwin.validation.checks.outcome import Verification
from rheotwin.validation.comparison import Comparison
from rheotwin.validation.report.charts import Plot
from rheotwin.validation.report.page import render_report, slug
from rheotwin.validation.report.pictures import draw_pictures
from rheotwin.validation.report.plots import case_plots, cross_check_plots, overview_plots
from rheotwin.validation.report.sentences import markdown_summary
from rheotwin.validation.run_view import RunView, view_of
from rheotwin.validation.study import labelled, with_limits

REPORT, NUMBERS, SUMMARY, PLOTS, RUNS = "report.html", "comparison.json", "summary.md", "plots", "runs"


def refuse_existing(folder: Path, *, overwrite: bool, records: Collection[str] = ()) -> None:
    """Raise unless `folder` is new, empty, holds nothing but runs, or an earlier comparison that may be replaced.

    A folder is an earlier comparison only if its comparison.json is ours; any other contents are never touched.
    Once `records` of the comparison have been written there, files that came up beside them do no harm.
    """
    try:
        _refuse(folder, overwrite, records)
    except OSError as error:
        raise RheotwinError(f"{folder}: {error.strerror}; choose another folder with --output") from error


def _refuse(folder: Path, overwrite: bool, records: Collection[str]) -> None:
    nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if nearest.exists() and not nearest.is_dir():
        raise RheotwinError(f"--output {folder}: {nearest} is a file, not a folder; choose another output folder")
    if nearest != folder or not any(folder.iterdir()):
        return
    if _is_comparison(folder):
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

    data = _numbers(folder)
    for name in (REPORT, SUMMARY):
        (folder / name).unlink(missing_ok=True)
    for name in _plain_names(data.get("plots")):
        (folder / PLOTS / name).unlink(missing_ok=True)
    for name in _plain_names(data.get("records")):
        record = folder / RUNS / name
        if f"{RUNS}/{name}" not in keep and looks_like_record(record):
            remove_record_files(record)
            with suppress(OSError):  # something else was put into the folder: it stays
                record.rmdir()


def records_inside(folder: Path, records: Iterable[Path]) -> tuple[str, ...]:
    """Return the records that lie in the folder's runs/, as `runs/NAME`."""
    runs = (folder / RUNS).absolute()
    return tuple(f"{RUNS}/{record.name}" for record in records if record.absolute().parent == runs)


def _is_comparison(folder: Path) -> bool:
    return {"rheotwin_version", "orderings"} <= _numbers(folder).keys()


def _numbers(folder: Path) -> dict[str, Any]:
    """Return comparison.json as it stands, of whatever version; nothing if there is none."""
    try:
        data = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _plain_names(entries: object) -> list[str]:
    """Return the last parts of the paths listed: a name never leads out of the folder it is looked for in."""
    listed = entries if isinstance(entries, list) else []
    return [PurePosixPath(entry).name for entry in listed if isinstance(entry, str) and PurePosixPath(entry).name]


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
