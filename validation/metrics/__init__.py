"""Every number a comparison states, each defined once: pure functions on arrays, SI units.

An undefined value (a relative error against an all-zero reference, a rate without a wall time) is nan.
"""

from rheotwin.validation.metrics.balance import (
    angular_momentum,
    energy_defect,
    momentum,
    momentum_defect,
    volume_drift,
)
from rheotwin.validation.metrics.cost import peak_memory, real_time_factor, state_memory, step_rate
from rheotwin.validation.metrics.fields import (
    displacement_error,
    field_error,
    nodal_norm,
    stress_error,
    velocity_error,
)
from rheotwin.validation.metrics.forces import force_curve_error, held_force
from rheotwin.validation.metrics.over_time import (
    RESIDUAL_WINDOW,
    at_times,
    common_times,
    root_mean_square,
    time_mean,
    window_start,
)
from rheotwin.validation.metrics.residual import Residual, bounce, residual_displacement
from rheotwin.validation.metrics.ringdown import RingDown, ring_down
from rheotwin.validation.metrics.surface import (
    ShapeDifference,
    shape_difference,
    surface_distance,
    surface_of,
)
from rheotwin.validation.metrics.transfer import Transfer, transfer

__all__ = [
    "RESIDUAL_WINDOW",
    "Residual",
    "RingDown",
    "ShapeDifference",
    "Transfer",
    "angular_momentum",
    "at_times",
    "bounce",
    "common_times",
    "displacement_error",
    "energy_defect",
    "field_error",
    "force_curve_error",
    "held_force",
    "momentum",
    "momentum_defect",
    "nodal_norm",
    "peak_memory",
    "real_time_factor",
    "residual_displacement",
    "ring_down",
    "root_mean_square",
    "shape_difference",
    "state_memory",
    "step_rate",
    "stress_error",
    "surface_distance",
    "surface_of",
    "time_mean",
    "transfer",
    "velocity_error",
    "volume_drift",
    "window_start",
]
