"""Baselines: what they are made of, that they do not beat themselves, and that the truth beats them."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch

from hideseek.chance import Randomness, seeded
from hideseek.hide import Mixup
from hideseek.records import Attribution, Claim, Evidence, Links, Masks, PublicImagesFound, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.baselines import baselines
from hideseek.score.judge import judge
from hideseek.score.metrics import METRICS
from toys import images

SEEDS, MOST = 20, 3  # an interval's low end errs in 2.5 %: of 20 seeds more than 3 err once in a thousand times
RECONSTRUCTION = ("snr", "fitted-psnr", "absolute-correlation", "l2", "re-identified")
OTHERS = {
    "uncovered": ("hit@10", "found", "rank", "search-space"),
    "links": ("auc", "tpr@fpr=0.01"),
    "masks": ("wrong-signs", "wrong-signs-flipped"),
    "attribution": ("accuracy",),
}


def about(of: str, secret: MixingSecret, images: torch.Tensor | None = None) -> Reconstruction:
    """A claim about every row or image: the truth, unless other images are given."""
    rows = torch.arange(len(secret.sources if of == "rows" else secret.private))
    truth = secret.private.pixels(secret.sources[:, 0] if of == "rows" else rows)
    return Reconstruction(truth if images is None else images, rows, of)  # type: ignore[arg-type]


def clueless(kind: str, secret: MixingSecret, chance: Randomness) -> Claim:
    """What an attacker claims who found nothing, made without the library's baselines."""
    generator = np.random.default_rng(int(chance.integers(2**32, 1)))
    rows = torch.arange(len(secret.sources))
    if kind == "uncovered":
        order = torch.from_numpy(np.stack([generator.permutation(60) for _ in rows]))
        return PublicImagesFound(rows, order, torch.zeros(len(rows), 60), 60)
    if kind == "links":
        first, second = torch.triu_indices(len(rows), len(rows), 1)
        both = torch.cat([first, second]), torch.cat([second, first])
        return Links(*both, torch.from_numpy(generator.random(len(both[0]))))
    if kind == "masks":
        return Masks(
            rows, torch.from_numpy(generator.choice([-1, 1], (len(rows), *secret.private.shape)).astype(np.int8))
        )
    return Attribution(rows, torch.arange(24), torch.from_numpy(generator.random((len(rows), 24))))


def exact(kind: str, secret: MixingSecret) -> Claim:
    """The truth, as a claim."""
    nothing = clueless(kind, secret, seeded(0))
    if isinstance(nothing, PublicImagesFound):
        rest = [[i for i in range(60) if i not in row] for row in secret.public_sources.tolist()]
        return replace(nothing, candidates=torch.cat([secret.public_sources, torch.tensor(rest)], 1))
    if isinstance(nothing, Links):
        sources = secret.sources
        shares = (sources[nothing.first][:, :, None] == sources[nothing.second][:, None]).flatten(1).any(1)
        return replace(nothing, scores=shares.float())
    if isinstance(nothing, Masks):
        return replace(nothing, signs=secret.signs())
    assert isinstance(nothing, Attribution)
    return replace(nothing, scores=torch.eye(24)[secret.sources[:, 0]])


def beaten(claim: Claim, secret: MixingSecret, seed: int, metrics: tuple[str, ...]) -> dict[str, bool]:
    judgement = judge(Evidence((claim,)), secret, seeded(1000 + seed), metrics)
    return {score.metric: score.beats for score in judgement.scores}


def nothing(what: str, of: str, secret: MixingSecret, seed: int) -> Reconstruction:
    """Images that show nothing of what they should."""
    size = len(about(of, secret).images)
    if what == "mean image":
        return about(of, secret, secret.private.pixels().mean(0).expand(size, -1, -1, -1))
    if what == "noise":
        return about(of, secret, seeded(seed).normals(size, *secret.private.shape))
    own = secret.sources.tolist() if of == "rows" else [[image] for image in range(24)]
    generator = np.random.default_rng(seed)
    others = [generator.choice([image for image in range(24) if image not in truth]) for truth in own]
    return about(of, secret, secret.private.pixels(torch.tensor(others)))


@pytest.mark.parametrize(
    ("what", "of"),
    [(what, of) for what in ("mean image", "random image", "noise") for of in ("images", "rows")] + [("noise", "any")],
)
def test_reconstructing_nothing_beats_no_floor(what: str, of: str, secret: MixingSecret) -> None:
    metrics = tuple(name for name in RECONSTRUCTION if of != "any" or name != "re-identified")
    count = dict.fromkeys(metrics, 0)
    for seed in range(1 if what == "mean image" else SEEDS):
        for name, above in beaten(nothing(what, of, secret, seed), secret, seed, metrics).items():
            count[name] += above
    assert all(above <= (0 if what == "mean image" else MOST) for above in count.values()), count


@pytest.mark.parametrize("kind", OTHERS)
def test_finding_nothing_else_beats_no_floor(kind: str, secret: MixingSecret) -> None:
    count = dict.fromkeys(OTHERS[kind], 0)
    for seed in range(SEEDS):
        claim = clueless(kind, secret, seeded(seed))
        for name, above in beaten(claim, secret, seed, OTHERS[kind]).items():
            count[name] += above
    assert all(above <= MOST for above in count.values()), count


@pytest.mark.parametrize("of", ["images", "rows", "any"])
def test_the_truth_beats_all_floors(of: str, secret: MixingSecret) -> None:
    claim = about(of, secret)
    if of == "any":
        claim = replace(claim, images=claim.images[seeded(0).permutation(24)], about=torch.zeros_like(claim.about))
    metrics = (*RECONSTRUCTION, "psnr", "ssim", "ssim-gaussian", "fitted-ssim", "correlation")
    found = beaten(claim, secret, 0, metrics)
    assert found == {name: True for name in metrics if of != "any" or name != "re-identified"}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_truths_beat_their_floors(kind: str, secret: MixingSecret) -> None:
    assert all(beaten(exact(kind, secret), secret, 0, OTHERS[kind]).values())


@pytest.mark.parametrize("of", ["images", "rows"])
def test_what_the_floors_answer(of: Literal["images", "rows"], secret: MixingSecret) -> None:
    claim = about(of, secret)
    found = dict(baselines(claim, secret, seeded(3)))
    assert list(found) == [
        "mean image",
        "mean of absolute values",
        "mean image of the class",
        "random image of the class",
        "random image",
    ]
    own = secret.sources if of == "rows" else torch.arange(24)[:, None]
    pixels, labels = secret.private.pixels(), secret.private.labels.argmax(1)
    for name, baseline in found.items():
        assert isinstance(baseline, Reconstruction)
        assert baseline.of == of
        assert torch.equal(baseline.about, claim.about)
        if name in ("mean image", "mean of absolute values"):
            averaged = pixels if name == "mean image" else pixels.abs()
            torch.testing.assert_close(baseline.images, averaged.mean(0).expand_as(baseline.images))
            continue
        for row in range(len(claim.images)):
            heaviest = own[row, secret.weights[row, :2].argmax()] if of == "rows" else own[row, 0]
            peers = [i for i in range(24) if labels[i] == labels[heaviest] and i not in own[row]]
            if name == "mean image of the class":
                torch.testing.assert_close(baseline.images[row], pixels[peers].mean(0))
                continue
            same = [i for i in range(24) if torch.equal(baseline.images[row], pixels[i])]
            assert same
            assert same[0] not in own[row]
            assert name != "random image of the class" or same[0] in peers


def test_other_images_are_drawn_evenly(secret: MixingSecret) -> None:
    """2,300 draws among 23 images: 100 each, deviation 9.8; all within four and a half."""
    pixels = secret.private.pixels()
    claim = Reconstruction(pixels[:1].expand(2300, -1, -1, -1), torch.zeros(2300, dtype=torch.int64), "images")
    baseline = dict(baselines(claim, secret, seeded(4)))["random image"]
    assert isinstance(baseline, Reconstruction)
    counts = [int((baseline.images == image).flatten(1).all(1).sum()) for image in pixels]
    assert counts[0] == 0
    assert all(abs(count - 100) < 44 for count in counts[1:])


def test_without_an_order_no_image_is_matched_to_itself(secret: MixingSecret) -> None:
    for size in (24, 10, 30):  # as many guesses as images, fewer, more
        claim = Reconstruction(torch.zeros(size, *secret.private.shape), torch.zeros(size, dtype=torch.int64), "any")
        baseline = dict(baselines(claim, secret, seeded(5)))["random image"]
        assert isinstance(baseline, Reconstruction)
        told = baseline.about >= 0
        assert int(told.sum()) == min(size, 24)
        assert len(baseline.about[told].unique()) == min(size, 24)
        pixels = secret.private.pixels()
        assert not (pixels[baseline.about[told]] == baseline.images[told]).flatten(1).all(1).any()


def test_where_there_is_no_other_image_a_floor_is_about_nothing(secret: MixingSecret) -> None:
    private = secret.private.take(torch.arange(3))  # three classes of one
    claim = Reconstruction(private.pixels(), torch.arange(3), "images")
    found = dict(baselines(claim, replace(secret, private=private), seeded(6)))
    for name in ("mean image of the class", "random image of the class"):
        baseline = found[name]
        assert isinstance(baseline, Reconstruction)
        assert baseline.about.tolist() == [-1, -1, -1]
    unlabelled = replace(private, labels=torch.empty(3, 0))
    without_mask = replace(secret, private=unlabelled, mask=None)
    assert list(dict(baselines(claim, without_mask, seeded(6)))) == ["mean image", "random image"]


def test_the_same_seed_gives_the_same_floors(secret: MixingSecret) -> None:
    for claim in (about("rows", secret), *(clueless(kind, secret, seeded(0)) for kind in OTHERS)):
        once, again, other = (dict(baselines(claim, secret, seeded(seed))) for seed in (7, 7, 8))
        for name, baseline in once.items():
            for field, value in vars(baseline).items():
                if isinstance(value, torch.Tensor):
                    assert torch.equal(value, getattr(again[name], field))
        random = [name for name in once if name != "labels alone"][-1]
        assert any(
            isinstance(value, torch.Tensor) and not torch.equal(value, getattr(other[random], field))
            for field, value in vars(once[random]).items()
        )


def test_a_random_order_has_no_repeats_and_shuffled_scores_are_the_same_scores(secret: MixingSecret) -> None:
    claim = clueless("uncovered", secret, seeded(0))
    assert isinstance(claim, PublicImagesFound)
    baseline = dict(baselines(replace(claim, candidates=claim.candidates[:, :20]), secret, seeded(0)))["random order"]
    assert isinstance(baseline, PublicImagesFound)
    assert baseline.candidates.shape == (48, 20)
    assert all(len(set(row)) == 20 and min(row) >= 0 and max(row) < 60 for row in baseline.candidates.tolist())
    links = clueless("links", secret, seeded(0))
    assert isinstance(links, Links)
    shuffled = dict(baselines(links, secret, seeded(0)))["shuffled scores"]
    assert isinstance(shuffled, Links)
    assert torch.equal(shuffled.scores.sort().values, links.scores.sort().values)


def test_labels_alone_are_what_everybody_sees() -> None:
    """Rows that share an image share a class, and a row's image is of a class in its label: no image is needed."""
    private = images(24, classes=3, stored=False)
    release, secret = Mixup(k=2).hide(private, None, seeded(0), rounds=2)
    labels = release.encoded.labels.double()
    first, second = torch.triu_indices(48, 48, 1)
    links = dict(baselines(Links(first, second, torch.zeros(len(first))), secret, seeded(0)))["labels alone"]
    assert isinstance(links, Links)
    torch.testing.assert_close(links.scores.double(), (labels @ labels.T)[first, second], rtol=1e-5, atol=1e-6)
    claim = Attribution(torch.arange(48), torch.arange(24), torch.zeros(48, 24))
    named = dict(baselines(claim, secret, seeded(0)))["labels alone"]
    assert isinstance(named, Attribution)
    torch.testing.assert_close(named.scores.double(), labels @ private.labels.double().T, rtol=1e-5, atol=1e-6)
    assert METRICS["auc"].score(links, secret).mean() > 0.6
    assert METRICS["accuracy"].score(named, secret).mean() > 1.2 / 24
