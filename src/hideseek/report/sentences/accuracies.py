"""How well a model does, always beside what always naming the largest class would score."""

from hideseek.records.result import Accuracy, ModelState
from hideseek.report.sentences.numbers import counted, number, points


def beside_accuracy(measured: Accuracy) -> str:
    """Say in a few words what the largest class alone would score, and whether the accuracy exceeds it; may be empty.

    >>> from hideseek.records.result import Range
    >>> [beside_accuracy(Accuracy(Range(mean, mean - 0.1, mean + 0.1, 90), "", 1, 1, 1, 0.7)) for mean in (0.9, 0.75)]
    ['largest class 70.0 %', 'not surely above the largest class, 70.0 %']
    >>> beside_accuracy(Accuracy(Range(0.7, 0.6, 0.8, 90), "", 1, 1, 1, 0.7))
    'not above the largest class, 70.0 %'
    """
    if measured.largest_class is None:
        return ""
    share = number(measured.largest_class, "share")
    if measured.exceeds_largest_class:
        return f"largest class {share}"
    return f"{not_above(measured)} the largest class, {share}"


def not_above(measured: Accuracy) -> str:
    """Mark an accuracy that does not exceed what the largest class alone would score, or not surely."""
    below = measured.largest_class is not None and measured.accuracy.mean <= measured.largest_class
    return "not above" if below else "not surely above"


def largest_class(share: float) -> str:
    """Say what an accuracy is to be compared with.

    >>> largest_class(0.746)
    'Always naming the largest class would be right for 74.6 % of the test images.'
    """
    return f"Always naming the largest class would be right for {number(share, 'share')} of the test images."


def no_better(accuracy: float, share: float) -> str:
    """Say that a model has learnt nothing that helps with test images; empty where it has.

    >>> no_better(0.70, 0.746), no_better(0.8, 0.746)
    ('On test images the model is no better than always naming the largest class (70.0 % against 74.6 %).', '')
    """
    if accuracy > share:
        return ""
    both = f"{number(accuracy, 'share')} against {number(share, 'share')}"
    return f"On test images the model is no better than always naming the largest class ({both})."


def classified(accuracy: float, images: int, share: float) -> str:
    """Say how well a model does on labelled images.

    >>> classified(0.9, 500, 0.5)
    '90.0 % of 500 images are classified correctly; always naming the largest class would be right for 50.0 %.'
    >>> classified(0.5, 500, 0.5)
    '50.0 % of 500 images are classified correctly, no better than always naming the largest class (50.0 %).'
    """
    right = f"{number(accuracy, 'share')} of {counted(images, 'image')} are classified correctly"
    if accuracy <= share:
        return f"{right}, no better than always naming the largest class ({number(share, 'share')})."
    return f"{right}; always naming the largest class would be right for {number(share, 'share')}."


def lost(share: float) -> str:
    """Say what hiding costs in accuracy.

    >>> lost(0.083), lost(-0.045), lost(-0.0001), lost(0.01)
    ('8.3 points lost', '4.5 points gained', 'nothing lost', '1.0 point lost')
    """
    text = points(abs(share))
    if text == "0.0":
        return "nothing lost"
    return f"{text} point{'' if text == '1.0' else 's'} {'lost' if share > 0 else 'gained'}"


def gained(share: float) -> str:
    """Write a difference of accuracies in points, with its sign.

    >>> gained(-0.083), gained(0.045), gained(-0.0001)
    ('−8.3', '+4.5', '0.0')
    """
    text = points(share)
    return f"+{text}" if share > 0 and text != "0.0" else text


def trained(scheme: str, measured: Accuracy) -> str:
    """Say how well a model does; without a scheme, it learnt from the images themselves."""
    right = f"{number(measured.accuracy.mean, 'share')} of new images are classified correctly"
    beside = beside_accuracy(measured)
    return f"{scheme or 'not hidden'}: {right}{f'; {beside}' if beside else ''}"


def state(model: str, reached: ModelState) -> str:
    """Say how far a model was trained that updates are shared of.

    >>> from hideseek.records.result import Range
    >>> state("lenet", ModelState("undefended", 1, Range(0.5, 0.4, 0.6, 160)))
    'lenet after 1 epoch of training: 50.0 % of the 160 images that it was trained on are classified correctly.'
    """
    share, images = number(reached.accuracy.mean, "share"), counted(reached.accuracy.images, "image")
    when, what = f"after {counted(reached.epoch, 'epoch')} of training", "it was trained on"
    if reached.epoch == 0:
        when, what = "as it was initialised", "it will be trained on"
    text = f"{model} {when}: {share} of the {images} that {what}"
    new = reached.new_accuracy
    also = "" if new is None else f", and {number(new.mean, 'share')} of {counted(new.images, 'new image')}"
    return f"{text}{also} are classified correctly."
