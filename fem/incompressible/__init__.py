"""Nearly and fully incompressible bodies: pressure spaces that do not lock, and those of the papers (spec 5)."""

from rheotwin.fem.incompressible.forms import (
    FORMULATIONS,
    Formulation,
    MixedForm,
    locking_check,
    mixed_basis,
    mixed_form,
    warn_of_locking,
)

__all__ = [
    "FORMULATIONS",
    "Formulation",
    "MixedForm",
    "locking_check",
    "mixed_basis",
    "mixed_form",
    "warn_of_locking",
]
