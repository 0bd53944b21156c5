"""The folder of a verification: verify.json, report.html and plots/*.png, all or nothing."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from rheotwin.errors import RheotwinError
from rheotwin.validation.verify.outcome import Verification
from rheotwin.validation.verify.page import render_page
from rheotwin.validation.verify.plots import convergence_plots

REPORT, NUMBERS, PLOTS = "report.html", "verify.json", "plots"


def refuse_existing(folder: Path, *, overwrite: bool) -> None:
    """Raise unless `folder` is new, empty, or an earlier verification that may be replaced."""
    try:
        nearest = next((path for path in (folder, *folder.parents) if path.exists()), folder)
        if nearest.exists() and not nearest.is_dir():
            raise RheotwinError(f"--output {folder}: {nearest} is a file, not a folder; choose another output folder")
        if nearest != folder or not any(folder.iterdir()):
            return
    except OSError as error:
        raise RheotwinError(f"--output {folder}: {error.strerror}; choose another folder") from error
    if not _is_verification(folder):
        raise RheotwinError(
            f"--output {folder}: it is not empty and is not a verification of Rheotwin; choose another folder"
        )
    if not overwrite:
        raise RheotwinError(
            f"--output {folder}: it already holds a verification; choose another folder or allow it with --overwrite"
        )


def write_verification(folder: Path, verification: Verification, *, overwrite: bool = False) -> Path:
    """Write the verification to `folder` and return the path of its page; other files there stay as they are."""
    refuse_existing(folder, overwrite=overwrite)
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
            (aside / REPORT).write_text(page, encoding="utf-8")
            _move_in(aside, folder, data["plots"])
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        raise RheotwinError(
            f"could not write the verification to {folder}: {error.strerror}; free space or choose another folder"
        ) from error
    return folder / REPORT


def _move_in(aside: Path, folder: Path, plots: list[str]) -> None:
    """Replace what an earlier verification left by the new files, the page last: it is there only if all is."""
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    (folder / REPORT).unlink(missing_ok=True)
    for name in _numbers(folder).get("plots", []):
        (folder / PLOTS / Path(str(name)).name).unlink(missing_ok=True)
    for name in (*plots, NUMBERS, REPORT):
        (aside / name).replace(folder / name)


def _numbers(folder: Path) -> dict[str, Any]:
    """Return verify.json as it stands; nothing if there is none."""
    try:
        data = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_verification(folder: Path) -> bool:
    return {"rheotwin_version", "checks", "summary"} <= _numbers(folder).keys()
