"""The calibrated sets of chapter 3 as scenes: the same numbers and volumes as in the checks."""

from pathlib import Path
from typing import Any

import pytest

from rheotwin.build import build_problem
from rheotwin.scene import Scene, load_scene
from rheotwin.validation.checks.pushed_lattice import SETS, Printed
from rheotwin.validation.checks.running import run_to, start

SCENES = Path(__file__).parents[3] / "scenes"
FILES = {size: load_scene(SCENES / f"calibrated-{size}-3d.toml") for size in ("lattice", "fine")}
ELSEWHERE = {"R8 M2'": "R8-M2o", "R12 lattice + local": "R9-M2o"}
"""Cases by the names of the papers' sets, where they differ by more than a space."""


def numbers(scene: Scene, law: str) -> list[float]:
    spec: Any = scene.laws[law]
    return [spec.young, spec.voigt_viscosity, spec.series_viscosity]


@pytest.mark.parametrize("name", SETS)
def test_a_case_has_the_numbers_of_the_check(name: str) -> None:
    printed: Printed = SETS[name]
    scene = FILES["fine" if printed.large else "lattice"].with_case(ELSEWHERE.get(name, name.replace(" ", "-")))
    options = scene.solvers["truss"]
    groups: list[Any] = [options.get(name) for name in ("surface_laws", "voxel_laws", "voxel_surface_laws")]
    found = [numbers(scene, law) for law in (scene.bodies["dough"].law, *(group["dough"] for group in groups if group))]
    assert found == [list(numbers) for numbers in (printed.core, printed.surface, *(printed.inside or ())) if numbers]
    assert options.get("local_volume", False) == printed.local
    assert options.get("local_volume_scale", 0.5) == (0.5 if printed.inside is None else 1.0)


@pytest.mark.parametrize(
    ("size", "case", "volume"),
    [
        ("lattice", "R2-M1", 68.49),
        ("lattice", "R8-M2", 69.30),
        ("lattice", "R8-M3G", 75.04),
        ("lattice", "R8-M4o", 74.99),
        pytest.param("fine", "R12-lattice", 70.13, marks=pytest.mark.exhaustive),
        pytest.param("fine", "R9-M4o", 75.02, marks=pytest.mark.exhaustive),
        pytest.param("fine", "R12-TG", 75.05, marks=pytest.mark.exhaustive),
    ],
)
def test_volumes_of_the_specification(size: str, case: str, volume: float) -> None:
    """Volume [cm3] 0.6 s after the punch is gone, within 0.1: calibration, sections 9 and 14."""
    scene = FILES[size].with_case(case)
    if case == "R12-TG":
        body = scene.bodies["dough"].model_copy(update={"cell": "tet"})
        scene = scene.model_copy(update={"bodies": {"dough": body}})
    simulation = run_to(start(build_problem(scene), "truss", **scene.solvers["truss"]), 4.0)
    assert 75.0 * simulation.statistics()["volume_ratio"]["dough"] == pytest.approx(volume, abs=0.1)
