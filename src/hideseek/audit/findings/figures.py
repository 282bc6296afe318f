"""From scores to figures: which of them decide, and whether they beat their baselines beyond chance."""

from collections.abc import Sequence

from hideseek.records.result import Figure, Harm, Outcome, Range
from hideseek.score.claims import CLAIMS
from hideseek.score.confidence import FEWEST, Interval
from hideseek.score.judge import Judgement, Score
from hideseek.score.significance import LEVEL


def decisive_metrics() -> list[str]:
    """Name the metrics that verdicts rest on."""
    return [name for rules in CLAIMS.values() for name in rules.decisive]


def figures(judgement: Judgement, tests: int, look: int = 0) -> tuple[Figure, ...]:
    """Write scores down; a decisive one beats its baseline if its p-value is at most the corrected level.

    Bonferroni: with `tests` attacks on all schemes of an audit and d decisive figures in this one, each may err with a
    chance of 2.5 % / (tests · d · 2^(look + 1)), so that all together err with 2.5 %. `look` counts how often the
    attack was run before: ½ + ¼ + … = 1, however often that is.
    """
    decisive = sum(_harm(score) is not Harm.NOTHING for score in judgement.scores)
    level = LEVEL / (max(1, tests) * max(1, decisive) * 2 ** (look + 1))
    return tuple(_figure(score, level) for score in judgement.scores)


def _harm(score: Score) -> Harm:
    return CLAIMS[score.claim].decisive.get(score.metric, Harm.NOTHING)


def _figure(score: Score, level: float) -> Figure:
    metric, advantage, harm = CLAIMS[score.claim].metrics[score.metric], score.advantage, _harm(score)
    decisive, tested = harm is not Harm.NOTHING, score.significance
    return Figure(
        metric=score.metric,
        claim=score.claim,
        number=score.number,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        meaning=metric.meaning,
        finding=metric.finding,
        found=as_range(score.interval),
        baselines={name: baseline.mean for name, baseline in score.baselines.items()},
        best_baseline=score.best_baseline,
        advantage=None if advantage is None else as_range(advantage),
        p_value=None if tested is None else tested.p_value,
        harm=harm,
        beats=score.beats_at(level if decisive else LEVEL),
        notes=score.notes,
        given=metric.needs,
        smallest=_smallest(score, level) if decisive else None,
    )


def _smallest(score: Score, level: float) -> float | None:
    """Give the least mean that would have beaten all baselines at a level; None where no mean could."""
    if score.significance is None or score.advantage is None or score.advantage.count < FEWEST:
        return None
    least = score.significance.least(level)
    higher = CLAIMS[score.claim].metrics[score.metric].higher_is_better
    return least if least is None else (max if higher else min)(least, score.baselines[score.best_baseline].mean)


def as_range(interval: Interval) -> Range:
    """Give an interval as a result has it."""
    return Range(interval.mean, interval.low, interval.high, interval.count)


def harm(found: Sequence[Figure]) -> Harm:
    """Give the worst harm of the decisive figures that beat their baselines."""
    return max((figure.harm for figure in found if figure.beats), key=lambda each: each.rank, default=Harm.NOTHING)


def broke(found: Sequence[Figure]) -> bool:
    """Tell whether a decisive figure beats its baseline."""
    return harm(found) is not Harm.NOTHING


def outcome_of(found: Sequence[Figure]) -> Outcome:
    """Say what decisive figures come to: broken by a harm that breaks, else a leak, else resisted."""
    worst = harm(found)
    if worst is Harm.NOTHING:
        return Outcome.RESISTED
    return Outcome.BROKEN if worst.breaks else Outcome.LEAKS


def conclusive(found: Sequence[Figure]) -> bool:
    """Tell whether an attack could have beaten a baseline at all: with so few images, no test may reach its level."""
    return any(figure.decisive and figure.smallest is not None for figure in found)
