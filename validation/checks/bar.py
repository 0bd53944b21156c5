"""Bars without inertia, and the laws they are made of.

Moduli and channels, and the three-element memory against the equations of its network (R2, R3, A6). Creep, ramp and
hold, creep with two Poisson ratios (R10, R11, R13, T1, T4).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from rheotwin.materials import Channel, Maxwell, Moduli
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation
from rheotwin.validation.checks.check import Check, Measurement, Values, check
from rheotwin.validation.checks.running import (
    EQUAL_RATIO,
    HELD,
    RHEOLOGICAL,
    VISCOPLASTIC,
    Data,
    box_scene,
    last_order,
    named,
    path,
    seen,
    side,
    start,
)
from rheotwin.validation.closed_forms import LameCreep, driven_stress, tensor_creep

SPRING, VOIGT, SERIES = 30.0, 20.0, 500.0
RATE, STOP, END = 0.01, 10.0, 20.0
"""Strain rate [1/s] up to the time STOP [s]; held until END [s]."""
UNEQUAL: Data = VISCOPLASTIC | {"viscous_poisson": 0.25}
"""R13: the dashpot has another Poisson ratio than the spring."""
SOFT_RHEOLOGICAL: Data = RHEOLOGICAL | {"young": 1.0, "voigt_viscosity": 1.0, "series_viscosity": 10.0}
"""The constants of P-RH."""
ROLLERS: Data = {
    name: side(name, fix=[axis]) for name, axis in (("left", "x"), ("front", "y"), ("bottom", "z"))
}  # fmt: skip


def lame_constants() -> Values:
    """Compute R2."""
    moduli = Moduli.from_young(300.0, 0.35)
    return {"lambda": moduli.lame, "mu": moduli.shear}


def rheological_channel() -> Values:
    """Compute R3."""
    channel = Channel.three_element(SPRING, VOIGT, SERIES)
    return {"g": channel.strengths[0], "tau": channel.times[0], "eta": channel.viscosity}


def network_stress() -> tuple[float, float]:
    """Return the stress [Pa] just before STOP and at END from the network itself, a Voigt unit and a dashpot in row.

    With the unit's strain e_v: sigma = k e_v + c1 e_v' = c2 (e' - e_v').
    """

    def voigt_rate(strain: float, rate: float) -> float:
        return (SERIES * rate - SPRING * strain) / (VOIGT + SERIES)

    strain, found = np.zeros(1), []
    for begin, end, rate in ((0.0, STOP, RATE), (STOP, END, 0.0)):
        run = solve_ivp(lambda t, e, r=rate: voigt_rate(e, r), (begin, end), strain, rtol=1e-12, atol=1e-15)
        strain = run.y[:, -1]
        found.append(SERIES * (rate - voigt_rate(float(strain[0]), rate)))
    return found[0], found[1]


def driven(law: Data, times: tuple[float, ...], strains: tuple[float, ...], **more: Any) -> Data:
    """Return a unit bar whose right end follows strains [1] at times [s]."""
    right = side("right", motion=path(times, [[strain] for strain in strains]))
    return box_scene(law, size=[1.0], supports=HELD | {"right": right}, **{"cells": [1]} | more)


def stresses(simulation: Simulation, times: tuple[float, ...]) -> list[float]:
    """Return the stress [Pa] of the bar at times [s]."""
    return seen(simulation, times, lambda: float(simulation.fields()["stress"][0, 0]))


def memory() -> Values:
    """Drive a bar like the network and compare stresses; then take the gain as printed (E15)."""
    scene = driven(RHEOLOGICAL, (0.0, STOP), (0.0, RATE * STOP), duration=END, output={"times": [0.0, STOP, END]})
    errors = np.abs(np.array(stresses(start(scene, step=0.1), (STOP, END))) / network_stress() - 1.0)
    right, printed = (Channel.three_element(SPRING, VOIGT, SERIES, seed_printed=wrong) for wrong in (False, True))
    return {
        "error while driven": errors[0],
        "error while held": errors[1],
        "printed / corrected relaxing part": printed.strengths[0] / right.strengths[0],
    }


def printed_memory() -> Values:
    """Return by how much [%] the printed gain makes the stress of a held bar too large (E15)."""
    found: dict[str, float] = {}
    for name, law in {"F-RH": RHEOLOGICAL, "P-RH": SOFT_RHEOLOGICAL}.items():
        scenes = [driven(made, (0.0, STOP), (0.0, RATE), duration=END) for made in (law, law | {"seed_printed": True})]
        held, printed = (stresses(start(scene, step=0.1), (END,))[0] for scene in scenes)
        found[name] = 100.0 * (printed / held - 1.0)
    return found


def series_rules() -> Values:
    """Compare the bulk relaxation of the papers' rule per Lame constant with the true series connection (E19)."""
    law, times = Maxwell(Moduli.from_young(300.0, 0.35), Moduli.from_young(500.0, 0.25)), (1.0, 5.0)
    lame, shear, bulk = (law.channel(modulus).relaxation(times) for modulus in ("lame", "shear", "bulk"))
    return named("r_K({:g}), Lame constants", times, lame + 2.0 / 3.0 * shear) | named(
        "r_K({:g}), tensors", times, bulk
    )  # fmt: skip


def pulled(law: Data, dimension: int, duration: float, **more: Any) -> Data:
    """Return a unit bar or cube that 1 N pulls along x from time zero, free to contract sideways."""
    forces = {"pull": side("right", total=[1.0] + [0.0] * (dimension - 1))}
    more |= {"supports": HELD} if dimension == 1 else {"supports": ROLLERS, "cell": "hex"}
    return box_scene(law, cells=[1] * dimension, duration=duration, forces=forces, **more)


def stretch(simulation: Simulation) -> float:
    """Return the strain of the unit bar or cube along x."""
    return float(simulation.positions[:, 0].max()) - 1.0


def creep(times: tuple[float, ...], step: float) -> list[float]:
    """Return the creep of the rheological bar at `times` [s]."""
    scene = pulled(RHEOLOGICAL, 1, times[-1], output={"times": [0.0, *times]})
    simulation = start(scene, step=step, stepper="midpoint", energy_balance=False)
    return seen(simulation, times, lambda: stretch(simulation))


def creep_measurement() -> Measurement:
    """Compute R10; the order is that of the value at 1 s."""
    times, steps = (1.0, 5.0, 20.0), (0.02, 0.01)
    exact = float(Channel.three_element(SPRING, VOIGT, SERIES).creep(1.0))
    errors = [abs(creep((1.0,), step)[0] - exact) for step in steps]
    return Measurement(named("e({:g})", times, creep(times, 0.0025)), {"e(1)": last_order(steps, errors)})


def ramp_and_hold() -> Values:
    """Compute R11: 1 % a second for 10 s, then held.

    Just after the stop the strain rate is zero and only memory and equilibrium carry stress.
    """
    scene = driven(RHEOLOGICAL, (0.0, 10.0), (0.0, 0.1), cells=[4], duration=20.0, output={"interval": 1.0})
    simulation = start(scene, step=1.0)
    found = dict(zip(("s(1)", "s(5)", "s(10-)"), stresses(simulation, (1.0, 5.0, 10.0)), strict=True))
    found["s(10+)"] = float(simulation.fields()["memory_stress"][0, 0])
    return found | {"s(20)": stresses(simulation, (20.0,))[0]}


def driven_bars() -> Values:
    """Drive a bar of every law along a ramp, a rest and back, in steps of the ramp's length, and compare (T1)."""
    times, strains, found = (0.0, 2.0, 3.0, 5.0), (0.0, 0.1, 0.1, -0.05), {}
    for name, law in EQUAL_RATIO.items():
        scene = driven(law, times, strains, duration=5.0)
        channel = scene_from_data(scene).law_for("block").channel("young")
        expected = driven_stress(channel, times, strains, times[1:], side="before")
        off = np.array(stresses(start(scene, step=1.0), times[1:])) - expected
        found[name] = float(np.abs(off).max() / np.abs(expected).max())
    return found


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
    times, steps = (0.0, 1.0, 5.0, 10.0), (0.1, 0.05)
    law = scene_from_data(pulled(UNEQUAL, 3, 1.0)).law_for("block")
    assert isinstance(law, Maxwell)
    exact = float(LameCreep.of(law).at(1.0) if split == "lame" else tensor_creep(law, 1.0))
    errors = [abs(creep_of_cube(split, step, (1.0,))[0] - exact) for step in steps]
    values = named("e({:g})", times, creep_of_cube(split, 0.002, times))
    if split == "lame":
        values["r"] = LameCreep.of(law).rate
    return Measurement(values, {"e(1)": last_order(steps, errors)})


def _unequal_check(identity: str, split: str, covers: tuple[str, ...]) -> Check:
    options = {"stepper": "quasi-static", "split": split}
    compute = partial(unequal_creep, split)
    return check(identity, compute, name=f"unequal-creep-{split}", covers=covers, options=options)


_MIDPOINT = {"stepper": "midpoint"}
CHECKS = {
    "materials": (
        check("fem.R2", lame_constants, name="lame-constants", quick=True),
        check("fem.R3", rheological_channel, name="rheological-channel", quick=True),
        check("fem.A6", memory, name="three-element-memory", covers=("E14", "E15"), quick=True),
        check("fem.E15", printed_memory, name="printed-memory", quick=True),
        check("fem.E19", series_rules, name="series-rules", quick=True),
    ),
    "bar": (
        check(
            "fem.R10",
            creep_measurement,
            name="three-element-creep",
            covers=("T1", "A2"),
            options={"stepper": "midpoint"},
        ),
        check("fem.R11", ramp_and_hold, name="three-element-ramp", covers=("T1", "A2"), quick=True),
        check("fem.T1", driven_bars, name="driven-bars", quick=True),
        _unequal_check("fem.R13", "lame", ("T4", "A2")),
        _unequal_check("fem.T4", "bulk-shear", ("A2",)),
    ),
}
