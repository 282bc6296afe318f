"""`hideseek learn`: train on a release, or on images that are hidden anew for every epoch."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tyro

from hideseek.chance import secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.images import by_column, prepared, public_images, training_images
from hideseek.cli.learn_options import AUTO, METHODS, Learn, LearnPrivately, Vanilla, lists
from hideseek.cli.ledger_book import Book, file_digest
from hideseek.cli.shared import Shared, apart
from hideseek.cli.terminal import say
from hideseek.data import load
from hideseek.data.listing import some
from hideseek.data.split import check_apart
from hideseek.errors import BadInput, no_such
from hideseek.files import clear_leftovers, must_be_new, new_file, own_folder
from hideseek.hide import ENCODERS, RecipeEncoder
from hideseek.hide.files.release_files import read_release
from hideseek.hide.files.schemes import to_json
from hideseek.hide.named import schemes
from hideseek.hide.privacy.ledger_entries import Leaving
from hideseek.learn import Learnt, Plain, Private, PrivateSGD, Reencoded, RunFolder, Source, largest_class, learn
from hideseek.records import MixingEncoder, Samples, Spent
from hideseek.report import sentences
from hideseek.report.training_curve import draw_curve
from hideseek.train.recipes import RECIPES
from hideseek.train.trained import MODEL, write_model
from hideseek.train.training import Training, automatic
from hideseek.train.worker import this_worker


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and train; the scheme comes first, since its parameters are options too."""
    name, rest = _scheme(arguments)
    method, shared = _method(name)
    private = isinstance(method, PrivateSGD)
    kind: Any = LearnPrivately if private else Learn[type(method)]  # type: ignore[misc] # with the scheme's fields
    about = inspect.cleandoc(Learn.__doc__ or "")
    plain = name == "vanilla"
    asked: Learn[Any] = parse(
        kind,
        "hideseek learn" if plain else f"hideseek learn --scheme {name}",
        rest,
        description=f"{about}\n{lists()}" if plain else about,
        default=(LearnPrivately if private else Learn)(tyro.MISSING, method),
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.DisallowNone),
    )
    train(replace(asked, scheme=shared.of(asked.scheme)) if isinstance(asked.scheme, RecipeEncoder) else asked)


def _method(name: str) -> tuple[Any, Shared]:
    """Find a scheme, with parameters in its name perhaps, and how exactly it shares; or another way to train."""
    plain = name.partition(":")[0]
    if plain not in METHODS:
        raise no_such("scheme", plain, METHODS)
    if plain in ENCODERS:
        (scheme,) = schemes(name).values()
        return apart(scheme) if isinstance(scheme, RecipeEncoder) else (scheme, Shared())
    if plain != name:
        raise BadInput(f"{plain} has no parameters in its name: give its options instead.")
    return METHODS[name], Shared()


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
    folder = RunFolder(asked.out, asked.run.resume, asked.run.checkpoint_every)
    _check(asked, folder)
    try:
        _train(asked, folder)
    except KeyboardInterrupt:
        begun = folder.checkpoint.exists()
        raise KeyboardInterrupt("stopped; go on with the same command and --resume." if begun else "stopped.") from None


def _train(asked: Learn[Any], folder: RunFolder) -> None:
    images = asked.images
    data, test_data = (by_column(address, images.label_column) for address in (images.data, images.test))
    asked = replace(asked, images=replace(images, data=data, test=test_data))
    source = _source(asked)
    training = _training(asked, len(source.samples))
    test = _test(asked, source.samples)
    first = this_worker().first
    book = _book(asked)
    leaving = _leaving(asked, len(source.samples), training)
    book.check(leaving)
    if first and test is None:
        say("There is no --test set: how well the model does on new images will not be known.")
    if first and test is not None:
        say(sentences.largest_class(largest_class(test.labels)))
    learnt = learn(
        source,
        asked.training.model or source.suited(),
        training,
        test=test,
        chance=secure() if asked.run.seed is None else seeded(asked.run.seed),
        run_folder=folder,
        on_epoch=lambda epoch: say(_line(epoch, training.epochs)),
    )
    if first:
        book.add(leaving)
        _write(asked, learnt, folder)
        book.finish(file_digest(asked.out / MODEL))
        say(*book.said())
        if test is not None:
            say(*_no_better(learnt, test))


def _check(asked: Learn[Any], folder: RunFolder) -> None:
    """Refuse, before anything is loaded, options that contradict each other and a folder that cannot be written."""
    images, scheme = asked.images, asked.scheme
    if asked.training.recipe not in (AUTO, *RECIPES):
        raise no_such("recipe", asked.training.recipe, (AUTO, *RECIPES))
    if not asked.run.checkpoint_every >= 0:
        raise BadInput(f"--checkpoint-every must be some seconds, not {asked.run.checkpoint_every}.")
    if (images.release is None) == (images.data is None):
        raise BadInput("name either a --release to train on or --data, private images.")
    if images.release is not None and not isinstance(scheme, Vanilla):
        raise BadInput("a release is hidden already: leave --scheme out, or name private images with --data.")
    if images.release is not None and (images.size or images.channels or images.normalise != "channel"):
        raise BadInput("a release has its size, channels and normalisation: leave these options out.")
    if images.public is not None and not (isinstance(scheme, MixingEncoder) and scheme.mixes_public):
        raise BadInput("this scheme mixes no public images: leave out --public, or set --k-private below --k.")
    if asked.out.is_dir() and not asked.out.is_symlink():
        clear_leftovers(asked.out)  # of a training that was killed
    begun = folder.checkpoint.exists()
    if begun and not folder.resume:
        raise BadInput(f"a training was begun in {asked.out}: go on with --resume, or choose another folder.")
    if folder.resume and not begun:
        raise BadInput(f"there is nothing to resume in {asked.out}: leave --resume out, or name another folder.")
    if not folder.resume:
        must_be_new(asked.out)
    own_folder(asked.out)


def _source(asked: Learn[Any]) -> Source[Any]:
    """Load what is learnt from."""
    images, scheme = asked.images, asked.scheme
    if images.release is not None:
        release = read_release(images.release.resolve())
        if images.features is not None and release.encoded.shape[1:] != (1, 1):
            raise BadInput("this release is of images, not of features: leave --features out.")
        return Plain.of(release)
    samples = training_images(
        str(images.data), images.normalise, size=images.size, channels=images.channels, features=images.features
    )
    if isinstance(scheme, PrivateSGD):
        return Private(samples, scheme)
    if isinstance(scheme, Vanilla):
        return Plain(samples)
    public = None
    if images.public is not None:
        public = public_images(images.public, samples, size=images.size, features=images.features)
    return Reencoded(samples, scheme, public)


def _book(asked: Learn[Any]) -> Book:
    """Open the ledger of a private training; others are not written down, since nothing of them is to leave."""
    return Book.of(asked.ledger, str(asked.images.data)) if isinstance(asked, LearnPrivately) else Book()


def _leaving(asked: Learn[Any], rows: int, training: Training) -> Leaving:
    """Describe the model to a ledger; what a seed gives protects nothing."""
    scheme, spent = asked.scheme, Spent()
    if isinstance(scheme, PrivateSGD) and asked.run.seed is None:
        spent = scheme.spends(rows, training)
    about = vars(scheme) | {"epochs": training.epochs, "batch": training.batch}
    return Leaving("dp-sgd", about, spent, where=str((asked.out / MODEL).absolute()))


def _training(asked: Learn[Any], rows: int) -> Training:
    """Give the recipe, with what was asked for instead."""
    options = asked.training
    noisy = isinstance(asked.scheme, PrivateSGD)
    training = automatic(rows, descends=noisy) if options.recipe == AUTO else RECIPES[options.recipe]
    given = {key: value for key in ("epochs", "batch", "augment") if (value := getattr(options, key)) is not None}
    if options.rate is not None:
        given["optimiser"] = replace(training.optimiser, rate=options.rate)
    return replace(training, **given)


def _test(asked: Learn[Any], samples: Samples) -> Samples | None:
    """Load test images as the training images were."""
    images = asked.images
    if images.test is None:
        return None
    channels, height, width = samples.shape
    if images.features is not None or height == width == 1:
        loaded = load(images.test, size=images.size, channels=images.channels)
    else:
        loaded = load(images.test, size=(height, width), channels=channels)
    check_apart(samples, loaded)
    return prepared(loaded, samples.normalisation, images.features)


def _line(epoch: dict[str, float], epochs: int) -> str:
    """Say how an epoch went."""
    test = f"  test {100 * epoch['test_accuracy']:5.1f} %" if "test_accuracy" in epoch else ""
    spent = f"  ε {epoch['epsilon']:.2f}" if "epsilon" in epoch else ""
    return (
        f"epoch {epoch['epoch']:>{len(str(epochs))}}/{epochs}  loss {epoch['loss']:.4f}  accuracy"
        f" {100 * epoch['accuracy']:5.1f} %{test}{spent}  {epoch['images_per_second']:,.0f} images/s"
    )


def _no_better(learnt: Learnt, test: Samples) -> list[str]:
    """Say that nothing was learnt that helps with test images, where that is so."""
    measured = [epoch["test_accuracy"] for epoch in learnt.history if "test_accuracy" in epoch]
    said = sentences.no_better(measured[-1], largest_class(test.labels)) if measured else ""
    return [said] if said else []


def _write(asked: Learn[Any], learnt: Learnt, folder: RunFolder) -> None:
    """Write the curve, then the model, and only then remove the checkpoint."""
    images, features = asked.images, asked.images.features
    if features and Path(features).exists():
        features = str(Path(features).resolve())
    trained = replace(learnt.trained, features=features, size=images.size if features else None)
    if images.class_names == "numbers":
        trained = replace(trained, classes=tuple(map(str, range(len(trained.classes)))))
    scheme = None if learnt.scheme is None else to_json(learnt.scheme)
    with new_file(asked.out / "curve.png") as file:
        hidden = "" if scheme is None else f", hidden by {scheme['mechanism']}"
        draw_curve(learnt.history, f"{trained.architecture} on {images.release or images.data}{hidden}", file)
    write_model(asked.out / MODEL, trained, scheme)
    folder.checkpoint.unlink(missing_ok=True)
    say(f"The model is in {asked.out / MODEL}, how it went in {asked.out / 'curve.png'}.")
    if not all(name.isdecimal() for name in trained.classes):
        say(f"It names its classes: {some(trained.classes)} (--class-names numbers leaves the names out).")
    if learnt.epsilon is not None:
        spent = f"ε = {learnt.epsilon:.3g} at δ = {asked.scheme.delta:g}"
        say(f"Its weights spent {spent}; metrics and curve are outside of that: do not share them.")
    if asked.run.seed is not None:
        say(f"All chance came from the seed {asked.run.seed}: it is for studies, and protects nothing.")
    say(f"Ask it:  hideseek predict {asked.out} IMAGES…")
