"""Training on what was hidden: on a release, or on private images that are encoded anew for every epoch."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from blake3 import blake3
from torch import nn

from hideseek.chance import Randomness, secure, seeded
from hideseek.errors import BadInput
from hideseek.files import content, new_file
from hideseek.learn.batches import Reencoded, Shuffled, needs_classes, one_seed, streams
from hideseek.learn.inference import accuracy, predict
from hideseek.learn.objective import classification
from hideseek.learn.private_sgd import NoiseSource, PrivateSGD, Sampled, quietly
from hideseek.models import build
from hideseek.records import EncodedRelease, Encoder, Samples
from hideseek.train.checkpoint import Checkpoints, seed_of
from hideseek.train.fit import Batches, fit
from hideseek.train.trained import Trained, class_names
from hideseek.train.training import Training
from hideseek.train.worker import Worker, this_worker, torch_seed

CHECKPOINT, METRICS = "checkpoint.safetensors", "metrics.jsonl"


@dataclass(frozen=True)
class Learnt:
    """A trained model, what was measured on the way, and the ε that was spent, where the training was private."""

    trained: Trained
    history: list[dict[str, float]]
    scheme: Encoder | None = None
    """How the images were hidden, with all that was estimated filled in."""
    epsilon: float | None = None
    """Of the weights alone: what was measured on the way is of the private images themselves."""


@dataclass(frozen=True)
class RunFolder:
    """A folder for a training's checkpoints and metrics, and whether to go on with what is there."""

    folder: Path
    resume: bool = False
    every: float = 30.0
    """Seconds between two checkpoints."""


def learn(
    source: EncodedRelease | Samples,
    model: str,
    training: Training,
    *,
    encoder: Encoder | None = None,
    public: Samples | None = None,
    privacy: PrivateSGD | None = None,
    test: Samples | None = None,
    chance: Randomness | None = None,
    run_folder: RunFolder | None = None,
    on_epoch: Callable[[dict[str, float]], None] = lambda _: None,
) -> Learnt:
    """Train a model by its name in MODELS.

    - an `EncodedRelease`: what a server does, who has nothing but the encodings;
    - `Samples` with an `encoder`: what a party does, who encodes its images anew for every epoch, under fresh keys;
    - `Samples` alone: vanilla training, or DP-SGD where `privacy` is given.

    `test` images are asked about plainly after every epoch. `chance` is secure unless a study gives a seed.
    """
    samples = source.encoded if isinstance(source, EncodedRelease) else source
    worker, chance = this_worker(), chance or secure()
    _check(source, encoder, privacy, training, worker)
    needs_classes(samples)
    path = None if run_folder is None else run_folder.folder / CHECKPOINT
    resumed = path is not None and path.exists()
    if resumed and run_folder and not run_folder.resume:
        raise BadInput(f"a training was begun in {run_folder.folder}: go on with --resume, or choose another folder.")
    seed = one_seed(chance, worker)  # drawn in any case, so that what follows is the same
    seed = seed_of(path) if path and resumed else seed
    scheme = source.scheme if isinstance(source, EncodedRelease) else encoder
    if encoder is not None:
        scheme = encoder.with_estimates(samples, public, chance)
    with torch_seed(seed):
        network = build(model, samples.shape, samples.labels.shape[1])
    _check_share(network, training, worker)
    trained = Trained(network, model, samples.shape, class_names(samples), samples.normalisation, seed=chance.seed)
    if test is not None:
        _check_test(trained, test)
    batches = _batches(samples, public, encoder and scheme, privacy, training, chance, seed, worker)
    wrapped: Any = network
    optimiser, layout = None, torch.channels_last
    if privacy and isinstance(batches, Sampled):
        wrapped, optimiser = privacy.prepared(network, len(samples), training, batches.noise)
        layout = torch.contiguous_format  # as Opacus lays out gradients

    def after_epoch(history: list[dict[str, float]]) -> None:
        if not worker.first:
            return
        if test is not None:
            history[-1]["test_accuracy"] = accuracy(predict(trained, test), test.labels)
        if privacy:
            history[-1]["epsilon"] = privacy.spent(len(samples), training, len(history) * batches.steps)
        if run_folder:
            with new_file(run_folder.folder / METRICS) as file:
                file.write("".join(json.dumps(epoch) + "\n" for epoch in history).encode())
        on_epoch(history[-1])

    owner = _owner(trained, training, encoder, privacy, samples, public)
    with quietly() if privacy else nullcontext():
        history = fit(
            wrapped,
            batches,
            classification(augment=training.augment),
            training,
            seed=seed,
            worker=worker,
            optimiser=optimiser,
            checkpoints=Checkpoints(path, run_folder.every, owner) if path and run_folder else None,
            layout=layout,
            mixed=privacy is None,  # clipping must be exact
            after_epoch=after_epoch,
        )
    if privacy:
        wrapped.to_standard_module()
    spent = None if privacy is None else privacy.spent(len(samples), training, training.epochs * batches.steps)
    return Learnt(replace(trained, network=network.eval()), history, scheme, spent)


def suited(samples: Samples, scheme: Encoder | None = None, privacy: PrivateSGD | None = None) -> str:
    """Choose a small network by what it shall learn from: under a mask of signs one that looks at |x|."""
    if privacy:
        return "tanh-dense" if min(samples.shape[1:]) < 16 else "tanh-convnet"
    if min(samples.shape[1:]) < 8:
        return "classifier"
    return "small-resnet-absolute" if scheme is not None and scheme.masked else "small-resnet"


def _batches(
    samples: Samples,
    public: Samples | None,
    encoder: Encoder | None,
    privacy: PrivateSGD | None,
    training: Training,
    chance: Randomness,
    seed: int,
    worker: Worker,
) -> Batches:
    """Choose what the epochs are made of; only keys need chance, an order of batches is no secret."""
    if encoder is not None:
        keys = streams(chance, training.epochs, worker)
        return Reencoded(samples, public, encoder, training.batch, keys, alongside=worker.device.type != "cpu")
    if privacy is not None:
        return Sampled(samples, training.batch, streams(chance, training.epochs, worker), NoiseSource(chance))
    return Shuffled(samples, training.batch, streams(seeded(seed), training.epochs, worker))


def _check(
    source: EncodedRelease | Samples,
    encoder: Encoder | None,
    privacy: PrivateSGD | None,
    training: Training,
    worker: Worker,
) -> None:
    """Refuse what cannot go together."""
    if isinstance(source, EncodedRelease) and (encoder or privacy):
        raise BadInput("a release is hidden already: train on it as it is, or on the private images themselves.")
    if encoder and privacy:
        raise BadInput("DP-SGD trains on plain images: choose either a scheme or DP-SGD.")
    if privacy and worker.world > 1:
        raise BadInput("DP-SGD runs in one process here: start it without torchrun.")
    if training.batch % worker.world:
        raise BadInput(
            f"a batch of {training.batch} cannot be shared evenly among {worker.world} processes: change it."
        )


def _check_test(trained: Trained, test: Samples) -> None:
    trained.check(test)
    if test.normalisation != trained.normalisation:
        raise BadInput("test images must be normalised with the constants of the training images: pass those on.")
    if len(test) == 0 or test.labels.shape[1] == 0:
        raise BadInput("there are no labelled images to test with: name some, or leave --test out.")


def _check_share(network: nn.Module, training: Training, worker: Worker) -> None:
    normed = any(isinstance(module, nn.modules.batchnorm._BatchNorm) for module in network.modules())
    if normed and training.batch // worker.world < 2:
        raise BadInput("this network has BatchNorm, which needs at least two images at a time: raise --batch.")


def _owner(
    trained: Trained,
    training: Training,
    encoder: Encoder | None,
    privacy: PrivateSGD | None,
    samples: Samples,
    public: Samples | None,
) -> dict[str, object]:
    """Describe a run, so that a checkpoint is not taken up by another."""
    return {
        "model": trained.architecture,
        "images": _fingerprint(samples),
        "public images": public and _fingerprint(public),
        "classes": list(trained.classes),
        "training": repr(training),
        "scheme": repr(encoder),
        "privacy": privacy and asdict(privacy),
        "normalisation": repr(trained.normalisation),
        "seed": trained.seed,
    }


def _fingerprint(samples: Samples) -> str:
    """Tell sets apart by their size, labels and a few of their images, without reading all of them."""
    total = blake3(repr((len(samples), samples.shape)).encode())
    for part in (samples.labels, samples.pixels(slice(None, None, max(1, len(samples) // 64)))):
        total.update(content(part.cpu().numpy()))
    return total.hexdigest()
