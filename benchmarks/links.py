"""How well rows that share an image are told from others: by labels, by pixels, and by both.

For each release, the mean AUC over 50 rows of: labels alone (⟨ỹ, ỹ′⟩, and how many images two rows share on average
given their labels), products of white absolute values, products of white rows (squares under a mask), the same with
pairs of no common class last, and the log odds of `seek/signals/links.py`. Run it with the folder of CIFAR-10 and
Tiny-ImageNet in HIDESEEK_DATA; without it, only the embedded faces are linked.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Links, MixingEncoder, Samples
from hideseek.score.links import auc, sharing
from hideseek.seek.signals.links import RowClasses, links, unsigned_rows, white_rows

QUERIES, NEAREST = 50, 10


def measured(scheme: MixingEncoder, private: Samples, public: Samples | None, rounds: int) -> dict[str, Any]:
    """Hide some images, and tell how well each score links their rows."""
    release, secret = scheme.hide(private, public, seeded(1), rounds)
    queries = seeded(2).permutation(len(release.encoded))[:QUERIES]
    rows = unsigned_rows(release)
    unit = functional.normalize(white_rows(rows - rows.mean(0)))
    both = links(unit, release, queries)
    other = torch.arange(len(rows)) != queries[:, None]
    classes = RowClasses.of(release)
    rates = torch.stack([classes.shared(int(row), slice(None), len(classes.sizes))[0].sum(0) for row in queries])
    products, labels = unit[queries] @ unit.T, release.encoded.labels
    shares = sharing(both, secret).view(len(queries), -1)

    def found(scores: Tensor) -> dict[str, float]:
        flat = scores if scores.dim() == 1 else scores[other]
        area = auc(Links(both.first, both.second, flat), secret)
        nearest = flat.view(len(queries), -1).topk(NEAREST, 1).indices
        right = shares.gather(1, nearest).float().mean()
        return {"auc": round(float(area.mean()), 3), f"of {NEAREST} nearest": round(float(right), 3)}

    told = {"share": round(float(shares.float().mean()), 3)}
    scores = {"label products": labels[queries] @ labels.T, "label rates": rates}
    if scheme.masked:
        absolute = release.encoded.pixels().abs()
        plain = functional.normalize(white_rows(absolute - absolute.mean(0)))
        scores["absolute values"] = plain[queries] @ plain.T
    scores |= {"white": products, "white, gated": products - 10 * (rates <= 0), "log odds": both.scores}
    return told | {name: found(each) for name, each in scores.items()}


def trials(*, quick: bool) -> dict[str, tuple[MixingEncoder, Samples, Samples | None, int]]:
    """Give the releases."""
    faces = normalise(load("faces"), "channel")
    given: dict[str, tuple[MixingEncoder, Samples, Samples | None, int]] = {
        "faces, InstaHide inside, k=4, T=5": (InstaHide(), faces, None, 5)
    }
    if quick:
        return given
    given |= {
        "faces, InstaHide inside, k=4, T=10": (InstaHide(), faces, None, 10),
        "faces, Mixup, k=2, T=5": (Mixup(), faces, None, 5),
    }
    if os.environ.get("HIDESEEK_DATA"):
        photographs = normalise(load("cifar10", labelled=True).take(slice(20000, 20100)), "channel")
        public = load("patches:tinyimagenet?each=1", size=(32, 32), channels=3, labelled=False).take(slice(0, 10000))
        public = normalise(public, photographs.normalisation)
        name = "CIFAR-10, "
        given |= {
            f"{name}InstaHide cross, k=4, T=20": (InstaHide(k=4, k_private=2), photographs, public, 20),
            f"{name}InstaHide cross, k=6, T=20": (InstaHide(k=6, k_private=2), photographs, public, 20),
            f"{name}InstaHide cross, k=4, T=50": (InstaHide(k=4, k_private=2), photographs, public, 50),
            f"{name}InstaHide inside, k=4, T=10": (InstaHide(), photographs, None, 10),
            f"{name}Mixup, k=4, T=5": (Mixup(k=4), photographs, None, 5),
        }
    return given


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = {}
    for name, trial in trials(quick=asked.quick).items():
        found[name] = measured(*trial)
        print(name, json.dumps(found[name]), flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
