"""Particles under a bar: what laws keep of an imprint, and which triangles stay inside out (R16, R17).

The numbers of the laws are those of every edge. Sizes, depth of the bar and topology forces are not printed; those here
are the trial's of the particle model (sections 4 and 10).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import FLOOR, LAWS, Data, begin, box_scene, named, path, run_to, scene_of, seen

PRESSED: dict[str, Data] = LAWS["press"]
PRESSURES: dict[str, Data] = {
    "": {},
    "global, ": {"global_pressure": 0.05, "global_pressure_damping": 0.02},
    "areal, ": {"element_pressure": 2.0, "element_pressure_damping": 1.0},
}
"""What keeps areas, by the beginning of the names of the trial's numbers."""
DEPTH = 1.5
TIMES = (60.0, 200.0)
STROKE = (0.0, 10.0, 20.0, 21.0)
"""Down, up, and away [s]."""
KEPT_UPRIGHT: Data = {"topology_stiffness": 20.0, "topology_damping": 1.0, "topology_distance": 0.05}


def bar(shape: str, center: list[float], depth: float, **more: float) -> Data:
    """Return a tool that goes down by a depth [m] in 10 s, up in 10 s, and away."""
    motion = path(STROKE, [[0.0, 0.0], [0.0, -depth], [0.0, 0.0], [0.0, 4.0]])
    return {"bar": {"shape": shape, "center": center, "normal": [0.0, -1.0], "motion": motion, **more}}


def imprint(law: Data, pressure: Data) -> list[float]:
    """Return the residual depth over that of the bar at 60 s and 200 s, 17 x 7 particles of 30 kg together."""
    more: Data = {"pattern": "se-nw", "supports": FLOOR, "tools": bar("bar", [8.0, 6.0], DEPTH, width=4.0)}
    data = box_scene(law, cells=[16, 6], equal_mass=30.0, duration=TIMES[-1], **more)
    simulation = begin(data, step=2e-3, **KEPT_UPRIGHT, **pressure)
    middle = int(np.argmin(np.linalg.norm(simulation.positions - [8.0, 6.0], axis=1)))
    return seen(simulation, TIMES, lambda: (6.0 - float(simulation.positions[middle, 1])) / DEPTH)


def order() -> Values:
    """Compute R16: the worst of both times, without pressure and with the global one."""
    kept = {
        name: np.array([imprint(law, PRESSURES[pressure]) for pressure in ("", "global, ")])
        for name, law in PRESSED.items()
    }
    return {
        "voigt": float(np.abs(kept["Voigt"]).max()),
        "three-element - voigt": float((kept["three-element"] - kept["Voigt"]).min()),
        "maxwell - three-element": float((kept["Maxwell"] - kept["three-element"]).min()),
    }


def trial() -> Values:
    """Compute the numbers of the trial."""
    found: dict[str, float] = {}
    for name, pressure in PRESSURES.items():
        for law in ("Maxwell", "three-element") if name == "global, " else PRESSED:
            found |= named(f"{name}{law}, {{:g}} s", TIMES, imprint(PRESSED[law], pressure))
    return found


SIDE = 8
"""Edges along a side of the triangular object: 64 triangles, 45 particles."""
HEIGHT = SIDE * float(np.sqrt(0.75))
SHARES = (0.3, 0.5, 0.7, 0.85)
END = 120.0
STRONGLY_UPRIGHT = {"topology_stiffness": 20.0, "topology_damping": 2.0, "topology_distance": 0.1}


def triangle(share: float, **options: float) -> TrussSimulation:
    """Start the triangular object that is pressed by a share of its height."""
    tool = bar("plane", [0.5 * SIDE, HEIGHT], share * HEIGHT)
    shape: Data = {"shape": "triangle", "base": float(SIDE), "height": HEIGHT, "cells": SIDE}
    more: Data = {"equal_mass": 30.0, "duration": END, "supports": FLOOR, "tools": tool}
    return begin(scene_of(PRESSED["Voigt"], shape, dimension=2, **more), step=4e-3, **options)


def inverted(share: float, **options: float) -> float:
    """Return how many triangles of the object stay inside out 100 s after the bar has left."""
    simulation = triangle(share, **options)
    run_to(simulation, END)
    return float(simulation.statistics()["inverted_cells"])


def upright() -> Values:
    """Compute R17: most triangles with topology forces, fewest without, over all depths."""
    kept = max(inverted(share, **STRONGLY_UPRIGHT) for share in SHARES)
    return {"with topology forces": kept, "without": min(inverted(share) for share in SHARES)}


def inverted_counts() -> Values:
    """Compute the counts of the trial."""
    areal = inverted(0.7, element_pressure=2.0, element_pressure_damping=1.0)
    return {f"{100 * share:g} %": inverted(share) for share in SHARES} | {"areal forces only, 70 %": areal}


_check = partial(check, solvers=("truss",))
CHECKS = {
    "presses": (
        _check("truss.R16", order, name="imprint-order"),
        _check("truss.R16.trial", trial, name="imprint-trial"),
        _check("truss.R17", upright, name="triangles-upright"),
        _check("truss.R17.trial", inverted_counts, name="triangles-inverted"),
    )
}
