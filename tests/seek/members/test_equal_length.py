"""Noise of one length: against a plain search, pairs that are picked, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import Coarse, Laplace, Mixup, SingularizedMixup
from hideseek.records import EncodedRelease, Membership, MixingEncoder, Reason, Reconstruction, Refused
from hideseek.records.gallery import unlabelled
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.membership import auc
from hideseek.seek.members.equal_length import EqualLength, known_rows
from hideseek.seek.run import run
from hideseek.seek.systems.length_pairs import KnownRow, LengthPairs
from hideseek.seek.systems.pair_beliefs import threshold
from releases import photos
from toys import images


def released(scheme: MixingEncoder, count: int = 40, rounds: int = 1) -> tuple[EncodedRelease, MixingSecret]:
    private, _ = photos("channel")
    release, secret = scheme.hide(private.take(slice(0, count)), None, seeded(1), rounds)
    return secret.reveal(release, ("candidates",)), secret


def right(claim: Reconstruction, secret: MixingSecret) -> torch.Tensor:
    """Which rows were given their two images, the first one first."""
    half = len(claim.about) // 2
    truth = secret.private.pixels()[secret.sources[claim.about[:half]]]
    first, second = claim.images[:half], claim.images[half:]
    return (first == truth[:, 0]).flatten(1).all(1) & (second == truth[:, 1]).flatten(1).all(1)


def claims(release: EncodedRelease, **settings: int) -> tuple[Membership, Reconstruction]:
    member, picked = run(EqualLength(**settings), release, seeded(0)).claims
    assert isinstance(member, Membership)
    assert isinstance(picked, Reconstruction)
    return member, picked


def test_pairs_that_fit_are_those_of_a_plain_search() -> None:
    generator = np.random.default_rng(0)
    candidates, radius = generator.standard_normal((12, 20)), 500.0
    noise = generator.standard_normal(20)
    row = 0.4 * candidates[3] + np.float32(0.6) * (candidates[7] + radius * noise / np.linalg.norm(noise))
    given = LengthPairs(candidates @ candidates.T, (row @ candidates.T)[None], (row @ row)[None], radius, 1e-4)
    found = given.fitting([KnownRow(0, (float(np.float32(0.4)), float(np.float32(0.6))), (0, 1))])
    wanted = set()
    for order, (one, two) in enumerate(((0.4, 0.6), (0.6, 0.4))):
        for a in range(12):
            for b in range(12):
                length = float(np.linalg.norm(row - one * candidates[a] - two * candidates[b]))
                scale = max(1.0, float(np.linalg.norm(row)) / (two * radius))
                if a != b and abs(length**2 - (two * radius) ** 2) <= 4 * 2 * (two * radius) ** 2 * 1e-4 * scale:
                    wanted.add((order, a, b))
    assert set(zip(found.orders.tolist(), found.first.tolist(), found.second.tolist(), strict=True)) == wanted
    assert (0, 3, 7) in wanted


@pytest.mark.parametrize("tau", [1e-2, 1e-3])
def test_pairs_are_picked_and_members_told_apart(tau: float) -> None:
    release, secret = released(SingularizedMixup(tau=tau))
    member, picked = claims(release)
    assert float(right(picked, secret).float().mean()) > 0.95
    assert float(auc(member, secret).mean()) > 0.95
    assert picked.picked
    assert picked.sure is not None
    sure = picked.sure[: len(picked.sure) // 2]
    assert int(sure.sum()) > 20
    assert bool(right(picked, secret)[sure].all())


def test_rounds_add_up_where_a_row_says_little() -> None:
    areas = []
    for rounds in (1, 4):
        release, secret = released(SingularizedMixup(tau=1e-6), rounds=rounds)
        member, picked = claims(release)
        areas.append(float(auc(member, secret).mean()))
        assert picked.sure is not None
        sure = right(picked, secret)[picked.sure[: len(picked.about) // 2]].float()
        assert float(sure.mean()) > 0.97 if rounds == 4 else not len(sure)  # of one round's pairs most are wrong
    assert areas[0] < areas[1]
    assert areas[1] > 0.9


def test_messages_do_not_drift_where_rows_say_nothing() -> None:
    """A common factor of all odds would grow with the rounds; how many images are private is known."""
    release, _ = released(SingularizedMixup(tau=1e-10), rounds=6)
    member, _ = claims(release)
    assert float(member.scores.sigmoid().sum()) == pytest.approx(40, rel=1e-3)
    odds = np.random.default_rng(0).standard_normal(50) + 30
    assert float((1 / (1 + np.exp(threshold(odds, 20.0) - odds))).sum()) == pytest.approx(20)


def test_the_first_rows_alone_tell_of_their_images() -> None:
    release, secret = released(SingularizedMixup())
    member, picked = claims(release, rows=10)
    assert set(picked.about.tolist()) <= set(range(10))
    assert float(right(picked, secret).float().mean()) > 0.9
    among = torch.isin(secret.identities, secret.sources[picked.about].flatten())
    assert float(member.scores[among].min()) > float(member.scores[secret.identities < 0].median())


def test_labels_tell_two_weights_or_nothing() -> None:
    labels = np.array([[0.3, 0.0, 0.7], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    assert known_rows(labels) == [KnownRow(0, (0.3, 0.7), (0, 2))]


def test_what_it_cannot_work_on_is_refused() -> None:
    release, _ = released(SingularizedMixup(), 12)
    gallery = release.candidates
    assert gallery is not None
    flat = replace(gallery, images=torch.full_like(gallery.images, 7))
    small = replace(gallery, images=gallery.images[..., :8, :8])
    for changed, reason in (
        (released(Mixup(k=2), 12)[0], Reason.NOT_ONE_LENGTH),
        (released(Laplace(scale=0.1), 12)[0], Reason.NOT_ONE_LENGTH),
        (released(Coarse(SingularizedMixup(), "exact", "int8"), 12)[0], Reason.COARSE_ROWS),
        (released(Coarse(SingularizedMixup(), "rounded", "float32"), 12)[0], Reason.WEIGHTS_UNKNOWN),
        (replace(release, encoded=unlabelled(release.encoded)), Reason.WEIGHTS_UNKNOWN),
        (replace(release, candidates=small), Reason.CANDIDATES_OF_OTHER_SHAPE),
        (replace(release, candidates=flat), Reason.EQUAL_CANDIDATES),
        (replace(release, candidates=None), Reason.MISSING_FIELDS),
    ):
        with pytest.raises(Refused) as error:
            run(EqualLength(), changed, seeded(0))
        assert error.value.refusal.reason is reason
    with pytest.raises(BadInput, match="sweep"):
        EqualLength(sweeps=0)


def test_candidates_that_are_in_no_row_are_not_confirmed() -> None:
    release, _ = released(SingularizedMixup())
    private, _ = photos("channel")
    strangers = unlabelled(replace(private, images=images(len(private), *private.shape, seed=5).images))
    evidence = run(EqualLength(), replace(release, candidates=strangers), seeded(0))
    assert evidence.remarks["rows confirmed"] <= 2
