"""Breaking a constant anywhere turns the exit code to 1: every part of the program has a check that notices.

Compiled loops are broken where their numbers are packed, in Python; `python -m benchmarks mutations` breaks
their source, and shows what the nearest tests notice. Here its list is only held against the tree.
"""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rheotwin.__main__ import main
from rheotwin.validation.checks.registry import Selection, all_checks, selected

ROOT = Path(__file__).parents[3]
Patch = pytest.MonkeyPatch


def scaled(place: str, factor: float, field: str = "") -> Callable[[Patch], None]:
    """Let a function return `factor` times what it does, or do so with one field of a tuple."""
    module, _, name = place.rpartition(".")

    def breaks(patch: Patch) -> None:
        right: Any = getattr(__import__(module, fromlist=[name]), name)

        def wrong(*args: Any, **more: Any) -> Any:
            found = right(*args, **more)
            return found._replace(**{field: factor * getattr(found, field)}) if field else factor * found

        patch.setattr(place, wrong)

    return breaks


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


def rounded_constants(patch: Patch) -> None:
    """Constants of the circuit to the nearest raw number above, not below."""
    from rheotwin.particles.fixed_point import parameters

    right = parameters.quantise_constant
    patch.setattr(parameters, "quantise_constant", lambda c, w: right(c, w) + 1)


BOXES, KEEPING = "rheotwin.meshing.box", "rheotwin.particles.shape_keeping"
MATCH, CIRCUIT = "rheotwin.particles.element_match", "rheotwin.particles.fixed_point"
CHECKS = "rheotwin.validation.checks"
SEED = "rheotwin.particles.shear_volume.seed"
MUTATIONS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "materials: Poisson ratio in the Lame map": (lame_map, "R2"),
    "materials: gain of the three-element memory": (printed_gain, "R8,R11,fem.A6"),
    "fem: form of J_lambda": (scaled("rheotwin.fem.system.lame_matrix", 1 + 1e-6), "R4"),
    "fem: form of J_mu": (scaled("rheotwin.fem.system.shear_matrix", 1 + 1e-6), "R4"),
    "fem: matrix of J_lambda": (scaled(f"{CHECKS}.matrices.lame_matrix", 1 + 1e-6), "geometric-matrices"),
    "fem: share of the load in the midpoint rule": (late_load, "manufactured-time-midpoint"),
    "meshing: coordinates of a grid": (scaled(f"{BOXES}.grid_points", 1.0001), "R4"),
    "constraints: motion of tools": (tool_motion, "R4"),
    "constraints: coefficient of friction": (friction, "drop-2d-fem"),
    "particles: stiffness tensor of edges": (scaled(f"{MATCH}.isotropic_stiffness", 1.001), "press-2d-truss"),
    "particles: pressure of a changed volume": (
        scaled(f"{KEEPING}.make_global_pressure", 1.01, "stiffness"),
        "press-2d-truss",
    ),
    "particles: decay of the memory of edges": (
        scaled("rheotwin.particles.truss.kernel_elements", 1.001, "arm_decay"),
        "truss.R3",
    ),
    "particles: stiffness of topology forces": (scaled(f"{KEEPING}.make_topology", 0.0, "stiffness"), "truss.R17"),
    "particles: cotangents of corners": (scaled(f"{SEED}.shear_strains", 1.001), "fem.A5"),
    "fixed point: constants of the element module": (rounded_constants, "circuit.F1"),
    "fixed point: reciprocal": (scaled(f"{CIRCUIT}.circuit.recip", 2), "circuit.F1"),
    "fixed point: memory of a point": (lambda p: p.setattr(f"{CIRCUIT}.timing.POINT_RAMS", 16), "circuit.F6"),
}
"""What is broken, and which checks are to notice."""


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
    assert {result["status"] for result in found["checks"]} == {"falls short"}


def test_a_late_load_costs_an_order(monkeypatch: Patch, capsys: pytest.CaptureFixture[str]) -> None:
    late_load(monkeypatch)
    (check,) = validated("manufactured-time-midpoint", capsys)[1]["checks"]
    assert check["rows"][0]["computed"] == pytest.approx(1.0, abs=0.1)


def test_listed_mutations_have_their_places_tests_and_quick_checks() -> None:
    listed = tomllib.loads((ROOT / "benchmarks" / "mutations.toml").read_text())["mutation"]
    assert len(listed) >= 40
    for mutation in listed:
        assert (ROOT / mutation["file"]).read_text().count(mutation["old"]) == 1, mutation["why"]
        assert mutation["new"] != mutation["old"]
        assert all((ROOT / place).exists() for place in mutation["tests"].split()), mutation["why"]
        assert selected(all_checks(), Selection(tuple(mutation["checks"].split(",")), quick=True)), mutation["why"]
