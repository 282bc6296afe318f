"""Which figures decide, how often that errs, and what they are said to mean."""

from collections.abc import Callable
from dataclasses import replace
from math import comb

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hideseek.audit.findings.figures import broke, conclusive, decisive_metrics, figures, harm, outcome_of
from hideseek.chance import seeded
from hideseek.hide import Mixup
from hideseek.records import Attribution, Claim, Evidence, Links, Masks, PublicImagesFound, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Figure, Harm, Outcome, Range
from hideseek.score.claims import CLAIMS
from hideseek.score.judge import judge
from hideseek.score.significance import LEVEL, sign_flips
from toys import images

ONE = Range(0.5, 0.4, 0.6, 50)
NAME = "shuffled scores"
FIGURE = Figure("auc", "links", 0, "", True, "", "", ONE, {NAME: 0.5}, NAME, ONE, 0.0, Harm.LINKED, True)


def test_every_kind_of_claim_has_figures_that_decide() -> None:
    decisive = set(decisive_metrics())
    assert all(decisive & set(rules.metrics) for rules in CLAIMS.values())


def test_all_figures_together_seldom_err() -> None:
    """Where nothing leaks, twelve figures of 40 images together decide in 2.5 % of trials, of normal and skew scores.

    400 trials each: 2.5 % + 2.3 % (three deviations). Without correction it would be 1 − 0.975^12 = 26 %.
    """
    generator, places = np.random.default_rng(0), torch.arange(40)
    laws: dict[str, Callable[[], NDArray[np.float64]]] = {
        "normal": lambda: np.asarray(generator.normal(0, 1, 40)),
        "skew to the right": lambda: np.asarray(generator.exponential(1, 40) - 1),
        "one in forty is right": lambda: np.asarray((generator.random(40) < 1 / 40) - 1 / 40),
    }
    for name, draw in laws.items():
        p_values = np.array(
            [min(sign_flips(torch.from_numpy(draw()), places, float).p_value for _ in range(12)) for _ in range(400)]
        )
        assert (p_values <= LEVEL / 12).mean() <= 0.048, name
        if name == "normal":
            assert (p_values <= LEVEL).mean() > 0.15


def test_a_true_reconstruction_breaks_and_a_random_one_does_not() -> None:
    private = images(40, stored=False)
    _, secret = Mixup().hide(private, None, seeded(0))
    truth = private.pixels(secret.sources[:, 0])
    close = Reconstruction(truth + 0.1 * seeded(1).normals(*truth.shape), torch.arange(40))
    found = figures(judge(Evidence((close,)), secret, seeded(2)), 8)
    assert broke(found)
    assert harm(found) is Harm.RECOVERED
    far = replace(close, images=seeded(3).normals(*truth.shape))
    found = figures(judge(Evidence((far,)), secret, seeded(2)), 8)
    assert not broke(found)
    assert harm(found) is Harm.NOTHING


def test_more_attacks_ask_for_smaller_p_values() -> None:
    private = replace(images(40, stored=False), labels=torch.empty(40, 0))  # labels alone would tell more
    _, secret = Mixup().hide(private, None, seeded(0), rounds=2)
    first, second = torch.triu_indices(80, 80, 1)
    shares = (secret.sources[first][:, :, None] == secret.sources[second][:, None, :]).flatten(1).any(1)
    scores = 0.4 * shares + seeded(5).normals(len(first))  # hardly better than chance
    judgement = judge(Evidence((Links(first, second, scores),)), secret, seeded(0))
    p_value = next(each.p_value for each in figures(judgement, 1) if each.metric == "auc")
    assert p_value is not None
    assert 0 < p_value < LEVEL / 2, p_value  # so that one attack is enough, and many are not
    assert broke(figures(judgement, 1))
    assert not broke(figures(judgement, int(LEVEL / 2 / p_value) + 1))
    looks = int(np.log2(LEVEL / p_value))  # each at half the level of the one before
    assert broke(figures(judgement, 1, looks - 1))
    assert not broke(figures(judgement, 1, looks))


def test_how_bad_each_kind_of_claim_is() -> None:
    private, public = images(40, stored=False), images(60, stored=False, seed=9)
    _, secret = Mixup(k=3, k_private=2).hide(private, public, seeded(0))
    rows = torch.arange(40)
    first, second = torch.triu_indices(40, 40, 1)
    shares = (secret.sources[first][:, :, None] == secret.sources[second][:, None, :]).flatten(1).any(1)
    claims: dict[Claim, Harm] = {
        Links(first, second, shares.double()): Harm.LINKED,
        PublicImagesFound(rows, secret.public_sources[:, :1], torch.zeros(40, 1), 60): Harm.PARTS,
        Attribution(rows, rows, torch.eye(40)[secret.sources[:, 0]]): Harm.TOLD_APART,
    }
    for claim, how_bad in claims.items():
        found = figures(judge(Evidence((claim,)), secret, seeded(0)), 3)
        assert harm(found) is how_bad
    masked = replace(secret, mask=seeded(1).bits(40 * 3, 35).view(40, 3, -1))
    found = figures(judge(Evidence((Masks(rows, masked.signs()),)), masked, seeded(0)), 3)
    assert harm(found) is Harm.PARTS


def test_a_few_hits_among_many_are_enough() -> None:
    """11 of 160 images re-identified, where chance gives one in 320: other truths never have as many."""
    private = images(160, stored=False)
    truth = MixingSecret(
        private, torch.arange(160)[:, None], torch.empty(160, 0, dtype=torch.int64), torch.ones(160, 1)
    )
    guesses = seeded(1).normals(160, *private.shape)
    guesses[:11] = private.pixels(torch.arange(11))
    claim = Reconstruction(guesses, torch.arange(160), "images")
    score = next(each for each in judge(Evidence((claim,)), truth, seeded(0)).scores if each.metric == "re-identified")
    hits = int((score.values >= 1).sum())
    assert 11 <= hits <= 15
    assert score.significance is not None
    assert score.significance.p_value < 1e-4
    assert broke(figures(judge(Evidence((claim,)), truth, seeded(0)), 8))


def test_chance_is_known_not_drawn() -> None:
    private, public = images(40, stored=False), images(60, stored=False, seed=9)
    _, secret = Mixup(k=4, k_private=2).hide(private, public, seeded(0))
    rows = torch.arange(40)
    first, second = torch.triu_indices(40, 40, 1)
    order = torch.stack([seeded(row).permutation(60) for row in range(40)])
    claims = (
        PublicImagesFound(rows, order, torch.zeros(40, 60), 60),
        Links(first, second, seeded(1).uniforms(len(first))),
        Attribution(rows, torch.arange(40), seeded(2).uniforms(40, 40).float()),
    )
    scores = {each.metric: each for each in judge(Evidence(claims), secret, seeded(0)).scores}
    wanted = {
        "hit@1": 2 / 60,
        "hit@10": 1 - comb(58, 10) / comb(60, 10),
        "auc": 0.5,
        "tpr@fpr=0.01": 0.01,
        "accuracy": 1 / 40,
    }
    for metric, value in wanted.items():
        assert set(scores[metric].baselines) <= {"chance", "labels alone", "classes by size"}
        assert scores[metric].baselines["chance"].mean == pytest.approx(value)


def test_too_few_images_conclude_nothing() -> None:
    assert not conclusive((FIGURE,))  # no mean would have beaten its baseline
    assert conclusive((replace(FIGURE, smallest=0.7),))
    assert not conclusive((replace(FIGURE, smallest=0.7, harm=Harm.NOTHING),))
    assert not conclusive(())


def test_what_breaks_and_what_leaks() -> None:
    """One figure that breaks is enough; one that beats no baseline counts for nothing, however bad it would be."""
    missed = replace(FIGURE, harm=Harm.RECOVERED, beats=False)
    wanted = {harm: Outcome.BROKEN if harm.breaks else Outcome.LEAKS for harm in Harm if harm is not Harm.NOTHING}
    assert {harm: outcome_of((missed, replace(FIGURE, harm=harm))) for harm in wanted} == wanted
    assert [harm.value for harm, outcome in wanted.items() if outcome is Outcome.BROKEN] == [
        "re-identified",
        "images recovered",
    ]
    assert outcome_of((FIGURE, replace(FIGURE, harm=Harm.REIDENTIFIED))) is Outcome.BROKEN
    assert outcome_of((missed,)) is outcome_of(()) is Outcome.RESISTED


def test_the_smallest_effect_that_could_have_been_shown() -> None:
    """Six images all but recovered: at the level of one attack hits could decide, at that of very many nothing can."""
    private = images(6, stored=False)
    truth = MixingSecret(private, torch.arange(6)[:, None], torch.empty(6, 0, dtype=torch.int64), torch.ones(6, 1))
    claim = Reconstruction(private.pixels() + 0.1 * seeded(1).normals(6, *private.shape), torch.arange(6), "images")
    judgement = judge(Evidence((claim,)), truth, seeded(0))
    one, many = ({each.metric: each for each in figures(judgement, tests)} for tests in (1, 10**8))
    recovered = one["recovered"]
    assert recovered.p_value == pytest.approx(31.0**-6)  # none of 30 pairs of others passes
    assert recovered.beats
    assert one["absolute-correlation"].smallest is None  # 2^-6 is above 2.5 % / 8
    assert not one["absolute-correlation"].beats
    assert one["re-identified"].given == ("candidates",)
    assert conclusive(tuple(one.values()))
    assert not conclusive(tuple(many.values()))
