"""What is said of a scheme besides verdicts: what is proved of it, what to change, what it costs."""

from collections.abc import Sequence

from hideseek.records.encoder import Bound, Change, ChangeKind
from hideseek.records.result import Accuracy, Advice, Exposed, SchemeResult
from hideseek.report.ranking import most_exposed, worst_harm
from hideseek.report.sentences.accuracies import beside_accuracy
from hideseek.report.sentences.attacks import failure, refusal
from hideseek.report.sentences.numbers import counted, joined, number, parameter, sentence, span


def bound(proved: Bound) -> str:
    """Say what is proved of a scheme, and what the theorem does not say."""
    return f"{proved.theorem}: {proved.quantity} is at most {parameter(proved.value)}. {sentence(proved.limits)}"


CHANGES = {
    ChangeKind.FEWER_ROUNDS: "Fewer rounds: {after}{instead}",
    ChangeKind.MORE_NOISE: "More noise: {parameter} = {after}{instead}",
    ChangeKind.COARSER: "Rows in {after} bits{instead}, and labels drawn by weight",
    ChangeKind.OTHER_SCHEME: "Another scheme: {scheme} with {parameter} = {after}",
    ChangeKind.LARGER_BATCH: "Larger batches: {after} images{instead}",
    ChangeKind.MORE_LOCAL_STEPS: "More local steps before weights are sent: {after}{instead}",
    ChangeKind.STRONGER_DEFENCE: "More of {scheme}: {parameter} = {after}{instead}",
    ChangeKind.DEFENCE: "A further defence: {scheme} with {parameter} = {after}",
    ChangeKind.LEAVE_OUT: "The most exposed images left out: {after} images{instead}",
}


def change(made: Change) -> str:
    """Say what to change, as a heading.

    >>> change(Change(ChangeKind.FEWER_ROUNDS, "rounds", 20, 1))
    'Fewer rounds: 1 instead of 20'
    """
    instead = "" if made.before is None else f" instead of {parameter(made.before)}"
    return CHANGES[made.kind].format(
        after=parameter(made.after), instead=instead, parameter=made.parameter, scheme=made.scheme
    )


def effect(advised: Advice) -> str:
    """Say in a few words whether a change helps."""
    if advised.helps is None:
        return "not measured"
    return "helps against the attack measured" if advised.helps else "does not help"


def advice(advised: Advice) -> str:
    """Say what was measured that speaks for or against a change, and what it costs."""
    if advised.refusal is not None:
        said = f"{advised.attack} does not apply then, others may. {refusal(advised.refusal)}"
    elif advised.failure is not None:
        said = f"It could not be measured. {failure(advised.failure)}"
    elif advised.helps is None:
        said = "It was not measured."
    elif advised.helps:
        said = f"{advised.attack} is not shown to beat its baseline then."
    else:
        said = f"Not enough: {advised.attack} still beats its baseline."
    return joined(said, sentence(advised.change.cost))


def most_exposed_images(scheme: SchemeResult) -> str:
    """Say which private images of a scheme are most exposed; empty: none is."""
    listed = "; ".join(
        f"{exposed(image)} ({attack.attack}, {number(image.share, 'share')}{correlated(image)})"
        for image, attack in most_exposed(scheme.attacks)
    )
    said = (
        "most exposed private images, by number (attack, share of other candidates that fit its answer worse, and the"
        " correlation of its guess with the image, where it has one)"
    )
    return f"{scheme.name}. {sentence(f'{said}: {listed}')}" if listed else ""


def exposed(image: Exposed) -> str:
    """Name a private image by its number, and its patient where patients are known.

    >>> exposed(Exposed(12, 1.0)), exposed(Exposed(12, 1.0, patient=3))
    ('12', '12 of patient 3')
    """
    return str(image.image) if image.patient is None else f"{image.image} of patient {image.patient}"


def correlated(image: Exposed) -> str:
    """Say how like the image the best guess is, if there is one."""
    return "" if image.correlation is None else f", correlation {number(image.correlation, '')}"


def advised(scheme: str, given: Advice) -> str:
    """Say what to change in a scheme, and what speaks for it or against it."""
    return f"{scheme}. {change(given.change)}. {advice(given)}"


def trade_off(schemes: Sequence[tuple[SchemeResult, Accuracy]], vanilla: Accuracy | None) -> str:
    """Say what each scheme leaks at worst, and the accuracy of a model that was trained on it."""
    said = [
        f"{scheme.name}: {worst_harm(scheme).value}, accuracy {number(accuracy.accuracy.mean, 'share')}"
        f" ({span(accuracy.accuracy, 'share')}{_beside(accuracy)})"
        for scheme, accuracy in schemes
    ]
    if vanilla is not None:
        said.append(f"not hidden: accuracy {number(vanilla.accuracy.mean, 'share')}{_beside(vanilla)}")
    return f"{'; '.join(said)}."


def _beside(accuracy: Accuracy) -> str:
    beside = beside_accuracy(accuracy)
    return f", {beside}" if beside else ""


def shared(scheme: SchemeResult) -> str:
    """Count what is shared: encodings, updates."""
    item = next((each.contents.item for each in scheme.attacks), "item")
    return f"{counted(scheme.items, item)} in {counted(scheme.rounds, 'round')}"
