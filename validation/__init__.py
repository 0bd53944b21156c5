"""Validation: metrics, comparison of records, and the report. It sees only records and arrays."""

from rheotwin.validation.assess import compare
from rheotwin.validation.comparison import Comparison, load_comparison
from rheotwin.validation.metrics import (
    bounce,
    displacement_error,
    force_curve_error,
    held_force,
    real_time_factor,
    residual_displacement,
    step_rate,
    velocity_error,
    volume_drift,
)
from rheotwin.validation.report.write import compare_records, holds_only_runs, refuse_existing, write_comparison
from rheotwin.validation.run_view import Cost, RunView, Surface, tributary_weights, view_of

__all__ = [
    "Comparison",
    "Cost",
    "RunView",
    "Surface",
    "bounce",
    "compare",
    "compare_records",
    "displacement_error",
    "force_curve_error",
    "held_force",
    "holds_only_runs",
    "load_comparison",
    "real_time_factor",
    "refuse_existing",
    "residual_displacement",
    "step_rate",
    "tributary_weights",
    "velocity_error",
    "view_of",
    "volume_drift",
    "write_comparison",
]
