"""The models that clients start from, as they are named on the command line: architectures, or files."""

from pathlib import Path
from typing import NamedTuple

from hideseek.errors import BadInput
from hideseek.hide.updates.states import PICKLED
from hideseek.models import MODELS, build
from hideseek.train.trained import MODEL, Trained, read_model


class Model(NamedTuple):
    """An architecture, and its weights where it was trained."""

    architecture: str
    trained: Trained | None = None


def models_of(text: str) -> dict[str, Model]:
    """Read `NAME|FILE[,…]`: one architecture in several states, each by a short name.

    >>> models_of("lenet")
    {'lenet': Model(architecture='lenet', trained=None)}
    """
    named = [part.strip() for part in text.split(",") if part.strip()]
    found: dict[str, Model] = {}
    for name in named:
        label = name if name in MODELS else _label(Path(name))
        if label in found:
            raise BadInput(f"two models are called {label}: give each file a name of its own, and name it once.")
        found[label] = _model(name)
    if not found:
        raise BadInput(f"name a model: {', '.join(MODELS)}, or a file.")
    if len({model.architecture for model in found.values()}) > 1:
        raise BadInput("these models are of several architectures, whose accuracies differ: audit each by itself.")
    return found


def _label(path: Path) -> str:
    """Call a file by its name, or by its folder's where all files are called alike."""
    return path.resolve().parent.name if path.name == MODEL else path.stem


def _model(name: str) -> Model:
    if name in MODELS:
        return Model(name)
    path = Path(name)
    if not path.exists() and not path.suffix and "/" not in name:
        build(name, (1, 32, 32), 2)  # which says what may have been meant
    if path.suffix.lower() in PICKLED:
        raise BadInput(f"{name} may hold pickled objects, which run code when they are read: write it as safetensors.")
    trained, _ = read_model(path)
    if trained.features is not None:
        raise BadInput(f"{name} takes features of images, not images: name a model that was trained on images.")
    return Model(trained.architecture, trained)
