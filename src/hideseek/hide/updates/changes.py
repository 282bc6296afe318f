"""What clients share, in a sentence, and what they could change: batches, local steps, defences, encodings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from hideseek.hide.encoders.instahide import InstaHide
from hideseek.hide.updates.clipping import GradientNoise
from hideseek.hide.updates.pruning import GradientPruning
from hideseek.records.encoder import Change, ChangeKind

if TYPE_CHECKING:
    from hideseek.hide.updates.share import ShareUpdates
    from hideseek.records.defence import Defence

BATCH, FACTOR = 16, 4  # images of a larger batch, at least; times as many where there are as many already
PRUNED, MORE_PRUNED = 0.99, 0.999
NOISE, LOUDER = 0.01, 10.0  # of a first noise, in clips; times more of another
PAPER = "Huang et al. 2021, Table 5: CIFAR-10, ResNet-18"


def stronger_settings(scheme: ShareUpdates) -> Iterator[tuple[Change, ShareUpdates]]:
    """Give every change by itself, and the scheme after it."""
    batch, steps = max(BATCH, FACTOR * scheme.batch if scheme.batch >= BATCH else BATCH), FACTOR * scheme.local_steps
    yield Change(ChangeKind.LARGER_BATCH, "batch", scheme.batch, batch), replace(scheme, batch=batch)
    more_steps = replace(scheme, local_steps=steps, sends="weights")
    yield Change(ChangeKind.MORE_LOCAL_STEPS, "local_steps", scheme.local_steps, steps), more_steps
    yield _pruned(scheme)
    yield _noisy(scheme)
    if scheme.encoding is None:
        cost = f"Accuracy fell from 93.4 to 90.0 % ({PAPER})"
        change = Change(ChangeKind.DEFENCE, "k", None, 4, "intra-instahide", cost)
        yield change, replace(scheme, encoding=InstaHide(k=4, largest=0.65))


def _pruned(scheme: ShareUpdates) -> tuple[Change, ShareUpdates]:
    before = next((each for each in scheme.defences if isinstance(each, GradientPruning)), None)
    p = PRUNED if before is None or before.p < PRUNED else MORE_PRUNED
    if before is not None and before.p >= p:
        p = 1 - (1 - before.p) / 10
    loss = {PRUNED: "88.6", MORE_PRUNED: "83.6"}.get(p)
    cost = f"Accuracy fell from 93.4 to {loss} % ({PAPER})" if loss else ""
    return _defended(scheme, before, GradientPruning(p), "p", cost)


def _noisy(scheme: ShareUpdates) -> tuple[Change, ShareUpdates]:
    before = next((each for each in scheme.defences if isinstance(each, GradientNoise)), None)
    if before is None:
        return _defended(scheme, None, GradientNoise(noise=NOISE), "noise", "")
    louder = replace(before, noise=max(NOISE, LOUDER * before.noise))
    change, stronger = _defended(scheme, before, louder, "noise", "")
    return replace(change, kind=ChangeKind.MORE_NOISE), stronger


def _defended(
    scheme: ShareUpdates, before: Defence | None, after: Defence, parameter: str, cost: str
) -> tuple[Change, ShareUpdates]:
    """Put a defence into the place of one of its kind, or after all others."""
    if before is None:
        change = Change(ChangeKind.DEFENCE, parameter, None, getattr(after, parameter), after.mechanism, cost)
        return change, replace(scheme, defences=(*scheme.defences, after))
    values = getattr(before, parameter), getattr(after, parameter)
    change = Change(ChangeKind.STRONGER_DEFENCE, parameter, *values, after.mechanism, cost)
    return change, replace(scheme, defences=tuple(after if each is before else each for each in scheme.defences))


def described(scheme: ShareUpdates) -> str:
    """Say what is shared.

    >>> from hideseek.hide.updates import ShareUpdates
    >>> described(ShareUpdates("lenet", batch=16, defences=(GradientPruning(0.99),)))[55:]
    'in train mode; the update goes through gradient-pruning (p = 0.99).'
    """
    work = scheme.work
    of = f"{work.images} image{'s' if work.images > 1 else ''}"
    of = "an unknown number of images" if "images" in work.unknown else of
    what = f"the gradient of {of} by" if scheme.sends == "gradient" else f"what {of} changed in the weights of"
    state = "a trained" if scheme.trained else "an untrained"
    epochs = f" (after {scheme.epochs} epoch{'s' if scheme.epochs > 1 else ''})" if scheme.epochs else ""
    said = f"Share {what} {state} {scheme.model}{epochs}, in {scheme.mode} mode"
    if scheme.sends == "weights":
        steps = work.steps * work.epochs
        taken = "unknown" if "steps" in work.unknown else f"{steps}"
        rate = "an unknown rate" if "rate" in work.unknown else f"rate {work.rate:g}"
        said += f", in {taken} local step{'' if taken == '1' else 's'} of {rate}"
    done = []
    if scheme.encoding is not None:
        together = getattr(scheme.encoding, "k", None)
        mixed = f" (k = {together})" if together else ""
        done.append(f"images are encoded by {scheme.encoding.mechanism}{mixed} before")
    if scheme.defences:
        each = ", ".join(f"{defence.mechanism}{_settings(defence)}" for defence in scheme.defences)
        done.append(f"the update goes through {each}")
    return f"{said}; {', and '.join(done)}." if done else f"{said}, undefended."


def _settings(part: Any) -> str:
    """Give the settings of a defence."""
    told = [f"{each.name} = {getattr(part, each.name):g}" for each in fields(part)]
    return f" ({', '.join(told)})" if told else ""
