"""What a gate in CI lets pass, and the files that CI reads: SARIF and JUnit's XML."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hideseek.audit.threats import THREATS
from hideseek.records.result import Failure, FailureKind, Outcome, Result, SchemeResult, Truth, Verdict
from hideseek.report import sentences
from hideseek.report.attempts import attempts
from hideseek.report.gate import gate
from hideseek.report.junit import junit, write_junit
from hideseek.report.sarif import FINGERPRINT, sarif, write_sarif
from published_schemas import junit_schema, sarif_schema
from report.pieces import NASTY, attacked

OUTSIDER, CANDIDATES, LINKED = THREATS[:3]
HOME = "/home/somebody/private"


@pytest.fixture
def cache(request: pytest.FixtureRequest) -> Path:
    kept = request.config.cache
    assert kept is not None
    return kept.mkdir("published-schemas")


def audited(result: Result, outcome: Outcome, name: str = "a") -> Result:
    """An audit of one scheme by one attack of the outsider, who finds this."""
    attack = attacked("mixup-pairs", outcome=outcome, threat="outsider", given=())
    lists = {Outcome.BROKEN: "broke", Outcome.LEAKS: "leaked", Outcome.RESISTED: "resisted"}
    told = {lists[outcome]: ("mixup-pairs",)} if outcome in lists else {}
    verdicts = tuple(Verdict(threat.name, outcome, "mixup-pairs", **told) for threat in (OUTSIDER, LINKED))  # type: ignore[arg-type]
    scheme = SchemeResult(name, "", "mixup", {}, 1, 10, None, None, verdicts, (attack,))
    return replace(result, schemes=(scheme,), threats=(OUTSIDER, LINKED))


BAD = (Outcome.BROKEN, Outcome.CONFIRMED)


@pytest.mark.parametrize("outcome", Outcome)
@pytest.mark.parametrize("fail_on", ["broken", "leaks"])
def test_what_a_gate_lets_pass(outcome: Outcome, fail_on: str, audit: tuple[Result, Path]) -> None:
    state = gate([audited(audit[0], outcome)], fail_on)  # type: ignore[arg-type]
    assert bool(state.found) == (outcome in BAD or (outcome is Outcome.LEAKS and fail_on == "leaks"))
    silent = (Outcome.FAILED, Outcome.WITHHELD, Outcome.NOT_TRIED, Outcome.UNJUDGED)
    assert bool(state.open) == (outcome in silent)
    passes = not state.found and not state.open and not state.unjudged
    assert passes == (outcome is Outcome.RESISTED or (outcome is Outcome.LEAKS and fail_on == "broken"))


def test_one_attack_that_failed_keeps_others_that_resisted_from_passing(audit: tuple[Result, Path]) -> None:
    result = audited(audit[0], Outcome.RESISTED)
    failed = attacked("demask", outcome=Outcome.FAILED, threat="outsider", given=(), figures=())
    scheme = replace(result.schemes[0], attacks=(*result.schemes[0].attacks, failed))
    state = gate([replace(result, schemes=(scheme,))], "broken")
    assert [each.rule for each in state.open] == ["demask/outsider"]
    assert "demask/outsider failed on a" in sentences.gate_open(state)


def test_several_audits_pass_together_only(audit: tuple[Result, Path]) -> None:
    good, bad = audited(audit[0], Outcome.RESISTED), audited(audit[0], Outcome.BROKEN, "b")
    assert not gate([good], "leaks").found
    state = gate([good, bad], "leaks")
    assert sentences.gate_found(state) == "b is broken by mixup-pairs/outsider"


def test_an_attack_is_listed_for_the_weakest_attackers_of_each_outcome(audit: tuple[Result, Path]) -> None:
    result = audited(audit[0], Outcome.LEAKS)
    verdicts = (
        Verdict("outsider", Outcome.LEAKS, "mixup-pairs", leaked=("mixup-pairs",)),
        Verdict("candidates", Outcome.BROKEN, "mixup-pairs", broke=("mixup-pairs",)),
        Verdict("linked", Outcome.BROKEN, "mixup-pairs", broke=("mixup-pairs",)),
    )
    scheme = replace(result.schemes[0], verdicts=verdicts)
    found = attempts(replace(result, schemes=(scheme,), threats=(OUTSIDER, CANDIDATES, LINKED)))
    assert [(each.rule, each.outcome.value) for each in found] == [
        ("mixup-pairs/outsider", "leaks"),
        ("mixup-pairs/candidates", "broken"),
    ]


def test_sarif_fits_the_published_schema(audit: tuple[Result, Path], tmp_path: Path, cache: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = sarif_schema(cache)
    write_sarif([audit[0], audited(audit[0], Outcome.CONFIRMED)], tmp_path / "a.sarif")
    log = json.loads((tmp_path / "a.sarif").read_text("utf-8"))
    jsonschema.validate(log, schema)
    log["runs"][0]["results"][0]["level"] = "awful"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, schema)


def test_what_sarif_says(audit: tuple[Result, Path]) -> None:
    result = audit[0]
    (run,) = sarif([result])["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert set(rules) == {each.rule for each in attempts(result)}
    found = [each for each in attempts(result) if each.outcome in (*BAD, Outcome.LEAKS) or each.open]
    assert len(run["results"]) == len(found)
    for said, each in zip(run["results"], found, strict=True):
        assert rules[said["ruleIndex"]] == said["ruleId"] == each.rule
        assert said["level"] == {"broken": "error", "leaks": "warning"}.get(each.outcome.value, "none")
        assert said["kind"] == ("open" if each.open else "fail")
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert len(told) == sum(each.open for each in found) > 0
    assert not run["invocations"][0]["executionSuccessful"]
    assert run["invocations"][0]["startTimeUtc"] == "2026-11-16T13:24:14Z"


def test_the_same_finding_has_the_same_fingerprint_and_others_have_others(audit: tuple[Result, Path]) -> None:
    result = audit[0]

    def prints(each: Result) -> list[str]:
        return [said["partialFingerprints"][FINGERPRINT] for said in sarif([each])["runs"][0]["results"]]

    other = tuple(
        replace(scheme, attacks=tuple(replace(attack, seconds=9.0) for attack in scheme.attacks))
        for scheme in result.schemes
    )
    assert prints(result) == prints(replace(result, schemes=other))
    assert len(set(prints(result))) == len(prints(result))
    assert not set(prints(result)) & set(prints(replace(result, private=replace(result.private, address="others"))))


def test_no_image_no_path_and_no_text_of_an_error(audit: tuple[Result, Path]) -> None:
    failure = Failure(FailureKind.ERROR, f"OSError: {HOME}/patient.png")
    attack = attacked("demask", outcome=Outcome.FAILED, failure=failure, figures=())
    provenance = replace(audit[0].provenance, command=f"hideseek audit --out {HOME}")
    scheme = replace(audit[0].schemes[0], attacks=(*audit[0].schemes[0].attacks, attack))
    result = replace(audit[0], schemes=(scheme,), provenance=provenance)
    for text in (json.dumps(sarif([result])), ElementTree.tostring(junit([result]), "unicode")):
        assert "demask" in text
        assert HOME not in text
        assert "patient" not in text
        assert ".png" not in text


def test_junit_fits_the_schema_of_jenkins(audit: tuple[Result, Path], tmp_path: Path, cache: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    schema = xmlschema.XMLSchema(junit_schema(cache))
    write_junit([audit[0]], tmp_path / "a.xml")
    schema.validate(str(tmp_path / "a.xml"))
    tree = ElementTree.parse(tmp_path / "a.xml")  # noqa: S314 (ours)
    suite = tree.getroot().find("testsuite")
    assert suite is not None
    del suite.attrib["name"]
    with pytest.raises(xmlschema.XMLSchemaValidationError):
        schema.validate(ElementTree.tostring(tree.getroot(), "unicode"))


ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"name", "classname", "time"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": set(),
    "system-out": set(),
}
INSIDE = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}}
INSIDE["testcase"] = set(ATTRIBUTES) - {"testsuites", "testsuite", "testcase"}


@pytest.mark.parametrize("fail_on", ["broken", "leaks"])
def test_what_junit_says(fail_on: str, audit: tuple[Result, Path]) -> None:
    root = junit([audit[0]], fail_on)  # type: ignore[arg-type]
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
        assert {child.tag for child in element} <= INSIDE.get(element.tag, set())
    for suite, scheme in zip(root, audit[0].schemes, strict=True):
        every = [each for each in attempts(audit[0]) if each.scheme is scheme]
        bad = [each for each in every if each.at_least(Outcome(fail_on))]
        assert int(suite.attrib["tests"]) == len(suite) == len(every)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == len(bad)
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == sum(each.open for each in every)
        skipped = sum(each.outcome is Outcome.NOT_APPLICABLE for each in every)
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped")) == skipped
    assert int(root.attrib["tests"]) == sum(len(suite) for suite in root)
    assert NASTY not in ElementTree.tostring(root, "unicode")


def test_a_scheme_to_which_nothing_applies_is_an_error_in_junit_too(audit: tuple[Result, Path]) -> None:
    root = junit([audited(audit[0], Outcome.NOT_APPLICABLE)])
    assert root.attrib["errors"] == "1"


def test_an_audit_without_the_truth_says_so(audit: tuple[Result, Path]) -> None:
    for outcome, words in ((Outcome.UNJUDGED, "cannot be judged without the truth"), (Outcome.CONFIRMED, "confirms")):
        result = replace(audited(audit[0], outcome), truth=Truth.NONE)
        assert words in sentences.headline(result)
        assert Outcome.RESISTED not in sentences.outcomes(result.truth)
