"""What InstaHide's paper says of attacks (Table 1, Figures 2, 6, 7, 8, Table 4, §9), measured: part of instahide.py.

CIFAR-10 as the private set and 10,000 images of Tiny-ImageNet as the public one. Every attack sees the release alone;
its evidence is judged afterwards, beside baselines that ignore the release.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

import torch
from ledger import HERE, Trial
from PIL import Image

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files.schemes import to_json
from hideseek.records import (
    Attack,
    Attribution,
    EncodedRelease,
    Evidence,
    Masks,
    MixingEncoder,
    Normalisation,
    PublicImagesFound,
    Reconstruction,
    Samples,
)
from hideseek.records.mixing_secret import MixingSecret
from hideseek.report import Row, contact_sheet
from hideseek.score.judge import judge
from hideseek.score.matching import one_to_one
from hideseek.seek import run, settings
from hideseek.seek.networks.learned_search import Learned
from hideseek.seek.networks.restore_signs import RestoreSigns
from hideseek.seek.rows.averaging import AverageKnown, AverageSearch
from hideseek.seek.rows.braverman import Braverman
from hideseek.seek.rows.demask import Demask
from hideseek.seek.rows.distinguish import Distinguish
from hideseek.seek.rows.mixup_pairs import MixupPairs
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.public_search import PublicSearch
from hideseek.seek.signals.encoding_tests import statistics, statistics_names
from hideseek.seek.signals.patches import cut
from hideseek.seek.signals.plain_products import PlainProducts
from hideseek.seek.signals.ssim_search import Ssim

PUBLIC = 10_000
TOPS = (1, 2, 5, 10, 20, 50, 100)
COUNTED = {"all-found", "found", "hit@1", "hit@10", "hit@100", "rank", "search-space"}
"""Hits and ranks, shown beside exact chance: no baseline of the judge's is in them."""
RESULTS = HERE / "results"


@dataclass(frozen=True)
class Setting:
    """What is hidden, how often, and what the attacker is given besides."""

    scheme: MixingEncoder
    private: int
    rounds: int = 1
    normalisation: str = "channel"
    crops: bool = False
    """Patches of the public images are mixed in, and the attacker has the images."""
    knows: tuple[str, ...] = ()
    first: int = 0
    """The first private image's place in CIFAR-10."""

    def made(self) -> tuple[EncodedRelease, MixingSecret]:
        """Hide."""
        private, public, patches = images(self.private, self.normalisation, self.first)
        mixed = (patches if self.crops else public) if self.scheme.images_per_row.public else None
        release, secret = self.scheme.hide(private, mixed, seeded(0), self.rounds)
        seen = None if mixed is None else whole(private.normalisation) if self.crops else public
        return secret.reveal(replace(release, public=seen), self.knows), secret


@cache
def images(count: int, how: str, first: int = 0) -> tuple[Samples, Samples, Samples]:
    """Load private images, public ones at their size, and as many patches, one of each public image."""
    private = normalise(load("cifar10").take(slice(first, first + count)), how)  # type: ignore[arg-type]
    public = load("tinyimagenet", size=32, labelled=False).take(slice(0, PUBLIC))
    patches = cut(load("tinyimagenet", labelled=False).take(slice(0, PUBLIC)), private.shape, seeded(7))
    return private, normalise(public, private.normalisation), normalise(patches, private.normalisation)


def whole(constants: Normalisation) -> Samples:
    """Load the public images that patches are cut from, at 64×64 pixels."""
    return normalise(load("tinyimagenet", labelled=False).take(slice(0, PUBLIC)), constants)


CROSS_4, CROSS_6 = InstaHide(k=4, k_private=2), InstaHide(k=6, k_private=2)
MIXUP_6 = Mixup(k=6, k_private=2, largest=0.65)
REUSED = Setting(Mixup(k=4), 50, 50)

ATTACKS: dict[str, tuple[str, Setting, Attack[EncodedRelease], tuple[str, ...]]] = {
    # name: the item, what is attacked, how, and by what it is judged
    "reused images": ("table1", REUSED, MixupPairs(), ("fitted-ssim", "fitted-psnr", "correlation", "auc")),
    "reused images, averages": ("table1", REUSED, MixupPairs(steps=0), ("fitted-ssim", "fitted-psnr", "correlation")),
    "public images": (
        "table1",
        Setting(Mixup(k=4, k_private=1), 500, normalisation="image"),
        MixupPublic(),
        ("all-found", "found", "fitted-psnr", "fitted-ssim"),
    ),
    "public images, held out": (
        "table1",
        Setting(Mixup(k=4, k_private=1), 500, normalisation="image", first=20_000),
        MixupPublic(),
        ("all-found", "found", "fitted-psnr", "fitted-ssim"),
    ),
    "public images, plain inner products": (
        "table1",
        Setting(Mixup(k=4, k_private=1), 500, normalisation="image"),
        PublicSearch(PlainProducts()),
        ("all-found", "found", "hit@1"),
    ),
    "demask": ("figure6", Setting(CROSS_6, 500), Demask(), ("wrong-signs", "wrong-signs-flipped")),
    "distinguish": ("figure2", Setting(CROSS_4, 50, 400, knows=("made_for",)), Distinguish(images=10), ("accuracy",)),
    **{
        f"{strength}, {name}": ("figure7", setting, attack, ("fitted-ssim", "correlation", "re-identified"))
        for strength, search in (("stronger", False), ("weaker", True))
        for name, setting, attack in (
            (
                "mixup",
                Setting(MIXUP_6, 50, 50, knows=() if search else ("made_for",)),
                (AverageKnown, AverageSearch)[search](),
            ),
            (
                "instahide, absolute values",
                Setting(CROSS_6, 50, 50, knows=() if search else ("made_for",)),
                (AverageKnown, AverageSearch)[search](),
            ),
            (
                "instahide, demasked",
                Setting(CROSS_6, 50, 50, knows=() if search else ("made_for",)),
                (AverageKnown, AverageSearch)[search](signs=RestoreSigns()),
            ),
        )
    },
    **{
        f"search, {name}": ("figure8", setting, attack, ("hit@1", "hit@10", "hit@100"))
        for name, setting, attack in (
            ("mixup, ssim", Setting(MIXUP_6, 500), PublicSearch(Ssim(), rows=50)),
            ("instahide, demasked, ssim", Setting(CROSS_6, 500), PublicSearch(Ssim(), RestoreSigns(), rows=50)),
            (
                "patches, demasked, ssim",
                Setting(CROSS_6, 500, crops=True),
                PublicSearch(Ssim(), RestoreSigns(), rows=50),
            ),
            ("patches, learned", Setting(CROSS_6, 500, crops=True), PublicSearch(Learned(), rows=50)),
            ("mixup, white", Setting(MIXUP_6, 500), PublicSearch(rows=50)),
            ("instahide, white squares", Setting(CROSS_6, 500), PublicSearch(rows=50)),
            ("patches, white squares", Setting(CROSS_6, 500, crops=True), PublicSearch(rows=50)),
        )
    },
    **{
        f"ranking, k={scheme.k}, {name}": (
            "braverman",
            Setting(scheme, 500),
            attack,
            ("rank", "search-space", "hit@100"),
        )
        for scheme in (CROSS_4, CROSS_6)
        for name, attack in (
            ("as printed", Braverman()),
            ("normalised", Braverman(normalised=True)),
            ("white squares", PublicSearch(top=PUBLIC)),
        )
    },
}


def trials(scale: str) -> Iterator[Trial]:
    """List what is to be measured."""
    for name, (item, setting, attack, metrics) in ATTACKS.items():
        if scale == "paper" and isinstance(attack, Demask):
            attack = Demask(width=32, rows=500_000)  # noqa: PLW2901 (a GPU's size of the same)
        described = {
            "scheme": to_json(setting.scheme),
            **{
                key: value for key, value in asdict(setting).items() if key != "scheme" and (key, value) != ("first", 0)
            },
            "attack": type(attack).__name__,
            **settings(attack),
            "seed": 0,
        }
        run_it = partial(measured, name, setting, attack, metrics)
        yield Trial(item, f"attack: {name}", described, run_it, judged=not COUNTED.issuperset(metrics))
    once = {"private": 400, "k": 4, "seed": 0}
    yield Trial("table1", "attack: each image in one row", once, used_once, judged=True)


def measured(name: str, setting: Setting, attack: Attack[EncodedRelease], metrics: Sequence[str]) -> dict[str, Any]:
    """Hide, attack, judge, and draw what was found where that is a picture."""
    release, secret = setting.made()
    evidence = run(attack, release, seeded(1))
    draw(name, evidence, release, secret)
    return judged(evidence, secret, metrics)


def judged(evidence: Evidence, secret: MixingSecret, metrics: Sequence[str]) -> dict[str, Any]:
    """Give each score with its interval and baselines, and what the attack remarked."""
    found = judge(evidence, secret, seeded(2), metrics)
    result: dict[str, Any] = {
        "seconds": round(evidence.seconds, 1),
        "MiB": round(evidence.memory / 2**20),
        "remarks": dict(evidence.remarks),
        "scores": {
            score.metric: {
                "mean": round(score.interval.mean, 4),
                "interval": [round(score.interval.low, 4), round(score.interval.high, 4)],
                "baselines": {baseline: round(value.mean, 4) for baseline, value in score.baselines.items()},
                "beats": score.beats,
            }
            for score in found.scores
        },
    }
    for claim in evidence.claims:
        if isinstance(claim, PublicImagesFound) and claim.candidates.shape[1] >= max(TOPS):
            hits = (claim.candidates[:, :, None] == secret.public_sources[claim.rows][:, None]).any(2)
            result["hits"] = {top: round(float(hits[:, :top].any(1).float().mean()), 4) for top in TOPS}
    return result


def used_once() -> dict[str, Any]:
    """Mix every image into one row only, with private images (Table 1, last line): nothing is there to be compared."""
    private, _, _ = images(400, "channel")
    sources = seeded(3).permutation(400).view(-1, 4)
    weights = 1 - seeded(4).uniforms(len(sources), 4).float()
    weights /= weights.sum(1, keepdim=True)
    pixels = private.pixels()
    mixed = torch.stack([(w[:, None, None, None] * pixels[s]).sum(0) for s, w in zip(sources, weights, strict=True)])
    labels = torch.stack([(w[:, None] * private.labels[s]).sum(0) for s, w in zip(sources, weights, strict=True)])
    release = EncodedRelease(Samples(mixed, labels, normalisation=private.normalisation), Mixup(k=4))
    secret = MixingSecret(private, sources, torch.empty(len(sources), 0, dtype=torch.int64), weights)
    return judged(run(MixupPairs(steps=0), release, seeded(1)), secret, ("fitted-ssim", "fitted-psnr", "correlation"))


def draw(name: str, evidence: Evidence, release: EncodedRelease, secret: MixingSecret) -> None:
    """Draw images and signs beside the truth: the private images are public here."""
    claim = next((claim for claim in evidence.claims if isinstance(claim, Reconstruction)), evidence.claims[0])
    picture: Image.Image | None = None
    if isinstance(claim, Masks):
        mixed = release.encoded.pixels() * secret.signs()
        encoded = release.encoded.pixels()
        rows = [
            Row("mixed", list(mixed[:8])),
            Row("masked", list(encoded[:8])),
            Row("absolute", list(encoded[:8].abs())),
            Row("signs restored", list(encoded[:8] * claim.signs[:8])),
        ]
        picture = contact_sheet("Figure 6: restoring signs, k = 6", (), rows)
    elif isinstance(claim, Attribution):
        figure_2(claim, release, secret)
    elif isinstance(claim, Reconstruction):
        truths = truths_of(claim, secret)[:8]
        rows = [Row("original", list(secret.private.pixels(truths))), Row("recovered", list(claim.images[:8]))]
        picture = contact_sheet(name, (), rows)
    if picture is not None:
        picture.save(RESULTS / f"instahide-{name.replace(', ', '-').replace(' ', '-')}.png")


def figure_2(claim: Attribution, release: EncodedRelease, secret: MixingSecret) -> None:
    """Draw the distributions of the statistics for the encodings of each image, as Figure 2 does."""
    from matplotlib.figure import Figure

    places = seeded(5).permutation(release.encoded.images[0].numel())[:4]
    figure = Figure(figsize=(11, 4.6), dpi=120, layout="constrained")
    axes = figure.subplots(2, 4).flatten()
    of = secret.sources[:, 0]
    for image in claim.candidates.tolist():
        values = statistics(release.encoded.pixels(of == image), places)
        for axis, column in zip(axes, values.T, strict=False):
            axis.hist(column.numpy(), bins=40, histtype="step", density=True)
    for axis, name in zip(axes, statistics_names(4), strict=False):
        axis.set(title=name, yticks=[])
    axes[7].axis("off")
    axes[7].text(0, 0.5, "a line for each of ten images,\n400 encodings each", fontsize=9)
    figure.savefig(RESULTS / "instahide-cpu-figure2.png")


def truths_of(claim: Reconstruction, secret: MixingSecret) -> torch.Tensor:
    """Give the private image that each guess is of, or is most alike to."""
    if claim.of == "images":
        return claim.about
    flat = [x.flatten(1) - x.flatten(1).mean(1, keepdim=True) for x in (claim.images, secret.private.pixels())]
    alike = torch.nn.functional.normalize(flat[0]) @ torch.nn.functional.normalize(flat[1]).T
    if claim.of == "any":
        return one_to_one(alike).clamp_min(0)
    own = secret.sources[claim.about]
    return own.gather(1, alike.gather(1, own).argmax(1, keepdim=True))[:, 0]
