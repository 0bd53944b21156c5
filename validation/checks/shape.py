"""Shape-keeping polyhedra: the paper's tables, recovery, moduli and momenta (LS-1 to LS-15)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from rheotwin.particles.local_shape.options import Rotation as Update
from rheotwin.particles.local_shape.rotation import (
    matrix_of,
    normalised,
    paper_turn,
    product,
    sym_atan_turn,
    times_transposed,
)

SHAPES, STRAIN = 100, 0.3
"""Random shapes of the table of passes, and their strain."""
TURNS = {"paper": paper_turn, "sym-atan": sym_atan_turn}


def angle_errors(update: Update, degrees: float, strain: float = STRAIN, passes: int = 3) -> list[float]:
    """Return the median angle [rad] from the polar factor after each pass, from a start so many degrees off.

    Shapes are A = Q (I + e) S, e symmetric with entries up to `strain`, S = 2 I that of a cube of unit edges.
    """
    generator = np.random.default_rng(8)
    found = np.zeros((SHAPES, passes))
    for shape in range(SHAPES):
        e = generator.uniform(-strain, strain, (3, 3))
        true = Rotation.random(rng=generator)
        axis = generator.standard_normal(3)
        start = Rotation.from_rotvec(np.deg2rad(degrees) * axis / np.linalg.norm(axis)) * true
        a = tuple((2.0 * true.as_matrix() @ (np.eye(3) + 0.5 * (e + e.T))).ravel())
        q = tuple(start.as_quat(scalar_first=True))
        for n in range(passes):
            b = times_transposed(a, matrix_of(q))
            q = normalised(product(TURNS[update](b), q))
            found[shape, n] = (Rotation.from_quat(q, scalar_first=True) * true.inv()).magnitude()
    return [float(error) for error in np.median(found, axis=0)]
