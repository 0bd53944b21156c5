"""The suite itself: complete, and every reference the solver can reach holds."""

import pytest

from rheotwin.validation.checks.check import Check
from rheotwin.validation.checks.registry import all_checks, carry_out

SLOW = {"fem.R21", "fem.A3", "circuit.F8", "truss.R12", "truss.R13", "calibration.KF", "calibration.A3.implicit"}
"""Run by the command only: all but the tets and large lattices, which take seconds, have tests of their own."""
HERE = [
    check
    for check in all_checks()
    if check.compute is not None
    and check.reference.partition("/")[0] not in SLOW
    and check.specification not in ("same", "baseline", "measured")
]


def test_every_reference_of_the_specification_is_listed() -> None:
    known = {word for check in all_checks() for word in check.words}
    wanted = [f"R{n}" for n in range(1, 22)] + [f"A{n}" for n in range(1, 9)] + [f"T{n}" for n in range(1, 10)]
    assert sorted(set(wanted) - known) == []


def test_names_are_unique_and_quantities_too() -> None:
    checks = all_checks()
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        names = [quantity.name for quantity in check.quantities]
        assert len(set(names)) == len(names), check.name
        assert names or check.specification == "baseline", check.name
        assert (check.compute is None) == bool(check.waits_for), check.name


def test_order_of_the_list() -> None:
    checks = all_checks()
    specifications = list(dict.fromkeys(check.specification for check in checks))
    assert specifications[0] == "fem" and specifications[-2:] == ["same", "baseline"]
    labels = [check.reference.partition(".")[2].partition("/")[0] for check in checks if check.specification == "fem"]
    assert list(dict.fromkeys(r for r in labels if r.startswith("R"))) == [f"R{n}" for n in range(1, 22)]


@pytest.mark.parametrize("check", HERE, ids=[check.name for check in HERE])
def test_the_reference_holds(check: Check) -> None:
    result = carry_out(check)
    missed = [row for row in result.rows if row.holds is False]
    assert result.status in ("holds", "finding", "not yet"), (result.message, missed)
    if result.status == "holds":
        assert len(result.rows) == len(check.quantities)
