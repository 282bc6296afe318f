"""Is this audit sound? Checks that distrust it: each that fails is a flag in the report, beside the figures."""

from collections.abc import Iterator

from hideseek.records.result import AttackResult, Figure, Flag, Result, SchemeResult

FEW, VERY_FEW = 20, 10  # images; with fewer, a bootstrap's 95 % interval errs more often than it says
FACTOR = 1.5  # between a parameter as stated and as it comes to, beyond which they are not the same
COMPARED = ("fitted-ssim", "re-identified")  # by which attackers are compared


def flags(result: Result) -> tuple[Flag, ...]:
    """Give every reason to distrust a part of the audit."""
    return (*_whole(result), *(flag for scheme in result.schemes for flag in _scheme(scheme, result)))


def _whole(result: Result) -> Iterator[Flag]:
    """Check what concerns all schemes."""
    if result.provenance.seed is not None:
        said = (
            f"All keys come from the seed {result.provenance.seed}: a study that others can repeat, not what to share."
        )
        yield Flag("reproducible", "", said)
    for name, other in (("public", result.public), ("the attacker's own", result.own)):
        if other is not None and other.overlap:
            said = f"{other.overlap:,} of {other.images:,} images of {name} set are private images: {_OVERLAP[name]}."
            yield Flag("overlap", "", said)
    if result.private.images < FEW:
        said = f"There are {result.private.images} private images: intervals over so few err more often than they say."
        yield Flag("few images", "", said)
    vanilla, data = result.vanilla, result.trained_on
    if vanilla is not None and data is not None and vanilla.accuracy.low <= 1 / max(1, data.classes):
        said = "Even vanilla training is no better than guessing, so the accuracy that hiding costs is not known."
        yield Flag("nothing learnt", "", said)


_OVERLAP = {
    "public": "who mixes them in shares them as public, and the accuracy and the search for public images mislead",
    "the attacker's own": "he is given what he is to find, and attacks that learn look stronger than they are",
}


def _scheme(scheme: SchemeResult, result: Result) -> Iterator[Flag]:
    """Check one scheme."""
    for each in scheme.effective:
        low, high = sorted((each.stated, each.effective))
        if high > FACTOR * low:
            said = f"{each.name} is stated as {each.stated:.3g} and comes to {each.effective:.3g}: {each.meaning}."
            yield Flag("effective value", scheme.name, said)
    yield from _missing(scheme)
    yield from _weaker_beats_stronger(scheme, result)
    for tried in scheme.attacks:
        yield from _attack(scheme, tried, result)


def _missing(scheme: SchemeResult) -> Iterator[Flag]:
    """Flag attacks that apply and say nothing: what they would have found is not known."""
    for outcome, words in (("failed", "did not run to the end"), ("withheld", "did not pass the proofs")):
        names = [tried.attack for tried in scheme.attacks if tried.outcome == outcome]
        if names:
            subject = f"{scheme.name}/{names[0]}" if len(names) == 1 else scheme.name
            listed = ", ".join(names)
            yield Flag(outcome, subject, f"{scheme.name}: {listed} {words}, so what there is to find is not known.")


def _weaker_beats_stronger(scheme: SchemeResult, result: Result) -> Iterator[Flag]:
    """Flag an attacker who knows less and does better: then those who know more are understated."""
    order = [threat.name for threat in result.threats]
    for metric in COMPARED:
        found = [(tried, figure) for tried in scheme.attacks for figure in tried.figures if figure.metric == metric]
        for place in range(1, len(order)):
            weaker = [pair for pair in found if order.index(pair[0].threat) < place]
            stronger = [pair for pair in found if order.index(pair[0].threat) == place]
            if weaker and stronger:
                best, less = max(weaker, key=_advantage), max(stronger, key=_advantage)
                if best[1].beats and _apart(best[1], less[1]):
                    said = (
                        f"{best[0].attack}, which knows less, beats {less[0].attack} ({metric} {best[1].found.mean:.2f}"
                        f" against {less[1].found.mean:.2f}): what an attacker can do who knows more is understated."
                    )
                    yield Flag("weaker beats stronger", f"{scheme.name}/{less[0].attack}", said)


def _advantage(pair: tuple[AttackResult, Figure]) -> float:
    return pair[1].advantage.mean if pair[1].advantage is not None else 0.0


def _apart(more: Figure, less: Figure) -> bool:
    """Tell whether one figure's advantage over its baseline is surely above another's."""
    return more.advantage is not None and less.advantage is not None and more.advantage.low > less.advantage.high


def _attack(scheme: SchemeResult, tried: AttackResult, result: Result) -> Iterator[Flag]:
    """Check one attack."""
    subject = f"{scheme.name}/{tried.attack}"
    decisive = [figure for figure in tried.figures if figure.decisive]
    few = min((figure.found.images for figure in decisive), default=FEW)
    if few < VERY_FEW and result.private.images >= FEW:
        said = f"{tried.attack} is judged by {few} images: an interval over so few errs more often than it says."
        yield Flag("few images", subject, said)
    known = [figure for figure in decisive if figure.advantage is not None]
    near = [
        figure for figure in known if figure.advantage is not None and figure.advantage.low > 0 and not figure.beats
    ]
    if near and tried.outcome == "resisted":
        said = (
            f"{tried.attack} seems better than its baseline ({near[0].metric} {near[0].found.mean:.2f},"
            f" {near[0].best_baseline} {near[0].floors[near[0].best_baseline]:.2f}), though not beyond doubt"
            " among so many figures: give it more images, rounds or time."
        )
        yield Flag("not beyond doubt", subject, said)
    if known and tried.outcome == "resisted" and all(f.advantage is not None and f.advantage.high < 0 for f in known):
        figure = known[0]
        said = (
            f"{tried.attack} is under its baseline ({figure.metric} {figure.found.mean:.2f}, {figure.best_baseline}"
            f" {figure.baselines[figure.best_baseline]:.2f}): answering without looking would score more, so that it resisted"
            " says little."
        )
        yield Flag("under its baseline", subject, said)
