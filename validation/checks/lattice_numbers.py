"""Numbers of the papers' lattices: elements by size, eigenvalues that bound steps, sums of counts (calibration)."""

from __future__ import annotations

import numpy as np

from rheotwin.meshing import hex_grid, lattice_edges, tet_grid, truss_edges
from rheotwin.particles.forces.voxel_centre import diagonal_edges
from rheotwin.validation.checks.check import Measurement, check
from rheotwin.validation.checks.running import Data, box_scene
from rheotwin.validation.checks.truss_runs import begin
from rheotwin.validation.references import catalogue

SIZES = ((6, 4, 6), (7, 5, 7), (8, 6, 8), (11, 7, 11), (16, 10, 16), (21, 13, 21))
"""Points along push, up and depth; the lowest layer is held."""
KINDS = {"l": 1.0, "sqrt2 l": 2.0**0.5, "sqrt3 l": 3.0**0.5}
PUSHED_ROWS = 2


def elements() -> Measurement:
    """Count the points of each size, and its edges as lattice, as truss and with half elements in its voxels."""
    found: dict[str, float] = {}
    for size in SIZES:
        along, up, deep = size
        axes = [np.arange(float(count)) for count in size]
        mesh = hex_grid(*axes)
        edges, cells = lattice_edges(mesh).astype(np.int64), mesh.t.T.astype(np.int64)
        lengths = np.linalg.norm(mesh.p.T[edges[:, 1]] - mesh.p.T[edges[:, 0]], axis=1)
        counts = {f"edges {kind}": int(np.isclose(lengths, length).sum()) for kind, length in KINDS.items()}
        counts |= {
            "points": along * up * deep,
            "free points": along * up * deep - along * deep - PUSHED_ROWS * deep,
            "lattice": len(edges),
            "truss": len(truss_edges(tet_grid(*axes))),
            "local": len(edges) - len(np.unique(diagonal_edges(cells, edges))) + cells.size,
        }
        found |= {f"{along}x{up}x{deep}, {what}": float(count) for what, count in counts.items()}
    return Measurement(found)


STRUCTURES: dict[str, tuple[str, Data]] = {
    "lattice": ("hex", {}),
    "local": ("hex", {"local_volume": True}),
    "truss": ("tet", {}),
}
"""Cells and options of the structures."""


def eigenvalues() -> Measurement:
    """Compute the largest eigenvalues of dashpots of 1 N s/m between points of 1 kg: Euler's limit is 2 over them."""
    dashpot = {"model": "voigt", "young": 0.0, "poisson": 0.25, "viscosity": 1.0, "viscous_poisson": 0.25}
    floor = {"floor": {"body": "block", "where": {"side": "bottom"}}}
    found = {}
    for along, up, deep in SIZES[:2]:
        cells = [along - 1, deep - 1, up - 1]
        for name, (cell, options) in STRUCTURES.items():
            data = box_scene(
                dashpot,
                size=[float(count) for count in cells],
                cells=cells,
                cell=cell,
                mass=float(along * up * deep),
                mass_sharing="equal",
                duration=1.0,
                supports=floor,
            )
            found[f"{name}, {along}x{up}x{deep}"] = 2.0 / begin(data, stepper="euler", **options).stable_step
    return Measurement(found)


COUNTS: dict[str, tuple[int, ...]] = {
    "R2 M1": (513, 381, 335, 267),
    "R2 M2": (498, 1451, 459, 388),
    "R2 M3E": (266, 224, 242, 177),
    "R3 M1": (1260, 983, 724, 751),
    "R3 M2": (1002, 1629, 755, 832),
    "R3 M3E": (837, 604, 496, 485),
    "R7 RA": (1182, 922, 721, 737),
    "R7 GA": (1091, 990, 579, 637),
    "R8 M2": (486, 545, 910, 961),
    "R8 M3G": (361, 265, 299, 267),
    "R8 M4": (314, 563, 494, 426),
    "R8 M2'": (187, 395, 415, 393),
    "R8 M4'": (215, 331, 480, 567),
    "R9 M2": (150, 111, 252, 291),
    "R9 M3G": (523, 263, 199, 212),
    "R9 M4": (157, 261, 425, 165),
    "R9 M2'": (219, 167, 232, 267),
    "R9 M4'": (258, 188, 168, 147),
}
"""Points that are far from the shape at the four times, as P1 and P4 print them."""
PRINTED_IN_P2: dict[str, tuple[int, ...]] = {"R2 M2": (498, 451, 459, 388)}
TOTALS = {"R2 M1": 1496, "R2 M2": 2796, "R2 M3E": 895, "R3 M1": 3718, "R3 M2": 4218, "R3 M3E": 2422}
"""Totals that the catalogue does not list with R7, R8 and R9."""


def wrong_sums() -> Measurement:
    """Count printed totals that are no sums."""
    listed = {
        f"{label} {quantity.name.removesuffix('count').rstrip(', ')}": int(quantity.reference)
        for label in ("R7", "R8", "R9")
        for quantity in catalogue().quantities(f"calibration.{label}")
        if quantity.name.endswith("count")
    }
    totals = TOTALS | listed

    def wrong(counts: dict[str, tuple[int, ...]]) -> float:
        return float(sum(sum(parts) != totals[name] for name, parts in counts.items()))

    return Measurement(
        {
            "with P1's 1451": wrong(COUNTS),
            "with P2's 451": wrong(COUNTS | PRINTED_IN_P2),
            "T2 M2 total": float(sum(COUNTS["R2 M2"])),
            "T2 M3E sum": float(sum(COUNTS["R2 M3E"])),
            "T2 M3E printed": float(TOTALS["R2 M3E"]),
        }
    )


CHECKS = (
    check("calibration.R10", elements, name="lattice-elements", quick=True, solvers=("truss",)),
    check("calibration.S2", eigenvalues, name="lattice-eigenvalues", quick=True, solvers=("truss",)),
    check("calibration.A2", wrong_sums, name="printed-counts", quick=True, solvers=("truss",)),
)
