"""Baselines: what small scenes give today, with tolerances from measured spread. Only blessing changes one."""

from pathlib import Path

from rheotwin.validation.baselines.files import SCHEMA_VERSION, Baseline, Blessing, Value, digest, load_baselines
from rheotwin.validation.baselines.measure import Spread, bless, measure, spread

BUILT_IN = Path(__file__).parent
"""Folder of the baselines of this package."""

__all__ = [
    "BUILT_IN",
    "SCHEMA_VERSION",
    "Baseline",
    "Blessing",
    "Spread",
    "Value",
    "bless",
    "digest",
    "load_baselines",
    "measure",
    "spread",
]
