"""The labels of an update from the gradient of the last layer.

With logits z = W f + b and cross-entropy, ∂L/∂b = mean_i (p_i − y_i) =: e and ∂L/∂W = mean_i (p_i − y_i) f_i', with p
the softmax of z. For one image f = (∂L/∂W)_c / e_c for any class c, so that p, and y = p − e, follow exactly, soft
labels too. For several, mean y = mean p − e, and mean p is what the model says of images of these classes: of the
attacker's own, or of noise. In an untrained model that is nearly the same for all images, so that counts are right once
they are rounded (Yin et al. 2021; Geng et al. 2021).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from hideseek.chance import seeded
from hideseek.records.shared_model import SharedModel
from hideseek.records.update_encoder import Mode
from hideseek.records.update_release import UpdateRelease
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
        wanted = self.mean * self.rows
        whole = wanted.floor()
        rest = self.rows - int(whole.sum())
        whole[(wanted - whole).argsort(descending=True, stable=True)[:rest]] += 1
        return whole.long()

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


class HeadReader:
    """Reads the labels of updates of a release off their heads' gradients; a model is asked once for all of them."""

    def __init__(self, release: UpdateRelease) -> None:
        self.release = release
        self._heads: dict[int, str | None] = {}
        self._says: dict[int, Tensor] = {}

    def head(self, item: int) -> str | None:
        """Give the name of the head of an update's model; None: there is none."""
        number = item if len(self.release.models) > 1 else 0
        if number not in self._heads:
            self._heads[number] = head_of(self.release.model(item), self.release.shape, self.release.scheme.mode)
        return self._heads[number]

    def labels(self, item: int, head: str) -> HeadLabels:
        """Give what the head's gradient says of the labels of an update."""
        return _head_labels(self.release, item, head, self._answers)

    def _answers(self, item: int) -> Float[Tensor, "classes classes"]:
        """Give what the model says of images of each class: after an update other things, where weights were sent."""
        own = len(self.release.models) > 1 or self.release.scheme.sends == "weights"
        number = item if own else 0
        if number not in self._says:
            self._says[number] = _softmax_by_class(self.release, item)
        return self._says[number]


def _head_labels(
    release: UpdateRelease, item: int, head: str, answers: Callable[[int], Float[Tensor, "classes classes"]]
) -> HeadLabels:
    work, update = release.scheme.work, release.updates[item]
    rows = work.images if release.sizes is None else release.sizes[item]
    steps = 1.0
    if release.scheme.sends == "weights":  # w_before − w_after = rate · Σ of gradients
        steps = work.rate * work.epochs * max(1, -(-rows // work.batch))
    weights, bias = (update[f"{head}.{name}"].double() / steps for name in ("weight", "bias"))
    state = release.model(item).state
    if release.scheme.sends == "gradient" or work.one_gradient:
        exact = _one_label(weights, bias, state[f"{head}.weight"].double(), state[f"{head}.bias"].double())
        if exact is not None and (rows == 1 or release.sizes is None):
            return HeadLabels(exact, True, 1)
    says = answers(item)
    mean = torch.full((release.classes,), 1 / release.classes, dtype=torch.float64)
    for _ in range(TURNS):
        mean = on_simplex(mean @ says - bias)
    return HeadLabels(mean, False, rows)


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


def _one_label(weights: Tensor, bias: Tensor, layer: Tensor, shift: Tensor) -> Tensor | None:
    """Give the label of one image exactly: f from the largest entry of the bias, p = softmax(W f + b), y = p − e."""
    largest = bias.abs().argmax()
    if float(bias[largest].abs()) == 0 or not bool(weights.isfinite().all()):
        return None
    feature = weights[largest] / bias[largest]
    if float((weights - bias[:, None] * feature).norm()) > ONE * float(weights.norm()):
        return None
    label = (layer @ feature + shift).softmax(0) - bias
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


def _softmax_by_class(release: UpdateRelease, item: int) -> Float[Tensor, "classes classes"]:
    """Give what the model says on average of images of each class; where weights were sent, before and after."""
    states: list[Mapping[str, Tensor]] = [release.model(item).state]
    if release.scheme.sends == "weights":
        moved = {name: states[0][name] - each for name, each in release.updates[item].items()}
        states.append({**states[0], **moved})
    own = release.own
    if own is None or own.shape != release.shape:
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
    return torch.where(counts > 0, labels.double().T @ shares / counts.clamp_min(1e-12), shares.mean(0))
