"""The fixed splits of a benchmark, loaded: what is attacked, what is learnt from, what attackers have."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from hideseek.audit import Learning, Question
from hideseek.audit.utility import TrainingPlan
from hideseek.bench.protocol import KNOWN, Protocol
from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.errors import BadInput
from hideseek.hide.named import schemes
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.chains import chains
from hideseek.models import build
from hideseek.records import Encoder, Normalisation, Samples
from hideseek.records.gallery import anonymous
from hideseek.records.shared_model import SharedModel
from hideseek.train.training import automatic
from hideseek.train.worker import torch_seed

SPLIT = 2026  # the number that all splits are drawn from
UNLIMITED = 1e7  # seconds: no attack is shortened
NOTHING = "none"  # hidden, in the track of rows


@dataclass(frozen=True)
class Problem:
    """The images of a protocol, in their parts."""

    protocol: Protocol
    private: Samples
    others: Samples
    """Candidates that are not private."""
    own: Samples
    public: Samples | None
    """What is mixed into private images, as these are normalised."""
    learning: Learning

    def question(self, name: str, scheme: Encoder) -> Question:
        """Ask what leaks from the private images, with no limit of time."""
        protocol = self.protocol
        return Question(
            self.private,
            {name: scheme},
            self.public if scheme.mixes_public else None,
            self.own,
            protocol.rounds,
            {each: KNOWN[each] for each in protocol.attacks},
            UNLIMITED,
            addresses={
                "private": protocol.judged,
                "public": protocol.beside,
                "own": protocol.beside,
                "others": protocol.judged,
            },
            others=self.others,
        )

    @property
    def training(self) -> TrainingPlan:
        """Say how long everybody is trained; clients of federated learning go down the gradient that they share."""
        protocol = self.protocol
        usual = automatic(protocol.learnt, descends=protocol.track == "updates")
        return TrainingPlan(replace(usual, epochs=protocol.epochs), protocol.epochs)


def problem(protocol: Protocol) -> Problem:
    """Load the images of a protocol, and divide them: always in the same way."""
    judged, beside = load(protocol.judged), load(protocol.beside)
    private, others, test = _parts(judged, protocol.private, protocol.private, protocol.tested)
    train, public, own = _parts(beside, protocol.learnt, protocol.public, protocol.own)
    private, train = normalise(private, "channel"), normalise(train, "channel")
    return Problem(
        protocol,
        private,
        normalise(anonymous(others), private.normalisation),
        normalise(anonymous(own), private.normalisation),
        _mixed_in(public, private.normalisation),
        Learning(
            train,
            normalise(test, train.normalisation),
            _mixed_in(public, train.normalisation),
            protocol.beside,
            protocol.model or None,
        ),
    )


def _parts(samples: Samples, *counts: int) -> list[Samples]:
    """Divide a set into parts of these sizes, by a fixed order."""
    if sum(counts) > len(samples):
        raise BadInput(f"the benchmark takes {sum(counts):,} images of a set that has {len(samples):,}.")
    order = seeded(SPLIT).permutation(len(samples))
    parts, start = [], 0
    for count in counts:
        parts.append(samples.take(order[start : start + count]))
        start += count
    return parts


def _mixed_in(public: Samples, normalisation: Normalisation) -> Samples | None:
    return normalise(anonymous(public), normalisation) if len(public) else None


def named(names: str, problem: Problem) -> Mapping[str, Encoder | None]:
    """Give the ways of sharing that were named, with commas between; none: images are shared as they are."""
    protocol, private = problem.protocol, problem.private
    if protocol.track == "rows":
        asked = [name.strip() for name in names.split(",")]
        hidden = schemes(",".join(name for name in asked if name != NOTHING))
        return {**({NOTHING: None} if NOTHING in asked else {}), **hidden}
    make = partial(build, protocol.model, private.shape, private.labels.shape[1])
    with torch_seed(SPLIT):
        start = SharedModel(protocol.model, make, make().state_dict())
    return {
        name: ShareUpdates(
            protocol.model, protocol.batch, encoding=chain.encoding, defences=chain.defences, start=start
        )
        for name, chain in chains(names).items()
    }
