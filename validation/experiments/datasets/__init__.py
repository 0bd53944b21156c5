"""Readers of real data sets, one file each; the data stay in the folder that RHEOTWIN_DATA names."""

from rheotwin.validation.experiments.datasets.clamped_beam import MarkerMotion, read_clamped_beam
from rheotwin.validation.experiments.datasets.ecoflex import read_ecoflex
from rheotwin.validation.experiments.datasets.folder import data_set, missing
from rheotwin.validation.experiments.datasets.oca_shear import ShearTest, read_oca_shear
from rheotwin.validation.experiments.datasets.silicone_indentation import read_silicone_indentation
from rheotwin.validation.experiments.datasets.truth_cube import read_truth_cube
from rheotwin.validation.experiments.datasets.vinyl_foam import Oscillation, read_vinyl_foam

__all__ = [
    "MarkerMotion",
    "Oscillation",
    "ShearTest",
    "data_set",
    "missing",
    "read_clamped_beam",
    "read_ecoflex",
    "read_oca_shear",
    "read_silicone_indentation",
    "read_truth_cube",
    "read_vinyl_foam",
]
