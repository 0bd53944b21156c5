"""`rheotwin view`: look at a record, in a window or as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path

from rheotwin.errors import RheotwinError, nearest_name
from rheotwin.fields import FIELDS

NAME = "view"
HELP = "show a record in a window, or save one frame as a picture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("record", type=Path, help="record folder")
    parser.add_argument("--field", default="displacement", help="nodal field that colours the bodies")
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
    from rheotwin.viewer import save_picture, show

    record = open_record(args.record)
    if args.field not in record.manifest.fields:
        known = record.manifest.fields
        raise RheotwinError(
            f"--field: the record has no field {args.field!r}{nearest_name(args.field, known)}; "
            f"it has {', '.join(known)}"
        )
    unit = FIELDS[args.field].unit
    label = f"{args.field.replace('_', ' ')} [{unit}]"
    if args.screenshot is None:
        show(record, field=args.field, label=label, frame=args.frame)
        return 0
    if args.screenshot.exists() and not args.overwrite:
        raise RheotwinError(f"{args.screenshot}: exists already; add --overwrite to replace it")
    frame = -1 if args.frame is None else args.frame
    save_picture(record, args.screenshot, field=args.field, label=label, frame=frame)
    print(args.screenshot)
    return 0
