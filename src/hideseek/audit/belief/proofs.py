"""Whether an attack can be believed: it must break a weak case that was planted for it, and be at chance on noise."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hideseek.audit.findings.figures import DECISIVE, broke, figures
from hideseek.audit.known import inner
from hideseek.audit.planning.clock import at_most
from hideseek.audit.question import Question
from hideseek.audit.threats import seen_by, threat_of
from hideseek.audit.words import reason_of, sentence
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.hide.encoders.singularized_mixup import spread
from hideseek.records import Attack, EncodedRelease, MixingEncoder, Samples
from hideseek.records.attack import Task
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Figure, Proof
from hideseek.score.judge import judge
from hideseek.seek import run

IMAGES, PUBLIC, OWN, ROUNDS = 48, 300, 2000, 10  # of a weak case
SECONDS = 4.0  # of the reference machine, that an attack may take for each of its proofs
LONGEST = 90.0  # seconds, after which a proof is given up
TINY = 0.01  # length of noise, in mean distances between two images
STRICT = 5  # times less often than a verdict may a proof on noise err: it would withhold a good attack


def weak_cases(scheme: MixingEncoder, images: Samples, chance: Randomness) -> Iterator[MixingEncoder]:
    """Give schemes like this one that hide nothing from an attack that works: plain Mixup, tiny noise, few partners."""
    mixing = inner(scheme)
    alone = 1 if mixing.images_per_row.public else None  # beside a public image
    if isinstance(mixing, SingularizedMixup):
        yield SingularizedMixup(radius=TINY * spread(images, chance).distance)
    elif isinstance(mixing, Laplace):
        yield Laplace(alpha=TINY)
    else:
        if mixing.masked:
            yield InstaHide(k=2, k_private=alone, largest=0.9, private_share=0.0)
        yield Mixup(k=2, k_private=alone)


def weak_kind(scheme: MixingEncoder) -> str:
    """Name the weak cases of a scheme: schemes with the same name share their proofs."""
    mixing = inner(scheme)
    return f"{type(mixing).__name__}-{'public' if mixing.images_per_row.public else 'private'}"


def prove(attack: Attack[Any], scheme: MixingEncoder, question: Question, chance: Randomness) -> tuple[Proof, ...]:
    """Try an attack on a weak case made of some of the private images, and on noise in its place."""
    images = _some(question.private, IMAGES, chance)
    public = question.mixed_in(scheme)
    public = None if public is None else _some(public, PUBLIC, chance)
    own = None if question.own is None else _some(question.own, OWN, chance)
    planted = Proof("planted", False, "No weak case could be planted for it, so nothing shows that it works here.")
    for weak in weak_cases(scheme, images, chance):
        release, secret = weak.hide(images, public, chance, ROUNDS)
        given = seen_by(threat_of(attack), replace(release, own=own), secret)
        if not attack.refuses(given):
            planted = _planted(attack, weak, given, secret, chance)
            if planted.passed:
                return (planted, _on_noise(attack, given, secret, chance))
    return (planted,)


def proof_task(scheme: MixingEncoder, question: Question) -> Task:
    """Tell how large a weak case is, for planning."""
    public, own = question.mixed_in(scheme), question.own
    few = slice(0, IMAGES)
    return Task.planned(
        scheme,
        question.private.take(few),
        None if public is None else public.take(slice(0, PUBLIC)),
        None if own is None else own.take(slice(0, OWN)),
        ROUNDS,
    )


def _planted(
    attack: Attack[Any], weak: MixingEncoder, release: EncodedRelease, secret: MixingSecret, chance: Randomness
) -> Proof:
    case = f"{type(weak).__name__} of {len(secret.private)} of your images, {ROUNDS} rounds"
    try:
        found = _tried(attack, release, secret, chance, 1)
    except Exception as error:  # noqa: BLE001 (whatever an attack raises, it is not proved)
        return Proof("planted", False, f"On a weak case ({case}) it could not be run: {reason_of(error)}")
    said = sentence(found, len(secret.private))
    if broke(found):
        return Proof("planted", True, f"It breaks a weak case ({case}): {said}")
    return Proof("planted", False, f"It does not even break a weak case ({case}): {said}")


def _on_noise(attack: Attack[Any], release: EncodedRelease, secret: MixingSecret, chance: Randomness) -> Proof:
    """Put noise in the place of the encodings: all that an attack then finds, it did not find in the images."""
    pixels = release.encoded.pixels()
    noise = chance.normals(*pixels.shape).mul_(float(pixels.std())).add_(float(pixels.mean()))
    encoded = replace(release.encoded, images=noise)
    try:
        found = _tried(attack, replace(release, encoded=encoded), secret, chance, STRICT)
    except BadInput as reason:
        return Proof("noise", True, f"On noise it finds nothing that could be scored: {reason}")
    except Exception as error:  # noqa: BLE001 (whatever an attack raises, it is not proved)
        return Proof("noise", False, f"On noise it could not be run: {reason_of(error)}")
    said = sentence(found, len(secret.private))
    if broke(found):
        return Proof("noise", False, f"It claims to find something in pure noise, so its scores mean nothing: {said}")
    return Proof("noise", True, f"On noise it is at chance. {said}")


def _tried(
    attack: Attack[Any], release: EncodedRelease, secret: MixingSecret, chance: Randomness, strict: int
) -> tuple[Figure, ...]:
    with at_most(LONGEST):
        evidence = run(attack.within(SECONDS, Task.of(release)), release, chance)
    decisive = [name for names in DECISIVE.values() for name in names]
    return figures(judge(evidence, secret, chance, decisive), strict)


def _some(samples: Samples, count: int, chance: Randomness) -> Samples:
    return samples.take(chance.permutation(len(samples))[:count].sort().values)
