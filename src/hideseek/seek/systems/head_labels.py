"""The labels of an update from the gradient of the last layer.

With logits z = W f + b and cross-entropy, ∂L/∂b = mean_i (p_i − y_i) =: e and ∂L/∂W = mean_i (p_i − y_i) f_i', with p
the softmax of z. For one image f = (∂L/∂W)_c / e_c for any class c, so that p, and y = p − e, follow exactly, soft
labels too. For several, mean y = mean p − e, and mean p is what the model says of images of these classes: of the
attacker's own, or of noise. In an untrained model that is nearly the same for all images, so that counts are right once
they are rounded (Yin et al. 2021; Geng et al. 2021).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import Mode
from hideseek.records.update_release import UpdateRelease
from hideseek.seek.systems.batch_sizes import LIKELY, BatchSize, least_size, whole_counts, whole_size
from hideseek.train.gradients import explained

PROBES = 256  # images that the model is asked about
TURNS = 20  # of counts and of what the model says of images of such classes
ONE = 1e-4  # how far the head's gradient may be from one image's, as a share of its norm


@dataclass(frozen=True)
class HeadLabels:
    """What a head's gradient says of labels."""

    mean: Float[Tensor, " classes"]
    """Of the labels of an update; it sums to one."""
    exact: bool
    """Whether it follows from one image's gradient."""
    rows: int

    def counts(self) -> Int[Tensor, " classes"]:
        """Round to whole labels, the largest remainders up."""
        return whole_counts(self.mean, self.rows)

    def labels(self, *, hard: bool) -> Float[Tensor, "rows classes"]:
        """Give a label for each row: whole ones, or the mean for all of them, where labels are mixed."""
        if not hard:
            return self.mean.float().expand(self.rows, -1).clone()
        classes = torch.arange(len(self.mean)).repeat_interleave(self.counts())
        return torch.eye(len(self.mean))[classes]


def head_of(model: SharedModel, shape: tuple[int, int, int], mode: Mode) -> str | None:
    """Give the name of the dense layer with a bias whose outputs are the logits; None: there is none."""
    network = model.network().train(mode == "train")
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> object:
        def hook(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            seen[name] = output

        return hook

    dense = {name: each for name, each in network.named_modules() if isinstance(each, nn.Linear)}
    handles = [layer.register_forward_hook(keep(name)) for name, layer in dense.items()]  # type: ignore[arg-type]
    try:
        with torch.no_grad(), explained():
            logits = network(seeded(15).normals(2, *shape))
    finally:
        for handle in handles:
            handle.remove()
    names = [name for name, each in seen.items() if each is logits or torch.equal(each, logits)]
    return next((name for name in reversed(names) if dense[name].bias is not None), None)


class Answers(NamedTuple):
    """What a model says of images."""

    by_class: Float[Tensor, "classes classes"]
    """The mean softmax of images of each class."""
    variance: Float[Tensor, " classes"]
    """Of the softmax of an image, within its class."""
    own: int
    """Images like those sought that were asked about; 0: noise was."""


class HeadReader:
    """Reads the labels of updates of a release off their heads' gradients; a model is asked once for all of them."""

    def __init__(self, release: UpdateRelease) -> None:
        self.release = release
        self._heads: dict[int, str | None] = {}
        self._says: dict[int, Answers] = {}
        self._sizes: dict[int, BatchSize] = {}

    def head(self, item: int) -> str | None:
        """Give the name of the head of an update's model; None: there is none."""
        number = item if len(self.release.models) > 1 else 0
        if number not in self._heads:
            self._heads[number] = head_of(self.release.model(item), self.release.shape, self.release.scheme.mode)
        return self._heads[number]

    def size(self, item: int) -> BatchSize:
        """Give the images of an update, as told or as estimated."""
        if item not in self._sizes:
            self._sizes[item] = self._size(item)
        return self._sizes[item]

    def said(self, items: int) -> list[str]:
        """Say how many images the first updates are of, and how that is known."""
        return [self.size(item).said() for item in range(items)]

    def labels(self, item: int, head: str) -> HeadLabels:
        """Give what the head's gradient says of the labels of an update."""
        rows = self.size(item).count
        exact = self._exact(item, head)
        if exact is not None and (rows == 1 or self.release.sizes is None):
            return HeadLabels(exact, True, 1)
        return HeadLabels(self._mean(item, head)[0], False, rows)

    def _size(self, item: int) -> BatchSize:
        release, work = self.release, self.release.scheme.work
        if release.sizes is not None:
            return BatchSize(release.sizes[item], "", known=True)
        one = release.scheme.sends == "gradient" or work.one_gradient
        if not one and "images" not in work.unknown:
            return BatchSize(work.images, "", known=True)
        head = self.head(item)
        if head is not None and one and not release.scheme.defences and self._exact(item, head) is not None:
            return BatchSize(1, f"the gradient of {head}, which is one image's", likely=True)
        network, allowed = release.model(item).network(), release.scheme.allowed(release.updates[item])
        least = least_size(network, release.shape, allowed, head, one_gradient=one)
        whole = not release.scheme.defences and release.scheme.encoding is None and not release.scheme.scaled
        if head is None or not one or not whole:
            return least
        mean, bias = self._mean(item, head)
        count, share = whole_size(mean, self._answers(item).variance, bias, least.count)
        return BatchSize(count, "labels, which come in whole numbers", likely=True) if share >= LIKELY else least

    def _exact(self, item: int, head: str) -> Float[Tensor, " classes"] | None:
        """Give the label of an update of one image."""
        if self.release.scheme.sends == "weights" and not self.release.scheme.work.one_gradient:
            return None
        weights, bias = self._errors(item, head)
        state = self.release.model(item).state
        layer, shift = state[f"{head}.weight"].double(), state[f"{head}.bias"].double()
        return _one_label(weights, bias, layer, shift, scaled=self.release.scheme.scaled)

    def _errors(self, item: int, head: str) -> tuple[Tensor, Tensor]:
        """Give the gradients of the head's weights and bias, by how far the client moved."""
        work, update, steps = self.release.scheme.work, self.release.updates[item], 1.0
        if self.release.scheme.sends == "weights":  # w_before − w_after = rate · Σ of gradients
            sizes = self.release.sizes
            taken = work.steps if sizes is None else max(1, -(-sizes[item] // work.batch))
            steps = 1.0 if self.release.scheme.scaled else work.rate * work.epochs * taken
        weights, bias = (update[f"{head}.{name}"].double() / steps for name in ("weight", "bias"))
        return weights, bias

    def _mean(self, item: int, head: str) -> tuple[Float[Tensor, " classes"], float]:
        """Give the mean label, and the square of what it may be off by for all images alike.

        Noise is asked about where there are no images. Then the softmax of the mean feature, ∂L/∂W' e / ‖e‖², tells how
        far that can be trusted.
        """
        (weights, bias), says = self._errors(item, head), self._answers(item)
        if self.release.scheme.scaled:
            bias = _as_if_one_were_absent(bias, says.by_class.mean(0))
        mean = torch.full_like(bias, 1 / len(bias))
        for _ in range(TURNS):
            mean = on_simplex(mean @ says.by_class - bias)
        if says.own:
            return mean, float(says.variance.mean()) / says.own
        state = self.release.model(item).state
        feature = weights.T @ bias / bias.square().sum().clamp_min(1e-30)
        at_mean = (state[f"{head}.weight"].double() @ feature + state[f"{head}.bias"].double()).softmax(0)
        return mean, float((at_mean - mean @ says.by_class).square().mean())

    def _answers(self, item: int) -> Answers:
        """Give what the model says of images of each class: after an update other things, where weights were sent."""
        own = len(self.release.models) > 1 or self.release.scheme.sends == "weights"
        number = item if own else 0
        if number not in self._says:
            self._says[number] = _softmax_by_class(self.release, item)
        return self._says[number]


def largest_size(release: UpdateRelease) -> int:
    """Give the images of the largest update, as told or as estimated."""
    reader = HeadReader(release)
    return max(reader.size(item).count for item in range(len(release.updates)))


def recovered_labels(
    release: UpdateRelease, item: int, reader: HeadReader | None = None
) -> Float[Tensor, "rows classes"] | None:
    """Give labels for the rows of an update: known ones, or those that its head shows; None where there is no head.

    Rows have no order: those of one class come after each other. Who reads several updates has a `reader` for all.
    """
    if release.labels is not None:
        return release.labels[item]
    reader = reader or HeadReader(release)
    head = reader.head(item)
    return None if head is None else reader.labels(item, head).labels(hard=release.scheme.encoding is None)


def _as_if_one_were_absent(bias: Tensor, shares: Tensor) -> Tensor:
    """Give e of e · r, r > 0 not known: a class that is absent has e = p, and no class has e > p."""
    return bias / (bias / shares.clamp_min(1e-12)).max().clamp_min(1e-30)


def _one_label(weights: Tensor, bias: Tensor, layer: Tensor, shift: Tensor, *, scaled: bool = False) -> Tensor | None:
    """Give the label of one image exactly: f from the largest entry of the bias, p = softmax(W f + b), y = p − e.

    Scaled: gradients are times a number that is not known, and a class is absent.
    """
    largest = bias.abs().argmax()
    if float(bias[largest].abs()) == 0 or not bool(weights.isfinite().all()):
        return None
    feature = weights[largest] / bias[largest]
    if float((weights - bias[:, None] * feature).norm()) > ONE * float(weights.norm()):
        return None
    shares = (layer @ feature + shift).softmax(0)
    label = shares - (_as_if_one_were_absent(bias, shares) if scaled else bias)
    fits = float(label.min()) > -1e-3 and abs(float(label.sum()) - 1) < 1e-3
    return on_simplex(label) if fits else None


def on_simplex(label: Float[Tensor, " classes"]) -> Float[Tensor, " classes"]:
    """Give the nearest label that sums to one and is nowhere negative (Duchi et al. 2008).

    >>> on_simplex(torch.tensor([0.9, 0.3, -1.0]).double()).round(decimals=4).tolist()
    [0.8, 0.2, 0.0]
    """
    ordered = label.sort(descending=True).values
    count = torch.arange(1, len(label) + 1).to(label)
    excess = (ordered.cumsum(0) - 1) / count
    last = int((ordered > excess).sum()) - 1
    return (label - excess[max(0, last)]).clamp_min(0)


def _softmax_by_class(release: UpdateRelease, item: int) -> Answers:
    """Give what the model says on average of images of each class; before and after, if it moved in between."""
    states: list[Mapping[str, Tensor]] = [release.model(item).state]
    if release.scheme.sends == "weights" and not release.scheme.work.one_gradient:
        moved = {name: states[0][name] - each for name, each in release.updates[item].items()}
        states.append({**states[0], **moved})
    own = release.own
    noise = own is None or own.shape != release.shape
    if own is None or noise:
        probes, labels = seeded(15).normals(PROBES, *release.shape), torch.zeros(PROBES, release.classes)
    else:
        some = torch.arange(0, len(own), max(1, len(own) // PROBES))
        probes, labels = own.pixels(some), own.labels[some]
        labels = labels if labels.shape[1] == release.classes else torch.zeros(len(some), release.classes)
    network = release.model(item).network().train(release.scheme.mode == "train")
    found = []
    for state in states:
        network.load_state_dict({name: tensor.clone() for name, tensor in state.items()})
        with torch.no_grad(), explained():
            found.append(network(probes).softmax(1).double())
    shares = torch.stack(found).mean(0)
    counts = labels.double().sum(0)[:, None]
    means = torch.where(counts > 0, labels.double().T @ shares / counts.clamp_min(1e-12), shares.mean(0))
    expected = torch.where(labels.sum(1, keepdim=True) > 0, labels.double() @ means, shares.mean(0))
    return Answers(means, (shares - expected).square().mean(0), 0 if noise else len(shares))
