"""`rheotwin view`: look at a record with pyvista, in a window with a time slider or as one picture."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.fields import CELL_STRESS

if TYPE_CHECKING:
    from rheotwin.arrays import Array
    from rheotwin.record import Record

TOOL_COLOR = "#8a8f98"
NAME = "view"
HELP = "show a record in a window, or save one frame as a picture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("record", type=Path, help="record folder")
    parser.add_argument(
        "--field",
        help="field that colours nodes or particles; default: displacement, of particles velocity",
    )
    parser.add_argument(
        "--frame", type=int, default=None, help="frame to show (negative: from the end); default: all, with a slider"
    )
    parser.add_argument(
        "--screenshot", type=Path, help="write a PNG of one frame (default: the last) instead of opening a window"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing picture")


def execute(args: argparse.Namespace) -> int:
    """Open the viewer or write the picture."""
    from rheotwin.record import open_record

    record = open_record(args.record)
    field = args.field or ("displacement" if record.particles is None else "velocity")
    known = record.manifest.fields | record.manifest.particles
    if field not in known:
        raise RheotwinError(
            f"--field: the record has no field {field!r}{nearest_name(field, known)}; it has {', '.join(known)}"
        )
    label = f"{field.replace('_', ' ')} [{known[field].unit}]"
    if args.screenshot is None:
        show(record, field=field, label=label, frame=args.frame)
        return 0
    if args.screenshot.exists() and not args.overwrite:
        raise RheotwinError(f"{args.screenshot}: exists already; add --overwrite to replace it")
    frame = -1 if args.frame is None else args.frame
    save_picture(record, args.screenshot, field=field, label=label, frame=frame)
    print(args.screenshot)
    return 0


def _series(record: Record, field: str) -> Any:
    """Return what has the field: the particles' series where they have it, else that on the nodes."""
    return record.particles if field in record.manifest.particles else record


def _checked_frame(record: Record, field: str, frame: int) -> int:
    """Return the index of a frame counted from either end, or say which frames there are."""
    count = len(_series(record, field).times)
    if count == 0:
        raise RheotwinError(f"{record.folder}: the record has no frame yet; run its scene again")
    if not -count <= frame < count:
        raise RheotwinError(f"--frame {frame}: the record has {count} frames; choose from {-count} to {count - 1}")
    return frame % count


def _add_frame(plotter: Any, record: Record, index: int, field: str, label: str, top: float) -> None:
    """Draw the bodies of one frame, coloured by the size of a field, and the tools."""
    import numpy as np

    series, cloud = _series(record, field), record.particles
    if series is not cloud:
        cloud = None
    grid = series.frame(index) if cloud is None else spheres(cloud.cloud(index))
    data = grid.point_data if field in grid.point_data else grid.cell_data
    values = np.asarray(data[field], dtype=float)
    data[label] = _sizes(field, values.reshape(len(values), -1))
    plotter.add_mesh(
        grid,
        scalars=label,
        clim=(0.0, top),
        cmap="viridis",
        show_edges=series is record,
        name="bodies",
        scalar_bar_args={"position_x": 0.2, "width": 0.6, "fmt": "%.3g", "n_labels": 4},
    )
    tools = series.tools(index)
    if tools is not None:
        plotter.add_mesh(tools, color=TOOL_COLOR, opacity=0.6, name="tools")
    around = None if cloud is None else cloud.surface(index)
    if around is not None:
        plotter.add_mesh(around, color=TOOL_COLOR, opacity=0.25, name="surface")
    plotter.add_text(f"t = {series.times[index]:.4g} s", font_size=10, name="time")


def spheres(cloud: Any) -> Any:
    """Return particles as balls as wide as cubes of their volume."""
    import numpy as np
    import pyvista

    cloud["width"] = np.cbrt(cloud["volume"])
    ball = pyvista.Sphere(radius=0.5, theta_resolution=8, phi_resolution=8)
    return cloud.glyph(geom=ball, scale="width", orient=False)


def _sizes(field: str, values: Array) -> Array:
    """Return the magnitude of each row of a field, of the stress of cells its von Mises equivalent."""
    import numpy as np

    return np.asarray(values[..., -1] if field == CELL_STRESS else np.linalg.norm(values, axis=-1))


def _largest(record: Record, field: str) -> float:
    series = _series(record, field)
    if series is record:
        return float(_sizes(field, record.field(field)).max()) or 1.0
    clouds = [series.cloud(index)[field] for index in range(len(series.times))]
    return float(max(_sizes(field, values.reshape(len(values), -1)).max() for values in clouds)) or 1.0


def _place_camera(plotter: Any, record: Record) -> None:
    if record.manifest.scene.get("dimension") == 3:
        plotter.view_isometric()
    else:
        plotter.view_xy()


def save_picture(record: Record, path: Path, *, field: str, label: str, frame: int) -> None:
    """Render one frame off-screen into a PNG file.

    In a process of its own: where there is no OpenGL at all, VTK does not raise but crashes.
    """
    index = _checked_frame(record, field, frame)
    if path.suffix.lower() != ".png":
        raise RheotwinError(f"{path}: pictures are PNG files; name one that ends in .png")
    if not path.parent.is_dir():
        raise RheotwinError(
            f"{path}: could not write the picture: there is no folder {path.parent}; make it or choose another"
        )
    with tempfile.TemporaryDirectory() as aside:
        picture = Path(aside) / "picture.png"
        task = [str(record.folder), str(picture), field, label, str(index)]
        done = subprocess.run([sys.executable, "-m", __name__, *task], capture_output=True, check=False)
        if done.returncode or not picture.is_file():
            raise RheotwinError(
                f"view: could not render off-screen (the renderer ended with {done.returncode}); install OpenGL's "
                "EGL or OSMesa library, or open the record's series in ParaView"
            )
        try:
            shutil.move(picture, path)
        except OSError as error:
            raise RheotwinError(f"{path}: could not write the picture: {error.strerror or error}") from error


def _render(folder: str, path: str, field: str, label: str, frame: str) -> None:
    """Render one frame; the arguments are those of a command line."""
    import pyvista

    from rheotwin.record import open_record

    record = open_record(Path(folder))
    plotter = pyvista.Plotter(off_screen=True, window_size=[1200, 800])
    _add_frame(plotter, record, int(frame), field, label, _largest(record, field))
    _place_camera(plotter, record)
    plotter.screenshot(path)
    plotter.close()


def show(record: Record, *, field: str, label: str, frame: int | None) -> None:
    """Open a window; without a fixed frame a slider runs through time."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        raise RheotwinError("view: there is no display; add --screenshot FILE.png to write a picture instead")
    shown = _checked_frame(record, field, -1 if frame is None else frame)
    import pyvista

    plotter: Any = pyvista.Plotter(title=record.manifest.title or "Rheotwin")
    top, last = _largest(record, field), len(_series(record, field).times) - 1

    def draw(value: float) -> None:
        _add_frame(plotter, record, round(value), field, label, top)

    draw(shown)
    if frame is None and last > 0:
        plotter.add_slider_widget(draw, (0, last), value=last, title="frame", fmt="%.0f")
    _place_camera(plotter, record)
    plotter.show()


if __name__ == "__main__":
    _render(*sys.argv[1:])
