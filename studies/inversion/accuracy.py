"""What a model learns under each defence of Table 5, every gradient of a batch of 128 being defended.

The paper trains ResNet-18 for 200 epochs; here it is a small ResNet, fewer images and epochs, so that losses against
the same training without a defence can be compared, and accuracies cannot. Behind masks of signs the network takes
absolute values. As in the paper, the rate is 0.02 where p is 0.99 or more, else 0.1.

    python studies/gradient_inversion.py --only accuracy
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from inversion.columns import COLUMNS, Column
from ledger import Trial

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide.files.schemes import to_json
from hideseek.hide.updates.pruning import GradientPruning
from hideseek.learn import Defended, accuracy, learn, predict
from hideseek.train.schedules import Cosine
from hideseek.train.training import SGD, Training


@dataclass(frozen=True)
class Scale:
    """How large the training is."""

    model: str
    masked: str
    images: int
    epochs: int


SCALES = {
    "cpu": Scale("small-resnet", "small-resnet-absolute", 10_000, 5),
    "paper": Scale("resnet18", "resnet18", 50_000, 200),
}
BATCH = 128


def trials(scale: str) -> Iterator[Trial]:
    """Give every column."""
    size = SCALES[scale]
    for name, column in COLUMNS.items():
        model = size.masked if column.encoding is not None and column.encoding.masked else size.model
        client = column.scheme(model, BATCH, "train")
        about = {"scheme": to_json(client), "images": size.images, "epochs": size.epochs, "rate": rate(column)}
        yield Trial("accuracy", title(name), about | {"seed": 0}, partial(learnt, column, model, size))


def title(column: str) -> str:
    """Name a training."""
    return f"accuracy: {column}"


def rate(column: Column) -> float:
    """Give the learning rate of the paper (A.1)."""
    strongly = any(isinstance(each, GradientPruning) and each.p >= 0.99 for each in column.defences)
    return 0.02 if strongly else 0.1


def learnt(column: Column, model: str, size: Scale) -> dict[str, Any]:
    """Train, and give the accuracy on plain test images, in percent."""
    train = normalise(load("cifar10").take(slice(0, size.images)), "channel")
    test = normalise(load("cifar10?split=test"), train.normalisation)
    training = Training(size.epochs, BATCH, SGD(rate(column), 0.9, 5e-4), Cosine(warm=0.2))
    client = column.scheme(model, BATCH, "train")
    trained = learn(Defended(train, client), model, training, chance=seeded(0)).trained
    return {"accuracy": round(100 * accuracy(predict(trained, test), test.labels), 2)}
