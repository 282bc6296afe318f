"""Single rows decoded into bytes: how many images come back, and what coarser rows and labels leave of it.

The private images are CIFAR-10's from 20,000 on; settings were chosen on the first thousand. All rows count, also those
whose images share a class, or whose weights stay unknown. The attacker has no images of his own.

    python studies/breaking/byte_decoding.py
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import tyro

sys.path.insert(0, str(Path(__file__).parents[1]))  # run by itself, beside the other studies' modules
from ledger import HERE, Ledger, Study, Trial, chosen

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, RecipeEncoder
from hideseek.hide.files.schemes import to_json
from hideseek.records import EncodedRelease
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, run

FIRST = 20_000  # private image
ROWS = {"cpu": 200, "paper": 1000}
SEEDS = (0, 1, 2)
SCHEMES: dict[str, RecipeEncoder] = {
    "mixup, k=2": Mixup(k=2, largest=0.65),
    "instahide, k=2": InstaHide(k=2),
    "mixup, k=3": Mixup(k=3, largest=0.65),
    "instahide, k=3": InstaHide(k=3),
}
METRICS = ("recovered", "recovered-of-sure", "correlation")
SHARED = {"as they are": SCHEMES, "float16 rows": ("k=2",), "labels of two decimals": ("k=2",), "no labels": ("k=2",)}


def coarser(release: EncodedRelease, how: str) -> EncodedRelease:
    """Share less: rows as float16, or labels of two decimals, or none."""
    encoded = release.encoded
    if how == "float16 rows":
        encoded = replace(encoded, images=encoded.images.half().float())
    elif how == "labels of two decimals":
        encoded = replace(encoded, labels=encoded.labels.mul(100).round().div(100))
    elif how == "no labels":
        encoded = replace(encoded, labels=torch.empty(len(encoded), 0), classes=())
    return replace(release, encoded=encoded)


def measured(scheme: RecipeEncoder, how: str, rows: int, seed: int) -> dict[str, Any]:
    """Hide, decode every row, and judge every guess."""
    private = normalise(load("cifar10").take(slice(FIRST, FIRST + rows)), "channel")
    release, secret = scheme.hide(private, None, seeded(seed))
    evidence = run(ATTACKS["byte-decoding"], coarser(release, how), seeded(seed + 10))
    scores = {score.metric: score.values for score in judge(evidence, secret, seeded(seed + 20), METRICS).scores}
    return {
        **{name: float(values.nanmean()) for name, values in scores.items()},
        "at 0.9": float((scores["correlation"] >= 0.9).float().mean()),
        "seconds a row": evidence.seconds / rows,
        **{f"own: {name}": value for name, value in evidence.remarks.items()},
    }


def trials(scale: str) -> Iterator[Trial]:
    """Give every scheme, shared in every way that is compared, with every seed."""
    for how, which in SHARED.items():
        for name, scheme in SCHEMES.items():
            if any(part in name for part in which):
                for seed in SEEDS:
                    settings = {
                        "scheme": to_json(scheme),
                        "how": how,
                        "rows": ROWS[scale],
                        "first": FIRST,
                        "seed": seed,
                    }
                    run_it = partial(measured, scheme, how, ROWS[scale], seed)
                    yield Trial("byte-decoding", f"bytes: {name}, {how}, seed {seed}", settings, run_it, judged=True)


def main() -> None:
    """Measure what is missing."""
    asked = tyro.cli(Study, description=__doc__)
    path = asked.json or HERE / "results" / f"breaking-bytes-{asked.scale}.json"
    Ledger.open(path, "Rows decoded into bytes").measure(chosen(trials(asked.scale), asked.only), asked.stale)


if __name__ == "__main__":
    main()
