"""`rheotwin identify`: from records of a test to the law of the material, with what is known of it and what is not."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

from rheotwin.errors import EXIT_FALLS_SHORT, EXIT_OK, RheotwinError

if TYPE_CHECKING:
    from rheotwin.validation.identification.result import Identified

NAME = "identify"
HELP = "identify the law of a material from records of a test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare records, what they are, what is sought and where it goes."""
    parser.add_argument("records", metavar="RECORD", type=Path, nargs="+", help="CSV files or experiment folders")
    parser.add_argument(
        "--law", metavar="NAME,..",
        help="chain, bank, power-chain, power-bank, cubic-bank (each with -1 to -4 or without), "
        "three-element, friction; spectrum; default: linear ones, others if none of them will do",
    )  # fmt: skip
    parser.add_argument(
        "--geometry", metavar="TEXT", help='what turns N/m into Pa: "bar,60 mm,100 mm2" or "layer,0.13 mm,1 cm2"'
    )
    parser.add_argument("--columns", metavar="K=NAME,..", default="", help="which column is what: time=t,force=F")
    parser.add_argument("--units", metavar="K=UNIT,..", default="", help="units that the header does not name: force=N")
    parser.add_argument(
        "--drive", metavar="PHASES", default="displacement",
        help="what was prescribed and until when [s]: displacement (default), force, displacement:96.5,free",
    )  # fmt: skip
    parser.add_argument("--mass", metavar="KG", type=float, default=0.0, help="mass of an end that is let go")
    parser.add_argument("--ramp", metavar="S", type=float, default=0.0, help="the piece was at rest so long before")
    parser.add_argument("--flip-force", action="store_true", help="forces were written with the other sign")
    parser.add_argument("--tare", action="store_true", help="the first row is zero of force and displacement")
    parser.add_argument("--straight", action="store_true", help="take the noise off a path of straight pieces")
    parser.add_argument(
        "--offset", metavar="NAME", action="append", choices=("force-zero", "delay"), default=[],
        help="identify as well: force-zero, delay (of what was prescribed)",
    )  # fmt: skip
    parser.add_argument("--blind", metavar="RECORD", type=Path, nargs="+", default=[], help="predict these, do not fit")
    parser.add_argument("--profile", action="store_true", help="intervals from profiles of the likelihood")
    parser.add_argument("--bootstrap", metavar="N", type=int, default=0, help="intervals from so many data made anew")
    parser.add_argument(
        "--poisson", metavar="NU", type=float, default=0.0, help="for the law's table, it is not measured; default: 0"
    )
    parser.add_argument("--shift", choices=("free", "wlf", "arrhenius"), help="of temperatures; default: the best")
    parser.add_argument("--temperature", metavar="C", type=float, help="of the law; default: the middle one")
    parser.add_argument("--terms", metavar="N", type=int, help="of the series, over frequency; default: by BIC")
    parser.add_argument("--seed", type=int, default=0, help="of the starts; the same gives the same result")
    parser.add_argument("--out", metavar="DIR", type=Path, help="write result, law, page and picture into this folder")
    parser.add_argument("--json", action="store_true", help="print as JSON")


def execute(args: argparse.Namespace) -> int:
    """Read everything, identify, print and write."""
    from rheotwin.api import identify

    _check_numbers(args)
    found = identify(
        *args.records,
        law=[name for name in (args.law or "").split(",") if name],
        geometry=args.geometry,
        blind=args.blind,
        offsets=args.offset,
        profile=args.profile,
        bootstrap=args.bootstrap,
        poisson=args.poisson,
        shift=args.shift,
        temperature=args.temperature,
        terms=args.terms,
        seed=args.seed,
        folder=args.out,
        columns=pairs("--columns", args.columns),
        units=pairs("--units", args.units),
        drive=args.drive,
        mass=args.mass,
        ramp=args.ramp,
        flip_force=args.flip_force,
        tare=args.tare,
        straight=args.straight,
    )
    print(json.dumps(found.to_data(), indent=2) if args.json else words(found))
    return EXIT_OK if found.adequacy.adequate else EXIT_FALLS_SHORT


def _check_numbers(args: argparse.Namespace) -> None:
    """Refuse numbers that mean nothing."""
    for name in ("mass", "ramp", "bootstrap", "seed"):
        if not 0.0 <= getattr(args, name) < math.inf:
            raise RheotwinError(f"--{name} {getattr(args, name):g}: it is at least 0")
    if not -1.0 < args.poisson < 0.5:
        raise RheotwinError(f"--poisson {args.poisson:g}: it lies between -1 and 0.5, both not included")


def words(found: Identified) -> str:
    """Return a result as lines of text."""
    from rheotwin.validation.identification.page import interval, shown, value

    lines = [f"{found.title}: {found.model}", "", "  order           misfit       BIC  verdict"]
    lines += [f"  {row.name:14s} {row.misfit:7.2%} {row.bic:9.1f}  {row.verdict}" for row in shown(found.orders)]
    lines += ["", "  parameter           value   95 % interval"]
    lines += [
        f"  {one.name:14s} {value(one):>10s}   {interval(one)} {one.unit.strip('1')}".rstrip()
        for one in found.parameters
    ]
    lines += ["", *(f"  not known: {one.combination}, {_factor(one.factor)}; {one.remedy}" for one in found.flat)]
    lines += [f"  {found.adequacy.sentence}"]
    lines += [
        f"  {curve.record}, {curve.quantity}: predicted to {curve.misfit:.2%}"
        for curve in found.curves
        if not curve.fitted
    ]
    lines += [f"  {note}" for note in found.notes]
    return "\n".join([*lines, "", found.no_law if found.law is None else found.to_toml().rstrip()])


def _factor(factor: float) -> str:
    return f"open by a factor of {factor:.3g}" if factor < 1e6 else "open without bound"


def pairs(option: str, text: str) -> dict[str, str]:
    """Return what an option like `time=t,force=F` says."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    for key, equals, value in parts:
        if not (key and equals and value):
            raise RheotwinError(f"{option} {text}: write KEY=VALUE with commas between them: time=t,force=F")
    return {key.strip(): value.strip() for key, _, value in parts}
