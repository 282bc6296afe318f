"""The audit: hide, learn, attack, judge and report. The one place where release, evidence and secret meet."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hideseek.audit.findings import unjudged
from hideseek.audit.findings.verdicts import verdicts, worst_first
from hideseek.audit.planning.clock import Clock, ProcessClock
from hideseek.audit.planning.plan import Plan, make_plan
from hideseek.audit.provenance import provenance
from hideseek.audit.question import Question, summary
from hideseek.audit.steps import StepRunner
from hideseek.audit.store import check_folder, opened
from hideseek.audit.threats import OUTSIDER, THREATS, threats_to
from hideseek.data.digests import images_digest, labels_digest
from hideseek.errors import BadInput
from hideseek.files import need_space
from hideseek.hide.files.schemes import to_json
from hideseek.records import Encoder, Samples
from hideseek.records.result import (
    FORMAT,
    Accuracy,
    AttackResult,
    NoAccuracy,
    NoAccuracyKind,
    Panel,
    Result,
    SchemeResult,
)
from hideseek.report.checks import flags
from hideseek.report.page import write_page
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
    clock: Clock | None = None,
) -> Result:
    """Say what leaks from images that are shared in these ways, and what it costs; write result.json and report.html.

    Chance is secure unless a study gives a seed. What is done is kept in the folder: a run that was stopped goes on
    with `resume`. At the end the truth is removed from it, unless `keep` asks for everything.
    """
    check_folder(folder, resume=resume)
    plan = plan or make_plan(question)
    asked = _asked(question, seed)
    if not resume:
        sizes = [scheme.release_bytes(question.private, question.rounds) for scheme in question.schemes.values()]
        need_space(folder, sum(sizes), "the releases", "audit fewer rounds, ")
    with opened(folder, asked, resume=resume) as store:
        try:
            runner = StepRunner(question, plan, store, seed, clock or ProcessClock(), tell)
            try:
                result = _result(runner, asked, command)
            finally:
                runner.keep_time()
            write_result(result, folder)
            write_page(result, folder, show_private=show_private)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("stopped; what is done is kept: resume the audit to go on.") from None
        except BadInput as mistake:
            said = f"{str(mistake).rstrip('.')}; earlier steps are kept: resume the audit to go on."
            raise BadInput(said) from None
        store.finish(keep=keep)
    return result


def _asked(question: Question, seed: int | None) -> dict[str, Any]:
    """Describe what is asked, so that another question does not go on with its answers."""
    sets = {"private": question.private, "public": question.public, "own": question.own, "others": question.others}
    if question.learning is not None:
        learning = question.learning
        sets |= {"training": learning.train, "test": learning.test, "public training": learning.public}
    return {
        "format": FORMAT,
        "schemes": {name: to_json(scheme) for name, scheme in question.schemes.items()},
        "models": {name: scheme.fingerprint() for name, scheme in question.schemes.items()},
        "attacks": {name: settings(attack) for name, attack in question.attacks.items()},
        "rounds": question.rounds,
        "public known": question.public_known,
        "seed": seed,
        "version": version("hideseek"),
        **{f"{name} images": samples and images_digest(samples) for name, samples in sets.items()},
        **{f"{name} labels": samples and labels_digest(samples) for name, samples in sets.items()},
    }


def _result(runner: StepRunner, asked: Mapping[str, Any], command: str) -> Result:
    """Take all steps that are not done yet, and put together what they came to."""
    question = runner.question
    runner.take_all()
    attacked = {name: _attacked(runner, name, scheme) for name, scheme in question.schemes.items()}
    against = {verdict.threat for scheme in attacked.values() for verdict in scheme.verdicts}
    learning, reason, learnt = question.learning, question.why_no_accuracy, runner.learnt
    addresses, private = question.addresses, question.private

    def beside(samples: Samples | None, name: str) -> Any:
        return None if samples is None else summary(samples, addresses.get(name, ""), private)

    def accurate(scheme: SchemeResult) -> SchemeResult:
        return _with_accuracy(scheme, learnt.get(""), learnt.get(question.trained_as(scheme.name)))

    shown = [panel.file for scheme in attacked.values() for each in scheme.attacks for panel in _panels(each)]
    runner.store.remove_pictures(shown)
    result = Result(
        format=FORMAT,
        private=question.described or summary(private, addresses.get("private", "")),
        public=beside(None if question.public_stands_in else question.public, "public"),
        own=beside(question.own, "own"),
        others=beside(question.others, "others"),
        trained_on=summary(learning.train, learning.address) if learning else None,
        why_no_accuracy=None if learning else reason or NoAccuracy(NoAccuracyKind.NOT_ASKED),
        tested_on=len(learning.test) if learning else 0,
        vanilla=learnt.get(""),
        threats=tuple(threat for threat in THREATS if threat.name in against),
        schemes=tuple(map(accurate, attacked.values())),
        plan=runner.stages(),
        flags=(),
        truth=question.truth,
        provenance=provenance(
            runner.time_spent().started,
            command,
            runner.seed,
            {
                "rounds": question.rounds,
                "attacks": list(question.attacks),
                "schemes": asked["schemes"],
                **({"metrics left out": list(runner.plan.unjudged)} if runner.plan.unjudged else {}),
            },
            seconds=runner.time_spent().work,
            budget=question.budget,
            wall=runner.time_spent().wall,
            wall_limit=runner.before.wall + runner.plan.wall_limit,
        ),
    )
    return replace(result, flags=flags(result))


def _panels(result: AttackResult) -> list[Panel]:
    return [panel for exhibit in result.exhibits for panel in exhibit.panels]


def _with_accuracy(scheme: SchemeResult, vanilla: Accuracy | None, own: Accuracy | None) -> SchemeResult:
    lost = vanilla.accuracy.mean - own.accuracy.mean if vanilla and own else None
    return replace(scheme, accuracy=own, lost=lost)


def _attacked(runner: StepRunner, name: str, scheme: Encoder) -> SchemeResult:
    """Sum up one scheme."""
    question = runner.question
    release, secret = runner.hidden(name)
    used = release.encoder
    facts = used.effective(release, secret, runner.chance(f"effective {name}")) if secret.traced else ()
    results = tuple(runner.result(name, attack) for attack in question.attacks)
    if secret.judged:
        said = verdicts(results, threats_to(type(release)))
    else:
        said = (unjudged.verdict(results, OUTSIDER.name),)
    return SchemeResult(
        name=name,
        summary=scheme.summary(),
        mechanism=scheme.mechanism if secret.traced else used.mechanism,
        parameters={key: value for key, value in to_json(used).items() if key != "mechanism"},
        rounds=question.rounds,
        items=secret.items,
        accuracy=None,
        lost=None,
        verdicts=said,
        attacks=worst_first(results),
        known=scheme.known(
            question.rounds,
            labelled=question.private.labels.shape[1] > 0,
            of_bytes=not question.private.images.is_floating_point(),
        ),
        advice=runner.advice.get(name, ()),
        effective=facts,
        bounds=used.bounds(facts),
        state=question.states.get(name),
    )
