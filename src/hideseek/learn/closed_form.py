"""Learning in closed form: the means of the classes, by least squares from mixed rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import torch
from jaxtyping import Float
from torch import Tensor, nn

from hideseek.errors import BadInput
from hideseek.learn.checks import check_classes
from hideseek.models import build
from hideseek.records import EncodedRelease, Samples
from hideseek.train.trained import Trained, class_names

MODEL = "linear"
CHUNK = 4096  # rows that are looked at together
ROUNDING = 1e-4  # what labels that should sum to one may lack
NEVER = (
    -1e30
)  # what is added to the score of a class that has no rows: finite, since models with other weights are refused


def class_means(releases: Iterable[EncodedRelease]) -> Trained:
    """Fit the mean of every class to all rows of all releases, and answer with the class whose mean is nearest.

    The label of a row says how much of each class is in it, so x̃_r = Σ_c y_rc μ_c + ε_r, where what deviates from the
    means, and noise, has mean zero: M = (YᵀY)⁻¹ Yᵀ X̃. Whatever of a row has no label (public images) is one more
    column of Y, 1 − Σ_c y_rc; labels that have noise have no such column, and are used as they are (projected onto the
    simplex they learnt about as well: 24 against 26 % and 56 against 51 % on MNIST under `gaussian-mixup`, ε = 3 and
    8). Releases of the same images add up, and none of them need be kept.

    The answer is argmax_c ⟨m_c, x⟩ − s ‖m_c‖² / 2, a linear model. s = 1 is the nearest mean. Under noise ‖m_c‖² is
    mostly noise, so s is the share of ‖M‖² that is not: s = 1 − σ² tr (YᵀY)⁻¹ / ‖M‖², at least 0, where σ² is the mean
    ‖ε_r‖². That is the nearest mean after shrinking all means by s towards zero (empirical Bayes), so samples should
    be centred.

    There is nothing to choose, and no BatchNorm, to which clean images are shorter than the noisy rows that it was
    fitted to: so this tells what a scheme costs from what a training does. Ours; no paper has it.
    """
    stream = iter(releases)
    first = next(stream, None)
    if first is None:
        raise BadInput("there is no release to learn from.")
    sums = _Sums.zero(first.encoded)
    for release in chain([first], stream):
        _check(release, first.encoded)
        sums.add(release.encoded, noisy=release.scheme.label_kind == "noisy")
    return _linear(first, *sums.solved())


def _check(release: EncodedRelease, like: Samples) -> None:
    """Refuse rows that have no class means, or that are not like those before."""
    samples = release.encoded
    check_classes(samples)
    if release.scheme.masked:
        raise BadInput("under a mask of signs the mean of every class is zero: train a network on such rows.")
    if samples.shape != like.shape or samples.labels.shape[1] != like.labels.shape[1]:
        raise BadInput("these releases differ in shape or classes: learn from releases of the same kind.")


@dataclass
class _Sums:
    """What least squares needs of all rows: YᵀY, YᵀX̃, Σ‖x̃_r‖² and how many there are."""

    gram: Float[Tensor, "k k"]
    products: Float[Tensor, "k pixels"]
    energy: float = 0.0
    rows: int = 0

    @classmethod
    def zero(cls, like: Samples) -> "_Sums":
        """Begin, with a column for each class and one for what has no label."""
        columns, pixels = like.labels.shape[1] + 1, like.images[0].numel()
        return cls(torch.zeros(columns, columns).double(), torch.zeros(columns, pixels).double())

    def add(self, samples: Samples, *, noisy: bool) -> None:
        """Add rows; what noisy labels lack of 1 is noise, and no share of anything."""
        for start in range(0, len(samples), CHUNK):
            part = slice(start, start + CHUNK)
            pixels, labels = samples.pixels(part).flatten(1).double(), samples.labels[part].double()
            rest = 1 - labels.sum(1, keepdim=True)
            shares = torch.cat([labels, torch.where((rest > ROUNDING) & (not noisy), rest, 0.0)], 1)
            self.gram += shares.T @ shares
            self.products += shares.T @ pixels
            self.energy += float(pixels.square().sum())
        self.rows += len(samples)

    def solved(self) -> tuple[Float[Tensor, "classes pixels"], Float[Tensor, " classes"]]:
        """Give M, and −s ‖m_c‖² / 2 for each class; a class that is in no row is never the answer."""
        inverse, present = torch.linalg.pinv(self.gram, hermitian=True), self.gram.diagonal() > 0
        solution = inverse @ self.products
        unexplained = self.energy - float((solution * self.products).sum())
        noise = unexplained / max(1, self.rows - int(present.sum()))  # σ²
        means, squares = solution[:-1], solution[:-1].square().sum(1)
        share = max(0.0, 1 - noise * float(inverse.diagonal()[:-1].sum()) / float(squares.sum()))
        return means, torch.where(present[:-1], -share * squares / 2, NEVER)


def _linear(
    release: EncodedRelease, weight: Float[Tensor, "classes pixels"], bias: Float[Tensor, " classes"]
) -> Trained:
    """Give the linear model with these weights."""
    samples = release.encoded
    network = build(MODEL, samples.shape, len(bias))
    head = network.head
    assert isinstance(head, nn.Linear)  # noqa: S101 (that is what a linear model is)
    with torch.no_grad():
        head.weight.copy_(weight)
        head.bias.copy_(bias)
    names, constants = class_names(samples), samples.normalisation
    return Trained(network.eval(), MODEL, samples.shape, names, constants, seed=release.seed)
