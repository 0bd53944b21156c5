"""Breaking a constant anywhere turns the exit code to 1: every part of the program has a check that notices.

Compiled loops are broken where their numbers are packed, in Python; the loops themselves stay as they are.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rheotwin.__main__ import main

Patch = pytest.MonkeyPatch


def scaled(patch: Patch, place: str, factor: float, part: int | None = None) -> None:
    """Let a function return `factor` times what it does, or do so with one part of a tuple."""
    module, _, name = place.rpartition(".")
    right: Any = getattr(__import__(module, fromlist=[name]), name)

    def wrong(*args: Any, **more: Any) -> Any:
        found = right(*args, **more)
        if part is None:
            return factor * found
        return (*found[:part], factor * found[part], *found[part + 1 :])

    patch.setattr(place, wrong)


def lame_map(patch: Patch) -> None:
    from rheotwin.materials import Moduli

    right = Moduli.from_young
    patch.setattr(Moduli, "from_young", classmethod(lambda cls, young, poisson: right(young, 1.0001 * poisson)))


def printed_gain(patch: Patch) -> None:
    """The gain of the three-element memory as the papers print it (E15)."""
    from rheotwin.materials import Channel, ThreeElement

    def channel(self: ThreeElement, modulus: Any) -> Channel:
        return Channel.three_element(*(part.value(modulus) for part in self.parts), seed_printed=True)

    patch.setattr(ThreeElement, "channel", channel)


def late_load(patch: Patch) -> None:
    """The midpoint rule with the loads of the end of the step."""
    from rheotwin.fem.steppers import midpoint

    right = midpoint.midpoint
    patch.setattr("rheotwin.fem.steppers.choose.midpoint", lambda h: replace(right(h), load_share=1.0))


def friction(patch: Patch) -> None:
    """The column of friction in the table of contact laws, 1 % too large."""
    from rheotwin.constraints.contact.laws import form

    right = form._numbers

    def row(law: Any) -> list[float]:
        found = right(law)
        found[form.FRICTION] *= 1.01
        found[form.STATIC_FRICTION] *= 1.01
        return found

    patch.setattr(form, "_numbers", row)


def tool_motion(patch: Patch) -> None:
    """Tools that move a thousandth too far."""
    from rheotwin.constraints.motion import Motion

    right = Motion.at
    patch.setattr(Motion, "at", lambda self, time: 1.001 * right(self, time))


def volume_pressure(patch: Patch) -> None:
    from rheotwin.particles import shape_keeping

    right = shape_keeping.make_global_pressure
    patch.setattr(
        shape_keeping,
        "make_global_pressure",
        lambda *args, **more: (found := right(*args, **more))._replace(stiffness=1.01 * found.stiffness),
    )


def slow_memory(patch: Patch) -> None:
    """Arms of edges that keep a thousandth more in every step."""
    from rheotwin.particles import simulation

    right = simulation.kernel_elements
    patch.setattr(
        simulation,
        "kernel_elements",
        lambda *args: (found := right(*args))._replace(arm_decay=1.001 * found.arm_decay),
    )


def no_topology_forces(patch: Patch) -> None:
    from rheotwin.particles import shape_keeping

    right = shape_keeping.make_topology
    patch.setattr(shape_keeping, "make_topology", lambda *args, **more: right(*args, **more)._replace(stiffness=0.0))


def rounded_constants(patch: Patch) -> None:
    """Constants of the circuit to the nearest raw number above, not below."""
    from rheotwin.particles.fixed_point import parameters

    right = parameters.quantise_constant
    patch.setattr(parameters, "quantise_constant", lambda c, w: right(c, w) + 1)


MUTATIONS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "materials: Poisson ratio in the Lame map": (lame_map, "R2"),
    "materials: gain of the three-element memory": (printed_gain, "R11"),
    "fem: form of J_lambda": (lambda p: scaled(p, "rheotwin.fem.system.lame_matrix", 1 + 1e-6), "R4"),
    "fem: form of J_mu": (lambda p: scaled(p, "rheotwin.fem.system.shear_matrix", 1 + 1e-6), "R4"),
    "fem: share of the load in the midpoint rule": (late_load, "manufactured-time-midpoint"),
    "meshing: coordinates of a grid": (lambda p: scaled(p, "rheotwin.meshing.box.grid_points", 1.0001), "R4"),
    "constraints: motion of tools": (tool_motion, "R4"),
    "constraints: coefficient of friction": (friction, "drop-2d-fem"),
    "particles: stiffness tensor of edges": (
        lambda p: scaled(p, "rheotwin.particles.element_match.isotropic_stiffness", 1.001),
        "press-2d-truss",
    ),
    "particles: pressure of a changed volume": (volume_pressure, "press-2d-truss"),
    "particles: decay of the memory of edges": (slow_memory, "truss.R3"),
    "particles: stiffness of topology forces": (no_topology_forces, "truss.R17"),
    "particles: cotangents of corners": (
        lambda p: scaled(p, "rheotwin.validation.checks.seed_shear.corner_cotangents", 1.001),
        "fem.A5",
    ),
    "fixed point: constants of the element module": (rounded_constants, "circuit.F1"),
    "fixed point: reciprocal": (lambda p: scaled(p, "rheotwin.particles.fixed_point.circuit.recip", 2), "circuit.F1"),
    "fixed point: memory of a point": (
        lambda p: p.setattr("rheotwin.particles.fixed_point.timing.POINT_RAMS", 16),
        "circuit.F6",
    ),
}
"""What is broken, and which check is to notice."""


def validated(words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = main(["validate", "--select", words, "--json", "--quiet"])
    return code, json.loads(capsys.readouterr().out)


def test_nothing_is_broken_beforehand(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = validated(",".join(sorted({check for _, check in MUTATIONS.values()})), capsys)
    assert code == 0, [check for check in found["checks"] if check["status"] != "holds"]
    assert len(MUTATIONS) >= 10


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_constant_makes_exit_code_one(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks, check = MUTATIONS[name]
    breaks(monkeypatch)
    code, found = validated(check, capsys)
    assert code == 1, found["checks"]
    assert "falls short" in {result["status"] for result in found["checks"]}
