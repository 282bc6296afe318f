"""A client of federated learning: images stay at home, and what they change in a model is shared."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import get_args

import torch
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.hide.encoders.base import RecipeEncoder
from hideseek.hide.updates.changes import described, stronger_settings
from hideseek.hide.updates.planned import planned_network
from hideseek.hide.updates.recomputed import Recomputed
from hideseek.hide.updates.update_files import read_update_secret, read_updates, write_updates
from hideseek.models import MODELS, build
from hideseek.progress import track
from hideseek.records import Samples, Task
from hideseek.records.defence import Defence
from hideseek.records.encoder import Change, Encoder, Known, Trial
from hideseek.records.shared_model import NetworkSize, SharedModel
from hideseek.records.spent import Spent
from hideseek.records.update_encoder import LocalWork, Mode, Sent, UpdateEncoder, WorkPart
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.train.batch_statistics import batch_norms
from hideseek.train.gradients import gradient, local_steps, parameters_of
from hideseek.train.state_files import state_digest
from hideseek.train.worker import torch_seed

IMAGES, FEWEST = 16, 8  # images of a weak case: most, and however large the model is
LARGE, FEWER = 1e6, 12  # multiplications of an image, from which on a weak case has fewer: enough for tests to decide
TRIAL_BYTES = 1 << 30  # of the updates of a weak case
TRIAL_ROUNDS = 10  # of a weak case of encodings
SLOWER, WRITING = 5.0, 100.0  # times a large matrix product: passes of small batches; multiplications a number on disk


@dataclass(frozen=True)
class ShareUpdates(UpdateEncoder, mechanism="updates"):
    """Share, for each batch of images, the gradient of the loss, or the weights after local steps.

    Images may be encoded before, every round anew, and the update may be pruned, clipped, or rounded after (InstaHide
    §4 and §5.3; Huang et al. 2021, Table 5). In each round every image is in one update; the last may be smaller.
    """

    model: str = "convnet"
    """The architecture, by its name."""
    batch: int = 1
    """Images of a gradient."""
    local_steps: int = 1
    """Gradients that a client steps by before it sends."""
    local_epochs: int = 1
    """How often it sees its images before it sends."""
    rate: float = 0.01
    """The learning rate of local steps."""
    sends: Sent = "gradient"
    """The gradient, or the weights after local steps."""
    mode: Mode = "train"
    """Whether batch norm takes the statistics of the batch (train) or running ones (eval)."""
    encoding: RecipeEncoder | None = None
    """How images are encoded before gradients are taken."""
    defences: tuple[Defence, ...] = ()
    """What is done to the update, in this order."""
    trained: bool = False
    """Whether the model was trained before: gradients of one that was are smaller, and tell other things."""
    epochs: int | None = None
    """Epochs that it was trained for, where that is known."""
    start: SharedModel | None = field(default=None, compare=False, repr=False)
    """The model that the server sent; None: freshly initialised."""
    unknown: tuple[WorkPart, ...] = field(default=(), compare=False)
    """What of the local work nobody told, where updates were imported: numbers are stand-ins there."""

    def __post_init__(self) -> None:
        for name in ("batch", "local_steps", "local_epochs"):
            if getattr(self, name) < 1:
                raise BadInput(f"{name} must be 1 or more, not {getattr(self, name)}.")
        for name, known in (("mode", get_args(Mode)), ("sends", get_args(Sent))):
            if getattr(self, name) not in known:
                raise BadInput(f"{name} must be {' or '.join(known)}, not {getattr(self, name)!r}.")
        if not 0 < self.rate < float("inf"):
            raise BadInput(f"rate, the learning rate of local steps, must be above 0 and finite, not {self.rate}.")
        if self.sends == "gradient" and not self.work.one_gradient:
            raise BadInput("a client that takes several local steps sends weights, not a gradient: set sends=weights.")

    @property
    def work(self) -> LocalWork:
        """Tell what a client does between two messages."""
        return LocalWork(self.batch, self.local_steps, self.local_epochs, self.rate, self.unknown)

    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
    ) -> tuple[UpdateRelease, UpdateSecret]:
        """Share every private image once a round.

        Deviation: attacks on updates know no public images yet, so that schemes that mix them are refused here; a
        client of a federation may mix them (`batches`).
        """
        if self.encoding is not None and self.encoding.mixes_public:
            raise BadInput("clients mix their own images alone here: choose a scheme without public images.")
        scheme = self.with_estimates(private, public, chance)
        if self.encoding is not None:
            scheme = replace(scheme, encoding=self.encoding.for_rounds(rounds))
        model = scheme.start
        assert model is not None  # noqa: S101 (filled in above)
        parts, sources, weights, round_of = [], [], [], []
        for number in range(rounds):
            for rows, images, shares in scheme.batches(private, chance):
                parts.append(rows)
                sources.append(images)
                weights.append(shares)
                round_of.append(number)
        sent = [scheme.update(model, rows, chance) for rows in track(parts, "updates")]
        release = UpdateRelease(
            tuple(update for update, _ in sent),
            (model,),
            scheme,
            private.shape,
            private.labels.shape[1],
            private.normalisation,
            tuple(len(rows) for rows in parts),
            tuple(buffers for _, buffers in sent) if self.sends == "weights" else None,
            seed=chance.seed,
        )
        masked = self.encoding is not None and self.encoding.masked
        again = Recomputed(model, self.mode, tuple(parts), scheme, chance.seed)
        pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
        truth = pad(sources, padding_value=-1), pad(weights), torch.tensor(round_of)
        return release, UpdateSecret(private, *truth, masked, again)

    def spends(self, images: int, rounds: int) -> Spent:
        """Give the least that is proved: by the encoding, or by a defence, whose μ² adds over an image's updates.

        What comes after either is computed from what it gave. An image is in one update of a round; where images are
        mixed first, it may be in all. Running statistics that are sent beside an update are outside of this, and so is
        the number of images.
        """
        by_encoding = Spent() if self.encoding is None else self.encoding.spends(images, rounds)
        updates = rounds * (1 if self.encoding is None else math.ceil(images / self.work.images))
        each = [defence.spends() for defence in self.defences]
        found = [Spent(one.proof, updates * one.mu2) for one in each if one.mu2 is not None]
        return min([*found, *[by_encoding][: by_encoding.proved]], key=_strength, default=Spent())

    def batches(
        self, private: Samples, chance: Randomness, public: Samples | None = None
    ) -> Iterator[tuple[Samples, Tensor, Tensor]]:
        """Give the rows of each update of one round, the private images in them, and their weights."""
        if self.encoding is None:
            order = chance.permutation(len(private))
            rows, sources, weights = private.take(order), order[:, None], torch.ones(len(private), 1)
        else:
            encoded, secret = self.encoding.hide(private, public, chance)
            rows, sources = encoded.encoded, secret.sources
            weights = secret.weights[:, : sources.shape[1]]
        for start in range(0, len(rows), self.work.images):
            some = slice(start, start + self.work.images)
            yield rows.take(some), sources[some], weights[some]

    def update(
        self, model: SharedModel, rows: Samples, chance: Randomness, *, proximal: float = 0.0
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Compute what is sent for some rows; `proximal` keeps local steps near the model (FedProx)."""
        network = model.network().train(self.mode == "train")
        before, images = parameters_of(network), rows.pixels()
        with torch_seed(int.from_bytes(chance.bytes(6), "little")):  # of dropout
            if self.sends == "gradient":
                update = gradient(network, before, images, rows.labels)
            else:
                after = local_steps(
                    network, before, images, rows.labels, self.batch, self.local_epochs, self.rate,
                    order=chance.permutation if self.local_epochs > 1 else None, proximal=proximal,
                )  # fmt: skip
                update = {name: (before[name] - after[name]).detach() for name in before}
        for defence in self.defences:
            update = defence.apply(update, chance)
        return update, {name: tensor.detach().clone() for name, tensor in network.named_buffers()}

    def write(
        self, private: Samples, public: Samples | None, chance: Randomness, folder: Path, secret: Path, rounds: int = 1
    ) -> None:
        """Share into a folder, and keep the ground truth in a file."""
        release, truth = self.hide(private, public, chance, rounds)
        write_updates(folder, release, secret, truth)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[UpdateRelease, UpdateSecret]:
        """Read what was written, after checking it."""
        release = read_updates(folder)
        return release, read_update_secret(secret, folder, release)

    def with_estimates(self, private: Samples, public: Samples | None, chance: Randomness) -> "ShareUpdates":
        """Initialise the model, where none is given."""
        classes = private.labels.shape[1]
        if classes < 2:
            raise BadInput("updates are gradients of a classifier's loss: use images of two classes or more.")
        if self.start is not None:
            return self
        make = partial(build, self.model, private.shape, classes)
        with torch_seed(int.from_bytes(chance.bytes(6), "little")):
            state = make().state_dict()
        return replace(self, start=SharedModel(self.model, make, state))

    def network_size(self, private: Samples) -> NetworkSize:
        """Count what the model takes for one image."""
        return planned_network(self.model, private.shape, private.labels.shape[1], self.start)

    def planned_size(
        self, private: Samples, public: Samples | None = None, own: Samples | None = None, rounds: int = 1
    ) -> Task:
        """Tell how large the release will be."""
        together, network = self.work.images, self.network_size(private)
        return Task(
            items=-(-len(private) // together) * rounds,
            images=len(private),
            pixels=private.images[0].numel(),
            own=0 if own is None else len(own),
            images_per_item=together,
            channels=private.shape[0],
            network=network.multiplications,
            parameters=network.parameters,
            batch_statistics=network.batch_norm and self.mode == "train",
        )

    def release_bytes(self, private: Samples, rounds: int) -> int:
        """Count a 32-bit number for every parameter of every update."""
        task = self.planned_size(private, rounds=rounds)
        return 4 * task.items * task.parameters

    def hiding_work(self, private: Samples, rounds: int) -> float:
        """Count three passes an image and step, at the speed of small convolutions, and the writing of updates."""
        task = self.planned_size(private, rounds=rounds)
        passes = 3.0 * task.network * len(private) * rounds * self.local_epochs
        return SLOWER * passes + WRITING * task.items * task.parameters

    def trial(self, private: Samples) -> Trial:
        """Give fewer images to models whose gradients take much room; rounds matter only to encodings."""
        network = self.network_size(private)
        fitting, most = TRIAL_BYTES // (4 * network.parameters), IMAGES if network.multiplications < LARGE else FEWER
        rounds = 1 if self.encoding is None else max(1, min(TRIAL_ROUNDS, fitting // FEWEST))
        return Trial(max(FEWEST, min(most, fitting // rounds)), rounds, noise_rounds=1)

    def weak_size(self, private: Samples, public: Samples | None, own: Samples | None, rounds: int) -> Task:
        """Tell the size of a weak case."""
        return self._weak().planned_size(private, public, own, rounds)

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Share the gradient of one image, undefended; and of one encoding, for attacks that undo encodings.

        Running statistics of batch norm hide less than those of a batch, which an attack has to guess: they come first.
        Where batch norm does not take one image, two are shared. Where what was learnt
        leaves little of a gradient, an attack may show that it works on the model as it was initialised.
        """
        weak = self._weak()
        if self.mode == "train" and self._normalises(images):
            yield replace(weak, mode="eval")
        yield weak if self._takes_one(images, chance) else replace(weak, batch=2)
        if weak.trained and self.model in MODELS:
            yield replace(weak, trained=False, epochs=None, start=None)
        if self.encoding is not None:
            yield replace(weak, encoding=self.encoding)

    def _weak(self) -> "ShareUpdates":
        """Give the weak case; states of one training have one in common, the model as it was before it."""
        plain = replace(
            self, batch=1, local_steps=1, local_epochs=1, sends="gradient", encoding=None, defences=(), unknown=()
        )
        return plain if self.epochs is None else replace(plain, trained=False, epochs=None, start=None)

    def _normalises(self, images: Samples) -> bool:
        """Tell whether there is batch norm in the model."""
        if self.start is not None:
            return bool(batch_norms(self.start.build()))
        return bool(batch_norms(build(self.model, images.shape, images.labels.shape[1])))

    def _takes_one(self, images: Samples, chance: Randomness) -> bool:
        try:
            self._weak().hide(images.take(slice(0, 1)), None, chance)
        except BadInput:
            return False
        return True

    @property
    def weak_kind(self) -> str:
        """Name the weak cases: they are alike for one model, mode and encoding, and for initial weights."""
        encoded = () if self.encoding is None else (self.encoding.mechanism,)
        state = (f"trained-{self._digest[:12]}",) if self.trained and self.epochs is None else ()
        return "-".join(("updates", self.model, self.mode, *state, *encoded))

    def summary(self) -> str:
        """Say what is shared, in words."""
        return described(self)

    def fingerprint(self) -> str:
        """Give a digest of the weights."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return "" if self.start is None else state_digest(self.start.state)

    def stronger(self, rounds: int) -> Iterator[tuple[Change, Encoder, int]]:
        """Give larger batches, more local steps, and stronger or further defences."""
        for change, stronger in stronger_settings(self):
            yield change, stronger, rounds

    def known(self, rounds: int, *, labelled: bool, of_bytes: bool) -> tuple[Known, ...]:
        """Say what is known of the defences."""
        return tuple(known for defence in self.defences for known in defence.known(rounds))


def _strength(spent: Spent) -> float:
    """Order proofs by their μ²; those without one come last."""
    return math.inf if spent.mu2 is None else spent.mu2
