"""Table 2 and Figures 1 to 3 of Singularized Mixup: the U-Net, and images at 224 pixels: part of singularized.py.

The private images are CIFAR-10's. `learned-decoder` is trained on Tiny-ImageNet at 32 pixels, which stands for the
paper's 224: at the same τ, what an attacker has to go by grows with the dimensions. So the linear optimum is also
measured in the paper's own setting, on images enlarged to 224×224 (bilinear, as torchvision's Resize).
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import HERE, Ledger, Trial, table
from PIL import Image
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import SingularizedMixup
from hideseek.hide.files.schemes import to_json
from hideseek.records import Attack, EncodedRelease, MixingEncoder, Reconstruction, Samples
from hideseek.report.contact_sheet import Row, contact_sheet, visible
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.learned_decoder import LearnedDecoder
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.similarity import snr

TAUS = (1e-2, 1e-4, 1e-3, 1.0, 1e-1)  # in the order in which they are measured
TABLE_2 = {1.0: 7.76, 1e-1: 7.27, 1e-2: 5.44, 1e-3: 2.84, 1e-4: -0.13}  # mean SNR in dB
LARGE = 224
PICTURES = HERE / "results" / "singularized"
SHOWN = 64  # pixels on a side of a picture that is kept
OPTIMUM = LinearInversion(prior="public")
SIZES = {  # side, private images, the attacker's own
    "cpu": {"optimum-224": (LARGE, 200, 1000), "decoder": (32, 1000, 10_000), "optimum": (32, 1000, 5000)},
    "paper": {"optimum-224": (LARGE, 1000, 10_000), "decoder": (LARGE, 1000, 10_000), "optimum": (32, 10_000, 50_000)},
}
ATTACKS: dict[str, dict[str, Attack[EncodedRelease]]] = {
    "cpu": {
        "optimum-224": OPTIMUM,
        "decoder": LearnedDecoder(rows=12_800, width=16, guesses=1000),
        "optimum": OPTIMUM,
    },
    "paper": {
        "optimum-224": OPTIMUM,
        "decoder": LearnedDecoder(rows=300_000, width=48, guesses=1000),
        "optimum": OPTIMUM,
    },
}
TITLES = {
    "optimum": "Figures 1 and 3: the linear optimum, 32 pixels",
    "optimum-224": "Figures 1 and 3: the linear optimum, 224 pixels",
    "decoder": "Figure 2: the U-Net, 32 pixels",
}


def trials(scale: str) -> Iterator[Trial]:
    """List what is to be measured; of the linear optimum at 32 pixels, whose figures are Table 1's, the pictures."""
    for tau in TAUS:
        for method, attack in ATTACKS[scale].items():
            scheme = SingularizedMixup(tau=tau)
            described = {
                "private": "cifar10",
                "own": "tinyimagenet" if method == "decoder" else "cifar10",
                "sizes": SIZES[scale][method],
                "scheme": to_json(scheme),
                "attack": asdict(attack),  # type: ignore[call-overload]
                "seed": 0,
            }
            item = "table2" if method == "decoder" else "large" if method == "optimum-224" else "figures"
            yield Trial(item, _title(method, tau), described, _measuring(method, scheme, scale), judged=True)


def _title(method: str, tau: float) -> str:
    return f"images: {method}, τ = {tau:g}"


def _enlarged(samples: Samples, side: int) -> Samples:
    """Enlarge images to side×side, bilinear, and round to bytes as images are stored."""
    if samples.shape[1] == side:
        return samples
    parts = [
        functional.interpolate(part.float(), (side, side), mode="bilinear", antialias=True).round().byte()
        for part in samples.images.split(100)
    ]
    return replace(samples, images=torch.cat(parts))


def _data(method: str, scale: str) -> tuple[Samples, Samples]:
    """Give the private images and the attacker's own, by the constants of the private ones."""
    side, count, own = SIZES[scale][method]
    images = load("cifar10")
    private = normalise(_enlarged(images.take(slice(0, count)), side), "channel")
    if method == "decoder":
        others = load("tinyimagenet", size=side, labelled=False).take(slice(0, own))
    else:
        others = _enlarged(images.take(slice(count, count + own)), side)
    return private, normalise(others, private.normalisation)


def _measuring(method: str, scheme: MixingEncoder, scale: str):  # type: ignore[no-untyped-def]
    def measured() -> dict[str, Any]:
        private, others = _data(method, scale)
        release, secret = scheme.hide(private, None, seeded(0))
        known = replace(release, own=others)
        if method != "decoder":
            known = replace(known, weights=secret.weights, sources=secret.sources)
        evidence = run(ATTACKS[scale][method], known, seeded(1))
        judged = judge(evidence, secret, seeded(2), ("snr",))
        (score,), (claim,) = judged.scores, evidence.claims
        assert isinstance(claim, Reconstruction)  # noqa: S101
        best = int(score.values.argmax())
        _keep(method, scheme, private, known, secret.sources, claim, best)
        return {
            "snr": round(score.interval.mean, 3),
            "deviation": round(float(score.values.std()), 3),
            "baselines": {baseline: round(value.mean, 3) for baseline, value in score.baselines.items()},
            "beats": score.beats,
            "seconds": round(evidence.seconds, 1),
            "GiB": round(evidence.memory / 2**30, 2),
            **{key: value for key, value in evidence.remarks.items() if isinstance(value, float | int)},
        }

    return measured


def _keep(
    method: str,
    scheme: MixingEncoder,
    private: Samples,
    release: EncodedRelease,
    sources: torch.Tensor,
    claim: Reconstruction,
    best: int,
) -> None:
    """Keep three pictures: the image that came back best, as in the paper, a row of it, and what came back."""
    about = int(claim.about[best])
    item, images = about, sources[about]
    if claim.of == "images":
        item, images = int((sources[:, 0] == about).nonzero()[0]), torch.tensor([about])
    image = int(images[snr(private.pixels(images), claim.images[best].expand(len(images), -1, -1, -1)).argmax()])
    tiles = (private.pixels(slice(image, image + 1))[0], release.picture(item), claim.images[best])
    PICTURES.mkdir(exist_ok=True)
    assert isinstance(scheme, SingularizedMixup)  # noqa: S101
    for kind, tile in zip(("truth", "row", "recovered"), tiles, strict=True):
        picture = visible(tile).resize((SHOWN, SHOWN), Image.Resampling.BOX if tile.shape[1] > SHOWN else 0)
        picture.save(PICTURES / f"{method}-{scheme.tau:g}-{kind}.png", optimize=True)


def _sheet(method: str, path: Path) -> str:
    """Put the pictures of all τ on one sheet."""
    taus = [tau for tau in sorted(TAUS, reverse=True) if (PICTURES / f"{method}-{tau:g}-truth.png").exists()]
    if not taus:
        return ""
    rows = []
    for kind in ("truth", "row", "recovered"):
        tiles = [np.asarray(Image.open(PICTURES / f"{method}-{tau:g}-{kind}.png").convert("RGB")) for tau in taus]
        shaped = [torch.from_numpy(tile.copy()).permute(2, 0, 1).float() for tile in tiles]
        rows.append(Row(kind, shaped, [f"tau = {tau:g}" for tau in taus]))
    file = path.with_name(f"{path.stem}-{method}.png")
    contact_sheet(TITLES[method], (), rows).save(file, optimize=True)
    return f"![{TITLES[method]}]({file.name})\n"


def section(ledger: Ledger, path: Path, linear: dict[float, float]) -> str:
    """Set Table 2 beside what was measured; `linear` is the optimum at 32 pixels, of Table 1."""
    scale = "cpu" if "cpu" in path.stem else "paper"
    lines = []
    for tau in sorted(TABLE_2, reverse=True):
        found = {method: ledger.results(_title(method, tau)) for method in ATTACKS[scale]}
        if not (found["decoder"] or found["optimum-224"]):
            continue
        decoder, large = found["decoder"], found["optimum-224"]
        cells = [f"{each['snr']:.2f} ± {each['deviation']:.2f}" if each else "" for each in (decoder, large)]
        floors = [f"{each['baselines']['mean image']:.2f}" if each else "" for each in (decoder, large)]
        mark = next((mark for method in found if (mark := ledger.mark(_title(method, tau)))), "")
        optimum = f"{linear[tau]:.2f}" if tau in linear else ""
        lines.append([f"τ = {tau:g}{mark}", f"{TABLE_2[tau]:.2f}", cells[0], floors[0], optimum, cells[1], floors[1]])
    if not lines:
        return ""
    heads = [
        "",
        "paper: U-Net at 224",
        "U-Net at 32",
        "the mean image",
        "linear optimum at 32",
        "linear optimum at 224",
    ]
    small, big = SIZES[scale]["decoder"], SIZES[scale]["optimum-224"]
    network = ATTACKS[scale]["decoder"]
    assert isinstance(network, LearnedDecoder)  # noqa: S101
    steps = math.floor(network.rows / network.batch)
    return f"""\
## Table 2: the nonlinear attack, and 224 pixels

SNR in dB, normalised by channel, mean ± deviation. *U-Net*: `learned-decoder`, of width {network.width} (the paper's
has 48), {steps:,} steps of {network.batch} rows, trained anew for every τ on {small[2]:,} images of Tiny-ImageNet at
{small[0]} pixels; {small[1]:,} private images of CIFAR-10, one row each. It knows neither weights nor partners, so
that its guess about a row is judged by the image of the row that it is more like; so is the mean image beside it.
*Linear optimum*: weights and sources are known. At 32 pixels it is Table 1's; at 224 there are {big[1]:,} private
images and {big[2]:,} of the attacker's own, others of CIFAR-10, one round, all enlarged alike.

{table([*heads, "the mean image"], lines)}
In the paper's own setting the linear optimum is above its network at every τ that was measured. So small a training
as ours tells what a network can do at least, not at most: Table 2's figures are not reproduced at this size.

{chr(10).join(filter(None, (_sheet(method, path) for method in TITLES)))}"""
