"""Nearly and fully incompressible bodies: pressure spaces that do not lock, and those of the papers (spec 5)."""

from rheotwin.fem.incompressible.form import MixedForm
from rheotwin.fem.incompressible.formulations import FORMULATIONS, Formulation, mixed_form
from rheotwin.fem.incompressible.inf_sup import inf_sup_values
from rheotwin.fem.incompressible.locking import locking_check
from rheotwin.fem.incompressible.static import RIGID_BULK, augmented, incompressible_statics

__all__ = [
    "FORMULATIONS",
    "RIGID_BULK",
    "Formulation",
    "MixedForm",
    "augmented",
    "incompressible_statics",
    "inf_sup_values",
    "locking_check",
    "mixed_form",
]
