"""The whole attack of an outsider on masked rows, stage by stage, and with oracles in the place of stages.

The private images are CIFAR-10's from 20,000 on, or the embedded faces; settings were chosen on CIFAR-10's first
thousand. "rows known" has every row's images and weights from the truth: then phase retrieval alone is left. "images
known" has the images: then assignment alone is left.

    python studies/breaking_instahide.py --only link-and-solve
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from time import monotonic
from typing import Any

import torch
from breaking.tables import Curve, Plot, Target
from ledger import Trial
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide
from hideseek.hide.files.schemes import to_json
from hideseek.records import EncodedRelease, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import run
from hideseek.seek.rows.link_and_solve import LinkAndSolve, Solution
from hideseek.seek.rows.phase_retrieval import PhaseRetrieval
from hideseek.seek.signals.row_slots import RowSlots
from hideseek.seek.systems.balanced_pairs import SIGNED, balanced
from hideseek.seek.systems.balanced_pairs import chosen as likeliest
from hideseek.seek.systems.image_spectrum import spectrum_for
from hideseek.seek.systems.pair_scores import pair_scores
from hideseek.seek.systems.phase_retrieval import PhaseProblem
from hideseek.seek.systems.signed_pair_scores import signed_pair_scores
from hideseek.seek.systems.smooth_signs import restored
from hideseek.seek.systems.white_squares import WhiteSquares
from hideseek.similarity import correlation, ssim

FIRST = 20_000  # private image
XRAYS = 3000  # and the first X-ray
PUBLIC = 10_000
SEEDS = (0, 1, 2)
EVERY = 7  # row of the challenge's measure is looked at
CROSS = InstaHide(k=6, k_private=2)
CASES: dict[str, tuple[str, InstaHide, int, int]] = {  # images, scheme, how many, rounds
    "challenge, k=6, n=100, T=50": ("cifar10", CROSS, 100, 50),
    "cross, k=6, n=100, T=20": ("cifar10", CROSS, 100, 20),
    "cross, k=6, n=1,000, T=50": ("cifar10", CROSS, 1000, 50),
    "faces, inside, k=4, n=160, T=10": ("faces", InstaHide(k=4), 160, 10),
    "X-rays, inside, k=4, n=160, T=10": ("pneumoniamnist", InstaHide(k=4), 160, 10),
    "challenge, no labels": ("cifar10", CROSS, 100, 50),
}
SETS, ROUNDS, MIXED = (
    (30, 100, 300, 1000),
    (5, 10, 20, 50),
    (3, 4, 6, 8),
)  # which of how each degrades is measured, one seed
WITH_FACES = "faces, inside, k={k}, n=160, T={T}"
SINGLE: dict[str, tuple[str, InstaHide, int, int]] = {
    **{f"cross, k=6, n={n}, T=50": ("cifar10", CROSS, n, 50) for n in (30, 300)},
    **{f"cross, k=6, n=100, T={T}": ("cifar10", CROSS, 100, T) for T in (5, 10)},
    **{WITH_FACES.format(k=4, T=T): ("faces", InstaHide(k=4), 160, T) for T in (2, 5, 20)},
    **{WITH_FACES.format(k=k, T=10): ("faces", InstaHide(k=k), 160, 10) for k in MIXED if k != 4},
    "colour, inside, k=4, n=160, T=10": ("cifar10", InstaHide(k=4), 160, 10),
    "faces, inside, k=4, n=160, T=10, no labels": ("faces", InstaHide(k=4), 160, 10),
}
NAME, BOTH = "link-and-solve", "all images of a row right"
CHALLENGE, SHORTER, LARGER, FACES = (f"links: {name}" for name in list(CASES)[:4])
TARGETS = (
    Target(NAME, "challenge: n=100, T=50, k=6", CHALLENGE, "Max SSIM", 0.88, "", "0.77", "0.90 / 0.79 in 12 GPU hours"),
    Target(NAME, "the same", CHALLENGE, "images found (SSIM 0.5)", 99, "images", "97"),
    Target(NAME, "the same", CHALLENGE, BOTH, 90, "%"),
    Target(NAME, "the same, images known (oracle)", f"{CHALLENGE}, images known", BOTH, 90, "%"),
    Target(NAME, "the same", CHALLENGE, "seconds", 120, "s", "29 s", at_most=True),
    Target(NAME, "n=100, T=20, k=6", SHORTER, "SSIM at 0.7", 90, "%", "signs fail"),
    Target(NAME, "the same, rows known (oracle)", f"{SHORTER}, rows known", "SSIM at 0.7", 90, "%"),
    Target(NAME, "n=1,000, T=50, k=6", LARGER, "images found (SSIM 0.5)", 800, "images", "n=300: 255 in 3.5 min"),
    Target(NAME, "the same", LARGER, "seconds", 1200, "s", at_most=True),
    Target(NAME, "inside, k=4, 160 faces, T=10", FACES, "correlation at 0.9", 50, "%"),
)


def _case(n: int, rounds: int) -> str:
    """Name the trials of so many images of CIFAR-10 in so many rounds."""
    challenge = (n, rounds) == (100, 50)
    return CHALLENGE if challenge else f"links: cross, k=6, n={n:,}, T={rounds}"


PLOTS = (
    Plot(
        "links-rounds",
        "link-and-solve: how often images are used",
        "rounds",
        "share",
        [
            Curve("100 of CIFAR-10, cross k = 6: SSIM of images", {T: _case(100, T) for T in ROUNDS}, "SSIM"),
            Curve("the same: all images of a row right", {T: _case(100, T) for T in ROUNDS}, BOTH),
            Curve(
                "160 faces, inside k = 4: images at a correlation of 0.9",
                {T: f"links: {WITH_FACES.format(k=4, T=T)}" for T in (2, 5, 10, 20)},
                "correlation at 0.9",
            ),
        ],
        logarithmic=True,
    ),
    Plot(
        "links-images",
        "link-and-solve, cross k = 6, 50 rounds: how many images are private",
        "private images",
        "share",
        [
            Curve("SSIM of images", {n: _case(n, 50) for n in SETS}, "SSIM"),
            Curve("all images of a row right", {n: _case(n, 50) for n in SETS}, BOTH),
        ],
        logarithmic=True,
    ),
    Plot(
        "links-mixed",
        "link-and-solve, 160 faces, 10 rounds: how many images are in a row",
        "k",
        "share of faces at a correlation of 0.9",
        [Curve("inside", {k: f"links: {WITH_FACES.format(k=k, T=10)}" for k in MIXED}, "correlation at 0.9")],
    ),
)


@cache
def patches() -> Samples:
    """Cut patches, half of them to be mixed in, and half for the attacker."""
    return load("patches:tinyimagenet", size=(32, 32), labelled=False).take(slice(0, 2 * PUBLIC))


def hidden(images: str, scheme: InstaHide, count: int, rounds: int, seed: int) -> tuple[EncodedRelease, MixingSecret]:
    """Hide; the attacker has other images, and not the public ones that were mixed in."""
    if images == "faces":
        private = normalise(load("faces").take(slice(0, count)), "channel")
        own = normalise(load("faces?split=test", labelled=False), private.normalisation)
        release, secret = scheme.hide(private, None, seeded(seed), rounds)
        return replace(release, own=own), secret
    if images == "pneumoniamnist":
        private = normalise(load(images).take(slice(XRAYS, XRAYS + count)), "channel")
        release, secret = scheme.hide(private, None, seeded(seed), rounds)
        return release, secret
    private = normalise(load(images).take(slice(FIRST, FIRST + count)), "channel")
    public = normalise(patches().take(slice(0, PUBLIC)), private.normalisation)
    own = normalise(patches().take(slice(PUBLIC, None)), private.normalisation)
    release, secret = scheme.hide(private, public, seeded(seed), rounds)
    return replace(release, public=None, own=own), secret


def measured(images: str, scheme: InstaHide, count: int, rounds: int, labelled: bool, seed: int) -> dict[str, Any]:
    """Hide, attack, and compare every stage with the truth."""
    release, secret = hidden(images, scheme, count, rounds, seed)
    if not labelled:
        encoded = replace(release.encoded, labels=release.encoded.labels[:, :0], classes=())
        release = replace(release, encoded=encoded)
    started = monotonic()
    solution = LinkAndSolve().solve(release, seeded(seed + 10))
    seconds = monotonic() - started
    answer = {**scores(solution, secret), "seconds": seconds}
    if not scheme.images_per_row.public:
        answer |= unmasked_alone(release, secret, seed)
    return answer | {f"own: {name}": value for name, value in solution.remarks.items()}


def unmasked_alone(release: EncodedRelease, secret: MixingSecret, seed: int) -> dict[str, float]:
    """Compare rows whose masks smoothness undoes, before anything else is known, with what was masked."""
    found = restored(release.encoded.pixels().abs(), seeded(seed + 10))
    truth = (secret.weights[:, :, None] * secret.private.pixels().flatten(1)[secret.sources]).sum(1)
    alike = torch.cosine_similarity(found, truth).abs()
    return {
        "rows unmasked alone, median correlation": float(alike.median()),
        "rows unmasked alone, correlation at 0.9": float((alike >= 0.9).float().mean()),
    }


def scores(solution: Solution, secret: MixingSecret) -> dict[str, float]:
    """Score rows and images; each guess belongs to the private image that it is assigned to by its rows."""
    rows, truth, private = solution.rows, secret.sources, secret.private.pixels()
    votes = torch.zeros(len(solution.images), len(private))
    for found in range(rows.sources.shape[1]):
        for own in range(truth.shape[1]):
            votes.index_put_((rows.sources[:, found], truth[:, own]), rows.weights[:, found].square(), accumulate=True)
    names = torch.from_numpy(linear_sum_assignment(votes.numpy(), maximize=True)[1])
    named = names[rows.sources]
    right = (named[:, :, None] == truth[:, None]).any(2).float()
    all_right = (named.sort(1).values == truth.sort(1).values).all(1)
    alike = correlation(solution.images, private[names])
    similar = _ssim(secret.private, solution.images, private[names])
    return {
        "one image of a row right": float(right.amax(1).mean()),
        "all images of a row right": float(all_right.float().mean()),
        "images of rows right": float(right.mean()),
        "of those that are sure": float(right[rows.sure >= 0.9].mean()) if (rows.sure >= 0.9).any() else 0.0,
        "images found (SSIM 0.5)": float((similar >= 0.5).float().sum()),
        "SSIM": float(similar.mean()),
        "SSIM at 0.7": float((similar >= 0.7).float().mean()),
        "correlation": float(alike.mean()),
        "correlation at 0.9": float((alike >= 0.9).float().mean()),
        "Max SSIM": _max_ssim(solution, secret),
    }


def _ssim(samples: Samples, guess: Tensor, truth: Tensor) -> Tensor:
    """Give the SSIM of pixels between 0 and 1."""
    constants = samples.normalisation
    mean, std = (torch.tensor(each).view(-1, 1, 1) for each in (constants.mean, constants.std))
    return ssim((truth * std + mean).clamp(0, 1), (guess * std + mean).clamp(0, 1), 1.0)


def _max_ssim(solution: Solution, secret: MixingSecret) -> float:
    """Give the challenge's measure: a row's one answer, by the image of the row that it is most like."""
    guess, truth, private = solution.of_rows()[::EVERY], secret.sources[::EVERY], secret.private.pixels()
    each = [_ssim(secret.private, guess, private[truth[:, own]]) for own in range(truth.shape[1])]
    return float(torch.stack(each).amax(0).mean())


def rows_known(images: str, scheme: InstaHide, count: int, rounds: int, seed: int) -> dict[str, Any]:
    """Give phase retrieval the truth of who is where."""
    release, secret = hidden(images, scheme, count, rounds, seed)
    evidence = run(PhaseRetrieval(), secret.reveal(release, ("sources", "weights")), seeded(seed + 10))
    guess: Any = evidence.claims[0]
    similar = _ssim(secret.private, guess.images, secret.private.pixels())
    return {"SSIM": float(similar.mean()), "SSIM at 0.7": float((similar >= 0.7).float().mean())}


def images_known(images: str, scheme: InstaHide, count: int, rounds: int, seed: int) -> dict[str, Any]:
    """Give the assignment the true images."""
    release, secret = hidden(images, scheme, count, rounds, seed)
    slots = RowSlots.of(release)
    order = secret.private.labels.argmax(1).argsort(stable=True)
    magnitudes, unknown = release.encoded.pixels().abs(), slots.unknown(scheme.images_per_row.public)
    spectrum, known = spectrum_for(release)[0], secret.private.pixels()[order]
    truth = secret.sources.sort(1).values

    def right(pairs: Tensor) -> float:
        return float((order[pairs].sort(1).values == truth).all(1).float().mean())

    squares = pair_scores(WhiteSquares.of(magnitudes, unknown), known, spectrum.variance, slots)
    chances = balanced(squares, slots)
    likely = squares.mixtures(chances, len(known))
    found = signed_pair_scores(PhaseProblem(magnitudes, likely, unknown, slots.rest(), spectrum), known, slots, likely)
    return {
        "all images of a row right, by squares": right(likeliest(squares, chances)[0]),
        "all images of a row right, row by row": right(found.pairs[:, 0]),
        "all images of a row right": right(likeliest(found, balanced(found, slots, SIGNED))[0]),
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every case with every seed, and with oracles."""
    for name, (images, scheme, count, rounds) in (CASES | SINGLE).items():
        for seed in SEEDS if (count <= 160 and name in CASES) or scale == "paper" else SEEDS[:1]:
            settings = {"scheme": to_json(scheme), "case": name, "first": FIRST, "public": PUBLIC, "seed": seed}
            run_it = partial(measured, images, scheme, count, rounds, "no labels" not in name, seed)
            yield Trial("link-and-solve", f"links: {name}, seed {seed}", settings, run_it)
            if scheme is CROSS and count == 100 and "no labels" not in name and name in CASES:
                for oracle, how in {"rows known": rows_known, "images known": images_known}.items():
                    told = partial(how, images, scheme, count, rounds, seed)
                    title = f"links: {name}, {oracle}, seed {seed}"
                    yield Trial("link-and-solve", title, {**settings, "oracle": oracle}, told)
