"""From scores to what an attack is said to have done: which figures decide, what they prove, and how bad it is."""

from collections.abc import Sequence

from hideseek.records.result import Figure, Range
from hideseek.score.confidence import FEWEST, Interval
from hideseek.score.judge import Judgement, Score
from hideseek.score.metrics import METRICS

# Chosen before any audit was run: one figure for each kind of claim, or a few that see different things.
DECISIVE = {
    "Reconstruction": ("recovered", "re-identified", "fitted-ssim", "absolute-correlation"),
    "PublicImagesFound": ("hit@1",),
    "Links": ("auc",),
    "Masks": ("wrong-signs",),
    "Attribution": ("accuracy",),
}
LEVEL = 0.025  # the chance to call a scheme broken that is not: one end of a 95 % interval, over all its attacks
HARM = {"Attribution": 4, "Reconstruction": 3, "Links": 2, "PublicImagesFound": 1, "Masks": 1}  # of a kind of claim …
WORSE = {"recovered": 6, "re-identified": 5}  # … and of figures that say more


def figures(judgement: Judgement, attacks: int) -> tuple[Figure, ...]:
    """Write scores down; decisive ones beat their baseline only beyond doubt, divided by how many may decide.

    Bonferroni: with `attacks` attacks on a scheme and d decisive figures in this one, each may err with a chance of
    2.5 % / (attacks · d), so that all together err with 2.5 %.
    """
    decisive = [score for score in judgement.scores if is_decisive(score)]
    level = LEVEL / (max(1, attacks) * max(1, len(decisive)))
    return tuple(_figure(score, level) for score in judgement.scores)


def is_decisive(score: Score) -> bool:
    """Tell whether a verdict may rest on a score."""
    return score.metric in DECISIVE[METRICS[score.metric].of.__name__]


def _figure(score: Score, level: float) -> Figure:
    metric, advantage = METRICS[score.metric], score.advantage
    decisive = is_decisive(score)
    sure = advantage is not None and advantage.count >= FEWEST and advantage.p_value <= level
    return Figure(
        metric=score.metric,
        kind=metric.of.__name__,
        claim=score.claim,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        meaning=metric.meaning,
        found=in_range(score.interval),
        baselines={name: baseline.mean for name, baseline in score.baselines.items()},
        best_baseline=score.best_baseline,
        advantage=None if advantage is None else in_range(advantage),
        p_value=None if advantage is None else advantage.p_value,
        decisive=decisive,
        beats=sure and score.beats if decisive else score.beats,
        notes=score.notes,
    )


def in_range(interval: Interval) -> Range:
    """Give an interval as a result has it."""
    return Range(interval.mean, interval.low, interval.high, interval.count)


def broke(found: Sequence[Figure]) -> bool:
    """Tell whether an attack found anything: a decisive figure beats its baseline."""
    return any(figure.decisive and figure.beats for figure in found)


def harm(found: Sequence[Figure]) -> int:
    """Say how bad it is: 6 images recovered, 5 re-identified, 4 told apart, 3 likeness, 2 rows linked, 1 parts."""
    beating = [figure for figure in found if figure.decisive and figure.beats]
    return max((WORSE.get(figure.metric, HARM[figure.kind]) for figure in beating), default=0)


def conclusive(found: Sequence[Figure]) -> bool:
    """Tell whether an attack could have beaten a baseline at all: a decisive figure is about images enough."""
    decisive = [figure.advantage for figure in found if figure.decisive]
    return any(advantage is not None and advantage.images >= FEWEST for advantage in decisive)
