"""The suite itself: complete, and every reference the solver can reach holds."""

import pytest

from rheotwin.validation.checks.registry import all_checks, carry_out

COMMAND_ONLY = {
    "fem.R21",
    "fem.A3",
    "circuit.F8",
    "truss.R12",
    "truss.R13",
    "calibration.KF",
    "calibration.A3.implicit",
    "calibration.A7",
    "calibration.G1",
}
"""All but the tets and large lattices, which take seconds, have tests of their own."""
EXHAUSTIVE = pytest.mark.exhaustive


def test_every_reference_of_the_specification_is_listed_in_order() -> None:
    checks = all_checks()
    wanted = [f"R{n}" for n in range(1, 22)] + [f"A{n}" for n in range(1, 9)] + [f"T{n}" for n in range(1, 10)]
    assert sorted(set(wanted) - {word for check in checks for word in check.words}) == []
    specifications = list(dict.fromkeys(check.specification for check in checks))
    assert specifications[0] == "fem" and specifications[-2:] == ["same", "baseline"]
    labels = [check.reference.partition(".")[2].partition("/")[0] for check in checks if check.specification == "fem"]
    assert list(dict.fromkeys(r for r in labels if r.startswith("R"))) == [f"R{n}" for n in range(1, 22)]


def test_names_are_unique_and_quantities_too() -> None:
    checks = all_checks()
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        names = [quantity.name for quantity in check.quantities]
        assert len(set(names)) == len(names), check.name
        assert names or check.specification == "baseline", check.name
        assert (check.compute is None) == bool(check.waits_for), check.name


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=EXHAUSTIVE)], ids=["quick", "long"])
@pytest.mark.parametrize("specification", ["fem", "truss", "identification", "calibration", "circuit"])
def test_the_references_hold(specification: str, quick: bool) -> None:
    missed = {}
    for check in all_checks():
        asked = check.compute is not None and (check.specification, check.quick) == (specification, quick)
        if not asked or check.reference.partition("/")[0] in COMMAND_ONLY:
            continue
        result = carry_out(check)
        complete = result.status != "holds" or len(result.rows) == len(check.quantities)
        if result.status not in ("holds", "finding", "not yet") or not complete:
            missed[check.name] = (result.message, [row for row in result.rows if row.holds is False])
    assert missed == {}
