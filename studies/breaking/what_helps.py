"""What a user can do: rows and labels shared less exactly, public images kept secret; what attacks still get then.

Each attack meets the same release, shared in every way; and a model is trained on what is shared so, to see what it
costs. Labels that are drawn have one class, by weight; rows of int8 are rounded up or down by chance.

    python studies/breaking_instahide.py --only what-helps
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from breaking.judged import judged
from breaking.tables import Curve, Plot, figures
from ledger import Ledger, Trial, table

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Coarse, InstaHide, Mixup, RecipeEncoder
from hideseek.hide.files.schemes import to_json
from hideseek.learn import Reencoded, accuracy, learn, predict
from hideseek.records import Attack, EncodedRelease, Samples
from hideseek.seek import ATTACKS, refusal, run
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Training

FIRST = 20_000  # private image that is attacked
PUBLIC = 10_000
SEEDS = {"cpu": (0,), "paper": (0, 1, 2)}
LEARNT = {"cpu": 20_000, "paper": 50_000}  # images
TRAINING = Training(5, 128, SGD(0.1, 0.9, 5e-4), Cosine(warm=0.2))
EXACT = "as computed"
WAYS: Mapping[str, Mapping[str, Any]] = {
    EXACT: {},
    "labels rounded": {"labels": "rounded"},
    "labels drawn": {"labels": "drawn"},
    "rows float16": {"rows": "float16"},
    "rows int8": {"rows": "int8"},
    "int8 and drawn": {"labels": "drawn", "rows": "int8"},
}


@dataclass(frozen=True)
class Case:
    """An attack that needs something, and what is attacked."""

    attack: str
    scheme: RecipeEncoder
    images: int
    rounds: int = 1
    rows: int | None = None  # attacked
    knows: bool = False  # the public images
    images_of: str = "cifar10"


CASES = {
    "byte-decoding, Mixup k=2": Case("byte-decoding", Mixup(k=2, largest=0.65), 100),
    "byte-decoding, InstaHide k=2": Case("byte-decoding", InstaHide(k=2), 100),
    "byte-decoding, InstaHide k=3": Case("byte-decoding", InstaHide(k=3), 50),
    "unmask-public, cross k=4": Case("unmask-public", InstaHide(k=4, k_private=2), 1000, rows=50, knows=True),
    "unmask-public, cross k=6": Case("unmask-public", InstaHide(k=6, k_private=2), 1000, rows=50, knows=True),
    "smooth-signs, faces, inside k=4": Case("smooth-signs", InstaHide(k=4), 160, images_of="faces"),
    "link-and-solve, cross k=6, 50 rounds": Case("link-and-solve", InstaHide(k=6, k_private=2), 100, 50),
}
LEARNERS: dict[str, tuple[RecipeEncoder, str]] = {
    "Mixup k=2": (Mixup(k=2, largest=0.65), "small-resnet"),
    "InstaHide cross k=4": (InstaHide(k=4, k_private=2), "small-resnet-absolute"),
}
METRICS = ("recovered", "correlation", "re-identified")


def trials(scale: str) -> Iterator[Trial]:
    """Give every case, shared in every way, and what a model learns from it."""
    for way, shared in WAYS.items():
        for name, case in CASES.items():
            for seed in SEEDS[scale]:
                settings = {"way": dict(shared), "scheme": to_json(case.scheme), "images": case.images, "seed": seed}
                settings |= {"rounds": case.rounds, "rows": case.rows, "first": FIRST, "public": PUBLIC}
                run_it = partial(attacked, case, coarse(case.scheme, shared), seed)
                yield Trial("what-helps", f"helps: {name}, {way}, seed {seed}", settings, run_it, judged=True)
        for name, (scheme, model) in LEARNERS.items():
            for seed in SEEDS[scale]:
                settings = {"way": dict(shared), "scheme": to_json(scheme), "images": LEARNT[scale], "seed": seed}
                settings |= {"model": model, "epochs": TRAINING.epochs}
                run_it = partial(learnt, coarse(scheme, shared), model, LEARNT[scale], seed)
                yield Trial("accuracy", f"accuracy: {name}, {way}, seed {seed}", settings, run_it)


def coarse(scheme: RecipeEncoder, shared: Mapping[str, Any]) -> RecipeEncoder:
    """Give a scheme that shares its rows and labels so."""
    return Coarse(scheme, **shared) if shared else scheme


@cache
def public_images() -> Samples:
    """Load as many patches as the attacks are given."""
    patches = load("patches:tinyimagenet", size=(32, 32), labelled=False)
    return replace(patches.take(slice(0, PUBLIC)), cut_from=None)


def attacked(case: Case, scheme: RecipeEncoder, seed: int) -> dict[str, Any]:
    """Hide, attack, and judge; an attack that does not apply any more gets nothing, and says why."""
    first = FIRST if case.images_of == "cifar10" else 0
    private = normalise(load(case.images_of).take(slice(first, first + case.images)), "channel")
    public = normalise(public_images(), private.normalisation) if scheme.mixes_public else None
    release, secret = scheme.hide(private, public, seeded(seed), case.rounds)
    seen = replace(release, public=public) if case.knows else release
    attack: Attack[EncodedRelease] = ATTACKS[case.attack]
    attack = replace(attack, rows=case.rows) if case.rows else attack  # type: ignore[type-var] # attacks of rows are dataclasses
    refused = refusal(attack, seen)
    if refused is not None:
        return {"recovered": 0.0, "refused": refused.reason.name}
    evidence = run(attack, seen, seeded(seed + 10))
    return judged(evidence, secret, seed, METRICS)


def learnt(scheme: RecipeEncoder, model: str, images: int, seed: int) -> dict[str, Any]:
    """Train on what is encoded anew for every epoch, and give the accuracy on plain test images."""
    train = normalise(load("cifar10").take(slice(0, images)), "channel")
    test = normalise(load("cifar10?split=test"), train.normalisation)
    public = normalise(public_images(), train.normalisation) if scheme.mixes_public else None
    trained = learn(Reencoded(train, scheme, public), model, TRAINING, chance=seeded(seed)).trained
    return {"accuracy": accuracy(predict(trained, test), test.labels)}


PLOT = Plot(
    "what-helps",
    "Rows and labels shared less exactly",
    "what is shared",
    "private images recovered",
    [Curve(name, {way: f"helps: {name}, {way}" for way in WAYS}, "recovered") for name in CASES],
)
LABELS = ("exact", "rounded", "drawn", "withheld")
LABELS_PLOT = Plot(
    "labels",
    "Labels that tell less, or nothing",
    "labels",
    "share of private images",
    [
        *(
            Curve(
                f"unmask-public, cross k={k}, one row: recovered",
                {
                    way: f"unmask: k={k}, N={PUBLIC}" if way == "exact" else f"unmask: k={k}, labels {way}"
                    for way in LABELS
                },
                "recovered",
            )
            for k in (3, 4, 6)
        ),
        Curve(
            "link-and-solve, challenge: SSIM at 0.7",
            {"exact": "links: challenge, k=6, n=100, T=50", "withheld": "links: challenge, no labels"},
            "SSIM at 0.7",
        ),
        Curve(
            "link-and-solve, 160 faces, inside k=4, 10 rounds: correlation at 0.9",
            {
                "exact": "links: faces, inside, k=4, n=160, T=10",
                "withheld": "links: faces, inside, k=4, n=160, T=10, no labels",
            },
            "correlation at 0.9",
        ),
    ],
)


def helps(ledger: Ledger) -> str:
    """Write what attacks still get, and what a model still learns, a row for each way of sharing."""
    rows = []
    for way in WAYS:
        got = [_got(ledger, f"helps: {name}, {way}") for name in CASES]
        learns = [_percent(figures(ledger, f"accuracy: {name}, {way}", "accuracy")) for name in LEARNERS]
        rows.append([way, *got, *learns])
    return table(["shared", *CASES, *(f"accuracy, {name}" for name in LEARNERS)], rows)


def _got(ledger: Ledger, trials: str) -> str:
    """Give the share that is recovered, and in brackets the share that is re-identified."""
    recovered, picked = (_percent(figures(ledger, trials, figure)) for figure in ("recovered", "re-identified"))
    return recovered if picked == "–" else f"{recovered} ({picked})"


def _percent(values: list[float]) -> str:
    return f"{100 * sum(values) / len(values):.1f} %" if values else "–"
