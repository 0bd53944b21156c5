"""Laws of dough in finite elements: dashpots that soften, stick or are bounded, and elastoplastic flow.

Bars, cubes and sheared squares of one state of strain, so that every number is a closed form of the law itself.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import brentq

from rheotwin.fem.simulation import FemSimulation
from rheotwin.validation.checks.check import Values, check
from rheotwin.validation.checks.running import Data, box_scene, path, run_to, side, start

YOUNG, POISSON, YIELD, HARDENING = 1e4, 0.3, 100.0, 500.0
VON_MISES: Data = {"model": "elastoplastic", "young": YOUNG, "poisson": POISSON}
VON_MISES |= {"yield_stress": YIELD, "hardening_modulus": HARDENING}
STUFF: Data = {"model": "three-element", "young": 2.0, "poisson": 0.25, "voigt_viscosity": 1.0}
SOFT: Data = STUFF | {
    "series_viscosity": 1000.0, "softening": {"viscosity": 10.0, "from_stress": 0.5, "to_stress": 2.0},
}  # fmt: skip
ROLLERS = (("left", "x"), ("front", "y"), ("bottom", "z"))
QUASI_STATIC: dict[str, Any] = {"step": 0.02, "stepper": "quasi-static"}
PLANES: dict[int, Data] = {1: {}, 2: {"plane": "stress"}, 3: {}}
SHAPES = ((1, "line"), (2, "plane stress"), (3, "cube"))


def cube(law: Data, dimension: int = 3, *, duration: float = 2.0, supports: Data | None = None, **more: Any) -> Data:
    """Return a unit bar, square or cube on rollers, free to get thinner."""
    names = ROLLERS if dimension == 3 else (("left", "x"), ("bottom", "y"))[:dimension]
    held = {name: side(name, fix=[axis]) for name, axis in names}
    plane = PLANES[dimension]
    return box_scene(law, cells=[1] * dimension, duration=duration, supports=held | (supports or {}), **plane, **more)


def pulled(law: Data, course: tuple[float, ...], dimension: int = 3, **options: Any) -> list[float]:
    """Return the pull [N] on a side driven along a `course` of displacements [m], at its kinks 1, 2, .. s."""
    times, rest = [float(n) for n in range(len(course))], [0.0] * (dimension - 1)
    drive = {"pulled": side("right", fix=["x"], motion=path(times, [[x, *rest] for x in course]))}
    scene = cube(law, dimension, duration=times[-1], supports=drive)
    simulation = start(scene, **(QUASI_STATIC | options))
    return [-float(run_to(simulation, time).reactions()["support.pulled"][0]) for time in times[1:]]


def sheared(law: Data, strains: tuple[float, ...], times: tuple[float, ...], **options: Any) -> list[float]:
    """Return the shear stress [Pa] of a square driven to shear strains at the `times`."""
    turn = path([0.0, *times], [[0.0, 0.0], *([strain, 0.0] for strain in strains)])
    scene = box_scene(
        law, cells=[1, 1], duration=times[-1], supports={"floor": side("bottom"), "lid": side("top", motion=turn)}
    )
    simulation = start(scene, **(QUASI_STATIC | options))
    return [-float(run_to(simulation, time).reactions()["support.lid"][0]) for time in times]


def creep() -> Values:
    """Compute the steady rate of creep W/c2(W) under three loads, in one, two and three dimensions."""
    found = {}
    for (dimension, name), load in product(SHAPES, (0.4, 1.25, 3.0)):
        pull = {"pull": side("right", total=[load] + [0.0] * (dimension - 1))}
        simulation = start(cube(SOFT, dimension, duration=40.0, forces=pull), step=0.5, stepper="quasi-static")
        ends = [float(run_to(simulation, time).positions[:, 0].max()) for time in (20.0, 40.0)]
        found[f"{name}, W = {load:g}"] = (ends[1] - ends[0]) / 20.0
    return found


def bounded() -> Values:
    """Compute the length of an edge whose slider has reached a bound: (L + F/k)/least, (L - |F|/k)/most."""
    slider = {"natural": 0.5, "least": 0.3, "most": 0.7}
    law, found = STUFF | {"poisson": 0.0, "series_viscosity": 1.0, "slider": slider}, {}
    for load in (0.5, -0.3):
        for dimension, name in SHAPES:
            pull = {"pull": side("right", total=[load] + [0.0] * (dimension - 1))}
            simulation = start(cube(law, dimension, duration=60.0, forces=pull), step=0.25, stepper="quasi-static")
            found[f"{name}, F = {load:g}"] = float(run_to(simulation, 60.0).positions[:, 0].max())
    return found


def stuck() -> Values:
    """Compute the shear stress that friction holds, alpha/sqrt(3), and how much more a flow at 0.5/s needs."""
    law = STUFF | {"series_viscosity": 4.0, "friction": 0.3}
    held = sheared(law, (0.5, 0.5), (1.0, 200.0), step=0.5)[1]
    flowing = sheared(law, (100.0,), (200.0,), step=0.5)[0]
    return {"held": held, "flowing": flowing - held}


def unloading() -> Values:
    """Compute the stress of a bar pulled to 5 %, let back half the way and all the way."""
    found: dict[str, float] = {}
    for dimension, name in SHAPES:
        values = pulled(VON_MISES, (0.0, 0.05, 0.025, 0.0), dimension)
        found |= {
            f"{name}, {at}": value for at, value in zip(("5 %", "back to 2.5 %", "back to 0"), values, strict=True)
        }
    shear = sheared(VON_MISES, (0.1, 0.0), (1.0, 2.0))
    return found | {"shear 0.1": shear[0], "shear back to 0": shear[1]}


def neo_hooke_bar(stretch: float) -> float:
    """Return the force [N] on a unit bar of von Mises' law on neo-Hooke's energy, stretched without unloading.

    With the elastic stretch x at constant volume, q = mu (x^2 - 1/x), plastic stretch exp((q - Y)/H) and the volume
    from q/3 = K (J - 1) J:  stretch = x exp((q - Y)/H) J^(1/3), force q/stretch.
    """
    shear, bulk = YOUNG / (2.0 + 2.0 * POISSON), YOUNG / (3.0 - 6.0 * POISSON)

    def stress(x: float) -> float:
        return shear * (x * x - 1.0 / x)

    def missing(x: float) -> float:
        volume = 0.5 + np.sqrt(0.25 + stress(x) / (3.0 * bulk))
        return float(x * np.exp((stress(x) - YIELD) / HARDENING) * volume ** (1.0 / 3.0) - stretch)

    return stress(brentq(missing, 1.0, 1.5, xtol=1e-15)) / stretch


def large() -> Values:
    """Compute bars at large strain: von Mises to 50 % by a closed form, critical stretches to half the length."""
    exact, relative = neo_hooke_bar(1.5), {}
    for dimension, name in SHAPES[1:]:
        found = pulled(VON_MISES, (0.0, 0.5), dimension, kinematics="total-lagrangian")[0]
        relative[f"von Mises, {name}, relative error"] = abs(found / exact - 1.0)
    law = {"model": "elastoplastic", "young": YOUNG, "poisson": 0.0}
    law |= {"critical_compression": 0.1, "critical_stretch": 0.05, "hardening": 2.0}
    crushed = pulled(law, (0.0, -0.5), kinematics="total-lagrangian")[0]
    # s = 0.9, JP = 0.5/0.9, tau = exp(2 (1 - JP)) E (s - 1) s
    exact = float(np.exp(2.0 * (1.0 - 0.5 / 0.9))) * YOUNG * -0.1 * 0.9 / 0.5
    return relative | {"critical stretches, relative error": abs(crushed / exact - 1.0)}


def elastic_limit() -> Values:
    """Compute how far a law that never yields is from the elastic law, as a share of the largest force."""
    spring = {"model": "elastic", "young": YOUNG, "poisson": POISSON}
    never = VON_MISES | {"yield_stress": 1e9}
    stretches = VON_MISES | {"critical_compression": 0.9, "critical_stretch": 0.9}
    stretches = {key: value for key, value in stretches.items() if key not in ("yield_stress", "hardening_modulus")}
    found = {}
    for kinematics, law in (("small", never), ("small", stretches), ("total-lagrangian", never)):
        ends = [np.array(pulled(each, (0.0, 0.3, -0.2), kinematics=kinematics, step=0.25)) for each in (law, spring)]
        name = f"{'von Mises' if law is never else 'critical stretches'}, {kinematics}"
        found[name] = float(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1]).max())
    return found


def account() -> Values:
    """Compute what is amiss in the account of energy of a bar pulled and let back, as a share of the work put in."""
    laws = {"von Mises": VON_MISES, "softening": SOFT | {"young": 10.0, "series_viscosity": 20.0}}
    laws["critical stretches"] = {"model": "elastoplastic", "young": YOUNG, "poisson": POISSON}
    laws["critical stretches"] |= {"critical_compression": 0.02, "critical_stretch": 0.01, "hardening": 10.0}
    found = {}
    for (name, law), kinematics in product(laws.items(), ("small", "total-lagrangian")):
        if name == "softening" and kinematics != "small":
            continue
        motion = path([0.0, 1.0, 2.0], [[0.0] * 3, [0.05, 0.0, 0.0], [0.0] * 3])
        scene = cube(law, supports={"pulled": side("right", fix=["x"], motion=motion)})
        simulation = start(scene, step=0.01, stepper="quasi-static", kinematics=kinematics)
        energy = run_to(simulation, 2.0).energy()
        found[f"{name}, {kinematics}"] = abs(energy["defect"]) / energy["external"]
    return found


def newton_order() -> Values:
    """Compute the order of Newton's method in a step of plastic flow: log r_k+1/r_k over log r_k/r_k-1."""
    motion = path([0.0, 1.0], [[0.0] * 3, [0.2, 0.1, 0.0]])
    scene = box_scene(
        VON_MISES, cells=[2, 1, 1], supports={"left": side("left"), "pulled": side("right", motion=motion)}
    )
    found = {}
    for kinematics in ("corotational", "total-lagrangian"):
        simulation = start(scene, step=0.2, stepper="quasi-static", kinematics=kinematics)
        assert isinstance(simulation, FemSimulation)
        run_to(simulation, 0.4)
        stepper: Any = simulation._stepper
        steps = np.log(stepper.solve(simulation._state, 0.4, 0.6)[1][-3:])
        found[kinematics] = float((steps[2] - steps[1]) / (steps[1] - steps[0]))
    return found


_check = partial(check, quick=True)
CHECKS = {
    "dough": (
        _check("fem.D2.creep", creep, name="softening-creep"),
        _check("fem.D2.slider", bounded, name="slider-of-a-cube"),
        _check("fem.D2.friction", stuck, name="friction-in-shear"),
        _check("fem.D2.yield", unloading, name="yield-and-unload"),
        _check("fem.D2.large", large, name="flow-at-large-strain"),
        _check("fem.D2.elastic", elastic_limit, name="no-yield"),
        _check("fem.D2.account", account, name="energy-of-flow"),
        _check("fem.D2.newton", newton_order, name="newton-of-flow"),
    ),
}
