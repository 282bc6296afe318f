"""Singularized Mixup ("Augmented Mixup Procedure for Privacy-Preserving Collaborative Training"): its claims, measured.

Attacks: Table 1, the linear one (`singularized_attacks.py`); Table 2, the U-Net, Figures 1 to 3, and images at 224
pixels (`singularized_images.py`).

Accuracy: Table 3, one party, and Table 4, many. Parties share features of a public network, hidden at the radius that
Theorem 4.2 asks for in the space that is shared; what was trained on them is tested on clean features.

    python studies/singularized.py                  everything, on a processor (about an hour on one core)
    python studies/singularized.py --only table4    one item
    python studies/singularized.py --stale          again what was judged by older rules (about seven minutes)
    python studies/singularized.py --render         the tables again, from what was measured
    python studies/singularized.py --scale paper    all images at 224 pixels and the paper's epochs, for a GPU
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import singularized_attacks
import singularized_findings
import singularized_images
import singularized_means
import torch
import tyro
from ledger import HERE, Ledger, Study, Trial, chosen
from singularized_features import (
    EXTRACTOR,
    JOINED,
    MODEL,
    PARTIES,
    PLAIN,
    ROWS,
    SCALES,
    SETS,
    WAYS,
    Hiding,
    Scale,
    Set,
    Way,
    bound,
    estimated,
    features,
)
from singularized_findings import cell, union_cell

from hideseek.chance import seeded
from hideseek.data import split_evenly
from hideseek.learn import Plain, Reencoded, accuracy, learn, predict
from hideseek.records import Samples
from hideseek.train.training import Training


def trials(scale: Scale) -> Iterator[Trial]:
    """List what is to be measured, the first seed of everything first."""
    for seed in range(scale.seeds):
        for name in SETS:
            for hiding in ROWS[name]:
                for way in WAYS[:1] if hiding == PLAIN else WAYS:
                    yield alone(name, hiding, way, seed, scale)
        if seed == 0:
            for parties in PARTIES:
                for hiding in (PLAIN, *JOINED):
                    yield together(parties, hiding, scale)


def settings(name: Set, hiding: Hiding, training: Training, seed: int, scale: Scale) -> dict[str, Any]:
    """Say what decides the outcome of a trial."""
    return {
        "data": name,
        "images": scale.images,
        "features": f"{EXTRACTOR} at {scale.side}, centred",
        "hiding": [hiding.kind, hiding.value],
        "model": MODEL,
        "training": repr(training),
        "seed": seed,
    }


def alone(name: Set, hiding: Hiding, way: Way, seed: int, scale: Scale) -> Trial:
    """Describe a training on the features of one party (Table 3)."""
    training = scale.training[name]

    def run() -> dict[str, Any]:
        train, test = features(name, scale)
        scheme, keys = hiding.scheme(scale), seeded(1000 + seed)
        if scheme is None:
            return outcome(Plain(train), training, seed, test)
        scheme = estimated(scheme, train, keys)
        if way == "one encoding":
            result = outcome(Plain.of(scheme.hide(train, None, keys)[0]), training, seed, test)
        else:
            result = outcome(Reencoded(train, scheme), training, seed, test)
        return result | {"radius": round(scheme.radius or 0.0, 2), "tau": float(f"{bound(scheme, train):.3g}")}

    described = settings(name, hiding, training, seed, scale) | {"way": way}
    return Trial("table3", cell(name, hiding, way, seed), described, run)


def together(parties: int, hiding: Hiding, scale: Scale) -> Trial:
    """Describe a training on what all parties hid, each for itself, or on the features of party 0 (Table 4)."""
    training = scale.local if hiding.kind == "plain" else scale.training["cifar10"]

    def run() -> dict[str, Any]:
        train, test = features("cifar10", scale)
        parts = split_evenly(train, parties, seeded(0))
        scheme = hiding.scheme(scale)
        if scheme is None:
            return outcome(Plain(parts[0]), training, 0, test) | {"images": len(parts[0])}
        schemes = [estimated(scheme, part, seeded(1000 + party)) for party, part in enumerate(parts)]
        hidden = [
            known.hide(part, None, seeded(2000 + party))[0].encoded
            for party, (known, part) in enumerate(zip(schemes, parts, strict=True))
        ]
        union = replace(
            hidden[0],
            images=torch.cat([part.images for part in hidden]),
            labels=torch.cat([part.labels for part in hidden]),
        )
        radii = [known.radius or 0.0 for known in schemes]
        return outcome(Plain(union), training, 0, test) | {"radii": [round(min(radii), 2), round(max(radii), 2)]}

    described = settings("cifar10", hiding, training, 0, scale) | {"parties": parties}
    return Trial("table4", union_cell(parties, hiding), described, run)


def outcome(source: Plain | Reencoded, training: Training, seed: int, test: Samples) -> dict[str, Any]:
    """Train, and give the accuracy on clean features, as they are and made as long as the rows that were trained on.

    The second is not the paper's. Noise makes the rows up to a thousand times longer than the features that the model
    is asked about, of which BatchNorm, fitted to the rows, leaves nothing. Two mean lengths repair that; they are
    public.
    """
    learnt = learn(source, MODEL, training, chance=seeded(seed))
    rows = source.samples
    if isinstance(source, Reencoded):
        rows = source.encoder.hide(rows, None, seeded(seed))[0].encoded
    factor = math.sqrt(float(rows.pixels().square().mean() / test.pixels().square().mean()))
    longer = replace(test, scale=factor * test.scale, shift=factor * test.shift)
    asked = {"accuracy": test, "lengthened accuracy": longer}
    return {
        **{key: round(100 * accuracy(predict(learnt.trained, each), test.labels), 2) for key, each in asked.items()},
        "lengthened by": round(factor, 3),
        "loss": round(learnt.history[-1]["loss"], 4),
        "images_per_second": round(learnt.history[-1]["images_per_second"]),
    }


def main() -> None:
    """Measure what is missing, and write the tables and the figure."""
    asked = tyro.cli(Study, description=__doc__)
    path = asked.json or HERE / "results" / f"singularized-{asked.scale}.json"
    ledger, scale = Ledger.open(path, "Singularized Mixup"), SCALES[asked.scale]
    try:
        if not asked.render:
            others = [*singularized_means.trials(scale), *singularized_attacks.trials(asked.scale)]
            others += singularized_images.trials(asked.scale)
            ledger.measure(chosen([*trials(scale), *others], asked.only), asked.stale)
    finally:
        render(ledger, scale, path)


def render(ledger: Ledger, scale: Scale, path: Path) -> None:
    """Write the findings as Markdown and a picture."""
    parts = [
        f"# {ledger.title}\n\nEvery figure is in `{path.name}`, with its settings, seed and commit.\n",
        *singularized_findings.sections(ledger, scale, path),
        singularized_attacks.section(ledger, path),
        singularized_images.section(ledger, path, singularized_attacks.optima(ledger)),
        ledger.legend("singularized.py"),
    ]
    path.with_suffix(".md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
