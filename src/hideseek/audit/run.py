"""The audit: hide, learn, attack, judge and report. The one place where release, evidence and secret meet."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from blake3 import blake3

from hideseek.audit.findings.verdicts import verdicts, worst_first
from hideseek.audit.known import bound, effective, known
from hideseek.audit.planning.plan import Plan, make_plan
from hideseek.audit.planning.steps import Steps
from hideseek.audit.provenance import provenance
from hideseek.audit.question import Question, described
from hideseek.audit.store import opened
from hideseek.audit.threats import THREATS
from hideseek.errors import BadInput
from hideseek.files import content
from hideseek.hide.files.release_files import digest
from hideseek.hide.files.schemes import to_json
from hideseek.records import MixingEncoder, Samples
from hideseek.records.result import FORMAT, Accuracy, Result, SchemeResult
from hideseek.report.checks import flags
from hideseek.report.page.page import write_page
from hideseek.report.result_files import write_result
from hideseek.seek import settings


def audit(
    question: Question,
    folder: Path,
    *,
    plan: Plan | None = None,
    seed: int | None = None,
    resume: bool = False,
    show_private: bool = False,
    keep: bool = False,
    command: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> Result:
    """Say what leaks from images that are shared in these ways, and what it costs; write result.json and report.html.

    Chance is secure unless a study gives a seed. What is done is kept in the folder: a run that was stopped goes on
    with `resume`. At the end the truth is removed from it, unless `keep` asks for everything.
    """
    plan = plan or make_plan(question)
    asked = _asked(question, seed)
    with opened(folder, asked, resume=resume) as store:
        try:
            result = _result(Steps(question, plan, store, seed, tell), asked, command)
            write_result(result, folder)
            write_page(result, folder, show_private=show_private)
        except KeyboardInterrupt:
            said = "stopped; what is done is kept: go on with the same command and --resume."
            raise KeyboardInterrupt(said) from None
        except BadInput as mistake:
            said = f"{str(mistake).rstrip('.')}; earlier steps are kept: go on with --resume."
            raise BadInput(said) from None
        store.finish(keep=keep)
    return result


def _asked(question: Question, seed: int | None) -> dict[str, Any]:
    """Describe what is asked, so that another question does not go on with its answers."""
    sets = {"private": question.private, "public": question.public, "own": question.own}
    if question.learning is not None:
        sets |= {"training": question.learning.train, "test": question.learning.test}
    return {
        "format": FORMAT,
        "schemes": {name: to_json(scheme) for name, scheme in question.schemes.items()},
        "attacks": {name: settings(attack) for name, attack in question.attacks.items()},
        "rounds": question.rounds,
        "seed": seed,
        "version": version("hideseek"),
        **{f"{name} images": samples and digest(samples) for name, samples in sets.items()},
        **{f"{name} labels": samples and _labels(samples) for name, samples in sets.items()},
    }


def _labels(samples: Samples) -> str:
    return blake3(content(samples.labels.cpu().numpy())).hexdigest()


def _result(steps: Steps, asked: Mapping[str, Any], command: str) -> Result:
    """Take all steps that are not done yet, and put together what they came to; training takes what time is left."""
    question, began = steps.question, datetime.now(UTC).isoformat(timespec="seconds")
    attacked = {name: _audited(steps, name, scheme) for name, scheme in question.schemes.items()}
    how = steps.training_plan()
    learning, why_no_accuracy = question.learning, question.why_no_accuracy
    if learning is not None and how is None:
        learning, why_no_accuracy = None, "the budget left no time to train: give a larger --budget."
    learnt: dict[str, Accuracy] = {}
    if how is not None:
        learnt[""] = steps.accuracy("vanilla", None, how)
        learnt |= {name: steps.accuracy(name, scheme, how) for name, scheme in question.schemes.items()}
    schemes = tuple(_with_accuracy(scheme, learnt.get(""), learnt.get(name)) for name, scheme in attacked.items())
    private = described(question.private, question.addresses.get("private", ""))
    assert private is not None  # noqa: S101 (a question has private images)
    result = Result(
        format=FORMAT,
        private=private,
        public=described(question.public, question.addresses.get("public", ""), question.private),
        own=described(question.own, question.addresses.get("own", ""), question.private),
        trained_on=described(learning.train, learning.address) if learning else None,
        why_no_accuracy=why_no_accuracy,
        tested_on=len(learning.test) if learning else 0,
        vanilla=learnt.get(""),
        threats=THREATS,
        schemes=schemes,
        plan=steps.stages(),
        flags=(),
        provenance=provenance(
            began,
            time.monotonic() - steps.started,
            command,
            steps.seed,
            question.budget,
            {"rounds": question.rounds, "attacks": list(question.attacks), "schemes": asked["schemes"]},
        ),
    )
    return replace(result, flags=flags(result))


def _with_accuracy(scheme: SchemeResult, vanilla: Accuracy | None, own: Accuracy | None) -> SchemeResult:
    lost = vanilla.accuracy.mean - own.accuracy.mean if vanilla and own else None
    return replace(scheme, accuracy=own, lost=lost)


def _audited(steps: Steps, name: str, scheme: MixingEncoder) -> SchemeResult:
    """Hide, attack, and sum up one scheme."""
    question = steps.question
    release, secret = steps.hidden(name, scheme)
    filled = release.scheme
    assert isinstance(filled, MixingEncoder)  # noqa: S101 (a release of ours)
    facts = effective(release, secret, steps.chance(f"effective {name}"))
    tried = tuple(steps.attack(name, attack, scheme, release, secret) for attack in question.attacks)
    said = verdicts(tried, THREATS, bound(filled, facts))
    weakest = next((verdict.by for verdict in said if verdict.outcome == "broken"), "")  # the attacker to repair first
    labelled = question.private.labels.shape[1] > 0
    return SchemeResult(
        name=name,
        summary=(type(scheme).__doc__ or "").partition("\n")[0],
        mechanism=to_json(scheme)["mechanism"],
        parameters={key: value for key, value in to_json(filled).items() if key != "mechanism"},
        rounds=question.rounds,
        rows=len(release.encoded),
        accuracy=None,
        lost=None,
        verdicts=said,
        attacks=worst_first(tried),
        known=known(scheme, question.rounds, labelled=labelled, seeded=steps.seed is not None),
        advice=steps.advice(name, scheme, next((each for each in tried if each.attack == weakest), None)),
        effective=facts,
    )
