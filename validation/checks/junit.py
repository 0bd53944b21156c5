"""A validation as JUnit XML, which continuous integration services read: one suite per specification."""

from __future__ import annotations

from xml.etree import ElementTree

from rheotwin.validation.checks.outcome import Result, Verification
from rheotwin.validation.checks.table import number, reference_text

OUTCOMES = {"falls short": "failure", "could not run": "error", "not yet": "skipped"}


def junit(verification: Verification) -> str:
    """Return the XML."""
    root = ElementTree.Element("testsuites", name="rheotwin validate")
    for specification in dict.fromkeys(result.specification for result in verification.results):
        results = [result for result in verification.results if result.specification == specification]
        suite = ElementTree.SubElement(root, "testsuite", _counts(specification, results))
        for result in results:
            _case(suite, result)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _counts(specification: str, results: list[Result]) -> dict[str, str]:
    kinds = [OUTCOMES.get(result.status, "") for result in results]
    return {
        "name": specification,
        "tests": str(len(results)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }


def _case(suite: ElementTree.Element, result: Result) -> None:
    about = {"classname": result.reference, "name": result.name, "time": f"{result.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", about)
    missed = [row for row in result.rows if row.holds is False]
    said = "; ".join(f"{row.quantity}: {number(row.computed)} instead of {reference_text(row)}" for row in missed)
    if result.status in OUTCOMES:
        ElementTree.SubElement(case, OUTCOMES[result.status], message=_plain(result.message or said))
    elif result.status == "finding":
        ElementTree.SubElement(case, "system-out").text = _plain(f"{said}. {result.message}")


def _plain(text: str) -> str:
    """Return text without the control characters that XML cannot hold."""
    return "".join(letter if letter >= " " else " " for letter in text)
