"""Reasons to distrust a part of an audit."""

from collections.abc import Sequence
from dataclasses import dataclass

from hideseek.records.result import Flag, FlagKind
from hideseek.report.sentences.numbers import are, counted, listing, number, parameter

OVERLAPS = {
    "public": (
        "{overlap:,} of the {images:,} public images {are} private, too: whoever mixes them in shares them as public,"
        " and accuracies and searches for public images mislead."
    ),
    "own": (
        "{overlap:,} of the {images:,} images of the attacker's own {are} private, too: the attacker is given what he"
        " is to find, and attacks that learn look stronger than they are."
    ),
}
FLAGS = {
    FlagKind.REPRODUCIBLE: "All keys come from the seed {seed}: a study that others can repeat, not what to share.",
    FlagKind.OVERLAP: "",  # by the set, in OVERLAPS
    FlagKind.FEW_IMAGES: "{subject} judged by {counted}: intervals over so few err more often than they say.",
    FlagKind.NOTHING_LEARNT: (
        "Even vanilla training is no better than guessing, so the accuracy that hiding costs is not known."
    ),
    FlagKind.EFFECTIVE_VALUE: "{name} is stated as {stated} and is {effective} in what is shared: {meaning}.",
    FlagKind.FAILED: "{attacks} failed or could not be judged, so what there is to find is not known.",
    FlagKind.WITHHELD: "{attacks} did not pass the proofs, so what there is to find is not known.",
    FlagKind.NOT_TRIED: (
        "No time for {attacks}, or not to the end, so what there is to find is open: give the audit more time."
    ),
    FlagKind.WEAKER_BEATS_STRONGER: (
        "{weaker} knows less than {attack} and beats it ({metric} {more} against {found}): what an attacker can do who"
        " knows more is understated."
    ),
    FlagKind.NOT_SIGNIFICANT: (
        "{attack} seems better than its baseline ({metric} {found}, {best_baseline} {baseline}), but not significantly"
        " among so many figures: give it more images, rounds or time."
    ),
    FlagKind.UNDER_BASELINE: (
        "{attack} is under its baseline ({metric} {found}, {best_baseline} {baseline}): answering without looking would"
        " score more, so that it resisted says little."
    ),
}
"""The facts that each kind needs are the names in its sentence; report/checks.py gives them."""
NUMBERS = ("found", "more", "baseline")  # facts that are in the unit of a figure
PARAMETERS = ("stated", "effective")
TOGETHER = (FlagKind.FAILED, FlagKind.WITHHELD, FlagKind.NOT_TRIED)  # flags of one scheme that are told in one sentence


@dataclass(frozen=True)
class DistrustedPart:
    """One reason as it is read: what it is about, and a sentence. It may stand for several flags of one scheme."""

    kind: FlagKind
    scheme: str
    attack: str
    sentence: str

    @property
    def title(self) -> str:
        """Name the reason."""
        return self.kind.value.capitalize()

    @property
    def subject(self) -> str:
        """Name the part: a scheme, or an attack on it; empty: the whole audit."""
        return f"{self.scheme}/{self.attack}" if self.attack else self.scheme


def flag(raised: Flag) -> str:
    """Say why a part of the audit is to be distrusted; a KeyError names a fact that is missing."""
    return _told(raised, raised.attack or "An attack")


def flags(raised: Sequence[Flag]) -> list[DistrustedPart]:
    """Say why parts of the audit are to be distrusted; attacks on one scheme that say nothing are told together."""
    groups: dict[object, list[Flag]] = {}
    for place, each in enumerate(raised):
        key = (each.kind, each.scheme) if each.kind in TOGETHER else place
        groups.setdefault(key, []).append(each)
    return [
        DistrustedPart(
            group[0].kind,
            group[0].scheme,
            group[0].attack if len(group) == 1 else "",
            flag(group[0]) if len(group) == 1 else _told(group[0], listing([each.attack for each in group])),
        )
        for group in groups.values()
    ]


def _told(raised: Flag, attacks: str) -> str:
    facts = raised.facts
    template = OVERLAPS[str(facts["set"])] if raised.kind is FlagKind.OVERLAP else FLAGS[raised.kind]
    words = {name: number(float(facts[name]), str(facts["unit"])) for name in NUMBERS if name in facts}
    words |= {name: parameter(float(facts[name])) for name in PARAMETERS if name in facts}
    words |= {"are": are(int(facts.get("overlap", 0))), "counted": counted(int(facts.get("images", 0)), "image")}
    subject = f"{raised.attack} is" if raised.attack else "The audit is"
    return template.format_map({**facts, **words, "attack": raised.attack, "attacks": attacks, "subject": subject})


def distrusted(raised: Sequence[Flag]) -> str:
    """Say how many reasons there are to distrust parts of an audit; empty where there is none."""
    reasons = len(flags(raised))
    return f"{counted(reasons, 'reason')} to distrust parts of this audit: see the page." if reasons else ""
