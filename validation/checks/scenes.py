"""The papers' pressing scene: force on the bar, self-similarity, stable steps (R4, R7, R8, R12, A7, figs 5.4, 5.6)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

from rheotwin.arrays import Array
from rheotwin.fem.model import build_model
from rheotwin.fem.options import FemOptions
from rheotwin.materials import Channel
from rheotwin.scene import scene_from_data
from rheotwin.solver import Simulation, cell_stress
from rheotwin.tensors import von_mises
from rheotwin.validation.checks.check import Check, Values, check
from rheotwin.validation.checks.running import (
    ELASTIC,
    EQUAL_RATIO,
    FLOOR,
    RHEOLOGICAL,
    VISCOPLASTIC,
    Data,
    box_scene,
    named,
    path,
    problem_of,
    seen,
    start,
)
from rheotwin.validation.closed_forms import mode_matrix, tool_force
from rheotwin.validation.references import catalogue

DOWN, UP = 10.0, 20.0
"""The bar goes down 10 m in 10 s and back up until 20 s."""
SAME = catalogue().quantities("fem.R4", ["F, se-nw"])[0].reference
"""R4: force [N] of the elastic block of 300 Pa at depth 1 m."""
MASS = 30.0
"""Mass of the block [kg], equal for every node."""
SCENES: dict[str, Data] = {"F-VP": VISCOPLASTIC, "F-RH": RHEOLOGICAL}


def press_scene(law: Data, *, pattern: str = "se-nw", mass: float = 1e-12, **more: Any) -> Data:
    """Return the scene: 16 x 6 squares of 5 m on a floor, a bar of width 20 m in the middle of the top."""
    motion = path((0.0, DOWN, UP), [[0.0, 0.0], [0.0, -10.0], [0.0, 0.0]])
    bar = {"shape": "bar", "center": [40.0, 30.0], "normal": [0.0, -1.0], "width": 20.0, "motion": motion}
    more |= {"pattern": pattern, "equal_mass": mass, "supports": FLOOR, "tools": {"bar": bar}}
    return box_scene(law, size=[80.0, 30.0], cells=[16, 6], duration=UP, **more)


def bar_forces(law: Data, times: tuple[float, ...], *, pattern: str = "se-nw", step: float = 0.25) -> list[float]:
    """Return the force [N] on the bar at `times` [s] in persistent contact without inertia."""
    simulation = start(press_scene(law, pattern=pattern), step=step)
    return seen(simulation, times, lambda: float(simulation.reactions()["tool.bar"][1]))


def elastic_force() -> Values:
    """Compute R4."""
    return {f"F, {pattern}": bar_forces(ELASTIC, (1.0,), pattern=pattern)[0] for pattern in ("se-nw", "alternating")}


def force_history(law: Data, times: tuple[float, ...]) -> Values:
    """Compute R7 or R8."""
    return named("F({:g})", times, bar_forces(law, times))


def self_similarity() -> Values:
    """Compare every law with F_el/E times the answer of a bar, down and on the first part of the way up."""
    times, turns, depths, found = (0.25, 2.0, 5.0, 10.0), [0.0, DOWN, UP], [0.0, 10.0, 0.0], {}
    for name, data in EQUAL_RATIO.items():
        law = scene_from_data(press_scene(data)).law_for("block")
        expected = tool_force(law, SAME / 300.0, turns, depths, times, side="before")
        found[name] = float(np.abs(np.array(bar_forces(data, times)) / expected - 1.0).max())
    return found


def after_contact() -> Values:
    """Follow the stress of triangles when the bar has left, without inertia and with it (the claim of the figures).

    Without load K s = 0 holds the stress s of a body of one Poisson ratio; held below, it has none. Only inertia, or
    unequal ratios, make a tail.
    """
    found, times = {}, np.arange(1.0, 2.0 * UP + 0.5)
    for name, law in SCENES.items():
        for ending, mass, options in (
            ("", 1e-12, {"step": 0.25, "stepper": "quasi-static"}),
            (" with inertia", MASS, {"step": 0.02}),
        ):
            simulation = start(press_scene(law, mass=mass) | {"duration": 2.0 * UP}, **options)

            def look(simulation: Simulation = simulation) -> tuple[float, float, Array]:
                stress = float(von_mises(cell_stress(simulation)).max())
                return float(simulation.reactions()["tool.bar"][1]), stress, simulation.positions.copy()

            forces, stresses, places = (list(column) for column in zip(*seen(simulation, times, look), strict=True))
            left = max(place for place, force in enumerate(forces) if force > 1e-9 * max(forces)) + 1
            at_once = stresses[left] / max(stresses)
            if ending:
                found[f"{name}{ending}, at once"] = at_once
                found[f"{name}{ending}, later per at once"] = stresses[-1] / stresses[left]
            else:
                found[name] = max(stresses[left:]) / max(stresses)
            if name == "F-VP" and not ending:
                found["F-VP, moved since"] = float(np.abs(places[-1] - places[left]).max()) / 10.0
    return found


def mode_frequencies(law: Data) -> tuple[Channel, Array]:
    """Return the law's channel and the eigenvalues [1/(Pa s2)] of M^-1 J per unit of it, of the free nodes."""
    problem = problem_of(press_scene(law, mass=MASS))
    model = build_model(problem, FemOptions())
    (term,), free = model.bodies[0].terms, model.free
    assert term.matrix is not None  # only mixed elements have none
    stiffness, mass = term.matrix.toarray()[np.ix_(free, free)], model.mass.diagonal()[free]
    return term.channel, np.asarray(eigh(stiffness / np.sqrt(np.outer(mass, mass)), eigvals_only=True))


def rates(channel: Channel, eigenvalues: Array) -> Array:
    """Return the eigenvalues [1/s] of the first-order systems of all modes."""
    return np.concatenate([np.linalg.eigvals(mode_matrix(channel, float(value))) for value in eigenvalues])


def euler_limit(values: Array) -> float:
    """Return the largest h [s] with |1 + h z| <= 1 for all damped modes z: -2 Re z/|z|^2."""
    damped = values[values.real < -1e-9 * np.abs(values)]
    return float(np.min(-2.0 * damped.real / np.abs(damped) ** 2))


def runge_kutta_limit(values: Array) -> float:
    """Return the largest h [s] with |1 + z + z^2/2 + z^3/6 + z^4/24| <= 1 up to it, z = h times each mode."""

    def growth(h: float, mode: complex) -> float:
        z = h * mode
        return abs(1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))) - 1.0

    limits = []
    for mode in values[values.real < -1e-9 * np.abs(values)]:
        trial = np.linspace(0.5, 4.0, 71) / abs(mode)
        outside = int(np.flatnonzero([growth(h, mode) > 0.0 for h in trial])[0])
        limits.append(brentq(growth, trial[outside - 1], trial[outside], args=(mode,), rtol=1e-10))
    return float(min(limits))


def stable_steps() -> Values:
    """Compute R12."""
    found = {}
    for name, law in SCENES.items():
        channel, eigenvalues = mode_frequencies(law)
        modes = rates(channel, eigenvalues)
        found[f"{name} euler"], found[f"{name} rk4"] = euler_limit(modes), runge_kutta_limit(modes)
        if law is VISCOPLASTIC:
            frequencies = np.sqrt(channel.instantaneous * eigenvalues)
            found |= {"lowest frequency": float(frequencies.min()), "highest frequency": float(frequencies.max())}
    return found


def reported_steps(stepper: str) -> Values:
    """Return the stable step [s] that a rule reports when it starts on the two scenes."""
    return {
        f"{name} {stepper}": start(press_scene(law, mass=MASS), step=1e-5, stepper=stepper).stable_step
        for name, law in SCENES.items()
    }


def _reported_check(stepper: str) -> Check:
    more: Data = {"only": [f"{scene} {stepper}" for scene in SCENES], "options": {"stepper": stepper}, "quick": True}
    title = f"stable step that {stepper} itself reports"
    return check("fem.R12", partial(reported_steps, stepper), name=f"stable-step-{stepper}", title=title, **more)


CHECKS = {
    "scenes": (
        check("fem.R4", elastic_force, name="elastic-bar-force", quick=True),
        check("fem.R7", partial(force_history, VISCOPLASTIC, (5.0, 10.0)), name="viscoplastic-force", quick=True),
        check("fem.R8", partial(force_history, RHEOLOGICAL, (5.0, 10.0, 12.0)), name="rheological-force", quick=True),
        check("fem.F5.4", after_contact, name="stress-after-contact"),
        check("fem.R12", stable_steps, name="stable-steps", quick=True),
        _reported_check("euler"),
        _reported_check("rk4"),
        check("fem.A7", self_similarity, name="self-similar-force", covers=("T8",), quick=True),
    )
}
