"""One cell of a table: a client shares, an attacker inverts, and every target image is scored."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from ledger import HERE
from PIL import Image
from torch import Tensor

from hideseek.chance import seeded
from hideseek.hide.updates import ShareUpdates
from hideseek.models.lpips import Backbone
from hideseek.records import Attack, Evidence, Reconstruction, Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.score.ground_truth import Matched, match_guesses
from hideseek.score.judge import judge
from hideseek.score.perceptual import lpips
from hideseek.seek import run

NET: Backbone = "vgg"  # of LPIPS, on pixels enlarged to 64 × 64
JUDGED = ("psnr", "ssim", "correlation", "re-identified", "recovered")
SHOWN = 8  # images of a picture
PICTURES = HERE / "results" / "gradient_inversion"


def attacked(
    scheme: ShareUpdates,
    private: Samples,
    attack: Attack[UpdateRelease],
    targets: int,
    *,
    own: Samples | None = None,
    rounds: int = 1,
    seed: int = 0,
    picture: str = "",
) -> dict[str, Any]:
    """Share, attack, and score the first `targets` of the private images; the picture shows the first of them."""
    torch.set_num_threads(1)  # trials are run side by side
    release, secret = scheme.hide(private, None, seeded(seed), rounds)
    needed = [need for need in attack.needs if need in release.withheld and need != "own"]
    seen = replace(secret.reveal(release, needed), own=own)
    evidence = run(attack, seen, seeded(seed + 10))
    return scored(evidence, secret, targets, seed, picture)


def scored(evidence: Evidence, secret: UpdateSecret, targets: int, seed: int, picture: str = "") -> dict[str, Any]:
    """Score every target by LPIPS and by the judge's metrics; guesses were matched within their update."""
    claim = next(each for each in evidence.claims if isinstance(each, Reconstruction))
    matched = match_guesses(claim, secret)
    wanted = (matched.about >= 0) & (matched.about < targets)
    kept = Matched(matched.images[wanted], matched.about[wanted], "images")
    values = lpips(NET, kept, secret)
    best = _of_each(values, kept.about)
    found: dict[str, Any] = {
        "lpips": round(mean(best), 4),
        "best lpips": round(min(best), 4),
        "lpips deviation": round(stdev(best), 4) if len(best) > 1 else 0.0,
        "targets": len(best),
        "seconds": round(evidence.seconds, 1),
        **{f"own: {name}": value for name, value in evidence.remarks.items() if isinstance(value, str | int | float)},
    }
    scores = judge(Evidence((claim,)), secret, seeded(seed + 20), JUDGED).scores
    found |= {score.metric: round(float(score.values.nanmean()), 4) for score in scores}
    if picture:
        draw(PICTURES / f"{picture}.png", kept, secret.private, range(min(SHOWN, targets)))
    return found


def _of_each(values: Tensor, about: Tensor) -> list[float]:
    """Give one figure a target: of an image that is guessed in several rounds, the first guess counts."""
    first: dict[int, float] = {}
    for value, image in zip(values.tolist(), about.tolist(), strict=True):
        first.setdefault(image, value)
    return list(first.values())


def file_name(title: str) -> str:
    """Give the name of a trial's picture, without its ending."""
    return "".join(each if each.isalnum() or each in ".=" else "-" for each in title)


def draw(path: Path, claim: Matched, private: Samples, images: Sequence[int]) -> None:
    """Write the guesses of some images side by side, as they are in pixels; grey where there is none."""
    std, shift = (torch.tensor(part)[:, None, None] for part in (private.normalisation.std, private.normalisation.mean))
    tiles = []
    for image in images:
        places = (claim.about == image).nonzero()[:, 0]
        guess = claim.images[places[0]] * std + shift if len(places) else torch.full(private.shape, 0.5)
        tiles.append(guess.clamp(0, 1))
    strip = torch.cat(tiles, 2).mul(255).round().byte()
    strip = strip.expand(3, -1, -1) if len(strip) == 1 else strip
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(strip.permute(1, 2, 0).contiguous().numpy()).save(path, optimize=True)
