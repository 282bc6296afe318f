from dataclasses import replace

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, SingularizedMixup
from hideseek.models import UNet
from hideseek.records import MixingEncoder, Reason, Reconstruction, Samples
from hideseek.score.judge import judge
from hideseek.seek.networks.own_encodings import own_encodings
from hideseek.seek.rows.learned_decoder import LearnedDecoder, objective, variation
from hideseek.seek.run import refusal, run
from toys import images

QUICK = LearnedDecoder(rows=3200, width=4, batch=8, rate=5e-3)


def faces() -> tuple[Samples, Samples]:
    both = normalise(load("faces", size=16), "channel")
    return both.take(slice(0, 40)), both.take(slice(40, None))


def test_the_objective_is_the_paper_s() -> None:
    """L1 and a ten-thousandth of total variation, at rows of unit size."""
    torch.manual_seed(0)
    network = UNet(3, 2)
    rows, truth = seeded(0).normals(4, 3, 8, 8) * 5, seeded(1).normals(4, 3, 8, 8)
    loss, _ = objective(5.0, 1e-4)(network, (rows, truth))
    guess = network(rows / 5).detach().double().numpy()
    across, down = abs(guess[..., 1:] - guess[..., :-1]).mean(), abs(guess[..., 1:, :] - guess[..., :-1, :]).mean()
    expected = abs(guess - truth.double().numpy()).mean() + 1e-4 * (across + down)
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    assert float(variation(torch.ones(2, 1, 1, 1))) == 0.0


def test_own_encodings_come_with_the_image_that_they_were_made_for() -> None:
    private, own = faces()
    release, _ = SingularizedMixup(radius=1e-6, alpha=0.501).hide(private, None, seeded(0))
    training, _ = own_encodings(replace(release, own=own), 64, 32, seeded(1))
    for rows, truth in replace(training, wanted="images").epoch(0, 0):
        partner = 2 * rows - truth  # both have a weight of nearly one half
        for part, near in ((truth, 1e-3), (partner, 1.0)):
            distances = torch.cdist(part.flatten(1).double(), own.pixels().flatten(1).double())
            assert float(distances.min(1).values.max()) < near


def test_little_noise_is_undone_and_the_floor_stands_beside_it() -> None:
    private, own = faces()
    release, secret = Laplace(scale=0.3).hide(private, None, seeded(0))
    evidence = run(QUICK, replace(release, own=own), seeded(1))
    (claim,) = evidence.claims
    assert isinstance(claim, Reconstruction)
    assert claim.of == "items"
    (score,) = judge(evidence, secret, seeded(2), ("snr",)).scores
    assert score.interval.mean > score.baselines["mean image"].mean + 2
    assert 0 < score.baselines["mean image"].mean < 2.5  # these 40 faces are darker than the mean of all, at 0 dB
    own_score, floor = (
        float(evidence.remarks[f"SNR in dB {which}"]) for which in ("on own images, left out", "of their mean image")
    )
    assert own_score > floor + 2


@pytest.mark.parametrize(
    ("scheme", "reason"),
    [(InstaHide(k=2), Reason.MASKED), (Augmented(Mixup(k=2)), Reason.NOT_LINEAR), (Mixup(k=2), Reason.NO_OWN_IMAGES)],
)
def test_what_it_cannot_be_trained_for_is_refused(scheme: MixingEncoder, reason: Reason) -> None:
    refused = refusal(LearnedDecoder(), scheme.hide(images(20), None, seeded(0))[0])
    assert refused is not None
    assert refused.reason is reason


def test_features_are_refused() -> None:
    features = images(20, 30, 1, 1, stored=False)
    refused = refusal(LearnedDecoder(), replace(Mixup(k=2).hide(features, None, seeded(0))[0], own=features))
    assert refused is not None
    assert refused.reason is Reason.NO_NEIGHBOURS


def test_less_work_is_fewer_encodings() -> None:
    private, own = faces()
    task = replace(Mixup(k=2).hide(private, None, seeded(0))[0], own=own).size()
    full = LearnedDecoder()
    half = full.within(full.work(task) / 2, task)
    assert 20_000 < half.rows < 30_000
    assert half.work(task) <= full.work(task) / 2
    assert full.within(0.0, task).rows == 6400


@pytest.mark.parametrize(
    "settings", [{"rows": 8}, {"width": 0}, {"rate": 0.0}, {"total_variation": -1.0}, {"guesses": 0}]
)
def test_settings_that_are_none_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="must"):
        LearnedDecoder(**settings)  # type: ignore[arg-type]
