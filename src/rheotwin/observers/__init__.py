"""Observers of a run: progress, frames, probes, checkpoints."""

from rheotwin.observers.checkpoints import Checkpoints
from rheotwin.observers.frames import Frames
from rheotwin.observers.probes import Probes, probe_columns
from rheotwin.observers.progress import Progress
from rheotwin.observers.protocol import Observer, Quiet, Watched

__all__ = ["Checkpoints", "Frames", "Observer", "Probes", "Progress", "Quiet", "Watched", "probe_columns"]
