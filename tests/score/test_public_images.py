"""Public images that were found: metrics one row at a time, the curve, what is shown."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import PublicImagesFound
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.metrics import METRICS
from hideseek.score.public_images import METRICS as OWN
from hideseek.score.public_images import baselines, check, curves, examples
from score.updates import Updates, updates_of
from toys import images


@pytest.mark.parametrize("kept", [60, 12, 1, 0])
def test_metrics(kept: int, secret: MixingSecret) -> None:
    generator = np.random.default_rng(3)
    rows = generator.permutation(len(secret.sources))[:30]
    answers = np.stack([generator.permutation(60) for _ in rows])
    for number in range(0, 30, 2):  # every other answer begins well
        answers[number] = [*secret.public_sources[rows[number]], *answers[number]][:60]
    answers = answers[:, :kept]
    claim = PublicImagesFound(torch.from_numpy(rows), torch.from_numpy(answers), torch.zeros(answers.shape), 60)
    expected: dict[str, list[float]] = {name: [] for name in OWN}
    for row, answer in zip(rows, answers.tolist(), strict=True):
        truth = secret.public_sources[row].tolist()
        for most in (1, 10, 100):
            expected[f"hit@{most}"].append(float(bool(set(truth) & set(answer[:most]))))
        right = len(set(truth) & set(answer[:2]))
        expected["found"].append(right / 2)
        expected["all-found"].append(float(right == 2))
        places = [answer.index(image) + 1 if image in answer else None for image in truth]
        missing = np.mean(range(kept + 1, 61)) if kept < 60 else 0
        expected["rank"].append(float(np.mean([place or missing for place in places])))
        expected["search-space"].append(max(place or 60 for place in places) / 60)
    for name, values in expected.items():
        np.testing.assert_allclose(METRICS[name].score(claim, secret).numpy(), values, err_msg=name)


def test_larger_images_are_judged_by_what_patches_were_cut_from(secret: MixingSecret) -> None:
    """Patch p of 60 is from image p // 4 of 15: the right answer is that image, and chance is among 15."""
    cut = replace(secret, cut_from=torch.arange(60) // 4)
    right = (secret.public_sources[:, :1] // 4).clone()
    claim = PublicImagesFound(torch.arange(48), right, torch.zeros(48, 1), 15, larger=True)
    check(claim, cut)
    assert METRICS["hit@1"].score(claim, cut).tolist() == [1.0] * 48
    wrong = replace(claim, candidates=(right + 7) % 15)
    expected = [
        float((guess + 7) % 15 in {patch // 4 for patch in row})
        for guess, row in zip(right[:, 0].tolist(), secret.public_sources.tolist(), strict=True)
    ]
    assert METRICS["hit@1"].score(wrong, cut).tolist() == expected
    with pytest.raises(BadInput, match="more public images than the 15"):
        check(replace(claim, larger=False), cut)


def test_without_public_images_nothing_was_found(secret: MixingSecret) -> None:
    claim = PublicImagesFound(torch.arange(2), torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2, 1), 5)
    none = replace(secret, public_sources=torch.empty(48, 0, dtype=torch.int64))
    with pytest.raises(BadInput, match="no public images"):
        METRICS["rank"].score(claim, none)
    assert curves(claim, none) == ()
    with pytest.raises(BadInput, match="speaks of mixed rows, and this release has none"):
        check(claim, updates_of(secret.private, (0, 1), (2, 3)))


def test_a_random_order_has_no_repeats(secret: MixingSecret) -> None:
    claim = PublicImagesFound(torch.arange(48), torch.zeros(48, 20, dtype=torch.int64), torch.zeros(48, 20), 60)
    ((name, baseline, drawn),) = baselines(claim, secret, seeded(0))
    assert (name, drawn) == ("random order", True)
    assert isinstance(baseline, PublicImagesFound)
    assert baseline.candidates.shape == (48, 20)
    assert all(len(set(row)) == 20 and min(row) >= 0 and max(row) < 60 for row in baseline.candidates.tolist())


def test_hits_are_counted_row_by_row() -> None:
    """7 of 60 rows, where 2 of 40 images would be right: P[Bin(60, 1/20) ≥ 7]; not if a row is asked about twice."""
    _, secret = Mixup(k=3, k_private=1).hide(images(30), images(40, seed=1), seeded(0), rounds=2)
    wrong = torch.tensor([next(i for i in range(40) if i not in row) for row in secret.public_sources.tolist()])
    answers = torch.where(torch.arange(60) < 7, secret.public_sources[:, 1], wrong)[:, None]
    claim = PublicImagesFound(torch.arange(60), answers, torch.zeros(60, 1), 40)
    test = METRICS["hit@1"].test
    assert test is not None
    found = test(claim, secret, seeded(0))
    assert found is not None
    assert found.p_value == pytest.approx(sum(comb(60, k) * 19 ** (60 - k) for k in range(7, 61)) / 20**60)
    assert test(replace(claim, rows=torch.arange(60) // 2), secret, seeded(0)) is None


def test_hit_rate_among_the_first_m() -> None:
    private, public = images(30), images(40, seed=1)
    _, secret = Mixup(k=3, k_private=1).hide(private, public, seeded(0))
    order = torch.stack([seeded(row).permutation(40) for row in range(30)])
    (curve,) = curves(PublicImagesFound(torch.arange(30), order, torch.zeros(30, 40), 40), secret)
    for m, share, baseline in zip(curve.x, curve.y, curve.baseline, strict=True):
        hits = [set(order[row, : int(m)].tolist()) & set(secret.public_sources[row].tolist()) for row in range(30)]
        assert share == np.float64(f"{np.mean([bool(hit) for hit in hits]):.5g}")
        assert abs(baseline - (1 - comb(38, int(m)) / comb(40, int(m)))) < 1e-4
    assert (curve.x[0], curve.x[-1], curve.y[-1]) == (1, 40, 1)
    nothing = torch.empty(0, dtype=torch.int64)
    assert curves(PublicImagesFound(nothing, torch.empty(0, 3, dtype=torch.int64), torch.empty(0, 3), 40), secret) == ()


def test_rows_with_a_hit_are_shown_first() -> None:
    private, public = images(20, stored=False), images(25, stored=False, seed=4)
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(0))
    wrong = torch.tensor([next(i for i in range(25) if i not in row) for row in secret.public_sources.tolist()])
    first = wrong.clone()
    first[[7, 3]] = secret.public_sources[[7, 3], 1]
    claim = PublicImagesFound(torch.arange(20), first[:, None], torch.zeros(20, 1), 25)
    shown = examples(claim, release, secret)
    assert [(each.kind, each.subject, each.number, each.metric, each.value) for each in shown] == [
        ("example", "row", row, "hit@1", value) for row, value in ((3, 1.0), (7, 1.0), (0, 0.0), (1, 0.0))
    ]
    assert [(label, hidden) for label, _, hidden in shown[0].panels] == [
        ("public image in it", False), ("shared", False), ("found", False)
    ]  # fmt: skip
    torch.testing.assert_close(shown[0].panels[2][1], public.images[first[3]])
    torch.testing.assert_close(shown[0].panels[1][1], release.encoded.images[3])
    assert examples(claim, Updates(20), secret) == []
