"""Particles under a bar: what laws keep of an imprint, and which triangles stay inside out (R16, R17).

The numbers of the laws are those of every edge. Sizes, depth of the bar and topology forces are not printed; those here
are the trial's of the particle model (sections 4 and 10).
"""

from __future__ import annotations

import numpy as np

from rheotwin.particles.truss import TrussSimulation
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, begin, box_scene, run_to

LAWS: dict[str, Data] = {
    "Voigt": {"model": "voigt", "young": 1.2, "poisson": 0.25, "viscosity": 1.5},
    "Maxwell": {"model": "maxwell", "young": 1.2, "poisson": 0.25, "viscosity": 1.5},
    "three-element": {
        "model": "three-element",
        "young": 1.2,
        "poisson": 0.25,
        "voigt_viscosity": 1.5,
        "series_viscosity": 15.0,
    },
}
PRESSURES: dict[str, Data] = {
    "": {},
    "global, ": {"global_pressure": 0.05, "global_pressure_damping": 0.02},
    "areal, ": {"element_pressure": 2.0, "element_pressure_damping": 1.0},
}
"""What keeps areas, by the beginning of the names of the trial's numbers."""
DEPTH = 1.5
TIMES = (60.0, 200.0)
STROKE = [0.0, 10.0, 20.0, 21.0]
"""Down, up, and away [s]."""
KEPT_UPRIGHT: Data = {"topology_stiffness": 20.0, "topology_damping": 1.0, "topology_distance": 0.05}


def bar(shape: str, center: list[float], depth: float, **more: float) -> Data:
    """Return a tool that goes down by a depth [m] in 10 s, up in 10 s, and away."""
    path = [[0.0, 0.0], [0.0, -depth], [0.0, 0.0], [0.0, 4.0]]
    motion = {"times": STROKE, "displacement": path}
    return {"bar": {"shape": shape, "center": center, "normal": [0.0, -1.0], "motion": motion, **more}}


def imprint(law: Data, pressure: Data) -> list[float]:
    """Return the residual depth over that of the bar at 60 s and 200 s, 17 x 7 particles of 30 kg together."""
    data = box_scene(
        law,
        size=[16.0, 6.0],
        cells=[16, 6],
        pattern="se-nw",
        mass=30.0,
        mass_sharing="equal",
        duration=TIMES[-1],
        supports={"floor": {"body": "block", "where": {"side": "bottom"}}},
        tools=bar("bar", [8.0, 6.0], DEPTH, width=4.0),
    )
    simulation = begin(data, step=1e-2, **KEPT_UPRIGHT, **pressure)
    middle = int(np.argmin(np.linalg.norm(simulation.positions - [8.0, 6.0], axis=1)))
    found = []
    for time in TIMES:
        run_to(simulation, time)
        found.append((6.0 - float(simulation.positions[middle, 1])) / DEPTH)
    return found


def order() -> Measurement:
    """Compute R16: the worst of both times, without pressure and with the global one."""
    kept = {law: np.array([imprint(LAWS[law], PRESSURES[name]) for name in ("", "global, ")]) for law in LAWS}
    return Measurement(
        {
            "voigt": float(np.abs(kept["Voigt"]).max()),
            "three-element - voigt": float((kept["three-element"] - kept["Voigt"]).min()),
            "maxwell - three-element": float((kept["Maxwell"] - kept["three-element"]).min()),
        }
    )


def trial() -> Measurement:
    """Compute the numbers of the trial."""
    found: dict[str, float] = {}
    for name, pressure in PRESSURES.items():
        for law in ("Maxwell", "three-element") if name == "global, " else LAWS:
            kept = imprint(LAWS[law], pressure)
            found |= {f"{name}{law}, {time:g} s": value for time, value in zip(TIMES, kept, strict=True)}
    return Measurement(found)


SIDE = 8
"""Edges along a side of the triangular object: 64 triangles, 45 particles."""
HEIGHT = SIDE * float(np.sqrt(0.75))
SHARES = (0.3, 0.5, 0.7, 0.85)
END = 120.0
STRONGLY_UPRIGHT = {"topology_stiffness": 20.0, "topology_damping": 2.0, "topology_distance": 0.1}


def triangle(share: float, **options: float) -> TrussSimulation:
    """Start the triangular object that is pressed by a share of its height."""
    body = {"shape": "triangle", "base": float(SIDE), "height": HEIGHT, "cells": SIDE, "law": "stuff"}
    data: Data = {
        "schema": 1,
        "dimension": 2,
        "duration": END,
        "laws": {"stuff": LAWS["Voigt"]},
        "bodies": {"block": body | {"mass": 30.0, "mass_sharing": "equal"}},
        "supports": {"floor": {"body": "block", "where": {"side": "bottom"}}},
        "tools": bar("plane", [0.5 * SIDE, HEIGHT], share * HEIGHT),
        "output": {"interval": END},
    }
    return begin(data, step=4e-3, **options)


def inverted(share: float, **options: float) -> float:
    """Return how many triangles of the object stay inside out 100 s after the bar has left."""
    simulation = triangle(share, **options)
    run_to(simulation, END)
    return float(simulation.statistics()["inverted_cells"])


def upright() -> Measurement:
    """Compute R17: most triangles with topology forces, fewest without, over all depths."""
    return Measurement(
        {
            "with topology forces": max(inverted(share, **STRONGLY_UPRIGHT) for share in SHARES),
            "without": min(inverted(share) for share in SHARES),
        }
    )


def inverted_counts() -> Measurement:
    """Compute the counts of the trial."""
    found = {f"{100 * share:g} %": inverted(share) for share in SHARES}
    areal = inverted(0.7, element_pressure=2.0, element_pressure_damping=1.0)
    return Measurement(found | {"areal forces only, 70 %": areal})


CHECKS = {
    "presses": (
        check("truss.R16", order, name="imprint-order", solvers=("truss",)),
        check("truss.R16.trial", trial, name="imprint-trial", solvers=("truss",)),
        check("truss.R17", upright, name="triangles-upright", solvers=("truss",)),
        check("truss.R17.trial", inverted_counts, name="triangles-inverted", solvers=("truss",)),
    )
}
