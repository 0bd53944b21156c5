"""Observers of a run: progress, frames, probes, checkpoints."""

from rheotwin.observers.outputs import Checkpoints, Frames, LastFrame, Probes, probe_columns
from rheotwin.observers.progress import Progress, told_of_compiling
from rheotwin.observers.protocol import Observer, Watched

__all__ = [
    "Checkpoints",
    "Frames",
    "LastFrame",
    "Observer",
    "Probes",
    "Progress",
    "Watched",
    "probe_columns",
    "told_of_compiling",
]
