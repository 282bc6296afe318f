"""No entry without its evidence: what an entry lacks to stand on a leaderboard."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from hideseek.bench.entry import PICTURE, Evidence
from hideseek.bench.problem import NOTHING
from hideseek.bench.protocol import KNOWN, PROTOCOLS, Protocol
from hideseek.records.result import AttackResult, Outcome, SchemeResult
from hideseek.report.ranking import worst_attack
from hideseek.report.sentences.numbers import listing
from hideseek.seek import settings

RAN = (Outcome.BROKEN, Outcome.LEAKS, Outcome.RESISTED)
PICTURED = (Outcome.BROKEN,)
IMAGE_FIGURE = "recovered"  # that every guess of an image has
LARGEST = 4096  # pixels of a picture's side


def flaws(evidence: Evidence) -> list[str]:
    """Say what keeps an entry from standing on a leaderboard; nothing where its evidence is whole.

    Every attack of the protocol was run with its own settings or says why it does not apply, succeeded on its weak
    case, and found nothing in noise; every seed has its accuracy; what was broken has its picture.
    """
    entry = evidence.entry
    protocol = PROTOCOLS.get(entry.protocol)
    if protocol is None:
        return [f"it was measured by {entry.protocol}, which is not known here"]
    if entry.fingerprint != protocol.fingerprint:
        return [f"it was measured by another version of {entry.protocol}: measure it again"]
    return [*_accuracy_flaws(evidence, protocol), *_result_flaws(evidence, protocol)]


def _accuracy_flaws(evidence: Evidence, protocol: Protocol) -> Iterator[str]:
    accuracies = evidence.entry.accuracies
    if len(accuracies) != len(protocol.seeds):
        yield f"it has {len(accuracies)} of {len(protocol.seeds)} accuracies"
    if any(each.accuracy.images != protocol.tested for each in accuracies):
        yield f"its accuracies are not of {protocol.tested:,} test images"


def _result_flaws(evidence: Evidence, protocol: Protocol) -> Iterator[str]:
    entry, result = evidence.entry, evidence.result
    if result is None:
        if protocol.track != "rows" or entry.name != NOTHING:
            yield "it has no result.json"
        return
    if [scheme.name for scheme in result.schemes] != [entry.name]:
        yield f"its result.json is not an audit of {entry.name}"
        return
    if result.private.images != protocol.private or result.private.address != protocol.judged:
        yield f"its audit is not of {protocol.private} images of {protocol.judged}"
    (scheme,) = result.schemes
    if scheme.rounds != protocol.rounds:
        yield f"its audit has {scheme.rounds} rounds, not {protocol.rounds}"
    if result.provenance.seed != protocol.seeds[0]:
        yield f"its audit is not of the seed {protocol.seeds[0]}"
    run = {each.attack: each for each in scheme.attacks}
    if missing := [name for name in protocol.attacks if name not in run]:
        yield f"{listing(missing)} {'is' if len(missing) == 1 else 'are'} not in its audit"
    for name in protocol.attacks:
        if name in run:
            yield from attack_flaws(run[name], name)
    yield from _picture_flaws(evidence.folder / PICTURE, scheme)


def attack_flaws(result: AttackResult, name: str) -> Iterator[str]:
    """Say what the result of an attack lacks."""
    if result.outcome is Outcome.NOT_APPLICABLE:
        if result.refusal is None:
            yield f"{name} does not say why it does not apply"
        return
    if result.outcome not in RAN:
        yield f"{name} is {result.outcome.value}"
        return
    if _as_written(result.settings) != _as_written(settings(KNOWN[name])):
        yield f"{name} was run with other settings than its own"
    if {proof.kind for proof in result.proofs} != {"weak case", "noise"} or not all(p.passed for p in result.proofs):
        yield f"{name} was not proved on its weak case and on noise"


def _as_written(described: Mapping[str, Any]) -> Any:
    """Give settings as a file has them: lists for tuples."""
    return json.loads(json.dumps(described))


def _picture_flaws(path: Path, scheme: SchemeResult) -> Iterator[str]:
    """Ask for a picture of what was broken, which can be opened."""
    worst = worst_attack(scheme)
    if worst is None or worst.outcome not in PICTURED or not _gives_images(worst):
        return
    try:
        with Image.open(path, formats=("PNG",)) as picture:
            if max(picture.size) > LARGEST:
                yield f"{path.name} is larger than {LARGEST} pixels"
                return
            picture.load()
    except (OSError, UnidentifiedImageError, ValueError):
        yield f"it is broken, and has no {path.name} that can be opened"


def _gives_images(attack: AttackResult) -> bool:
    """Tell whether guesses are images of the attack's own; candidates that it picks are not judged as such."""
    return any(figure.metric == IMAGE_FIGURE for figure in attack.figures)
