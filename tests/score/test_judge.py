"""Judging: what is compared with what, what is left out, and what is refused."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.records import Attribution, Claim, Evidence, Links, Masks, PublicImagesFound, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Note, NoteKind
from hideseek.records.secret import Secret
from hideseek.score.confidence import interval
from hideseek.score.judge import EMPTY, NO_TIME, Judgement, Skipped, judge, to_json
from hideseek.score.metrics import METRICS
from hideseek.score.reconstruction import METRICS as RECONSTRUCTION
from score.updates import updates_of


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No LPIPS weights, and nothing is fetched."""
    monkeypatch.setenv("HIDESEEK_DATA", str(tmp_path))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))


def noisy(secret: MixingSecret, level: float = 0.5) -> Reconstruction:
    rows = torch.arange(len(secret.sources))
    pixels = secret.private.pixels(secret.sources[:, 0])
    return Reconstruction(pixels + level * seeded(1).normals(*pixels.shape), rows)


def judged(claim: Claim, secret: Secret, *metrics: str, seed: int = 0) -> Judgement:
    return judge(Evidence((claim,)), secret, seeded(seed), metrics or None)


def skipped(judgement: Judgement) -> dict[str, str]:
    return {each.metric: each.reason for each in judgement.skipped}


def test_a_score_has_an_interval_baselines_and_a_verdict(secret: MixingSecret) -> None:
    judgement = judged(noisy(secret, 0.2), secret)
    names = [score.metric for score in judgement.scores]
    assert names == [name for name in RECONSTRUCTION if name != "recovered-of-sure"]
    assert all(score.beats for score in judgement.scores)
    assert set(skipped(judgement)) == {"lpips-alex", "lpips-vgg", "recovered-of-sure"}
    assert "ask for lpips-alex by name to fetch them" in skipped(judgement)["lpips-alex"]
    for score in judgement.scores:
        assert score.interval.low <= score.interval.mean <= score.interval.high
        assert score.interval.mean == pytest.approx(float(score.values.double().mean()))
        assert score.interval.count == 24  # images, although there are 48 rows
        means = {name: baseline.mean for name, baseline in score.baselines.items()}
        better = max if METRICS[score.metric].higher_is_better else min
        assert means[score.best_baseline] == better(means.values())
        assert ("chance" in means) == (score.metric in ("recovered", "re-identified"))
        assert score.advantage is not None
        sign = 1 if METRICS[score.metric].higher_is_better else -1
        assert score.advantage.mean == pytest.approx(
            sign * (score.interval.mean - means[score.best_baseline]), abs=1e-5
        )


def test_the_advantage_is_that_of_pairs(secret: MixingSecret) -> None:
    """Images differ more among each other than the attack from its baseline; only pairs show that it is better."""
    mean = secret.private.pixels().mean(0)
    pixels = secret.private.pixels(secret.sources[:, 0])
    claim = Reconstruction(mean + 0.05 * (pixels - mean), torch.arange(48))
    score = judged(claim, secret, "l2").scores[0]
    assert score.best_baseline == "mean image"
    assert score.interval.high > score.baselines["mean image"].low  # the intervals overlap
    assert score.beats


def test_rows_of_one_image_rise_and_fall_together(often: MixingSecret) -> None:
    """A guess that shows two images of eight by luck looks sure if its rows are counted one by one."""
    image = often.sources[:, 0]
    shown = torch.where(image < 2, image, (image + 1) % 8)
    score = judged(Reconstruction(often.private.pixels(shown), torch.arange(240)), often, "l2").scores[0]
    assert score.interval.count == 8
    assert not score.beats
    random = score.values - score.values.median()
    assert interval(-random, seeded(0)).low > 0


def test_images_of_one_patient_rise_and_fall_together(secret: MixingSecret) -> None:
    """Six right of eight are fewer than eighteen of twenty-four: by patients, the guess is less sure."""
    patient = torch.arange(24) // 3
    sick = replace(secret, private=replace(secret.private, patients=patient + 70))
    image = secret.sources[:, 0]
    shown = torch.where(patient[image] < 6, image, (image + 3) % 24)
    claim = Reconstruction(secret.private.pixels(shown), torch.arange(len(image)))
    alone, together = (judged(claim, each, "l2").scores[0] for each in (secret, sick))
    assert (alone.interval.count, together.interval.count) == (24, 8)
    width = [score.interval.high - score.interval.low for score in (alone, together)]
    assert width[1] > 1.3 * width[0]
    assert together.significance is not None
    assert alone.significance is not None
    assert alone.significance.p_value < 0.05 < together.significance.p_value


def test_results_do_not_depend_on_the_other_metrics(secret: MixingSecret) -> None:
    claim = noisy(secret)
    together = {score.metric: score for score in judged(claim, secret).scores}
    for name in ("snr", "re-identified"):
        alone = judged(claim, secret, name).scores[0]
        assert alone.interval == together[name].interval
        assert alone.baselines == together[name].baselines
        assert alone.advantage == together[name].advantage
    assert judged(claim, secret, "l2", seed=1).scores[0].interval != together["l2"].interval


def test_several_claims_are_told_apart(secret: MixingSecret) -> None:
    far = replace(noisy(secret), images=torch.zeros(48, *secret.private.shape))
    judgement = judge(Evidence((noisy(secret), far)), secret, seeded(0), ["snr", "hit@1"])
    assert [(score.claim, score.number, score.beats) for score in judgement.scores] == [
        ("reconstruction", 0, True), ("reconstruction", 1, False)
    ]  # fmt: skip
    assert judgement.skipped == (
        Skipped("hit@1", "it is for claims of the kind public-images, and the attack makes none."),
    )


def test_what_cannot_be_judged_is_left_out_and_said(secret: MixingSecret) -> None:
    exact = Reconstruction(secret.private.pixels(), torch.arange(24), "images")
    score = judged(exact, secret, "psnr").scores[0]
    assert score.interval.mean == 100
    assert score.notes == (Note(NoteKind.EXACT, 24, value=100.0, unit="dB"),)
    more = Reconstruction(seeded(0).normals(30, *secret.private.shape), torch.zeros(30, dtype=torch.int64), "any")
    score = judged(more, secret, "snr").scores[0]
    assert int(score.values.isnan().sum()) == 6
    assert score.interval.count == 24
    assert score.notes == (Note(NoteKind.NO_GROUND_TRUTH, 6, 30),)
    assert {"mean image", "mean of absolute values", "random image"} <= set(score.baselines)
    kept = PublicImagesFound(torch.arange(48), torch.zeros(48, 1, dtype=torch.int64), torch.zeros(48, 1), 60)
    assert judged(kept, secret, "hit@10").scores[0].notes == (Note(NoteKind.ANSWERS_KEPT, 1),)


def test_few_images_prove_nothing(secret: MixingSecret) -> None:
    few = Reconstruction(secret.private.pixels(slice(4)), torch.arange(4), "images")
    score = judged(few, secret, "snr").scores[0]
    assert score.advantage is not None
    assert score.advantage.low > 0
    assert not score.beats
    assert score.notes[-1] == Note(NoteKind.FEW_IMAGES, 4, 5)


def test_claims_of_nothing(secret: MixingSecret) -> None:
    none = torch.empty(0, dtype=torch.int64)
    for claim in (
        Reconstruction(torch.empty(0, *secret.private.shape), none),
        Reconstruction(torch.empty(0, *secret.private.shape), none, "any"),
        PublicImagesFound(none, torch.empty(0, 5, dtype=torch.int64), torch.empty(0, 5), 60),
        Links(none, none, torch.empty(0)),
        Masks(none, torch.empty(0, *secret.private.shape, dtype=torch.int8)),
        Attribution(none, torch.arange(3), torch.empty(0, 3)),
    ):
        judgement = judged(claim, secret)
        assert judgement.scores == ()
        assert EMPTY in skipped(judgement).values()
        unnamed = ("lpips-alex", "lpips-vgg", "recovered-of-sure")
        assert all(reason == EMPTY or name in unnamed for name, reason in skipped(judgement).items())
    assert judge(Evidence(()), secret, seeded(0)) == Judgement((), ())


def test_features_have_no_ssim_but_other_scores() -> None:
    private = Samples(torch.randn(12, 40, 1, 1, generator=torch.Generator().manual_seed(0)), torch.eye(3).repeat(4, 1))
    none = torch.empty(12, 0, dtype=torch.int64)
    truth = MixingSecret(private, torch.arange(12)[:, None], none, torch.ones(12, 1))
    judgement = judged(Reconstruction(private.images.clone(), torch.arange(12)), truth)
    assert {score.metric for score in judgement.scores} == {
        "snr", "correlation", "absolute-correlation", "recovered", "l2", "re-identified"
    }  # fmt: skip
    assert (
        skipped(judgement)["ssim"] == skipped(judgement)["fitted-psnr"] == "it is for images, and these are features."
    )
    assert "MB" in skipped(judgement)["lpips-vgg"]


def test_lpips_that_cannot_be_had_does_not_stop_the_others(
    secret: MixingSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(address: str, **how: object) -> None:
        raise OSError("no route")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fail)
    judgement = judged(noisy(secret), secret, "lpips-alex", "l2")
    assert [score.metric for score in judgement.scores] == ["l2"]
    assert "could not be fetched (no route)" in skipped(judgement)["lpips-alex"]


def test_lpips_of_many_images_waits_to_be_asked(secret: MixingSecret, tmp_path: Path) -> None:
    (tmp_path / "lpips_vgg.npz").write_bytes(b"never read")
    if not torch.cuda.is_available() and not torch.backends.mps.is_available():
        assert "it takes long for 96 comparisons" in skipped(judged(noisy(secret), secret))["lpips-vgg"]


def test_json_says_it_all(secret: MixingSecret) -> None:
    more = Reconstruction(seeded(0).normals(30, *secret.private.shape), torch.zeros(30, dtype=torch.int64), "any")
    judgement = judge(Evidence((noisy(secret), more)), secret, seeded(0), ["psnr", "l2", "hit@1"])
    told = json.loads(json.dumps(to_json(judgement), allow_nan=False))
    assert {score["claim"] for score in told["scores"]} == {"reconstruction"}
    assert [(score["metric"], score["number"]) for score in told["scores"]] == [
        ("psnr", 0), ("l2", 0), ("psnr", 1), ("l2", 1)
    ]  # fmt: skip
    for described, score in zip(told["scores"], judgement.scores, strict=True):
        assert described["mean"] == score.interval.mean
        assert described["beats"] is score.beats
        assert described["baselines"]["mean image"]["high"] == score.baselines["mean image"].high
        known = [value for value in described["values"] if value is not None]
        assert np.mean(known) == pytest.approx(score.interval.mean, rel=1e-4)
        assert described["quartiles"] == sorted(described["quartiles"])
        assert math.isclose(described["quartiles"][0], min(known), rel_tol=1e-4)
    assert described["values"].count(None) == 6
    assert [each["metric"] for each in told["skipped"]] == ["hit@1"]
    assert told["scores"][2]["notes"][-1] == {"kind": "no-ground-truth", "count": 6, "of": 30, "value": 0.0, "unit": ""}


def refused() -> dict[str, tuple[Claim, str]]:
    image, ones = torch.zeros(1, 3, 16, 16), torch.ones(1, 3, 16, 16, dtype=torch.int8)
    at = torch.tensor
    return {
        "a row beyond": (Reconstruction(image, at([48])), "speaks of item 48, and there are 48"),
        "a row below": (Reconstruction(image, at([-1])), "speaks of item -1"),
        "a batch beyond": (Reconstruction(image, at([48]), "batches"), "speaks of item 48, and there are 48"),
        "an image beyond": (Reconstruction(image, at([24]), "images"), "private image 24, and there are 24"),
        "of what": (Reconstruction(image, at([0]), "pixels"), "cannot be of 'pixels'"),  # type: ignore[arg-type]
        "another size": (
            Reconstruction(image[..., :8], at([0])),
            "16×8 with 3 channels, and the private ones are 16×16",
        ),
        "no number": (Reconstruction(image / 0, at([0])), "kind reconstruction are not all finite"),
        "a public image": (
            PublicImagesFound(at([0]), at([[60]]), at([[1.0]]), 60),
            "public image 60, and there are 60",
        ),
        "fewer public": (PublicImagesFound(at([0]), at([[3]]), at([[1.0]]), 30), "more public images than the 30"),
        "none public": (PublicImagesFound(at([0]), at([[3]]), at([[1.0]]), 0), "among 0 of them"),
        "too many": (
            PublicImagesFound(at([0]), torch.zeros(1, 61, dtype=torch.int64), torch.zeros(1, 61), 60),
            "61 answers cannot differ",
        ),
        "a link beyond": (Links(at([0]), at([48]), at([1.0])), "item 48"),
        "a link with itself": (Links(at([5]), at([5]), at([1.0])), "links an item with itself"),
        "a mask beyond": (Masks(at([48]), ones), "row 48"),
        "no sign": (Masks(at([0]), ones * 3), "signs are −1 and 1"),
        "a mask of another size": (Masks(at([0]), ones[:, :1]), "16×16 with 1 channel, and"),
        "a candidate beyond": (Attribution(at([0]), at([24]), at([[1.0]])), "private image 24"),
    }


@pytest.mark.parametrize("what", refused())
def test_claims_that_cannot_be_about_this_release(what: str, secret: MixingSecret) -> None:
    claim, words = refused()[what]
    with pytest.raises(BadInput) as refusal:
        judged(claim, secret)
    assert words in str(refusal.value)


def test_updates_of_several_images_are_judged_like_rows(secret: MixingSecret) -> None:
    """A kind of release of its own: six updates of three images, two of two, whose guesses come in any order."""
    sizes = [3, 3, 3, 3, 3, 3, 2, 2]
    order = seeded(5).permutation(24)[: sum(sizes)].split(sizes)
    truth = updates_of(secret.private, *(tuple(each.tolist()) for each in order))
    items = torch.arange(8).repeat_interleave(torch.tensor(sizes))
    pixels = torch.cat([secret.private.pixels(each.flip(0)) for each in order])
    claim = Reconstruction(pixels + 0.3 * seeded(6).normals(*pixels.shape), items, "batches")
    found = {score.metric: score for score in judged(claim, truth).scores}
    assert {"recovered", "re-identified", "fitted-ssim", "absolute-correlation"} <= set(found)
    assert all(score.beats for score in found.values())
    assert all(score.interval.count == 22 for score in found.values())
    chance = found["re-identified"].baselines["chance"].mean
    assert chance == pytest.approx((18 * 3 / 48 + 4 * 2 / 48) / 22)  # of a gallery twice as large
    swapped = judged(replace(claim, about=items.roll(3)), truth, "recovered", "re-identified").scores
    assert [score.beats for score in swapped] == [False, False]  # images of other updates earn nothing
    labels = judged(Attribution(torch.arange(8), torch.arange(24), torch.zeros(8, 24)), truth, "accuracy").scores[0]
    assert set(labels.baselines) == {"labels alone", "classes by size", "chance"}


def test_a_metric_that_is_none(secret: MixingSecret) -> None:
    with pytest.raises(BadInput, match="did you mean psnr"):
        judged(noisy(secret), secret, "pnsr")


def test_what_there_is_no_time_for_is_left_out_and_changes_nothing_else(secret: MixingSecret) -> None:
    evidence = Evidence((noisy(secret),))
    whole = judge(evidence, secret, seeded(0))
    fewer = judge(evidence, secret, seeded(0), left_out=("ssim", "auc"))
    assert skipped(fewer)["ssim"] == NO_TIME
    assert "auc" not in skipped(fewer)  # of other claims
    kept = [(each.metric, each.interval, each.baselines) for each in whole.scores if each.metric != "ssim"]
    assert [(each.metric, each.interval, each.baselines) for each in fewer.scores] == kept
    named = judge(evidence, secret, seeded(0), ("ssim",), left_out=("ssim",))
    assert [each.metric for each in named.scores] == ["ssim"]
