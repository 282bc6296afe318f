"""Figure 8: digits behind the six-layer ConvNet, one in a batch, under pruning up to p = 0.9999 and under encodings.

The attacker knows labels, and the indices and weights of what was mixed. The paper's own judgement is by eye: digits
are recognisable below p = 0.9999, under MixUp, and hardly under InstaHide with pruning.

    python studies/gradient_inversion.py --only figure8
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import torch
from inversion.columns import BOUND
from inversion.measured import attacked, file_name
from inversion.table5 import ROUNDS, WAYS, Way, adaptive, decoding, published
from ledger import Trial

from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.files.schemes import to_json
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.pruning import GradientPruning
from hideseek.records import Attack, Samples

DIGITS = 10  # one of each class
FIRST = 20_000
STEPS = {"cpu": 300, "paper": 10_000}
DECODING_STEPS = {"cpu": 100, "paper": 10_000}


@dataclass(frozen=True)
class Defended:
    """What a client does to its digits, and to their gradients."""

    p: float | None = None
    encoding: RecipeEncoder | None = None

    def scheme(self) -> ShareUpdates:
        """Give the client."""
        defences = () if self.p is None else (GradientPruning(self.p),)
        return ShareUpdates("convnet", 1, mode="eval", encoding=self.encoding, defences=defences)


PRUNED = (0.5, 0.7, 0.9, 0.95, 0.99, 0.999, 0.9999)
CASES: Mapping[str, Defended] = {
    "none": Defended(),
    **{f"p={p:g}": Defended(p) for p in PRUNED},
    "mixup k=4": Defended(encoding=Mixup(k=4, largest=BOUND)),
    "mixup k=6": Defended(encoding=Mixup(k=6, largest=BOUND)),
    "intra-instahide k=4": Defended(encoding=InstaHide(k=4, largest=BOUND)),
    "intra-instahide k=6": Defended(encoding=InstaHide(k=6, largest=BOUND)),
    "p=0.99 + mixup k=4": Defended(0.99, Mixup(k=4, largest=BOUND)),
    "p=0.99 + intra-instahide k=4": Defended(0.99, InstaHide(k=4, largest=BOUND)),
}


@cache
def digits() -> Samples:
    """Give a digit of each class, none of the attacker's."""
    some = load("mnist").take(slice(FIRST, FIRST + 1000))
    classes = some.labels.argmax(1)
    chosen = torch.tensor([int((classes == each).nonzero()[0, 0]) for each in range(DIGITS)])
    return normalise(some.take(chosen), own_digits().normalisation)


@cache
def own_digits(count: int = 2000) -> Samples:
    """Give digits of the attacker's own."""
    return normalise(load("mnist").take(slice(0, count)), "channel")


def trials(scale: str) -> Iterator[Trial]:
    """Give every defence, against the paper's strongest attacker, who decodes encodings of several epochs, and ours."""
    steps = STEPS[scale]
    for way, (name, case) in product(WAYS, CASES.items()):
        attack: Attack[Any] = (
            published("strongest", steps) if way == "published" else adaptive("strongest", steps)["ours"]
        )
        rounds = 1
        if case.encoding is not None:
            attack, rounds = decoding(way, "strongest", DECODING_STEPS[scale]), ROUNDS[scale]
        about = {"scheme": to_json(case.scheme()), "steps": steps, "digits": DIGITS, "rounds": rounds, "seed": 0}
        run_it = partial(_measured, case, attack, rounds, title(name, way))
        yield Trial("figure8", title(name, way), about, run_it, judged=True)


def title(name: str, way: Way) -> str:
    """Name a trial."""
    return f"figure8: {name}" if way == "published" else f"figure8 {way}: {name}"


def _measured(case: Defended, attack: Attack[Any], rounds: int, name: str) -> dict[str, Any]:
    own, picture = own_digits(), file_name(name)
    return attacked(case.scheme(), digits(), attack, DIGITS, own=own, rounds=rounds, picture=picture)
