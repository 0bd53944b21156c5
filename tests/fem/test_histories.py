"""Histories at nodes, as in the papers, and at quadrature points: the same results on a body of one law (spec 2.2)."""

from typing import Any

import numpy as np
import pytest

from rheotwin.validation.checks.running import EQUAL_RATIO, VISCOPLASTIC, Data, box_scene, path, run_to, side, start

BOXES: dict[str, tuple[list[float], list[int]]] = {
    "line": ([2.0], [3]),
    "triangle": ([2.0, 1.0], [2, 1]),
    "quad": ([2.0, 1.0], [2, 1]),
    "tet": ([2.0, 1.0, 1.0], [1, 1, 1]),
    "hex": ([2.0, 1.0, 1.0], [2, 1, 1]),
}
STEPPERS = ("midpoint", "cayley", "quasi-static", "generalized-alpha")
UNEQUAL = {
    "unequal maxwell": VISCOPLASTIC | {"viscosity": 90.0, "viscous_poisson": 0.2},
    "unequal voigt": EQUAL_RATIO["voigt"] | {"viscous_poisson": 0.2},
}
LAWS = EQUAL_RATIO | UNEQUAL


def swung(law: Data, cell: str, **options: Any) -> dict[str, np.ndarray]:
    """Results of a heavy body that is shaken at one end: fields, reactions and energies."""
    size, cells = BOXES[cell]
    d = len(size)
    away = path([0.0, 0.3, 0.5], [[0.0] * d, [0.1, *[0.05] * (d - 1)], [0.0] * d]) | {"interpolation": "smooth"}
    shaker = {"shaker": side("left", motion=away)}
    more: Data = {"supports": shaker, "gravity": [-1.0] * d, "duration": 0.5, "density": 30.0}
    more |= {"plane": options.pop("plane")} if "plane" in options else {}
    simulation = start(box_scene(law, size=size, cells=cells, cell=cell, **more), **{"step": 0.05} | options)
    run_to(simulation, 0.5)
    energy = {name: np.array(value) for name, value in simulation.energy().items()}
    return {**simulation.fields(), **simulation.reactions(), **energy}


def check_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """Forces and energies may differ by what rounding leaves of the largest of their kind."""
    scale = {name: np.abs(array).max() for name, array in expected.items()}
    whole = {"defect": scale["external"], "memory_stress": scale["stress"], "impact": scale["external"]}
    whole |= dict.fromkeys(("dissipated", "kinetic"), scale["external"])
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-12 * whole.get(name, scale[name]), err_msg=name)


def check_both_places(law: Data, cell: str, **options: Any) -> None:
    nodal, points = (swung(law, cell, history=place, **options) for place in ("nodal", "quadrature"))
    check_same(points, nodal)


@pytest.mark.parametrize(
    ("stepper", "cell", "order"),
    [
        *((stepper, "triangle", 1) for stepper in STEPPERS),
        *(("midpoint", cell, 1) for cell in ("line", "quad", "tet", "hex")),
        ("cayley", "line", 2),
        ("generalized-alpha", "quad", 2),
        ("quasi-static", "tet", 2),
    ],
)
@pytest.mark.parametrize("law", ["three-element", "unequal maxwell"])
def test_both_places_give_the_same(stepper: str, cell: str, order: int, law: str) -> None:
    check_both_places(LAWS[law], cell, stepper=stepper, order=order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("law", UNEQUAL)
def test_both_places_give_the_same_in_plane_stress(law: str, order: int) -> None:
    """The out-of-plane strains have histories, too."""
    check_both_places(UNEQUAL[law], "triangle", order=order, plane="stress")


@pytest.mark.parametrize("cell", ["triangle", "hex"])
def test_both_places_give_the_same_for_the_rule_per_constant(cell: str) -> None:
    """E19: the papers' split by Lame constants is another material than that by bulk and shear modulus."""
    law = UNEQUAL["unequal maxwell"]
    nodal, points, series = (
        swung(law, cell, **how)
        for how in ({"split": "lame"}, {"split": "lame", "history": "quadrature"}, {"split": "bulk-shear"})
    )
    check_same(points, nodal)
    assert np.abs(series["stress"] - nodal["stress"]).max() > 0.01 * np.abs(nodal["stress"]).max()


def test_memory_lives_where_it_is_asked_to_in_explicit_steps_too() -> None:
    """One arm of the merged term: a displacement vector, or six components at each of the triangles."""
    data = box_scene(VISCOPLASTIC, size=[2.0, 1.0], cells=[2, 1])
    nodal, points = (start(data, history=place).save()["memory_0_0"] for place in ("nodal", "quadrature"))
    assert nodal.shape == (1, 6 * 2) and points.shape == (1, 4 * 6)
    check_both_places(EQUAL_RATIO["generalized-maxwell"], "triangle", stepper="rk4", step=0.005)
