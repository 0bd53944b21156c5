"""Error maps: how far every captured point is from the body of a calibrated model, a row for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rheotwin.record.atomic import creating
from rheotwin.validation.calibration.problem import CloudError
from rheotwin.validation.metrics.meshes import FAR
from rheotwin.validation.report.charts import Plot, chart

PANEL = 2.6
"""Width and height of a cloud [inches]."""


def error_maps(models: Mapping[str, Sequence[CloudError]]) -> Plot:
    """Return a picture of clouds, columns by frame: red where points lie outside of the model's body, blue inside."""
    columns = max(map(len, models.values()))
    size = PANEL * columns + 1.0, PANEL * len(models) + 0.4
    caption = "Signed distance of captured points from the surface"
    with chart("errors", caption, caption, size=size) as draft:
        panels: list[Any] = []
        for row, (label, clouds) in enumerate(models.items()):
            for column, cloud in enumerate(clouds):
                solid = bool(np.ptp(cloud.points[:, 2]) > 0.0)
                place, options = row * columns + column + 1, {"projection": "3d"} if solid else {}
                axes: Any = draft.figure.add_subplot(len(models), columns, place, **options)
                axes.set_title(f"{label}\n{cloud.record}, {cloud.time:g} s".strip(), fontsize=7)
                axes.set_aspect("equal")
                axes.set_axis_off()
                at = cloud.points.T if solid else cloud.points[:, :2].T
                drawn = axes.scatter(
                    *at, c=1e3 * cloud.distances, s=1.0, cmap="coolwarm", vmin=-1e3 * FAR, vmax=1e3 * FAR
                )
                panels.append(axes)
        draft.figure.colorbar(drawn, ax=panels, label="distance [mm]", extend="both", shrink=0.7)
    return draft.plot


def write_clouds(folder: Path, clouds: Sequence[CloudError]) -> None:
    """Write a file of points (VTP) for each cloud, with their signed distances [m]: a series that ParaView opens."""
    import pyvista

    with creating(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.vtp"):
            old.unlink()
        numbers = dict.fromkeys((cloud.record for cloud in clouds), 0)
        for cloud in clouds:
            points: Any = pyvista.PolyData(cloud.points)
            points["distance"], points.field_data["TimeValue"] = cloud.distances, [cloud.time]
            points.save(folder / f"{cloud.record}_{numbers[cloud.record]:02d}.vtp")
            numbers[cloud.record] += 1
