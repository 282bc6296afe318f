"""Updates of encoded images: InstaHide's own Figure 5, and what decoding over epochs adds to it.

Figure 5 of InstaHide (§5.3, Algorithm 3 there): gradient matching on one row of Mixup and of InstaHide, k = 4, on
CIFAR-10; Mixup's row comes back, InstaHide's does not. Beside it the adaptive attack: updates of 20 epochs are
inverted, and their encodings solved for the images. Decoding with batches of 16: Huang et al. 2021, §5.2, k = 4, with
indices and λ known, then with nothing given but the updates and their rounds.

The private images are CIFAR-10's from 20,000 on; models are freshly initialised, in eval mode.

    python studies/gradient_inversion.py --only instahide-figure5
    python studies/gradient_inversion.py --only decoding
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from ledger import Ledger, Trial, table

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, RecipeEncoder
from hideseek.hide.updates import ShareUpdates
from hideseek.records import Reconstruction, Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.report import Row, contact_sheet
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, VARIANTS, run
from hideseek.seek.systems.matching_loop import Adam
from hideseek.seek.updates.decode import DecodeUpdates
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.similarity import correlation

FIRST, EPOCHS, LARGEST = 20_000, 20, 0.65
ONE, MANY = 16, 50  # images of Figure 5, and of decoding
SCHEMES: dict[str, RecipeEncoder] = {
    "mixup k=4": Mixup(k=4, largest=LARGEST),
    "instahide k=4": InstaHide(k=4, largest=LARGEST),
}
MODELS = ("relu-dense", "convnet")
METRICS = ("recovered", "re-identified", "correlation", "fitted-ssim")
DRAWN = 8  # epochs of the picture
ROWS = 4  # updates that gradient matching is shown on
STARTS = 8  # of DLG, of which the least objective counts
STEPS, PEELED = 100, 300  # of matching where rows are many, and of the linear systems of a chain of layers
ROW = "correlation with the row"


@cache
def images(count: int) -> Samples:
    """Give the private images, as many as a trial has."""
    return normalise(load("cifar10"), "channel").take(slice(FIRST, FIRST + count))


@cache
def shared(model: str, scheme: str, count: int, batch: int, epochs: int = EPOCHS) -> tuple[UpdateRelease, UpdateSecret]:
    """Give the updates of some epochs; all that is withheld stays so."""
    sharing = ShareUpdates(model, batch=batch, encoding=SCHEMES[scheme], mode="eval")
    return sharing.hide(images(count), None, seeded(1), epochs)


def rows_of(secret: UpdateSecret) -> list[torch.Tensor]:
    """Give the encodings of every update, as they were."""
    return [each.pixels() for each in getattr(secret.again, "rows", ())]


def matched(name: str, scheme: str) -> dict[str, Any]:
    """Match the gradients of a few single rows, as Figure 5 does."""
    release, secret = shared("lenet", scheme, ONE, 1)
    some = replace(release, updates=release.updates[:ROWS], sizes=(release.sizes or ())[:ROWS])
    chosen: Any = {**ATTACKS, **VARIANTS}[name]
    if name == "dlg":  # from one start L-BFGS without a line search diverges on half of the rows
        chosen = replace(chosen, restarts=STARTS)
    evidence = run(chosen, some, seeded(2))
    claim: Any = evidence.claims[0]
    alike = correlation(claim.images, torch.cat(rows_of(secret)[:ROWS]))
    truth = images(ONE).pixels(secret.sources[:ROWS, 0, 0])
    return {
        ROW: float(alike.median()),
        "correlation with its heaviest image": float(correlation(claim.images, truth).median()),
        "seconds": evidence.seconds,
    }


def attack(name: str) -> DecodeUpdates:
    """Give a decoding whose matching takes fewer steps than by default: there are hundreds of updates."""
    usual: Any = ATTACKS[name]
    chosen: DecodeUpdates = replace(
        usual, matching=replace(usual.matching, optimiser=Adam(STEPS, rate=0.3, relax=0.3), peel=PEELED)
    )
    return chosen


def decoded(name: str, model: str, scheme: str, count: int, batch: int) -> dict[str, Any]:
    """Decode all updates, and judge the images."""
    release, secret = shared(model, scheme, count, batch)
    given = secret.reveal(release, attack(name).needs)
    evidence = run(attack(name), given, seeded(2))
    scores = judge(evidence, secret, seeded(3), METRICS).scores
    return {
        **{score.metric: float(score.values.nanmean()) for score in scores},
        "seconds": evidence.seconds,
        **{f"own: {key}": value for key, value in evidence.remarks.items()},
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every measurement; the scale changes nothing: all of it fits a processor."""
    for scheme in SCHEMES:
        about = {"data": "cifar10", "first": FIRST, "scheme": scheme, "epochs": EPOCHS}
        for name in ("dlg", "gradient-matching"):
            settings = about | {"model": "lenet", "batch": 1, "rows": ROWS, "attack": name}
            settings |= {"starts": STARTS} if name == "dlg" else {}
            yield Trial(
                "instahide-figure5", f"instahide-figure5: {scheme}, {name}", settings, partial(matched, name, scheme)
            )
        for name in ("decode-known", "decode-blind"):
            settings = about | {"model": "lenet", "batch": 1, "images": ONE, "attack": name}
            run_it = partial(decoded, name, "lenet", scheme, ONE, 1)
            yield Trial("instahide-figure5", f"instahide-figure5: {scheme}, {name}", settings, run_it, judged=True)
    for model in MODELS:
        for scheme in SCHEMES:
            for name in ("decode-known", "decode-blind"):
                settings = {"data": "cifar10", "first": FIRST, "scheme": scheme, "epochs": EPOCHS, "model": model}
                settings |= {"batch": 16, "images": MANY, "attack": name, "steps": STEPS}
                run_it = partial(decoded, name, model, scheme, MANY, 16)
                yield Trial("decoding", f"decoding: {model}, {scheme}, {name}", settings, run_it, judged=True)


def picture(path: Path) -> None:
    """Draw Figure 5 with the adaptive attack beside it: rows, what matching and decoding give, and the images."""
    rows = []
    for scheme in SCHEMES:
        release, secret = shared("lenet", scheme, ONE, 1, DRAWN)
        some = replace(release, updates=release.updates[:ROWS], sizes=(release.sizes or ())[:ROWS])
        matching: Any = run(GradientMatching(peel=0), some, seeded(2)).claims[0]
        peeling: Any = run(ATTACKS["gradient-matching"], some, seeded(2)).claims[0]
        known = run(attack("decode-known"), secret.reveal(release, attack("decode-known").needs), seeded(2)).claims[0]
        assert isinstance(known, Reconstruction)  # noqa: S101 (for the type checker)
        places = secret.sources[:ROWS, 0, 0]
        rows += [
            Row(f"{scheme}\nencoding", list(torch.cat(rows_of(secret)[:ROWS]))),
            Row("gradient matching", list(matching.images)),
            Row("layer by layer", list(peeling.images)),
            Row(f"decoded, {DRAWN} epochs", list(known.images[places])),
            Row("image", list(images(ONE).pixels(places))),
        ]
    contact_sheet("InstaHide's Figure 5, and decoding", (), rows).save(path)


def tables(ledger: Ledger, scale: str = "cpu") -> str:
    """Write what was measured."""
    heads = ["trial", "re-identified", "recovered", "correlation", "SSIM", ROW, "seconds"]
    names = ("re-identified", "recovered", "correlation", "fitted-ssim", ROW, "seconds")
    rows = []
    for trial in trials(scale):
        found = ledger.results(trial.name)
        if found is not None:
            figures = ["–" if name not in found else f"{found[name]:.3f}" for name in names]
            rows.append([trial.name + ledger.mark(trial.name), *figures])
    return table(heads, rows)
