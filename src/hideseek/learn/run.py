"""Training on what was hidden, or on plain images to compare with."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from hideseek.chance import Randomness, secure
from hideseek.learn.batches import shared_seed
from hideseek.learn.checks import check_batch_norm, check_classes, check_processes, check_test
from hideseek.learn.inference import accuracy, predict
from hideseek.learn.objective import classification
from hideseek.learn.run_folder import RunFolder
from hideseek.learn.sources import Source
from hideseek.models import build
from hideseek.records import MixingEncoder, Samples
from hideseek.train.checkpoint import Checkpoints
from hideseek.train.fit import fit
from hideseek.train.trained import Trained, class_names
from hideseek.train.training import Training
from hideseek.train.worker import this_worker, torch_seed


@dataclass(frozen=True)
class Learnt:
    """A trained model, what was measured in every epoch, and the ε that was spent, where the training was private."""

    trained: Trained
    history: list[dict[str, float]]
    scheme: MixingEncoder | None = None
    """How the images were hidden, with all that was estimated filled in."""
    epsilon: float | None = None
    """Of the weights alone: the history is measured on the private images themselves."""
    states: Mapping[int, dict[str, Tensor]] = field(default_factory=dict)
    """The state after each epoch that was asked for; after 0 epochs: as it was initialised."""


def learn(
    source: Source[Any],
    model: str,
    training: Training,
    *,
    test: Samples | None = None,
    chance: Randomness | None = None,
    run_folder: RunFolder | None = None,
    keep: Collection[int] = (),
    on_epoch: Callable[[dict[str, float]], None] = lambda _: None,
) -> Learnt:
    """Train a model, by its name in MODELS, on a source.

    - `Plain(samples)`: vanilla training; `Plain.of(release)`: what a server does, who has only the encodings;
    - `Reencoded(samples, encoder)`: what a party does, who encodes its images anew for every epoch;
    - `Private(samples, PrivateSGD())`: DP-SGD on plain images.

    The model is asked about the `test` images plainly after every epoch. `chance` is secure unless a study gives a
    seed. Keys, sampling and noise come from `chance`; the order of plain batches, the initial weights and dropout are
    no secret, and come from one seed that is kept in the checkpoint. `keep` names the epochs whose states are given
    back; a run that was resumed has none of those before.
    """
    worker, chance, samples = this_worker(), chance or secure(), source.samples
    check_processes(training, worker)
    check_classes(samples)
    seed = shared_seed(chance, worker)  # drawn in any case, so that what follows is the same when it is resumed
    seed = seed if run_folder is None else run_folder.seed(seed)
    estimated = source.with_estimates(chance, training.epochs)
    with torch_seed(seed):
        network = build(model, samples.shape, samples.labels.shape[1])
    check_batch_norm(network, training, worker)
    trained = Trained(network, model, samples.shape, class_names(samples), samples.normalisation, seed=chance.seed)
    if test is not None:
        check_test(trained, test)
    batches = estimated.batches(training, chance, seed, worker)
    states = {0: _copied(network)} if 0 in keep else {}

    def after_epoch(history: list[dict[str, float]]) -> None:
        if len(history) in keep:
            states[len(history)] = _copied(network)
        if not worker.first:
            return
        if test is not None:
            history[-1]["test_accuracy"] = accuracy(predict(trained, test), test.labels)
        spent = estimated.epsilon(training, len(history) * batches.steps)
        if spent is not None:
            history[-1]["epsilon"] = spent
        if run_folder is not None:
            run_folder.write_metrics(history)
        on_epoch(history[-1])

    checkpoints = None
    if run_folder is not None:
        owner = {**_described(trained, training), **source.identity()}
        checkpoints = Checkpoints(run_folder.checkpoint, run_folder.every, owner)
    with estimated.wrapped(network, training, batches) as wrapped:
        history = fit(
            wrapped.network,
            batches,
            classification(augment=training.augment),
            training,
            seed=seed,
            worker=worker,
            optimiser=wrapped.optimiser,
            checkpoints=checkpoints,
            layout=wrapped.layout,
            mixed=wrapped.mixed,
            after_epoch=after_epoch,
        )
    epsilon = estimated.epsilon(training, training.epochs * batches.steps)
    return Learnt(replace(trained, network=network.eval()), history, estimated.scheme, epsilon, states)


def _copied(network: nn.Module) -> dict[str, Tensor]:
    """Give a copy of the state, laid out as files have it."""
    return {name: tensor.detach().cpu().contiguous().clone() for name, tensor in network.state_dict().items()}


def _described(trained: Trained, training: Training) -> dict[str, object]:
    """Describe a run beside its source, so that a checkpoint is not resumed by another."""
    return {
        "model": trained.architecture,
        "classes": list(trained.classes),
        "training": repr(training),
        "normalisation": repr(trained.normalisation),
        "seed": trained.seed,
    }
