"""The folder of a validation: report.html, validate.json, junit.xml, summary.md and plots, all or nothing."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from rheotwin.errors import RheotwinError
from rheotwin.validation.checks.junit import junit
from rheotwin.validation.checks.keeping import CHECKS
from rheotwin.validation.checks.outcome import NUMBERS, Verification
from rheotwin.validation.checks.page import render_page
from rheotwin.validation.checks.plots import convergence_plots
from rheotwin.validation.checks.summary import summary

REPORT, JUNIT, SUMMARY, PLOTS = "report.html", "junit.xml", "summary.md", "plots"


def refuse_existing(folder: Path, *, overwrite: bool, go_on: bool = False) -> None:
    """Raise unless `folder` is new, empty, or an earlier validation that may be replaced or gone on with."""
    try:
        nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
        if nearest.exists() and not nearest.is_dir():
            raise RheotwinError(f"--output {folder}: {nearest} is a file, not a folder; choose another output folder")
        if nearest != folder or not any(folder.iterdir()):
            return
    except OSError as error:
        raise RheotwinError(f"--output {folder}: {error.strerror}; choose another folder") from error
    begun = {path.name for path in folder.iterdir()} == {CHECKS}
    if not begun and not _is_validation(folder):
        raise RheotwinError(
            f"--output {folder}: it is not empty and is not a validation of Rheotwin; choose another folder"
        )
    if not (overwrite or go_on):
        held = "begun, and not finished" if begun else "already there"
        raise RheotwinError(
            f"--output {folder}: a validation is {held}; go on with --continue, start over with --overwrite, "
            "or choose another folder"
        )


def write_validation(folder: Path, verification: Verification) -> Path:
    """Write the validation to `folder` and return the path of its page; other files there stay as they are."""
    plots = convergence_plots(verification)
    data = verification.to_data() | {"plots": [f"{PLOTS}/{plot.name}.png" for plot in plots]}
    page = render_page(verification, plots)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", suffix=".partial", dir=folder.parent))
        try:
            (aside / PLOTS).mkdir()
            for plot in plots:
                (aside / PLOTS / f"{plot.name}.png").write_bytes(plot.png)
            (aside / NUMBERS).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
            (aside / JUNIT).write_text(junit(verification), encoding="utf-8")
            (aside / SUMMARY).write_text(summary(verification), encoding="utf-8")
            (aside / REPORT).write_text(page, encoding="utf-8")
            _move_in(aside, folder, data["plots"])
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise RheotwinError(
            f"could not write the validation to {folder}: {error.strerror}; free space or choose another folder"
        ) from error
    return folder / REPORT


def _move_in(aside: Path, folder: Path, plots: list[str]) -> None:
    """Replace what an earlier validation left by the new files, the page last: it is there only if all is."""
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    (folder / REPORT).unlink(missing_ok=True)
    for name in _numbers(folder).get("plots", []):
        (folder / PLOTS / Path(str(name)).name).unlink(missing_ok=True)
    for name in (*plots, NUMBERS, JUNIT, SUMMARY, REPORT):
        (aside / name).replace(folder / name)


def _numbers(folder: Path) -> dict[str, Any]:
    """Return validate.json as it stands; nothing if there is none."""
    try:
        data = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_validation(folder: Path) -> bool:
    return {"rheotwin_version", "checks", "summary"} <= _numbers(folder).keys()
