"""Findings as SARIF 2.1.0, which code hosts read: one rule for each pair of attack and attacker, no image, no path.

Levels: what breaks is an error, what leaks a warning. An attack that failed, was withheld or not tried is a result of
the kind "open", which has no level, and a notification beside it. What was resisted is no result: readers of SARIF
list every result as an alert.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hideseek.escapes import escaped
from hideseek.files import new_file
from hideseek.records.result import Outcome, Result
from hideseek.report import sentences
from hideseek.report.attempts import Attempt, attempts

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Outcome.BROKEN: "error", Outcome.CONFIRMED: "error", Outcome.LEAKS: "warning"}
FINGERPRINT = "hideseekFinding/v1"
STARTED = re.compile(r"(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) UTC")


def write_sarif(results: Sequence[Result], path: Path) -> None:
    """Write the findings of audits to a file, a run for each."""
    with new_file(path) as file:
        file.write((json.dumps(sarif(results), indent=1, ensure_ascii=False) + "\n").encode())


def sarif(results: Sequence[Result]) -> dict[str, Any]:
    """Give the findings of audits as a SARIF log."""
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(result) for result in results]}


def _run(result: Result) -> dict[str, Any]:
    every = attempts(result)
    rules = {each.rule: _rule(each, result) for each in sorted(every, key=lambda each: each.rule)}
    told = [each for each in every if each.found or each.open]
    places = {rule: place for place, rule in enumerate(rules)}
    started = STARTED.fullmatch(result.provenance.started)
    category = f"hideseek/{result.private.address}/{','.join(scheme.name for scheme in result.schemes)}/"
    return {
        "tool": {"driver": {"name": "hideseek", "version": version("hideseek"), "rules": list(rules.values())}},
        "automationDetails": {"id": escaped(category)},
        "invocations": [
            {
                "executionSuccessful": not any(each.open for each in every),
                **({"startTimeUtc": f"{started[1]}T{started[2]}Z"} if started else {}),
                "toolExecutionNotifications": [
                    {
                        "level": "error" if each.outcome is Outcome.FAILED else "warning",
                        "message": _message(each, result),
                        "associatedRule": {"id": each.rule, "index": places[each.rule]},
                    }
                    for each in every
                    if each.open
                ],
            }
        ],
        "results": [
            {
                "ruleId": each.rule,
                "ruleIndex": places[each.rule],
                "kind": "open" if each.open else "fail",
                "level": LEVELS.get(each.outcome, "none"),
                "message": _message(each, result),
                "locations": [_location(each)],
                "partialFingerprints": {FINGERPRINT: _fingerprint(each, result)},
                "properties": {"outcome": each.outcome.value, "harm": each.attack.harm.value},
            }
            for each in told
        ],
    }


def _rule(each: Attempt, result: Result) -> dict[str, Any]:
    """Describe a pair of attack and attacker; what is said of it does not depend on what was found."""
    title = next((threat.title for threat in result.threats if threat.name == each.threat), each.threat)
    return {
        "id": each.rule,
        "shortDescription": {"text": escaped(f"{each.attack.attack}, by an attacker who {title}")},
        "fullDescription": {"text": escaped(f"{each.attack.summary}. Source: {each.attack.source}")},
        "properties": {"tags": ["privacy"], "attack": each.attack.attack, "attacker": each.threat},
    }


def _message(each: Attempt, result: Result) -> dict[str, str]:
    return {"text": escaped(sentences.came_of(each, result.private.images, result.threats))}


def _location(each: Attempt) -> dict[str, Any]:
    """Point to the scheme, and to result.json: code hosts list nothing without a file, and images are none."""
    return {
        "physicalLocation": {"artifactLocation": {"uri": "result.json"}, "region": {"startLine": 1}},
        "logicalLocations": [{"name": escaped(each.scheme.name), "kind": "resource"}],
    }


def _fingerprint(each: Attempt, result: Result) -> str:
    """Give what is the same when the same is found again: images, scheme, attack and attacker, no figure."""
    parts = (result.private.address, each.scheme.name, each.rule)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
