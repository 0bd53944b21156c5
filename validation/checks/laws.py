"""The material laws of the reference numbers, as tables of a scene (spec 8 and 10)."""

from __future__ import annotations

from typing import Any

Data = dict[str, Any]

ELASTIC: Data = {"model": "elastic", "young": 300.0, "poisson": 0.35}
VISCOPLASTIC: Data = {"model": "maxwell", "young": 300.0, "poisson": 0.35, "viscosity": 500.0}
"""F-VP."""
RHEOLOGICAL: Data = {
    "model": "three-element",
    "young": 30.0,
    "poisson": 0.35,
    "voigt_viscosity": 20.0,
    "series_viscosity": 500.0,
}
"""F-RH."""
UNEQUAL: Data = VISCOPLASTIC | {"viscous_poisson": 0.25}
"""R13: the dashpot has another Poisson ratio than the spring."""
EQUAL_RATIO: dict[str, Data] = {
    "elastic": ELASTIC,
    "voigt": {"model": "voigt", "young": 300.0, "poisson": 0.35, "viscosity": 60.0},
    "maxwell": VISCOPLASTIC,
    "three-element": RHEOLOGICAL,
    "generalized-voigt": {
        "model": "generalized-voigt",
        "units": [
            {"young": 300.0, "poisson": 0.35},
            {"young": 100.0, "poisson": 0.35, "viscosity": 80.0},
            {"young": 40.0, "poisson": 0.35, "viscosity": 400.0},
        ],
    },
    "generalized-maxwell": {
        "model": "generalized-maxwell",
        "units": [
            {"young": 150.0, "poisson": 0.35, "viscosity": 40.0},
            {"young": 80.0, "poisson": 0.35, "viscosity": 400.0},
        ],
        "equilibrium": 20.0,
        "viscosity": 15.0,
        "poisson": 0.35,
    },
}
"""One law of every kind whose parts share one Poisson ratio: T8 holds for all of them."""
