"""An audit as JUnit's XML, which CI systems show: a suite for each scheme, a test for each attack and attacker."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from hideseek.escapes import escaped
from hideseek.files import new_file
from hideseek.records.result import Outcome, Result, SchemeResult
from hideseek.report import sentences
from hideseek.report.attempts import Attempt, attempts
from hideseek.report.gate import FailOn


def write_junit(results: Sequence[Result], path: Path, fail_on: FailOn = "leaks") -> None:
    """Write audits to a file."""
    document = ElementTree.ElementTree(junit(results, fail_on))
    ElementTree.indent(document)
    with new_file(path) as file:
        document.write(file, "utf-8", xml_declaration=True)


def junit(results: Sequence[Result], fail_on: FailOn = "leaks") -> ElementTree.Element:
    """Give audits as test suites.

    A finding as bad as `fail_on`, or worse, is a failure; an attack that failed, was withheld or not tried is an error;
    one that does not apply is skipped. A leak that is allowed passes, and is said in the test's output.
    """
    suites = [
        _suite(scheme, [each for each in every if each.scheme is scheme], result, fail_on)
        for result in results
        for every in [attempts(result)]
        for scheme in result.schemes
    ]
    counts = {name: sum(int(suite.attrib[name]) for suite in suites) for name in ("tests", "failures", "errors")}
    whole = ElementTree.Element("testsuites", {"name": "hideseek audit"} | {name: str(n) for name, n in counts.items()})
    whole.extend(suites)
    return whole


def _suite(scheme: SchemeResult, every: Sequence[Attempt], result: Result, fail_on: FailOn) -> ElementTree.Element:
    """Give a scheme; one on which nothing ran to its end is an error of its own."""
    name = escaped(scheme.name)
    cases = [_case(each, result, fail_on) for each in every]
    if not any(each.outcome is not Outcome.NOT_APPLICABLE for each in every):
        case = ElementTree.Element("testcase", name="any attack", classname=name, time="0.000")
        said = "No attack applies, so that nothing was judged."
        ElementTree.SubElement(case, "error", type="not judged", message=said).text = said
        cases.append(case)
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counts = {counted: str(sum(case.find(kind) is not None for case in cases)) for counted, kind in kinds.items()}
    seconds = sum({each.attack.attack: each.attack.seconds for each in every}.values())
    about = {"name": name, "tests": str(len(cases)), "time": f"{seconds:.3f}"}
    suite = ElementTree.Element("testsuite", about | counts)
    suite.extend(cases)
    return suite


def _case(each: Attempt, result: Result, fail_on: FailOn) -> ElementTree.Element:
    name, scheme = escaped(each.rule), escaped(each.scheme.name)
    case = ElementTree.Element("testcase", name=name, classname=scheme, time=f"{each.attack.seconds:.3f}")
    said = escaped(sentences.came_of(each, result.private.images, result.threats))
    if each.at_least(Outcome(fail_on)):
        ElementTree.SubElement(case, "failure", type=each.outcome.value, message=said).text = said
    elif each.open:
        ElementTree.SubElement(case, "error", type=each.outcome.value, message=said).text = said
    elif each.outcome is Outcome.NOT_APPLICABLE:
        ElementTree.SubElement(case, "skipped").text = said
    else:
        ElementTree.SubElement(case, "system-out").text = said
    return case
