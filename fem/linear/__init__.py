"""Linear solvers behind one small interface: prepared once, chosen by size, described in the record."""

from rheotwin.fem.linear.conjugate_gradient import WarmStart
from rheotwin.fem.linear.factor import Factor, Kind, SingularMatrix
from rheotwin.fem.linear.multigrid import Multigrid, Unknowns, free_rigid_modes, require_no_free_modes, rigid_body_modes
from rheotwin.fem.linear.selection import PARDISO_PAYS, Choice, choose, factorise

__all__ = [
    "PARDISO_PAYS",
    "Choice",
    "Factor",
    "Kind",
    "Multigrid",
    "SingularMatrix",
    "Unknowns",
    "WarmStart",
    "choose",
    "factorise",
    "free_rigid_modes",
    "require_no_free_modes",
    "rigid_body_modes",
]
