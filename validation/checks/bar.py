"""Bars without inertia: creep, ramp and hold, creep with two Poisson ratios (R10, R11, R13, T1, T4)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rheotwin.materials import Channel, Maxwell
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.laws import EQUAL_RATIO, RHEOLOGICAL, UNEQUAL
from rheotwin.validation.checks.running import HELD, Data, box_scene, last_order, run_to, start
from rheotwin.validation.closed_forms import LameCreep, driven_stress, tensor_creep

Array = NDArray[np.float64]

ROLLERS: Data = {
    side: {"body": "block", "where": {"side": side}, "fix": [axis]}
    for side, axis in (("left", "x"), ("front", "y"), ("bottom", "z"))
}


def pulled(law: Data, dimension: int, duration: float, **more: Any) -> Data:
    """Return a unit bar or cube that 1 N pulls along x from time zero, free to contract sideways."""
    pull = {"body": "block", "where": {"side": "right"}, "total": [1.0] + [0.0] * (dimension - 1)}
    cell = {"cell": "hex"} if dimension == 3 else {}
    return box_scene(
        law,
        size=[1.0] * dimension,
        cells=[1] * dimension,
        duration=duration,
        supports=HELD if dimension == 1 else ROLLERS,
        forces={"pull": pull},
        **cell,
        **more,
    )


def stretch(simulation: Simulation) -> float:
    """Return the strain of the unit bar or cube along x."""
    return float(simulation.positions[:, 0].max()) - 1.0


def creep(times: tuple[float, ...], step: float) -> list[float]:
    """Return the creep of the rheological bar at `times` [s]."""
    scene = pulled(RHEOLOGICAL, 1, times[-1], output={"times": [0.0, *times]})
    simulation, found = start(scene, step=step, stepper="midpoint", energy_balance=False), []
    for time in times:
        run_to(simulation, time)
        found.append(stretch(simulation))
    return found


def creep_measurement() -> Measurement:
    """Compute R10; the order is that of the value at 1 s."""
    times, steps = (1.0, 5.0, 20.0), (0.02, 0.01)
    exact = float(Channel.three_element(30.0, 20.0, 500.0).creep(1.0))
    errors = [abs(creep((1.0,), step)[0] - exact) for step in steps]
    values = {f"e({time:g})": found for time, found in zip(times, creep(times, 0.0025), strict=True)}
    return Measurement(values, {"e(1)": last_order(steps, errors)})


def ramp_and_hold() -> Measurement:
    """Compute R11: 1 % a second for 10 s, then held.

    Just after the stop the strain rate is zero and only memory and equilibrium carry stress.
    """
    drive = {"times": [0.0, 10.0], "displacement": [[0.0], [0.1]]}
    right = {"body": "block", "where": {"side": "right"}, "motion": drive}
    scene = box_scene(
        RHEOLOGICAL, size=[1.0], cells=[4], duration=20.0, supports=HELD | {"right": right}, output={"interval": 1.0}
    )
    simulation, found = start(scene, step=1.0), {}
    for time, name in ((1.0, "s(1)"), (5.0, "s(5)"), (10.0, "s(10-)"), (20.0, "s(20)")):
        run_to(simulation, time)
        fields = simulation.fields()
        found[name] = float(fields["stress"][0, 0])
        if time == 10.0:
            found["s(10+)"] = float(fields["memory_stress"][0, 0])
    return Measurement(found)


def driven_bars() -> Measurement:
    """Drive a bar of every law along a ramp, a rest and back, in steps of the ramp's length, and compare (T1)."""
    times, strains = (0.0, 2.0, 3.0, 5.0), (0.0, 0.1, 0.1, -0.05)
    drive = {"times": list(times), "displacement": [[strain] for strain in strains]}
    right = {"body": "block", "where": {"side": "right"}, "motion": drive}
    found = {}
    for name, law in EQUAL_RATIO.items():
        scene = box_scene(law, size=[1.0], cells=[1], duration=5.0, supports=HELD | {"right": right})
        channel = scene_from_data(scene).law_for("block").channel("young")
        simulation, stresses = start(scene, step=1.0), []
        for time in times[1:]:
            run_to(simulation, time)
            stresses.append(float(simulation.fields()["stress"][0, 0]))
        expected = driven_stress(channel, times, strains, times[1:], side="before")
        found[name] = float(np.abs(np.array(stresses) - expected).max() / np.abs(expected).max())
    return Measurement(found)


def creep_of_cube(split: str, step: float, times: tuple[float, ...]) -> list[float]:
    """Return the creep strains of a Maxwell cube with two Poisson ratios at `times` [s] after a step of stress.

    In the first step the stress rises along with the strain, which is the sudden load half a step later; values
    between two steps, and at time zero extrapolated from the first two, take this out to second order.
    """
    last = round(times[-1] / step) + 1
    scene = pulled(UNEQUAL, 3, last * step)
    simulation, strains = start(scene, step=step, split=split, stepper="quasi-static", energy_balance=False), [0.0]
    for _ in range(last):
        simulation.advance(simulation.time + 1.5 * simulation.step_size, 1)
        strains.append(stretch(simulation))
    at = [round(time / step) for time in times]
    return [1.5 * strains[1] - 0.5 * strains[2] if k == 0 else 0.5 * (strains[k] + strains[k + 1]) for k in at]


def unequal_creep(split: str) -> Measurement:
    """Compute R13, or the same cube with the true tensor law."""
    times, step = (0.0, 1.0, 5.0, 10.0), 0.002
    law = scene_from_data(pulled(UNEQUAL, 3, 1.0)).law_for("block")
    assert isinstance(law, Maxwell)
    exact = float(LameCreep.of(law).at(1.0) if split == "lame" else tensor_creep(law, 1.0))
    steps = (0.1, 0.05)
    errors = [abs(creep_of_cube(split, h, (1.0,))[0] - exact) for h in steps]
    found = creep_of_cube(split, step, times)
    values = {f"e({time:g})": strain for time, strain in zip(times, found, strict=True)}
    if split == "lame":
        values["r"] = LameCreep.of(law).rate
    return Measurement(values, {"e(1)": last_order(steps, errors)})


CHECKS = (
    check(
        "fem.R10",
        creep_measurement,
        name="three-element-creep",
        covers=("T1", "A2"),
        options={"stepper": "midpoint"},
    ),
    check("fem.R11", ramp_and_hold, name="three-element-ramp", covers=("T1", "A2"), quick=True),
    check("fem.T1", driven_bars, name="driven-bars", quick=True),
    check(
        "fem.R13",
        partial(unequal_creep, "lame"),
        name="unequal-creep-lame",
        covers=("T4", "A2"),
        options={"stepper": "quasi-static", "split": "lame"},
    ),
    check(
        "fem.T4",
        partial(unequal_creep, "bulk-shear"),
        name="unequal-creep-bulk-shear",
        covers=("A2",),
        options={"stepper": "quasi-static", "split": "bulk-shear"},
    ),
)
