"""Bounds of quantities, what becomes of a check, and which are chosen."""

import math
from typing import Any

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.checks.check import Check, Measurement, Unavailable
from rheotwin.validation.checks.registry import Selection, carry_out, selected, verify
from rheotwin.validation.checks.running import last_order, missing_option, orders
from rheotwin.validation.references.catalogue import Finding, Quantity


@pytest.mark.parametrize(
    ("bound", "good", "bad"),
    [
        ("absolute", 100.09, 100.11),
        ("absolute", 99.91, 99.89),
        ("relative", 109.9, 110.1),
        ("at most", 99.0, 100.1),
        ("at least", 101.0, 99.9),
    ],
)
def test_bounds(bound: str, good: float, bad: float) -> None:
    quantity = Quantity("F", 100.0, 0.1, bound)  # type: ignore[arg-type]
    assert [quantity.holds(value) for value in (good, bad, math.nan)] == [True, False, False]


def test_relative_error() -> None:
    assert Quantity("F", -50.0, 0.1, "relative").error(-51.0) == pytest.approx(0.02)
    assert Quantity("F", -50.0, 0.1).error(-51.0) == pytest.approx(1.0)


def test_orders_are_slopes() -> None:
    """error = 3 h^2.5."""
    sizes = (0.4, 0.1, 0.05)
    errors = [3 * h**2.5 for h in sizes]
    assert orders(sizes, errors) == pytest.approx([2.5, 2.5])
    assert last_order(sizes, errors) == pytest.approx(2.5)


def test_a_value_off_its_reference_falls_short(made_up) -> None:
    good, bad = carry_out(made_up(2.0005)), carry_out(made_up(2.002))
    assert (good.status, good.rows[0].holds, good.rows[0].computed) == ("holds", True, 2.0)
    assert (good.rows[0].error, good.rows[0].order) == (pytest.approx(5e-4), 1.97)
    assert (bad.status, bad.rows[0].holds) == ("falls short", False)
    check = made_up(2.0)
    two = Check("fem.R7", "two", "two", (*check.quantities, Quantity("F", 3.0)), compute=check.compute)
    assert carry_out(two).status == "falls short", "one bad quantity is enough"


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ({"fails": Unavailable("needs the cube")}, "not yet", "needs the cube"),
        ({"fails": RheotwinError("scene: no such body")}, "could not run", "scene: no such body"),
        ({"fails": ZeroDivisionError("by zero")}, "could not run", "ZeroDivisionError: by zero"),
        ({"options": {"order": 1, "stepper": "teleport"}}, "not yet", "fem solver does not take stepper = teleport"),
        ({"compute": None, "waits_for": "needs time"}, "not yet", "needs time"),
        ({"compute": lambda: Measurement({"G": 1.0})}, "could not run", "computes no 'F'; name it as the catalogue"),
    ],
)
def test_what_gives_no_value_says_why(made_up, more: dict[str, Any], status: str, message: str) -> None:
    result = carry_out(made_up(**more))
    assert result.status == status and message in result.message
    assert all(row.computed is None for row in result.rows)
    assert missing_option({"order": 1, "stepper": "midpoint"}) == ""


@pytest.mark.parametrize(("found", "status", "code"), [(2.5, "finding", 0), (2.6, "falls short", 1), (3.0, "holds", 0)])
def test_a_known_difference_from_print_stays_visible(found: float, status: str, code: int) -> None:
    """The value found instead of the printed one does not fail; moving away from both does."""
    quantity = Quantity("F", 3.0, 1e-3, finding=Finding(2.5, 1e-3, "a slip of the pen"))
    check = Check("fem.R7", "made-up", "made up", (quantity,), compute=lambda: Measurement({"F": found}))
    verification = verify([check])
    assert (verification.results[0].status, verification.exit_code) == (status, code)
    assert ("a slip of the pen" in verification.results[0].message) == (status == "finding")


@pytest.mark.parametrize(("references", "code"), [((2.0,), 0), ((2.0, 3.0), 1), ((2.0, None), 0), ((), 0)], ids=str)
def test_exit_codes_and_watch(references: tuple[float | None, ...], code: int, made_up) -> None:
    seen: list[str] = []
    checks = [
        made_up(name=str(k), compute=None) if value is None else made_up(value, name=str(k))
        for k, value in enumerate(references)
    ]
    assert verify(checks, watch=lambda check: seen.append(check.name)).exit_code == code
    assert seen == [check.name for check in checks]


def test_what_could_not_run_outweighs_what_falls_short(made_up) -> None:
    ill, later = made_up(name="ill", fails=ValueError("no")), made_up(name="later", compute=None, waits_for="x")
    verification = verify([made_up(3.0), ill, later])
    assert verification.exit_code == 2
    assert verification.sentence == "0 of 3 checks hold, 1 falls short, 1 could not run, 1 is not yet possible"
    assert verification.remarks == ("could not run: fem.R7 ill: ValueError: no", "not yet: fem.R7 later: x")


@pytest.fixture
def some(made_up) -> tuple[Check, ...]:
    return (
        made_up(name="slow", covers=("T8",), short="R7", theme="bar"),
        made_up(name="fast", identity="fem.R7/part", short="R7", quick=True, solvers=("fem", "truss")),
        made_up(name="other", identity="truss.R8", quick=True, kind="limit", solvers=("truss",)),
        made_up(name="listed", identity="fem.R9", compute=None),
    )


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (Selection(), "slow fast other listed"),
        (Selection(quick=True), "fast other listed"),
        (Selection(("r7",)), "slow fast"),
        (Selection(("fem.R7",)), "slow fast"),
        (Selection(("fem.*",)), "slow fast listed"),
        (Selection(("*R8",)), "other"),
        (Selection(("T8",)), "slow"),
        (Selection(("other", "fem.R9")), "other listed"),
        (Selection(("R7",), quick=True), "fast"),
        (Selection(tags=("truss", "bar")), "slow other"),
        (Selection(tags=("limit",)), "other"),
        (Selection(solvers=("truss",)), "fast other"),
        (Selection(("fem.*",), solvers=("truss",)), "fast"),
    ],
)
def test_choice(asked: Selection, names: str, some: tuple[Check, ...]) -> None:
    assert " ".join(check.name for check in selected(some, asked)) == names


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (Selection(("fem.R77",)), r"--select: there is no check 'fem.R77' \(did you mean 'fem.R7'\?\)"),
        (Selection(tags=("limits",)), r"--tag: there is no check 'limits' \(did you mean 'limit'\?\)"),
        (Selection(solvers=("abaqus",)), "--solver: there is no check 'abaqus'"),
        (Selection(("T8",), quick=True), "leave --quick out"),
        (Selection(("T8",), solvers=("truss",)), "the selection is empty"),
    ],
)
def test_what_selects_nothing_is_refused(asked: Selection, sentence: str, some: tuple[Check, ...]) -> None:
    with pytest.raises(RheotwinError, match=sentence):
        selected(some, asked)
