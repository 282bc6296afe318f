"""`hideseek learn`: train on a release, or on images that are hidden anew for every epoch."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import tyro

from hideseek.chance import secure, seeded
from hideseek.cli.images import prepared, public_images, training_images
from hideseek.data import load
from hideseek.errors import BadInput, no_such
from hideseek.files import explained, must_be_new, new_file
from hideseek.hide import ENCODERS
from hideseek.hide.files.release_files import read_release
from hideseek.hide.files.schemes import to_json
from hideseek.learn import Learnt, PrivateSGD, RunFolder, learn, suited
from hideseek.learn.train import CHECKPOINT
from hideseek.records import EncodedRelease, MixingEncoder, Samples
from hideseek.report.training_curve import draw_curve
from hideseek.train.trained import MODEL, write_model
from hideseek.train.training import RECIPES, Training, automatic
from hideseek.train.worker import this_worker


@dataclass(frozen=True)
class Vanilla:
    """Plain training, nothing hidden."""


METHODS: dict[str, MixingEncoder | PrivateSGD | Vanilla] = {
    "vanilla": Vanilla(),
    **ENCODERS,
    "dp-sgd": PrivateSGD(),
}

AUTO = "auto"  # the recipe that goes by the number of images

S = TypeVar("S", bound=MixingEncoder | PrivateSGD | Vanilla)


@dataclass(frozen=True)
class Learn(Generic[S]):
    """Train a model, and see what hiding costs.

    Either on a release, as a server does that has nothing but encodings (--release), or on private images (--data)
    that are hidden anew for every epoch, under fresh keys, as a party does (--scheme). Without a scheme, or with
    --scheme dp-sgd, you get what to compare with. Writes the model, its metrics (JSON lines) and a curve (PNG).

    Several GPUs or machines: torchrun --nproc-per-node N -m hideseek learn …
    """

    scheme: S
    out: Path
    """The folder to write: model.safetensors, metrics.jsonl, curve.png, and a checkpoint while it is running."""
    release: Path | None = None
    """Train on the release that `hideseek hide` wrote here."""
    data: str | None = None
    """Train on these images: folder:PATH (a subfolder a class), npz:PATH, or a name (see `hideseek data`)."""
    public: str | None = None
    """Public images to mix in, for the cross schemes; patches:ADDRESS cuts patches with much texture from them."""
    test: str | None = None
    """Images to test with after every epoch; for the named sets, NAME?split=test."""
    model: str | None = None
    """The network, such as resnet18; by default a small one that suits the scheme: small-resnet-absolute under a mask
    of signs, tanh-convnet for DP-SGD, classifier for features, else small-resnet."""
    recipe: str = AUTO
    """How to train, batch, optimiser, rate, schedule: by the number of images, or as a paper did (listed above)."""
    epochs: int | None = None
    """Instead of the recipe's; its schedule is stretched to fit."""
    batch: int | None = None
    """Images a step, instead of the recipe's."""
    rate: float | None = None
    """The first learning rate, instead of the recipe's."""
    augment: bool | None = None
    """Shift and mirror images at random, or do not, instead of what the recipe says."""
    features: str | None = None
    """Train on features: of efficientnet-lite0 (pretrained), or of a model that hideseek trained (its file)."""
    size: int | None = None
    """Resize and centre-crop every image to this side, in pixels."""
    channels: Literal[1, 3] | None = None
    """Make every image grey (1) or RGB (3)."""
    normalise: Literal["channel", "image", "none"] = "channel"
    """Give each channel mean 0 and deviation 1, or each image mean 0 and norm 1, or leave [0, 1]."""
    resume: bool = False
    """Go on with what was begun in the folder."""
    checkpoint_every: float = 30.0
    """Seconds between two checkpoints."""
    seed: int | None = None
    """For studies only: draw everything from this number, keys too."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and train; the scheme comes first, since its parameters are options too."""
    name, rest = _scheme(arguments)
    if name not in METHODS:
        raise no_such("scheme", name, METHODS)
    method = METHODS[name]
    kind: Any = Learn[type(method)]  # type: ignore[misc] # its flags are the scheme's fields
    asked: Learn[Any] = tyro.cli(
        kind,
        prog="hideseek learn" + (f" --scheme {name}" if name != "vanilla" else ""),
        description=f"{inspect.cleandoc(Learn.__doc__ or '')}\n\n{_lists()}",
        default=Learn(method, tyro.MISSING),
        args=rest,
        config=(tyro.conf.OmitArgPrefixes,),
    )
    train(asked)


def _scheme(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Take `--scheme NAME` out of the arguments."""
    rest = list(arguments)
    for place, argument in enumerate(rest):
        if argument == "--scheme" and place + 1 < len(rest):
            return rest[place + 1], rest[:place] + rest[place + 2 :]
        if argument.startswith("--scheme="):
            return argument.removeprefix("--scheme="), rest[:place] + rest[place + 1 :]
    return "vanilla", rest


def train(asked: Learn[Any]) -> None:
    """Load, train, write, and say what came of it."""
    _check(asked)
    source = _source(asked)
    samples = source.encoded if isinstance(source, EncodedRelease) else source
    training = _training(asked, len(samples))
    encoder = asked.scheme if isinstance(asked.scheme, MixingEncoder) else None
    privacy = asked.scheme if isinstance(asked.scheme, PrivateSGD) else None
    public = None
    if asked.public is not None:
        public = public_images(asked.public, samples, size=asked.size, features=asked.features)
    test = _test(asked, samples)
    model = asked.model or suited(samples, source.scheme if isinstance(source, EncodedRelease) else encoder, privacy)
    first = this_worker().first
    if first and test is None:
        print("There is no --test set: how well the model does on new images will not be known.")
    try:
        learnt = learn(
            source,
            model,
            training,
            encoder=encoder,
            public=public,
            privacy=privacy,
            test=test,
            chance=secure() if asked.seed is None else seeded(asked.seed),
            run_folder=RunFolder(asked.out, asked.resume, asked.checkpoint_every),
            on_epoch=lambda epoch: print(_line(epoch, training.epochs), flush=True),
        )
        if first:
            _write(asked, learnt)
    except KeyboardInterrupt:
        begun = (asked.out / CHECKPOINT).exists()
        raise KeyboardInterrupt("stopped; go on with the same command and --resume." if begun else "stopped.") from None


def _write(asked: Learn[Any], learnt: Learnt) -> None:
    """Write the curve, then the model, and only then remove the checkpoint."""
    features = (
        str(Path(asked.features).resolve()) if asked.features and Path(asked.features).exists() else asked.features
    )
    trained = replace(learnt.trained, features=features, size=asked.size if features else None)
    scheme = None if learnt.scheme is None else to_json(learnt.scheme)
    with new_file(asked.out / "curve.png") as file:
        hidden = "" if scheme is None else f", hidden by {scheme['mechanism']}"
        draw_curve(learnt.history, f"{trained.architecture} on {asked.release or asked.data}{hidden}", file)
    write_model(asked.out / MODEL, trained, scheme)
    (asked.out / CHECKPOINT).unlink(missing_ok=True)
    print(f"The model is in {asked.out / MODEL}, how it went in {asked.out / 'curve.png'}.")
    if learnt.epsilon is not None:
        spent = f"ε = {learnt.epsilon:.3g} at δ = {asked.scheme.delta:g}"
        print(f"Its weights spent {spent}; metrics and curve are outside of that: do not share them.")
    if asked.seed is not None:
        print(f"All chance came from the seed {asked.seed}: it is for studies, and protects nothing.")
    print(f"Ask it:  hideseek predict {asked.out} IMAGES…")


def _check(asked: Learn[Any]) -> None:
    """Refuse, before anything is loaded, what cannot go together or nowhere be written."""
    if asked.recipe not in (AUTO, *RECIPES):
        raise no_such("recipe", asked.recipe, (AUTO, *RECIPES))
    if not asked.checkpoint_every >= 0:
        raise BadInput(f"--checkpoint-every must be some seconds, not {asked.checkpoint_every}.")
    if (asked.release is None) == (asked.data is None):
        raise BadInput("name either a --release to train on or --data, private images.")
    if asked.release is not None and not isinstance(asked.scheme, Vanilla):
        raise BadInput("a release is hidden already: leave --scheme out, or name private images with --data.")
    if asked.release is not None and (asked.size or asked.channels or asked.normalise != "channel"):
        raise BadInput("a release has its size, channels and normalisation: leave these options out.")
    if asked.public is not None and getattr(asked.scheme, "k_private", None) is None:
        raise BadInput("only schemes that mix public images need some: leave out --public, or set --k-private.")
    begun = (asked.out / CHECKPOINT).exists()
    if begun and not asked.resume:
        raise BadInput(f"a training was begun in {asked.out}: go on with --resume, or choose another folder.")
    if asked.resume and not begun:
        raise BadInput(f"there is nothing to resume in {asked.out}: leave --resume out, or name another folder.")
    if not asked.resume:
        must_be_new(asked.out)
        with explained(asked.out):
            asked.out.mkdir(parents=True, exist_ok=True)


def _training(asked: Learn[Any], rows: int) -> Training:
    training = automatic(rows) if asked.recipe == AUTO else RECIPES[asked.recipe]
    given = {key: value for key in ("epochs", "batch", "augment") if (value := getattr(asked, key)) is not None}
    if asked.rate is not None:
        given["optimiser"] = replace(training.optimiser, rate=asked.rate)
    return replace(training, **given)


def _source(asked: Learn[Any]) -> EncodedRelease | Samples:
    if asked.release is not None:
        release = read_release(asked.release.resolve())
        if asked.features is not None and release.encoded.shape[1:] != (1, 1):
            raise BadInput("this release is of images, not of features: leave --features out.")
        return release
    return training_images(
        str(asked.data), asked.normalise, size=asked.size, channels=asked.channels, features=asked.features
    )


def _test(asked: Learn[Any], samples: Samples) -> Samples | None:
    """Load test images as the training images were."""
    if asked.test is None:
        return None
    channels, height, width = samples.shape
    if asked.features is not None or height == width == 1:
        loaded = load(asked.test, size=asked.size, channels=asked.channels)
    else:
        loaded = load(asked.test, size=(height, width), channels=channels)
    return prepared(loaded, samples.normalisation, asked.features)


def _line(epoch: dict[str, float], epochs: int) -> str:
    """Say how an epoch went."""
    test = f"  test {100 * epoch['test_accuracy']:5.1f} %" if "test_accuracy" in epoch else ""
    spent = f"  ε {epoch['epsilon']:.2f}" if "epsilon" in epoch else ""
    return (
        f"epoch {epoch['epoch']:>{len(str(epochs))}}/{epochs}  loss {epoch['loss']:.4f}  accuracy"
        f" {100 * epoch['accuracy']:5.1f} %{test}{spent}  {epoch['images_per_second']:,.0f} images/s"
    )


def _lists() -> str:
    from hideseek.models import MODELS

    return "\n\n".join(
        f"{title}: {', '.join(names)}."
        for title, names in (("Schemes", METHODS), ("Models", MODELS), ("Recipes", (AUTO, *RECIPES)))
    )
