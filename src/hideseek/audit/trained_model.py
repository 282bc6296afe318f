"""A trained model as a release: the way it was trained, which its attackers know too, and whom it was trained on."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.files import new_folder
from hideseek.learn import Plain, learn
from hideseek.models import build
from hideseek.records import Encoder, Normalisation, Samples, Task
from hideseek.records.model_release import ModelEncoder, ModelRelease
from hideseek.records.model_secret import ModelSecret
from hideseek.records.shared_model import SharedModel
from hideseek.train.state_files import read_state, write_state
from hideseek.train.trained import Trained
from hideseek.train.training import AdamW, Training

Learner = Callable[[Samples, Randomness], Trained]
FILE, KIND = "model.safetensors", "model"
TRUTH = ("images", "labels", "scale", "shift")
BY_HEART = Training(15, 16, AdamW(3e-2, 0.0))  # after which a linear model knows the labels of a few images


@dataclass(frozen=True)
class TrainedBy(ModelEncoder, mechanism="trained-model"):
    """Share a model that learnt from the images, and nothing else of them."""

    way: str
    """What trains it, for reports."""
    learner: Learner = field(compare=False, repr=False)

    def learn(self, images: Samples, chance: Randomness) -> SharedModel:
        """Train a model on labelled images."""
        return shared(self.learner(images, chance))

    def hide(
        self, private: Samples, public: Samples | None, chance: Randomness, rounds: int = 1
    ) -> tuple[ModelRelease, ModelSecret]:
        """Train on all private images once."""
        if rounds != 1:
            raise BadInput(f"a model is shared once, not in {rounds} rounds.")
        return self.released(self.learn(private, chance), private, chance.seed)

    def released(
        self, model: SharedModel, private: Samples, seed: int | None = None
    ) -> tuple[ModelRelease, ModelSecret]:
        """Give a model that was trained on these images in this way, and the truth about it."""
        release = ModelRelease(
            model, self, private.shape, private.labels.shape[1], private.normalisation, len(private), seed=seed
        )
        return release, ModelSecret(private)

    def write(
        self, private: Samples, public: Samples | None, chance: Randomness, folder: Path, secret: Path, rounds: int = 1
    ) -> None:
        """Write the model, and the images that it learnt from."""
        release, _ = self.hide(private, public, chance, rounds)
        about = {
            "architecture": release.model.name,
            "shape": list(private.shape),
            "classes": release.classes,
            "images": len(private),
            "normalisation": asdict(private.normalisation),
            "seed": chance.seed,
        }
        with new_folder(folder) as partial_folder:
            write_state(partial_folder / FILE, release.model.state, about)
            truth = {name: getattr(private, name) for name in TRUTH}
            write_state(secret, truth, about, mode=0o600)

    def read(self, folder: Path, secret: Path, public: Samples | None) -> tuple[ModelRelease, ModelSecret]:
        """Read both back."""
        state, about = read_state(folder / FILE, KIND)
        truth, same = read_state(secret, "secret of a model")
        if about != same:
            raise BadInput(f"{secret} is the secret of another model than {folder} holds: name the one beside it.")
        kind, mean, std = (about["normalisation"][name] for name in ("kind", "mean", "std"))
        images, labels, scale, shift = (truth[name] for name in TRUTH)
        private = Samples(images, labels, scale, shift, normalisation=Normalisation(kind, tuple(mean), tuple(std)))
        make = partial(build, about["architecture"], private.shape, about["classes"])
        return self.released(SharedModel(about["architecture"], make, state), private, about["seed"])

    def planned_size(
        self, private: Samples, public: Samples | None = None, own: Samples | None = None, rounds: int = 1
    ) -> Task:
        """Count one model of all images."""
        return Task(1, len(private), private.images[0].numel(), images_per_item=len(private))

    def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
        """Learn the labels of a few images by heart."""
        yield TrainedBy("a network that knows its images by heart", by_heart)


def by_heart(images: Samples, chance: Randomness) -> Trained:
    """Train a linear model longer than is good."""
    return learn(Plain(images), "linear", BY_HEART, chance=chance).trained


def shared(trained: Trained) -> SharedModel:
    """Give a trained model as everybody gets it."""
    make = partial(build, trained.architecture, trained.shape, len(trained.classes))
    state = {name: tensor.detach().cpu().clone() for name, tensor in trained.network.state_dict().items()}
    return SharedModel(trained.architecture, make, state)
