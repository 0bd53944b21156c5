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

from rheotwin.constraints.motion import Motion
from rheotwin.fem.finite.measures import Isochoric
from rheotwin.fem.steppers import schemes
from rheotwin.materials import Channel, Moduli, ThreeElement
from rheotwin.validation.checks.registry import Selection, all_checks, selected

ROOT = Path(__file__).parents[3]
Patch = pytest.MonkeyPatch
Breaks = Callable[[Patch], None]


def changed(place: str, change: Callable[[Any], Any]) -> Breaks:
    """Let a function return what `change` makes of its result."""
    module, _, name = place.rpartition(".")

    def breaks(patch: Patch) -> None:
        right: Any = getattr(__import__(module, fromlist=[name]), name)
        patch.setattr(place, lambda *args, **more: change(right(*args, **more)))

    return breaks


def scaled(place: str, factor: float, field: str = "") -> Breaks:
    """Let a function return `factor` times what it does, or do so with one field of a tuple."""
    if field:
        return changed(place, lambda found: found._replace(**{field: factor * getattr(found, field)}))
    return changed(place, lambda found: factor * found)


def lame_map(patch: Patch) -> None:
    right = Moduli.from_young
    patch.setattr(Moduli, "from_young", classmethod(lambda cls, young, poisson: right(young, 1.0001 * poisson)))


def swollen(patch: Patch) -> None:
    """A volume at large strain that is 3 % too large."""
    right = Isochoric.volume
    patch.setattr(Isochoric, "volume", lambda self, strain: right(self, strain) + 0.03)


def printed_gain(patch: Patch) -> None:
    """The gain of the three-element memory as the papers print it (E15)."""

    def channel(self: ThreeElement, modulus: Any) -> Channel:
        return Channel.three_element(*(part.value(modulus) for part in self.parts), seed_printed=True)

    patch.setattr(ThreeElement, "channel", channel)


def late_load(patch: Patch) -> None:
    """The midpoint rule with the loads of the end of the step."""
    right = schemes.midpoint
    patch.setattr("rheotwin.fem.steppers.choose.midpoint", lambda h: replace(right(h), load_share=1.0))


def tool_motion(patch: Patch) -> None:
    right = Motion.at
    patch.setattr(Motion, "at", lambda self, time: 1.001 * right(self, time))


def slippery(row: list[float]) -> list[float]:
    """A row of the table of contact laws with friction 1 % too large."""
    from rheotwin.constraints.contact.laws.form import FRICTION, STATIC_FRICTION

    return [1.01 * value if column in (FRICTION, STATIC_FRICTION) else value for column, value in enumerate(row)]


FORMS, BOXES, KEEPING = "rheotwin.fem.system", "rheotwin.meshing.box", "rheotwin.particles.shape_keeping"
MATCH, CIRCUIT = "rheotwin.particles.element_match", "rheotwin.particles.fixed_point"
MUTATIONS: dict[str, tuple[Breaks, str]] = {
    "materials: Poisson ratio in the Lame map": (lame_map, "R2"),
    "fem: form of J_mu": (scaled(f"{FORMS}.shear_matrix", 1 + 1e-6), "R4"),
    "fem: share of the load in the midpoint rule": (late_load, "manufactured-time-midpoint"),
    "meshing: coordinates of a grid": (scaled(f"{BOXES}.grid_points", 1.0001), "R4"),
    "constraints: motion of tools": (tool_motion, "R4"),
    "particles: decay of the memory of edges": (
        scaled("rheotwin.particles.truss.kernel_elements", 1.001, "arm_decay"),
        "truss.R3",
    ),
    "fixed point: reciprocal": (scaled(f"{CIRCUIT}.circuit.recip", 2), "circuit.F1"),
}
MORE: dict[str, tuple[Breaks, str]] = {
    "materials: gain of the three-element memory": (printed_gain, "R8,R11,fem.A6"),
    "fem: form of J_lambda": (scaled(f"{FORMS}.lame_matrix", 1 + 1e-6), "R4"),
    "fem: matrix of J_lambda": (
        scaled("rheotwin.validation.checks.matrices.lame_matrix", 1 + 1e-6),
        "geometric-matrices",
    ),
    "fem: stress at points": (scaled("rheotwin.fem.body._stress_state", 2.0), "stress-after-contact"),
    "constraints: friction": (changed("rheotwin.constraints.contact.laws.form._numbers", slippery), "drop-2d-fem"),
    "constraints: second derivative of volumes": (
        scaled("rheotwin.constraints.measure.simplex_curvature", 0.99),
        "fem.E8",
    ),
    "fem: histories of the Cayley rule": (
        changed("rheotwin.fem.steppers.schemes.cayley_step", lambda step: replace(step, gain=1.0001 * step.gain)),
        "fem.S2.cayley",
    ),
    "fem: change of volume at large strain": (
        swollen,
        "fem.S12/inflation",
    ),
    "particles: stiffness tensor of edges": (scaled(f"{MATCH}.isotropic_stiffness", 1.001), "press-2d-truss"),
    "particles: pressure of a changed volume": (
        scaled(f"{KEEPING}.make_global_pressure", 1.01, "stiffness"),
        "press-2d-truss",
    ),
    "particles: stiffness of topology forces": (scaled(f"{KEEPING}.make_topology", 0.0, "stiffness"), "truss.R17"),
    "particles: cotangents of corners": (scaled("rheotwin.particles.shear_volume.seed.shear_strains", 1.001), "fem.A5"),
    "particles: places of a population": (
        scaled("rheotwin.particles.populations.padded", 1.01),
        "volumes-in-lanes",
    ),
    "particles: stiffness of polyhedra": (
        changed("rheotwin.particles.local_shape.elements.constants", lambda found: (1.0001 * found[0], found[1])),
        "shape.S2",
    ),
    "particles: slaves outside of a body": (
        changed("rheotwin.particles.slave.cloud.outer_slaves", lambda found: (found[0][1:], found[1][1:])),
        "slave.counts",
    ),
    "fixed point: constants to the raw number above": (
        changed(f"{CIRCUIT}.parameters.quantise_constant", lambda raw: raw + 1),
        "circuit.F1",
    ),
    "identification: slopes of a fit": (
        scaled("rheotwin.validation.identification.fit.central_differences", 1.05),
        "identification.ID-31",
    ),
    "fixed point: memory of a point": (lambda p: p.setattr(f"{CIRCUIT}.timing.POINT_RAMS", 16), "circuit.F6"),
}
"""What is broken, and which checks are to notice; one of each room, and the others."""
ALL = MUTATIONS | MORE
CHOSEN = [*MUTATIONS, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in MORE)]


@pytest.mark.parametrize(
    "mutations", [MUTATIONS, pytest.param(MORE, marks=pytest.mark.exhaustive)], ids=["some", "more"]
)
def test_nothing_is_broken_beforehand(mutations: dict[str, tuple[Breaks, str]], command) -> None:
    words = ",".join(sorted({check for _, check in mutations.values()}))
    code, out, _ = command("--select", words, "--json", "--quiet")
    assert code == 0, [check for check in json.loads(out)["checks"] if check["status"] != "holds"]
    assert len(mutations) >= 7


@pytest.mark.parametrize("name", CHOSEN)
def test_a_broken_constant_makes_exit_code_one(name: str, monkeypatch: Patch, command) -> None:
    breaks, check = ALL[name]
    breaks(monkeypatch)
    code, out, _ = command("--select", check, "--json", "--quiet")
    found = json.loads(out)["checks"]
    assert code == 1, found
    assert {result["status"] for result in found} == {"falls short"}
    if breaks is late_load:
        assert found[0]["rows"][0]["computed"] == pytest.approx(1.0, abs=0.1), "it costs an order"


def test_listed_mutations_have_their_places_tests_and_quick_checks() -> None:
    listed = tomllib.loads((ROOT / "benchmarks" / "mutations.toml").read_text())["mutation"]
    assert len(listed) >= 40
    for mutation in listed:
        assert (ROOT / mutation["file"]).read_text().count(mutation["old"]) == 1, mutation["why"]
        assert mutation["new"] != mutation["old"]
        assert all((ROOT / place).exists() for place in mutation["tests"].split()), mutation["why"]
        assert selected(all_checks(), Selection(tuple(mutation["checks"].split(",")), quick=True)), mutation["why"]
