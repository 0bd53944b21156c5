"""Closed forms the solvers are held against: one file per case, pure functions of arrays in SI units."""

from rheotwin.validation.closed_forms.bar import creep_strain, driven_stress, relaxation_stress
from rheotwin.validation.closed_forms.lumped_bar import ModeState, first_eigenvalue, mode_matrix, mode_response
from rheotwin.validation.closed_forms.manufactured import SaturatingTime, SineField
from rheotwin.validation.closed_forms.maxwell_wave import MaxwellBarWave
from rheotwin.validation.closed_forms.self_similar import tool_force
from rheotwin.validation.closed_forms.thick_cylinder import ThickCylinder
from rheotwin.validation.closed_forms.uniaxial_creep import LameCreep, tensor_creep

__all__ = [
    "LameCreep",
    "MaxwellBarWave",
    "ModeState",
    "SaturatingTime",
    "SineField",
    "ThickCylinder",
    "creep_strain",
    "driven_stress",
    "first_eigenvalue",
    "mode_matrix",
    "mode_response",
    "relaxation_stress",
    "tensor_creep",
    "tool_force",
]
