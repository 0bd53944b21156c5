"""Parameters of a scene from captured shapes, forces, volumes and fields."""

from rheotwin.validation.calibration.problem import (
    CalibrationProblem,
    Costs,
    Evaluation,
    Parameter,
    parameters_of,
)
from rheotwin.validation.calibration.twins import twin

__all__ = ["CalibrationProblem", "Costs", "Evaluation", "Parameter", "parameters_of", "twin"]
