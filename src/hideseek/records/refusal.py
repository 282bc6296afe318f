"""Why an attack does not apply to a release: a reason from a fixed list, and the facts that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from hideseek.errors import BadInput


class Reason(StrEnum):
    """A reason, by its code in result.json, with the text that explains it."""

    text: str

    def __new__(cls, code: str, text: str) -> Self:
        """Keep the text beside the code."""
        reason = str.__new__(cls, code)
        reason._value_ = code
        reason.text = text
        return reason

    OTHER_KIND = "other-kind", "this attack is for releases of the kind {wanted}, not {given}."
    MISSING_FIELDS = "missing-fields", "this attack needs {fields}, which this attacker does not have."
    NO_PUBLIC_IMAGES = (
        "no-public-images",
        "this attack is on schemes that mix in public images; this one mixes in none.",
    )
    TOO_FEW_PUBLIC_IMAGES = "too-few-public-images", "too few public images: {given}, and {wanted} or more are needed."
    PUBLIC_IMAGES_OF_OTHER_SIZE = (
        "public-images-of-other-size",
        "public images of {given} cannot be in rows of {wanted}: load them at the size that they were mixed at.",
    )
    LARGER_PUBLIC_IMAGES = (
        "larger-public-images",
        "this attack needs the very public images that were mixed in; the attacker has the larger ones ({given}) that"
        " they were cut from.",
    )
    NO_OWN_IMAGES = (
        "no-own-images",
        "this attack needs images of the attacker's own, or public ones, and there are none: give it some like the"
        " private ones.",
    )
    TOO_FEW_OWN_IMAGES = (
        "too-few-own-images",
        "too few images of the attacker's own: {given}, and {wanted} or more are needed.",
    )
    UNSUITED_OWN_IMAGES = (
        "unsuited-own-images",
        "the attacker's own images must have the channels, the normalisation and at least the size of the release's"
        " ({wanted}), and have {given}.",
    )
    SEVERAL_IMAGES = "several-images", "this attack is on updates of one image, and these are of {given}."
    ENCODED_IMAGES = (
        "encoded-images",
        "images were encoded before gradients were taken, and this attack is on updates of images as they are.",
    )
    NO_OPTUNA = "no-optuna", "settings are searched by Optuna, which is not installed: pip install 'hideseek[tune]'."
    MASKED = "masked", "the signs of pixels were flipped at random, and this attack needs rows without a mask."
    NOT_MASKED = "not-masked", "this scheme flips no signs, so there is no mask to undo."
    NOT_LINEAR = (
        "not-linear",
        "images were moved before they were mixed, each time anew, so the rows are no linear system.",
    )
    NOT_MOVED = (
        "not-moved",
        "images were not moved before they were mixed: attacks that compare a pixel in one place of all rows apply.",
    )
    NO_PLACES = "no-places", "this attack looks for images in other places of rows, and these rows have no places."
    NO_NEIGHBOURS = (
        "no-neighbours",
        "this attack goes by neighbouring pixels, and what was mixed here has none.",
    )
    ONE_PRIVATE_IMAGE = (
        "one-private-image",
        "this attack needs two private images or more in a row, whose products tell the signs; here a row has one.",
    )
    NOT_EXACT = (
        "not-exact",
        "rows are no exact sums of the images: these were moved before they were mixed, or there is noise.",
    )
    UNKNOWN_PUBLIC_IMAGES = (
        "unknown-public-images",
        "this attack is on rows of private images alone, and {given} public ones are mixed in.",
    )
    TOO_MANY_SOLUTIONS = (
        "too-many-solutions",
        "a pixel of {images} mixed bytes has about {solutions} solutions, too many to be told apart by its neighbours.",
    )
    CONSTANTS_UNKNOWN = (
        "constants-unknown",
        "every image was normalised by constants of its own, which are not shared, so that pixels are no known"
        " multiples of bytes.",
    )
    COARSE_ROWS = "coarse-rows", "rows are stored in bytes, so that a pixel has too many solutions to be told apart."
    NO_COMMON_IMAGES = (
        "no-common-images",
        "every private image is in one row alone, so no two rows share one: it takes two rounds or more.",
    )
    TOO_FEW_ROWS = "too-few-rows", "too few rows: {given}, and {wanted} or more are needed."
    TOO_FEW_ROUNDS = (
        "too-few-rounds",
        "the attack needs two images with {wanted} or more rows each: encode every image in {wanted} rounds or more.",
    )
    TOO_SMALL_IMAGES = (
        "too-small-images",
        "SSIM compares images of {wanted}×{wanted} pixels or more; these are smaller.",
    )
    UNUSABLE_VALUES = (
        "unusable-values",
        "all rows are the same, or their values are so large or so small that products of them are no numbers.",
    )
    NOT_REPEATED = (
        "not-repeated",
        "rows in the same place of two rounds are of other classes: partners or the order were drawn anew, and this"
        " attack is on the same pairs in every round.",
    )
    NO_CLASSES = "no-classes", "this attack reads weights from labels, and no row shows two classes."
    NOT_IN_PAIRS = "not-in-pairs", "this attack is on rows of two private images, and {given} are mixed in."
    NOT_GAUSSIAN = (
        "not-gaussian",
        "squares of neighbouring pixels correlate by {given}, as in photographs: rows are alike then that share no"
        " image, and this attack is on pixels that are independent Gaussians.",
    )
    TOO_MANY_PIXELS = (
        "too-many-pixels",
        "rows of {given} numbers are too large for this attack, which takes {wanted} at most: load images smaller.",
    )
    TOO_FEW_PIXELS = "too-few-pixels", "too few pixels: {given}, and {wanted} or more are needed."
    NO_DENSE_INPUT = (
        "no-dense-input",
        "this attack is on networks whose images reach a dense layer with a bias unchanged; here {given} comes first.",
    )
    NO_HEAD = "no-head", "this attack needs a network whose last layer is dense, with a bias, and this one's is not."
    NO_IMPRINT = "no-imprint", "the model holds no imprint: its first layer's rows are not multiples of each other."
    EMPTY_UPDATES = (
        "empty-updates",
        "all updates are zero, or no numbers, at the layer {layer}, so that they hold nothing of the images.",
    )
    NO_LEARNING_RATE = (
        "no-learning-rate",
        "local steps of the length 0 change nothing: it takes a learning rate above 0 to tell a gradient from them.",
    )
    UNKNOWN_WORK = (
        "unknown-work",
        "the {parts} of the client's local work are not known, so that no update of own images can be made as theirs"
        " were: say them where the update is imported.",
    )
    NO_GRADIENT = "no-gradient", "every entry of every update is zero, so that there is no gradient to match."
    NOT_FINITE = (
        "not-finite",
        "the update {number} holds numbers that are not finite at {name}, so that no images can match it: ask for it"
        " again.",
    )
    NOT_ENCODED = (
        "not-encoded",
        "images were not mixed before updates were computed, so that there are no encodings to take apart.",
    )
    NOT_ONE_LENGTH = (
        "not-one-length",
        "this attack is on noise of one known length, in rows of two private images, and this scheme adds none such.",
    )
    WEIGHTS_UNKNOWN = (
        "weights-unknown",
        "this attack needs the weights of rows, and labels do not tell them: there are none, or they were rounded or"
        " drawn.",
    )
    CANDIDATES_OF_OTHER_SHAPE = (
        "candidates-of-other-shape",
        "candidate images of {given} cannot be in rows of {wanted}: load them at the size that was shared.",
    )
    EQUAL_CANDIDATES = "equal-candidates", "all candidate images are equal, so that none can be told from another."
    INCOMPLETE_SOURCES = "incomplete-sources", "the sources of all {wanted} rows are needed, with the same release."


@dataclass(frozen=True)
class Refusal:
    """Says why an attack does not apply.

    >>> str(Refusal(Reason.TOO_FEW_ROWS, {"given": 3, "wanted": 5}))
    'too few rows: 3, and 5 or more are needed.'
    """

    reason: Reason
    facts: dict[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.reason.text.format(**self.facts)


class Refused(BadInput):
    """An attack was run on a release that it does not apply to."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
