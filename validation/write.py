"""Write a comparison to a folder: comparison.json, plots/*.png, report.html, all or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rheotwin.errors import RheotwinError
from rheotwin.validation.assess import compare, group_by_case
from rheotwin.validation.chart_style import Plot
from rheotwin.validation.comparison import Comparison
from rheotwin.validation.pictures import draw_pictures
from rheotwin.validation.plots import case_plots, overview_plots
from rheotwin.validation.report import render_report, slug
from rheotwin.validation.run_view import RunView, view_of

REPORT = "report.html"
RESULTS = ("plots", "comparison.json", REPORT)
"""What a comparison leaves in its folder, the page last: it is there only if all of it is."""


def compare_records(
    folders: Sequence[Path], out: Path, *, reference: str | None = None, overwrite: bool = False
) -> Path:
    """Compare the records in `folders`, write the comparison to `out` and return the path of its page."""
    from rheotwin.record import open_record

    refuse_existing(out, overwrite=overwrite)
    views = [view_of(open_record(folder)) for folder in folders]
    return write_comparison(out, compare(views, reference=reference), views, overwrite=overwrite)


def write_comparison(
    folder: Path, comparison: Comparison, views: Sequence[RunView], *, overwrite: bool = False
) -> Path:
    """Write JSON, plots and page to `folder` and return the path of the page.

    All is built aside and moved in at the end; other contents of `folder` (runs/) stay as they are.
    """
    refuse_existing(folder, overwrite=overwrite)
    runs = group_by_case(views)
    plots = {case.case: case_plots(comparison, case, runs[case.case]) for case in comparison.cases}
    overview = overview_plots(comparison, plots)
    pictures = draw_pictures(comparison, views)
    page = render_report(comparison, overview=overview, plots=plots, pictures=pictures)
    with _filled_aside(folder) as aside:
        _write_plots(aside / "plots", [overview[0], *(plot for drawn in plots.values() for plot in drawn)])
        (aside / "comparison.json").write_text(comparison.to_json() + "\n", encoding="utf-8")
        (aside / REPORT).write_text(page, encoding="utf-8")
    return folder / REPORT


def refuse_existing(folder: Path, *, overwrite: bool) -> None:
    """Raise unless `folder` is free of an earlier comparison or may be overwritten."""
    earlier = [name for name in RESULTS if (folder / name).exists()]
    if earlier and not overwrite:
        raise RheotwinError(
            f"{folder}: it already holds a comparison ({', '.join(earlier)}); "
            "choose another folder or allow it with --overwrite"
        )


def _write_plots(folder: Path, plots: Sequence[Plot]) -> None:
    folder.mkdir()
    for plot in plots:
        (folder / f"{slug(plot.name)}.png").write_bytes(plot.png)


@contextmanager
def _filled_aside(folder: Path) -> Iterator[Path]:
    """Yield an empty folder beside the target; move its contents in at the end, or leave no trace."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".partial", dir=folder.parent))
        try:
            yield aside
            _move_in(aside, folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise RheotwinError(
            f"could not write the comparison to {folder}: {error.strerror}; free space or choose another folder"
        ) from error


def _move_in(aside: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / REPORT).unlink(missing_ok=True)
    for name in RESULTS:
        target = folder / name
        if target.is_dir():
            shutil.rmtree(target)
        (aside / name).replace(target)
