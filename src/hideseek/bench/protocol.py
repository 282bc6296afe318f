"""What is the same for every entry of the benchmark: images, rounds, attacks, training, seeds."""

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from hideseek.seek import ATTACKS, VARIANTS, settings

Track = Literal["rows", "updates"]
KNOWN = {**ATTACKS, **VARIANTS}


@dataclass(frozen=True)
class Protocol:
    """A fixed problem. What is changed in it makes another benchmark, with another name.

    `judged` holds the private images, as many others for a gallery of candidates, and the test images; `beside` what
    everybody may learn from: training images, public ones, and the attacker's own. Settings of attacks were chosen on
    images of `beside` and on other sets: no attack has seen those of `judged`.
    """

    name: str
    track: Track
    judged: str
    """The address of images that are hidden, attacked and tested on."""
    beside: str
    """The address of all other images."""
    private: int
    """Images that are shared and attacked."""
    tested: int
    learnt: int
    """Images that accuracy is learnt from; more than are attacked."""
    public: int
    """Images that cross schemes mix in; attackers have these very images."""
    own: int
    """Images of the attacker's own."""
    rounds: int
    """How often every image is shared."""
    epochs: int
    """Of the training: each with encodings of its own."""
    seeds: tuple[int, ...]
    """Of the trainings; releases and attacks have the first."""
    attacks: tuple[str, ...]
    model: str = ""
    """Of updates: the network, untrained."""
    batch: int = 1
    """Of updates: images of a gradient."""

    @property
    def fingerprint(self) -> str:
        """Tell benchmarks apart: a digest of all that is fixed, with the settings of every attack."""
        described = {**dataclasses.asdict(self), "settings": {name: settings(KNOWN[name]) for name in self.attacks}}
        return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()[:16]


ROWS = Protocol(
    "rows-1",
    "rows",
    "cifar10?split=test",
    "cifar10?split=train",
    private=50,
    tested=5000,
    learnt=10_000,
    public=1000,
    own=1000,
    rounds=10,
    epochs=10,
    seeds=(0, 1, 2),
    attacks=(
        "mixup-pairs",
        "mixup-public",
        "braverman",
        "demask",
        "average-known",
        "average-search",
        "public-search",
        "distinguish",
        "carlini",
        "byte-decoding",
        "unmask-public",
        "smooth-signs",
        "link-shifted",
        "phase-retrieval",
        "link-and-solve",
        "linear-inversion",
        "linear-optimum",
        "linear-optimum-labels",
        "equal-length",
        "unmix-repeats",
        "likelihood-ratio",
    ),
)
UPDATES = Protocol(
    "updates-1",
    "updates",
    "cifar10?split=test",
    "cifar10?split=train",
    private=24,
    tested=5000,
    learnt=10_000,
    public=0,
    own=1000,
    rounds=1,
    epochs=10,
    seeds=(0, 1, 2),
    attacks=(
        "first-layer",
        "gradient-matching",
        "gradient-matching-known",
        "gradient-matching-own",
        "learned-inversion",
        "labels-from-gradient",
        "decode-known",
        "decode-blind",
        "imprint",
        "imprint-crafted",
    ),
    model="lenet",
)
BENCHMARKS: dict[Track, Protocol] = {"rows": ROWS, "updates": UPDATES}
"""Those that have a leaderboard."""
STANDARD: dict[Track, tuple[str, ...]] = {
    "rows": (
        "none",
        "mixup",
        "mixup:k=4",
        "mixup-cross",
        "laplace",
        "instahide-inside",
        "instahide-inside:k=6",
        "instahide-inside:labels=drawn:rows=int8",
        "instahide-cross",
        "instahide-cross:k=6",
        "instahide-pair",
        "singularized-mixup",
        "singularized-mixup:tau=1e-4",
        "gaussian-mixup",
        "gaussian-mixup:epsilon=3",
    ),
    "updates": (
        "none",
        "gradient-pruning:p=0.9",
        "gradient-pruning:p=0.99",
        "gradient-noise:noise=0.01",
        "gradient-noise:noise=1",
        "sign",
        "quantised",
        "mixup:k=4",
        "intra-instahide:k=4",
        "intra-instahide:k=4+gradient-pruning:p=0.9",
    ),
}
"""What leaderboards have from the beginning."""
QUICK: dict[Track, Protocol] = {
    "rows": dataclasses.replace(
        ROWS,
        name="rows-quick",
        judged="photos?split=test",
        beside="photos",
        private=12,
        tested=200,
        learnt=300,
        public=60,
        own=100,
        rounds=4,
        epochs=1,
        seeds=(0,),
        attacks=("mixup-pairs", "average-known", "linear-inversion", "phase-retrieval", "likelihood-ratio"),
    ),
    "updates": dataclasses.replace(
        UPDATES,
        name="updates-quick",
        judged="photos?split=test",
        beside="photos",
        private=8,
        tested=200,
        learnt=300,
        own=100,
        epochs=1,
        seeds=(0,),
        attacks=("gradient-matching", "labels-from-gradient"),
    ),
}
"""The same on a few embedded photographs, with few attacks: an entry of it says nothing."""
PROTOCOLS = {protocol.name: protocol for protocol in (*BENCHMARKS.values(), *QUICK.values())}
