"""Baselines of every claim: what ignores the release does not beat them, and the truth does."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.fft import idctn

from hideseek.chance import Randomness, seeded
from hideseek.records import Attribution, Claim, Evidence, Links, Masks, PublicImagesFound, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.claims import CLAIMS
from hideseek.score.judge import judge
from hideseek.score.smoothing import blurred
from score.updates import UpdatesSecret

SEEDS, MOST = 20, 3  # an interval's low end errs in 2.5 %: of 20 seeds more than 3 err once in a thousand times
RECONSTRUCTION = ("snr", "fitted-psnr", "absolute-correlation", "l2", "re-identified")
LIKENESS = ("recovered", "fitted-ssim", "absolute-correlation")
OTHERS = {
    "public-images": ("hit@10", "found", "rank", "search-space"),
    "links": ("auc", "tpr@fpr=0.01"),
    "masks": ("wrong-signs", "wrong-signs-flipped"),
    "attribution": ("accuracy",),
}


def about(of: str, secret: MixingSecret, images: torch.Tensor | None = None) -> Reconstruction:
    """A claim about every row or image: the truth, unless other images are given."""
    by_item = of in ("items", "batches")
    rows = torch.arange(secret.items if by_item else len(secret.private))
    truth = secret.private.pixels(secret.sources[:, 0] if by_item else rows)
    return Reconstruction(truth if images is None else images, rows, of)  # type: ignore[arg-type]


def ignorant(kind: str, secret: MixingSecret, chance: Randomness) -> Claim:
    """A claim that ignores the release, made without the library's baselines."""
    generator = np.random.default_rng(int(chance.integers(2**32, 1)))
    rows = torch.arange(len(secret.sources))
    if kind == "public-images":
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
    nothing = ignorant(kind, secret, seeded(0))
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
    own = secret.sources.tolist() if of in ("items", "batches") else [[image] for image in range(24)]
    generator = np.random.default_rng(seed)
    others = [generator.choice([image for image in range(24) if image not in truth]) for truth in own]
    return about(of, secret, secret.private.pixels(torch.tensor(others)))


@pytest.mark.parametrize(
    ("what", "of"),
    [(what, of) for what in ("mean image", "random image", "noise") for of in ("images", "items")]
    + [("noise", "any"), ("random image", "batches"), ("noise", "batches")],
)
def test_reconstructing_nothing_beats_no_baseline(what: str, of: str, secret: MixingSecret) -> None:
    metrics = tuple(name for name in RECONSTRUCTION if of != "any" or name != "re-identified")
    count = dict.fromkeys(metrics, 0)
    for seed in range(1 if what == "mean image" else SEEDS):
        for name, above in beaten(nothing(what, of, secret, seed), secret, seed, metrics).items():
            count[name] += above
    assert all(above <= (0 if what == "mean image" else MOST) for above in count.values()), count


def grainy(count: int, seed: int) -> Samples:
    """Smooth pictures under strong grain, which blurring removes."""
    generator = np.random.default_rng(seed)
    waves = np.zeros((count, 1, 16, 16))
    waves[:, :, :4, :4] = generator.normal(0, 1.0, (count, 1, 4, 4))
    pictures = 0.5 + 0.5 * idctn(waves, axes=(2, 3), norm="ortho") + generator.normal(0, 0.15, waves.shape)
    return Samples(torch.from_numpy(pictures.clip(0, 1)).float(), torch.empty(count, 0))


@pytest.mark.parametrize("of", ["any", "images"])
def test_unrelated_images_that_are_smooth_beat_no_baseline(of: str) -> None:
    """Blurred and matched, they are far more like others than sharp ones are, in most of these runs."""
    count, sharp = dict.fromkeys(LIKENESS, 0), dict.fromkeys(LIKENESS, 0)
    for seed in range(SEEDS):
        private, others = grainy(60, 2 * seed), grainy(60, 2 * seed + 1)
        secret = UpdatesSecret(private, torch.arange(60)[:, None])
        claim = Reconstruction(blurred(others.pixels(), 5), torch.arange(60), of)  # type: ignore[arg-type]
        for score in judge(Evidence((claim,)), secret, seeded(seed), LIKENESS).scores:
            count[score.metric] += score.beats
            sharp[score.metric] += score.interval.low > score.baselines["random image"].high
    assert all(above <= MOST for above in count.values()), count
    assert of != "any" or sharp["fitted-ssim"] > SEEDS // 2


@pytest.mark.parametrize("kind", OTHERS)
def test_finding_nothing_else_beats_no_baseline(kind: str, secret: MixingSecret) -> None:
    count = dict.fromkeys(OTHERS[kind], 0)
    for seed in range(SEEDS):
        claim = ignorant(kind, secret, seeded(seed))
        for name, above in beaten(claim, secret, seed, OTHERS[kind]).items():
            count[name] += above
    assert all(above <= MOST for above in count.values()), count


@pytest.mark.parametrize("of", ["images", "items", "batches", "any"])
def test_the_truth_beats_all_baselines(of: str, secret: MixingSecret) -> None:
    claim = about(of, secret)
    if of == "any":
        claim = replace(claim, images=claim.images[seeded(0).permutation(24)], about=torch.zeros_like(claim.about))
    metrics = (*RECONSTRUCTION, "psnr", "ssim", "ssim-gaussian", "fitted-ssim", "correlation")
    found = beaten(claim, secret, 0, metrics)
    assert found == {name: True for name in metrics if of != "any" or name != "re-identified"}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_truths_beat_their_baselines(kind: str, secret: MixingSecret) -> None:
    assert all(beaten(exact(kind, secret), secret, 0, OTHERS[kind]).values())


def test_the_same_seed_gives_the_same_baselines(secret: MixingSecret) -> None:
    for claim in (about("items", secret), *(ignorant(kind, secret, seeded(0)) for kind in OTHERS)):
        once, again, other = (
            {name: baseline for name, baseline, _ in CLAIMS[claim.name].baselines(claim, secret, seeded(seed))}
            for seed in (7, 7, 8)
        )
        for name, baseline in once.items():
            for field, value in vars(baseline).items():
                if isinstance(value, torch.Tensor):
                    assert torch.equal(value, getattr(again[name], field))
        random = [name for name in once if name not in ("labels alone", "classes by size")][-1]
        assert any(
            isinstance(value, torch.Tensor) and not torch.equal(value, getattr(other[random], field))
            for field, value in vars(once[random]).items()
        )
