"""Images under masks, solved for by an attacker who knows the mix: how many come back, stage by stage.

The private images are CIFAR-10's from 20,000 on; settings were chosen on the first thousand. "signs known" is what the
best linear answer makes of the same rows without their mask, public images being noise: the most that better signs
could give.

    python studies/breaking/phase_retrieval.py
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import tyro

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by itself, beside the other studies' modules
from ledger import HERE, Ledger, Study, Trial, chosen

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.files.schemes import to_json
from hideseek.records import Attack, EncodedRelease
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.rows.phase_retrieval import PhaseRetrieval

FIRST = 20_000  # private image
PUBLIC = 10_000
SEEDS = (0, 1, 2)
CROSS = InstaHide(k=6, k_private=2)
CASES: dict[str, tuple[InstaHide, int, int, bool]] = {  # scheme, images, rounds, whether public images are known
    "cross, k=6, n=100, T=50": (CROSS, 100, 50, False),
    "cross, k=6, n=100, T=20": (CROSS, 100, 20, False),
    "cross, k=6, n=100, T=10": (CROSS, 100, 10, False),
    "cross, k=6, n=100, T=10, public known": (CROSS, 100, 10, True),
    "cross, k=6, n=1,000, T=50": (CROSS, 1000, 50, False),
    "inside, k=4, n=100, T=10": (InstaHide(k=4), 100, 10, False),
}
METRICS = ("ssim", "correlation", "recovered")


def hidden(scheme: InstaHide, images: int, rounds: int, seed: int) -> tuple[EncodedRelease, MixingSecret]:
    """Hide, and give the attacker what he knows."""
    private = normalise(load("cifar10").take(slice(FIRST, FIRST + images)), "channel")
    patches = load("patches:tinyimagenet", size=private.shape[1:], labelled=False).take(slice(0, PUBLIC))
    public = normalise(patches, private.normalisation)
    release, secret = scheme.hide(private, public if scheme.mixes_public else None, seeded(seed), rounds)
    return replace(secret.reveal(release, ("sources", "weights")), own=public), secret


def measured(scheme: InstaHide, images: int, rounds: int, known: bool, oracle: bool, seed: int) -> dict[str, Any]:
    """Hide, solve, and judge every image."""
    attack: Attack[EncodedRelease] = PhaseRetrieval(searches=3 if known else 0)
    release, secret = hidden(scheme, images, rounds, seed)
    if oracle:
        rows = release.encoded.pixels() * secret.signs()
        plain = Mixup(scheme.k, scheme.k_private, scheme.largest)
        release = replace(release, encoded=replace(release.encoded, images=rows), scheme=plain)
        attack = LinearInversion(prior="public")
    evidence = run(attack, release, seeded(seed + 10))
    scores = {score.metric: score.values for score in judge(evidence, secret, seeded(seed + 20), METRICS).scores}
    return {
        **{name: float(values.nanmean()) for name, values in scores.items()},
        "seconds": evidence.seconds,
        "memory in GB": evidence.memory / 2**30,
        **{f"own: {name}": value for name, value in evidence.remarks.items()},
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every case with every seed, and with its mask taken off."""
    for name, (scheme, images, rounds, known) in CASES.items():
        for oracle in (False, True):
            if oracle and (known or images > 100):
                continue
            for seed in SEEDS if images <= 100 or scale == "paper" else SEEDS[:1]:
                settings = {"scheme": to_json(scheme), "images": images, "rounds": rounds, "known": known}
                settings |= {"oracle": oracle, "first": FIRST, "public": PUBLIC, "seed": seed}
                run_it = partial(measured, scheme, images, rounds, known, oracle, seed)
                title = f"phases: {name}{', signs known' if oracle else ''}, seed {seed}"
                yield Trial("phase-retrieval", title, settings, run_it, judged=True)


def main() -> None:
    """Measure what is missing."""
    asked = tyro.cli(Study, description=__doc__)
    path = asked.json or HERE / "results" / f"breaking-phases-{asked.scale}.json"
    Ledger.open(path, "Images under masks, the mix being known").measure(
        chosen(trials(asked.scale), asked.only), asked.stale
    )


if __name__ == "__main__":
    main()
