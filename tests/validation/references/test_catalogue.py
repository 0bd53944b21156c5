"""The catalogue of references: whole, bound to the checks that compute it, and strict about its files."""

from pathlib import Path

import pytest

from rheotwin.errors import RheotwinError
from rheotwin.validation.checks.check import Check, Measurement, check
from rheotwin.validation.checks.outcome import coverage
from rheotwin.validation.checks.registry import all_checks
from rheotwin.validation.references import KINDS, Catalogue, catalogue, load_catalogue
from rheotwin.validation.references.catalogue import Quantity


def test_every_specification_is_there() -> None:
    names = [specification.name for specification in catalogue().specifications]
    assert names[:4] == ["fem", "truss", "shape", "slave"]
    assert names[4:] == ["identification", "calibration", "circuit", "parts", "measured", "speed"]
    assert {entry.kind for entry in catalogue().entries.values()} == set(KINDS)
    assert all(entry.kind == "historical" for entry in catalogue().specifications[-1].entries)


NUMBERED = {
    ("fem", "R"): range(1, 22),
    ("truss", "R"): range(1, 22),
    ("shape", "LS-"): range(1, 16),
    ("slave", "SP-"): range(1, 19),
    ("calibration", "R"): range(1, 13),
    ("identification", "ID-"): (*range(1, 27), *range(30, 36)),
}


def test_no_numbered_reference_is_missing() -> None:
    for (specification, label), numbers in NUMBERED.items():
        known = {entry.label for entry in catalogue().entries.values() if entry.id.startswith(f"{specification}.")}
        assert [n for n in numbers if not {f"{label}{n}", f"{label}{n:02d}"} & known] == [], (specification, label)


def test_checks_take_their_numbers_from_the_catalogue_and_what_none_computes_says_why() -> None:
    """An entry is computed, or open with a reason, or historical; exactly one of them."""
    for item in all_checks():
        if item.specification not in ("same", "baseline"):
            assert set(catalogue()[item.reference].quantities).issuperset(item.quantities), item.name
    computed = {item.reference for item in all_checks() if item.compute is not None}
    waiting = {item.reference for item in all_checks() if item.compute is None}
    for entry in catalogue().entries.values():
        if entry.judged and entry.id not in waiting:
            assert (entry.id in computed) != bool(entry.open), f"{entry.id}: computed and open, or neither"


ENTRY = """
[[reference]]
id = "fem.R7"
title = "force on the bar"
kind = "exact"
source = "10 R7"
unit = "N"
tolerance = 1e-5
tolerance_from = "12 A7"
quantities = [
  { name = "F(5)", value = 743.0 },
  { name = "F(10)", value = 780.0, tolerance = 1e-3 },
]
"""
FOUND = "743.0, finding = { value = 743.0, tolerance = 1.0 }"
HISTORICAL = """
[[reference]]
id = "fem.S11"
title = "times"
kind = "historical"
source = "11"
quantities = [{ name = "assembly", value = 0.09 }]
"""


def load(folder: Path, text: str, name: str = "fem.toml") -> Catalogue:
    (folder / name).write_text('title = "FEM"\n' + text)
    return load_catalogue(folder)


def test_an_entry_hands_its_defaults_on_may_have_names_and_a_digest(tmp_path: Path) -> None:
    entry = load(tmp_path, ENTRY)["fem.R7"]
    assert entry.quantities == (Quantity("F(5)", 743.0, 1e-5, unit="N"), Quantity("F(10)", 780.0, 1e-3, unit="N"))
    assert (entry.label, entry.judged, entry.open) == ("R7", True, "")
    text = ENTRY.replace('name = "F(5)"', 'names = ["fem", "truss"]').replace(
        "tolerance = 1e-3 }", 'finding = { value = 1.0, tolerance = 0.1, tried = "twice" } }'
    )
    fem, truss, last = load(tmp_path, text)["fem.R7"].quantities
    assert (fem.reference, truss.reference) == (743.0, 743.0)
    assert last.finding is not None and last.finding.meaning == "twice"
    first = load(tmp_path, ENTRY).digest
    assert load(tmp_path, ENTRY).digest == first
    assert load(tmp_path, ENTRY.replace("743.0", "743.1")).digest != first


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("", ENTRY, "fem.R7 is there twice; an id is used once"),
        ('"exact"', '"precise"', "fem.R7.kind: unknown kind 'precise'; choose from exact, limit, qualitative"),
        ('tolerance_from = "12 A7"\n', "", "fem.R7: `tolerance_from` is missing; say where"),
        ("tolerance = 1e-5\n", "", "fem.R7: 'F(5)' has no tolerance; give one, 0 for an exact count"),
        ("fem.R7", "truss.R7", "truss.R7 does not begin with 'fem', the name of its file"),
        ("F(10)", "F(5)", "fem.R7: has two quantities 'F(5)'"),
        ('name = "F(5)", ', "", "fem.R7: a quantity needs either `name` or `names`"),
        ("743.0", "nan", "fem.R7.quantities.0.value: input should be a finite number"),
        ("unit =", "units =", "fem.R7.units: extra inputs are not permitted"),
        ('source = "10 R7"\n', "", "fem.R7.source: field required"),
        ('"fem.R7"', '"R7"', "R7.id: string should match pattern"),
        ("title", "title = ", "could not be read as TOML"),
        ('"exact"', '"experiment"', "fem.R7: 'F(5)' has no baseline; give what the model gives as its `finding`"),
        ("743.0", FOUND, "fem.R7: the finding of 'F(5)' does not say why it differs; say so in `tried`"),
    ],
)
def test_faults_of_files_are_one_sentence(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    text = ENTRY.replace(old, new, 1) if old else ENTRY + new
    with pytest.raises(RheotwinError) as caught:
        load(tmp_path, text)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_coverage_counts_numbers_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RheotwinError, match="holds no references"):
        load_catalogue(tmp_path)
    with pytest.raises(RheotwinError, match=r"there is no entry 'fem.R77' \(did you mean 'fem.R7'\?\)"):
        check("fem.R77", None, name="x")
    with pytest.raises(RheotwinError, match=r"fem.R7 has no number 'F\(6\)' \(did you mean 'F\(5\)'\?\)"):
        check("fem.R7", None, name="x", only=["F(6)"])
    known = load(tmp_path, ENTRY + ENTRY.replace("fem.R7", "fem.R8") + HISTORICAL)
    one = Check("fem.R7", "made-up", "made up", known["fem.R7"].quantities[:1], compute=lambda: Measurement({}))
    (found,) = coverage(known, [one])
    assert (found.covered, found.total, found.historical) == (1, 4, 1)
    assert found.open == (("no check yet", ("R7", "R8")),)
    assert found.sentence == "fem: covers 1 of 4 reference numbers (25 %), open: R7, R8 (no check yet)"
