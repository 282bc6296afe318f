"""Images under masks, solved for by an attacker who knows the mix: how many come back, stage by stage.

The private images are CIFAR-10's from 20,000 on; settings were chosen on the first thousand. "signs known" is what the
best linear answer makes of the same rows without their mask, public images being noise: the most that better signs
could give.

    python studies/breaking_instahide.py --only phase-retrieval
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from breaking.judged import judged
from breaking.tables import Curve, Plot, Target
from ledger import Trial

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files.schemes import to_json
from hideseek.records import Attack, EncodedRelease
from hideseek.records.mixing_secret import MixingSecret
from hideseek.seek import run
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.phase_retrieval import PhaseRetrieval

FIRST = 20_000  # private image
PUBLIC = 10_000
SEEDS = (0, 1, 2)
CROSS, INSIDE = InstaHide(k=6, k_private=2), InstaHide(k=4)
CASES: dict[str, tuple[str, InstaHide, int, int, bool]] = {  # data, scheme, images, rounds, public images known
    "cross, k=6, n=100, T=50": ("cifar10", CROSS, 100, 50, False),
    "cross, k=6, n=100, T=10": ("cifar10", CROSS, 100, 10, False),
    "inside, k=4, faces, T=10": ("faces", INSIDE, 160, 10, False),
    "inside, k=4, n=100, T=10": ("cifar10", INSIDE, 100, 10, False),
    "cross, k=6, n=1,000, T=50": ("cifar10", CROSS, 1000, 50, False),
    "cross, k=6, n=100, T=10, public known": ("cifar10", CROSS, 100, 10, True),
    "cross, k=6, n=100, T=5, public known": ("cifar10", CROSS, 100, 5, True),
    "cross, k=6, n=100, T=2, public known": ("cifar10", CROSS, 100, 2, True),
    "cross, k=6, n=100, T=20": ("cifar10", CROSS, 100, 20, False),
    "cross, k=6, n=100, T=5": ("cifar10", CROSS, 100, 5, False),
    "cross, k=6, n=100, T=2": ("cifar10", CROSS, 100, 2, False),
    "cross, k=6, n=100, T=1": ("cifar10", CROSS, 100, 1, False),
}
SEVERAL, MOST = 6, 200  # of the cases are measured with all seeds, where they have no more images
ORACLES = 2  # of the cases are measured with signs known
METRICS = ("ssim", "correlation", "recovered")
NAME = "phase-retrieval"
TARGETS = (
    Target(NAME, "n=100, T=50, k=6, public unknown", "phases: cross, k=6, n=100, T=50", "ssim", 0.90, "", "0.86"),
    Target(NAME, "the same", "phases: cross, k=6, n=100, T=50", "seconds", 120, "s", at_most=True),
    Target(NAME, "n=100, T=10, k=6, public unknown", "phases: cross, k=6, n=100, T=10", "ssim", 0.5, "", "fails"),
    Target(NAME, "the same, public known", "phases: cross, k=6, n=100, T=10, public known", "ssim", 0.9, ""),
)
ROUNDS = (1, 2, 5, 10, 20, 50)
PLOTS = (
    Plot(
        "phases-T", "phase-retrieval: 100 images, k = 6, public images unknown", "T, rounds", "share, or SSIM",
        [Curve(name, {T: f"phases: cross, k=6, n=100, T={T}" for T in ROUNDS}, name) for name in METRICS],
        logarithmic=True,
    ),
)  # fmt: skip


def hidden(data: str, scheme: InstaHide, images: int, rounds: int, seed: int) -> tuple[EncodedRelease, MixingSecret]:
    """Hide, and give the attacker what he knows; of faces he has none."""
    if data == "faces":
        faces = normalise(load(data, size=32).take(slice(0, images)), "channel")
        release, secret = scheme.hide(faces, None, seeded(seed), rounds)
        return secret.reveal(release, ("sources", "weights")), secret
    private = normalise(load(data).take(slice(FIRST, FIRST + images)), "channel")
    patches = load("patches:tinyimagenet", size=private.shape[1:], labelled=False).take(slice(0, PUBLIC))
    public = normalise(patches, private.normalisation)
    release, secret = scheme.hide(private, public if scheme.mixes_public else None, seeded(seed), rounds)
    return replace(secret.reveal(release, ("sources", "weights")), own=public), secret


def measured(
    data: str, scheme: InstaHide, images: int, rounds: int, known: bool, oracle: bool, seed: int
) -> dict[str, Any]:
    """Hide, solve, and judge every image."""
    attack: Attack[EncodedRelease] = PhaseRetrieval(searches=2 if known else 0)
    release, secret = hidden(data, scheme, images, rounds, seed)
    if oracle:
        rows = release.encoded.pixels() * secret.signs()
        plain = Mixup(scheme.k, scheme.k_private, scheme.largest)
        release = replace(release, encoded=replace(release.encoded, images=rows), scheme=plain)
        attack = LinearInversion(prior="public")
    evidence = run(attack, release, seeded(seed + 10))
    return judged(evidence, secret, seed, METRICS) | {"memory in GB": evidence.memory / 2**30}


def trials(scale: str) -> Iterator[Trial]:
    """Give every case, those with a target with every seed; two of them also with their mask taken off."""
    for number, (name, case) in enumerate(CASES.items()):
        data, scheme, images, rounds, known = case
        for oracle in (False, True) if number < ORACLES else (False,):
            several = scale == "paper" or (number < SEVERAL and images <= MOST)
            for seed in SEEDS if several else SEEDS[:1]:
                settings = {"data": data, "scheme": to_json(scheme), "images": images, "rounds": rounds, "known": known}
                settings |= {"oracle": oracle, "first": FIRST, "public": PUBLIC, "seed": seed}
                title = f"phases: {name}{', signs known' if oracle else ''}, seed {seed}"
                yield Trial("phase-retrieval", title, settings, partial(measured, *case, oracle, seed), judged=True)
