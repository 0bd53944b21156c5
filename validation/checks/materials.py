"""Moduli and channels, and the three-element memory against the equations of its network (R2, R3, A6)."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from rheotwin.materials import Channel, Maxwell, Moduli
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.laws import RHEOLOGICAL
from rheotwin.validation.checks.running import box_scene, run_to, start

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


CHECKS = (
    check("fem.R2", lame_constants, name="lame-constants", quick=True),
    check("fem.R3", rheological_channel, name="rheological-channel", quick=True),
    check("fem.A6", memory, name="three-element-memory", covers=("E14", "E15"), quick=True),
    check("fem.E19", series_rules, name="series-rules", quick=True),
)
