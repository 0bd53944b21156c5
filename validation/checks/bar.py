"""Bars without inertia, and the laws they are made of.

Moduli and channels, and the three-element memory against the equations of its network (R2, R3, A6).

Bars without inertia: creep, ramp and hold, creep with two Poisson ratios (R10, R11, R13, T1, T4).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from rheotwin.materials import Channel, Maxwell, Moduli
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import (
    EQUAL_RATIO,
    HELD,
    RHEOLOGICAL,
    UNEQUAL,
    Data,
    box_scene,
    last_order,
    run_to,
    start,
)
from rheotwin.validation.closed_forms import LameCreep, driven_stress, tensor_creep

SPRING, VOIGT, SERIES = 30.0, 20.0, 500.0
RATE, STOP, END = 0.01, 10.0, 20.0
"""Strain rate [1/s] up to the time STOP [s]; held until END [s]."""


def lame_constants() -> Measurement:
    """Compute R2."""
    moduli = Moduli.from_young(300.0, 0.35)
    return Measurement({"lambda": moduli.lame, "mu": moduli.shear})


def rheological_channel() -> Measurement:
    """Compute R3."""
    channel = Channel.three_element(SPRING, VOIGT, SERIES)
    return Measurement({"g": channel.strengths[0], "tau": channel.times[0], "eta": channel.viscosity})


def network_stress() -> tuple[float, float]:
    """Return the stress [Pa] just before STOP and at END from the network itself, a Voigt unit and a dashpot in row.

    With the unit's strain e_v: sigma = k e_v + c1 e_v' = c2 (e' - e_v').
    """

    def flow(rate: float) -> tuple[float, float]:
        return (VOIGT + SERIES, SERIES * rate)

    def voigt_rate(strain: float, rate: float) -> float:
        total, driven = flow(rate)
        return (driven - SPRING * strain) / total

    strain, found = np.zeros(1), []
    for begin, end, rate in ((0.0, STOP, RATE), (STOP, END, 0.0)):
        run = solve_ivp(lambda t, e, r=rate: voigt_rate(e, r), (begin, end), strain, rtol=1e-12, atol=1e-15)
        strain = run.y[:, -1]
        found.append(SERIES * (rate - voigt_rate(float(strain[0]), rate)))
    return found[0], found[1]


def memory() -> Measurement:
    """Drive a bar like the network and compare stresses; then take the gain as printed (E15)."""
    scene = box_scene(
        RHEOLOGICAL,
        size=[1.0],
        cells=[1],
        duration=END,
        supports={
            "left": {"body": "block", "where": {"side": "left"}},
            "right": {
                "body": "block",
                "where": {"side": "right"},
                "motion": {"times": [0.0, STOP], "displacement": [[0.0], [RATE * STOP]]},
            },
        },
        output={"times": [0.0, STOP, END]},
    )
    simulation, found = start(scene, step=0.1), []
    for time in (STOP, END):
        run_to(simulation, time)
        found.append(float(simulation.fields()["stress"][0, 0]))
    expected = network_stress()
    right, printed = (
        Channel.three_element(SPRING, VOIGT, SERIES, seed_printed=as_printed) for as_printed in (False, True)
    )
    values = {
        "error while driven": abs(found[0] / expected[0] - 1.0),
        "error while held": abs(found[1] / expected[1] - 1.0),
        "printed / corrected relaxing part": printed.strengths[0] / right.strengths[0],
    }
    return Measurement(values)


def series_rules() -> Measurement:
    """Compare the bulk relaxation of the papers' rule per Lame constant with the true series connection (E19)."""
    law = Maxwell(Moduli.from_young(300.0, 0.35), Moduli.from_young(500.0, 0.25))
    times = (1.0, 5.0)
    lame, shear, bulk = (law.channel(modulus).relaxation(times) for modulus in ("lame", "shear", "bulk"))
    values = {}
    for index, time in enumerate(times):
        values[f"r_K({time:g}), Lame constants"] = float((lame + 2.0 / 3.0 * shear)[index])
        values[f"r_K({time:g}), tensors"] = float(bulk[index])
    return Measurement(values)


MATERIAL_CHECKS = (
    check("fem.R2", lame_constants, name="lame-constants", quick=True),
    check("fem.R3", rheological_channel, name="rheological-channel", quick=True),
    check("fem.A6", memory, name="three-element-memory", covers=("E14", "E15"), quick=True),
    check("fem.E19", series_rules, name="series-rules", quick=True),
)


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


BAR_CHECKS = (
    check(
        "fem.R10", creep_measurement, name="three-element-creep", covers=("T1", "A2"), options={"stepper": "midpoint"}
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

CHECKS = {"materials": MATERIAL_CHECKS, "bar": BAR_CHECKS}
