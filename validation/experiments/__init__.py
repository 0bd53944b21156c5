"""Experiments: records in folders, readers of real data sets, synthetic experiments, agreement of runs with them."""

from rheotwin.validation.experiments.agreement import Agreement, TrackedError, agreement, check_same_body
from rheotwin.validation.experiments.reader import read_experiment
from rheotwin.validation.experiments.record import (
    Course,
    ExperimentRecord,
    Frame,
    Punch,
    Specimen,
    Uncertainty,
    VolumeCourse,
)
from rheotwin.validation.experiments.synthetic import Noise, from_run
from rheotwin.validation.experiments.writer import write_experiment

__all__ = [
    "Agreement",
    "Course",
    "ExperimentRecord",
    "Frame",
    "Noise",
    "Punch",
    "Specimen",
    "TrackedError",
    "Uncertainty",
    "VolumeCourse",
    "agreement",
    "check_same_body",
    "from_run",
    "read_experiment",
    "write_experiment",
]
