"""The press with everything a scene may have: forces, cases, a turning bar, a mass; and the faults of its changes."""

from typing import Any

from rheotwin.scene import Scene
from tests.conftest import Data, faults_of, scene_with

WHOLE: Data = {
    "laws.gel": {"model": "voigt", "young": 300.0, "poisson": 0.35, "viscosity": 15.0},
    "bodies.block.density": ...,
    "bodies.block.mass": 30.0,
    "tools.bar.motion.angle": [0.0, 0.5, 0.0],
    "forces.push": {
        "body": "block",
        "where": {"box": {"x": [0.0, 0.1], "y": [0.1, 0.1]}},
        "total": [0.0, -5.0],
        "times": [0.0, 0.1],
        "factor": [0.0, 1.0],
    },
    "cases": {"elastic": {"laws": {"block": "gel"}}, "rheological": {"laws": {"block": "dough"}}},
    "output": {"interval": 0.1},
    "solvers": {"fem": {"step": 0.01}},
}
BARE: Data = {"supports": {}, "tools": {}, "forces": {}, "probes": {}}
"""Changes that leave the bodies alone."""
ROD: Data = {
    **BARE,
    "dimension": 1,
    "gravity": ...,
    "bodies.block": {"shape": "box", "size": [1.0], "cells": [1], "law": "gel", "mass": 1.0},
}


def whole(changes: Data | None = None, **how: Any) -> Scene:
    return scene_with(WHOLE, changes, **how)


def faults(changes: Data) -> dict[str, str]:
    return faults_of(WHOLE, changes)
