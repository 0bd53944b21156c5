"""Redundant constraints are named, contradictory ones refused, before a run."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rheotwin.constraints import Motion, at_rest
from rheotwin.constraints.feasible import ConstraintReport, constraint_report, require_feasible, require_followable
from rheotwin.constraints.links import RigidLink, link_constraints
from rheotwin.errors import RheotwinError

Array = np.ndarray
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [3.0, 0.0], [4.0, 0.0]])


def link(name: str, *pairs: tuple[int, int], length: float | None = None) -> RigidLink:
    nodes = np.array(pairs)
    rest = np.linalg.norm(SQUARE[nodes[:, 1]] - SQUARE[nodes[:, 0]], axis=1)
    return RigidLink(name, nodes, rest if length is None else np.full(len(pairs), length))


SIDES = (link("side", (0, 1), (1, 2), (2, 3), (3, 0)), link("one", (0, 2)), link("apart", (4, 5)))
FREE = np.zeros(SQUARE.shape, dtype=bool)


def report(links: tuple[RigidLink, ...], held: Array = FREE) -> ConstraintReport:
    names = [name for item in links for name in item.members]
    return constraint_report(names, link_constraints(links, SQUARE.shape).gradient(SQUARE), held)


def test_rank_dependence_and_supports_that_pull_apart() -> None:
    found = report(SIDES)
    assert (found.rank.constraints, found.rank.rank, found.dependent, found.sentence()) == (6, 6, (), None)
    assert found.entries()["constraint_conditioning"] > 1.0
    found = report((*SIDES, link("two", (1, 3))))
    assert (found.rank.constraints, found.rank.rank) == (7, 6)
    assert set(found.dependent) == {f"links.side[{k}]" for k in range(4)} | {"links.one", "links.two"}
    assert "links.side[0], links.side[1]" in str(found.sentence()) and "links.apart" not in str(found.sentence())
    held = FREE.copy()
    held[4:] = True
    assert (report(SIDES, held).dependent, report(SIDES, held).rank.rank) == (("links.apart",), 5)
    # A volume in m3 beside a link: 1e-9 of its size, but not redundant.
    gradient = csr_matrix(np.array([[1e-9, 1e-9, 0.0], [0.0, 1.0, 1.0], [0.0, 2.0, 2.0]]))
    found = constraint_report(["volume", "a", "b"], gradient, np.zeros(3, dtype=bool))
    assert found.rank.rank == 2 and found.dependent == ("a", "b")
    owners = np.full(SQUARE.shape, -1)
    owners[0], owners[1] = 0, 1
    together = Motion(np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.0, 2.0]]))
    require_followable([link("rod", (0, 1))], SQUARE, owners, [together, together])
    with pytest.raises(RheotwinError, match=r"links\.rod: supports hold both its ends, at 0\.5 s"):
        require_followable([link("rod", (0, 1))], SQUARE, owners, [at_rest(2), together])


@pytest.mark.parametrize(
    ("links", "held", "names"),
    [
        ([link("short", (0, 1)), link("long", (0, 1), length=2.0)], FREE, "links.short, links.long"),
        ([link("a", (0, 1)), link("b", (1, 2)), link("c", (0, 2), length=2.5)], FREE, "links.a, links.b, links.c"),
        ([link("rod", (0, 1), length=1.1)], ~FREE, r"links\.rod"),
    ],
)
def test_lengths_that_no_shape_has_are_refused(links: list[RigidLink], held: Array, names: str) -> None:
    """Two lengths of one pair, a side of a triangle longer than the others together, supports that say otherwise."""
    require_feasible([link("side", (0, 1), (1, 2), (2, 3), (3, 0), length=1.5)], SQUARE, FREE)
    with pytest.raises(RheotwinError, match=f"{names}: no shape has the length asked for"):
        require_feasible(links, SQUARE, held)
