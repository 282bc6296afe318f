"""Images moved before they are mixed: what linking at every shift gets back, beside averages of rows.

The private images are CIFAR-10's from 20,000 on, the public ones patches of Tiny-ImageNet; settings were chosen on the
first thousand. Luo et al. 2022 train a comparer and a denoiser for this; here nothing is trained. The cluster mean
is a stronger attacker's: it knows the rows that were made for each image, and averages their absolute values. An oracle
tells what linking costs: every row's images, weights and shifts are given. The attacker has the patches as images of
his own, where none are mixed in.

    python studies/breaking_instahide.py --only luo
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from breaking.judged import judged
from breaking.tables import figures
from ledger import Ledger, Trial, table

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Augmented, Geometry, InstaHide
from hideseek.hide.files.schemes import to_json
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import ATTACKS, run
from hideseek.seek.rows.carlini import Carlini
from hideseek.seek.signals.patches import cut
from hideseek.seek.systems.moved_mixtures import MovedMixtures
from hideseek.seek.systems.moved_signs import energies, signed_images
from hideseek.seek.systems.moved_solve import likeliest
from hideseek.seek.systems.usual_spectrum import likelier_sign, spectrum_of_images

FIRST, IMAGES, PUBLIC, ROUNDS = 20_000, 20, 2000, {"cpu": 20, "paper": 50}
SEEDS = (0, 1, 2)
MOVED = Geometry(shift=4 / 32, flip=True)
SCHEMES = {"cross, k=4": InstaHide(k=4, k_private=2), "inside, k=4": InstaHide(k=4)}
WAYS = {
    "cross, k=4": ("link-shifted", "cluster mean", "carlini", "oracle rows and shifts"),
    "inside, k=4": ("link-shifted",),
}
CARLINI = Carlini(steps=300, solve_steps=500)  # as long as link-shifted takes, about
METRICS = ("ssim", "fitted-ssim", "correlation", "absolute-correlation", "recovered")


def oracle(release: EncodedRelease, secret: MixingSecret, seed: int) -> Evidence:
    """Solve with the true rows, weights and shifts, to tell what linking costs."""
    private = secret.sources.shape[1]
    assert secret.transforms is not None  # noqa: S101 (images were moved)
    mixtures = MovedMixtures(secret.sources, secret.weights[:, :private], secret.transforms[:, :private])
    rows = release.encoded.pixels().abs()
    rest = (secret.weights[:, private:].square().sum(1) * float(rows.square().mean() * 2))[:, None, None, None]
    energy = energies(rows.square(), mixtures, IMAGES, rest)
    start, _ = signed_images(rows.square(), mixtures, energy, rest, 12, seeded(seed))
    images, _, _ = likeliest(rows, mixtures, start, spectrum_of_images(release), 120, masked=True)
    images = likelier_sign(images, release) * images
    return Evidence((Reconstruction(images, torch.arange(IMAGES), "images"),))


def measured(scheme: InstaHide, way: str, rounds: int, seed: int) -> dict[str, Any]:
    """Hide twenty images of the seed's own, attack, and judge every guess."""
    first = FIRST + IMAGES * seed
    private = normalise(load("cifar10").take(slice(first, first + IMAGES)), "channel")
    patches = cut(load("tinyimagenet", labelled=False).take(slice(0, PUBLIC)), private.shape, seeded(7))
    public = normalise(patches, private.normalisation)
    release, secret = Augmented(scheme, MOVED).hide(
        private, public if scheme.mixes_public else None, seeded(seed), rounds
    )
    release = replace(release, own=public)
    if way.startswith("oracle"):
        evidence = oracle(release, secret, seed)
    else:
        attack: Attack[Any] = {"cluster mean": ATTACKS["average-known"], "carlini": CARLINI}.get(way) or ATTACKS[way]
        evidence = run(attack, secret.reveal(release, attack.needs), seeded(seed + 10))
    return judged(evidence, secret, seed, METRICS)


def trials(scale: str) -> Iterator[Trial]:
    """Give every scheme and way of attacking it, with every seed."""
    for seed in SEEDS:
        for name, scheme in SCHEMES.items():
            for way in WAYS[name]:
                settings = {
                    "scheme": to_json(Augmented(scheme, MOVED)),
                    "way": way,
                    "images": IMAGES,
                    "rounds": ROUNDS[scale],
                    "first": FIRST + IMAGES * seed,
                    "seed": seed,
                }
                run_it = partial(measured, scheme, way, ROUNDS[scale], seed)
                yield Trial("luo", f"luo: {name}, {way}, seed {seed}", settings, run_it, judged=True)


def moved(ledger: Ledger) -> str:
    """Write every way of attacking images that were moved, beside the others."""
    rows = []
    for name in SCHEMES:
        for way in WAYS[name]:
            values = [figures(ledger, f"luo: {name}, {way}", metric) for metric in ("ssim", "fitted-ssim", "recovered")]
            rows.append([f"{name}: {way}", *(f"{sum(each) / len(each):.2f}" if each else "–" for each in values)])
    return table(["attack", "SSIM", "fitted SSIM", "recovered"], rows)
