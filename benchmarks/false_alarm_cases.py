"""Attacks that find nothing, and attacks that find something, for every kind of claim.

A null does not depend on the release beyond what anybody sees: labels, how bright a row is, how images look in general.
An effect does, by a stated degree. `false_alarms.py` judges both.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import torch
from numpy.random import Generator
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness, seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Attribution, Claim, Links, Masks, PublicImagesFound, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.score.item_labels import classes_by_size, item_labels

Guess = Callable[[MixingSecret, Generator], Tensor]
SIZES_OF_CLASSES = (0.4, 0.25, 0.15, 0.12, 0.08)  # small classes tell more than large ones
PUBLIC = 300  # images
QUERIES = 50  # rows that are compared with all others


@dataclass(frozen=True)
class Kind:
    """A kind of claim about releases of a kind, for so many private images each time."""

    name: str
    sizes: tuple[int, ...]
    hide: Callable[[int, Generator], MixingSecret]
    claim: Callable[[MixingSecret, Tensor], Claim]
    nulls: dict[str, Guess]
    effects: dict[str, Guess]


def drawn(chance: Generator, *shape: int) -> Tensor:
    """Draw normal numbers."""
    return torch.from_numpy(chance.normal(size=shape))


def stream(chance: Generator) -> Randomness:
    """Give a stream of the library's own."""
    return seeded(int(chance.integers(2**62)))


def blank(images: int, chance: Generator, side: int = 2) -> Samples:
    """Give images whose pixels do not matter, with labels."""
    classes = chance.choice(len(SIZES_OF_CLASSES), images, p=SIZES_OF_CLASSES)
    return Samples(
        drawn(chance, images, 1, side, side).float(), torch.eye(len(SIZES_OF_CLASSES))[torch.from_numpy(classes)]
    )


def mixed(images: int, chance: Generator, rounds: int) -> MixingSecret:
    """Mix pairs of images."""
    return Mixup(k=2).hide(blank(images, chance), None, stream(chance), rounds)[1]


def coins(chance: Generator, *shape: int) -> Tensor:
    """Flip coins."""
    return torch.from_numpy(chance.choice([-1, 1], shape))


# Rows that share an image: a score for all pairs of rows.


def products_of_labels(secret: MixingSecret, chance: Generator) -> Tensor:
    """Compare the labels of rows."""
    labels = item_labels(secret)
    return labels @ labels.T


def common_classes(secret: MixingSecret, chance: Generator) -> Tensor:
    """Go by the classes that two rows have in common, each over its size."""
    within, by_size = classes_by_size(item_labels(secret), secret)
    return within @ by_size.T


def brightness(secret: MixingSecret, chance: Generator) -> Tensor:
    """Go by how bright the second row is; rows of a bright image are bright."""
    rows = (drawn(chance, len(secret.private))[secret.sources] * secret.weights).sum(1)
    return rows.expand(len(rows), -1)


def noise_of_rows(secret: MixingSecret, chance: Generator) -> Tensor:
    """Compare two numbers for each row that have nothing to do with its images."""
    rows = drawn(chance, secret.items, 2)
    return rows @ rows.T


def gated(secret: MixingSecret, chance: Generator, strength: float = 0.0) -> Tensor:
    """Score pairs with a common class at random, more by so many deviations where they share an image; others least."""
    images = functional.one_hot(secret.sources).sum(1)
    scores = strength * (images @ images.T > 0) + drawn(chance, secret.items, secret.items)
    return torch.where(common_classes(secret, chance) > 0, scores, -9.0)


def links(secret: MixingSecret, scores: Tensor) -> Claim:
    """Compare some rows with all others; rows are in random order."""
    one, other = torch.meshgrid(torch.arange(min(QUERIES, len(scores))), torch.arange(len(scores)), indexing="ij")
    pairs = one != other
    return Links(one[pairs], other[pairs], scores[one[pairs], other[pairs]])


LINKS = Kind(
    "links",
    (5, 8, 20, 100),
    lambda images, chance: mixed(images, chance, 4 if images < 20 else 2),
    links,
    {
        "random scores": lambda secret, chance: drawn(chance, secret.items, secret.items),
        "products of labels": products_of_labels,
        "common classes over their sizes": common_classes,
        "how bright the second row is": brightness,
        "noise of rows": noise_of_rows,
        "random scores for common classes": gated,
    },
    {f"{more} deviations more for a shared image": partial(gated, strength=more) for more in (0.5, 1.0, 2.0)},
)

# Whose encoding a row is: a score for all rows and images.


def by_class(secret: MixingSecret, chance: Generator) -> Tensor:
    """Name an image of a class that is in the label, of the smallest one."""
    by_size = classes_by_size(item_labels(secret), secret)[1]
    return by_size @ secret.private.labels.double().T + 1e-6 * drawn(chance, secret.items, len(secret.private))


def mostly_right(secret: MixingSecret, chance: Generator, share: float) -> Tensor:
    """Know a share of the rows, and guess the others by their labels."""
    known = torch.from_numpy(chance.random((secret.items, 1)) < share)
    return by_class(secret, chance) + 9 * known * functional.one_hot(secret.sources[:, 0], len(secret.private))


def one_of_rows(secret: MixingSecret, chance: Generator) -> Tensor:
    """Name an image by a number of the row that has nothing to do with its images."""
    answer = torch.from_numpy(chance.integers(3, size=secret.items))
    return functional.one_hot(answer, len(secret.private))


ATTRIBUTION = Kind(
    "attribution",
    (5, 10, 40),
    partial(mixed, rounds=10),
    lambda secret, scores: Attribution(torch.arange(secret.items), torch.arange(scores.shape[1]), scores.float()),
    {
        "random scores": lambda secret, chance: drawn(chance, secret.items, len(secret.private)),
        "by the classes in the label": by_class,
        "one favourite image": lambda secret, chance: drawn(chance, 1, len(secret.private)).expand(secret.items, -1),
        "three favourite images": one_of_rows,
    },
    {f"{share:.0%} of rows known": partial(mostly_right, share=share) for share in (0.1, 0.2, 0.4)},
)

# The signs of a mask.


def masked(images: int, chance: Generator) -> MixingSecret:
    """Mix pairs of images under masks."""
    return InstaHide(k=2).hide(blank(images, chance, 8), None, stream(chance), 2)[1]


def some_wrong(secret: MixingSecret, chance: Generator, share: float) -> Tensor:
    """Get a share of the signs wrong."""
    signs = secret.signs()
    return torch.where(torch.from_numpy(chance.random(signs.shape) < share), -signs, signs)


MASKS = Kind(
    "masks",
    (5, 8, 20, 100),
    masked,
    lambda secret, signs: Masks(torch.arange(secret.items), signs.to(torch.int8).contiguous()),
    {
        "coin flips": lambda secret, chance: coins(chance, secret.items, 1, 8, 8),
        "one mask for all rows": lambda secret, chance: coins(chance, 1, 1, 8, 8).expand(secret.items, -1, -1, -1),
        "all signs of a row alike": lambda secret, chance: coins(chance, secret.items, 1, 1, 1).expand(-1, -1, 8, 8),
    },
    {f"{share:.0%} wrong": partial(some_wrong, share=share) for share in (0.48, 0.45, 0.4)},
)

# Public images in a row.


def with_public(images: int, chance: Generator) -> MixingSecret:
    """Mix pairs of private images with two public ones."""
    public = Samples(torch.zeros(PUBLIC, 1, 2, 2), torch.empty(PUBLIC, 0))
    return Mixup(k=4, k_private=2).hide(blank(images, chance), public, stream(chance), 2)[1]


def some_right(secret: MixingSecret, chance: Generator, share: float) -> Tensor:
    """Know a public image of a share of the rows, and guess the others."""
    known = torch.from_numpy(chance.random(secret.items) < share)
    return torch.where(known, secret.public_sources[:, 0], torch.from_numpy(chance.integers(PUBLIC, size=len(known))))


def one_of_images(secret: MixingSecret, chance: Generator) -> Tensor:
    """Give one answer for all rows of a private image."""
    return torch.from_numpy(chance.integers(PUBLIC, size=len(secret.private)))[secret.sources[:, 0]]


def public_images(secret: MixingSecret, answers: Tensor) -> Claim:
    """Answer with one public image for each row."""
    return PublicImagesFound(torch.arange(len(answers)), answers[:, None], torch.zeros(len(answers), 1), PUBLIC)


PUBLIC_IMAGES = Kind(
    "public-images",
    (5, 8, 20, 100, 500),
    with_public,
    public_images,
    {
        "random": partial(some_right, share=0.0),
        "one image for all rows": lambda secret, chance: torch.from_numpy(chance.integers(PUBLIC, size=1)).expand(
            secret.items
        ),
        "one answer for each private image": one_of_images,
    },
    {f"{share:.0%} of rows known": partial(some_right, share=share) for share in (0.03, 0.1, 0.3)},
)

# Private images: pieces of photographs, with classes.


@cache
def photographs() -> tuple[Samples, Samples]:
    """Give grey pieces, 16×16, that hardly overlap; and others, of the same photographs, that overlap with none."""
    parts = []
    for address, every in (("photos", 7), ("photos?split=test", 2)):
        samples = load(address)
        small = functional.avg_pool2d(samples.images.float().mean(1, keepdim=True), 2) / 255
        parts.append(Samples(small, samples.labels).take(torch.arange(0, len(samples), every)))
    return parts[0], parts[1]


def pictured(images: int, chance: Generator, *, mask: bool = False, rounds: int = 0) -> MixingSecret:
    """Share images one by one, or mixed; as many others, of which nothing is shared, are there to be mistaken for."""
    own, others = photographs()
    private = normalise(own.take(torch.from_numpy(chance.permutation(len(own))[:images])), "channel")
    gallery = normalise(others.take(torch.from_numpy(chance.integers(len(others), size=images))), private.normalisation)
    if rounds:
        scheme = InstaHide(k=2) if mask else Mixup(k=2)
        secret = scheme.hide(private, None, stream(chance), rounds)[1]
    else:
        nothing = torch.empty(images, 0, dtype=torch.int64)
        secret = MixingSecret(private, torch.arange(images)[:, None], nothing, torch.ones(images, 1))
    return replace(secret, others=gallery)


def unrelated(secret: MixingSecret, chance: Generator) -> Tensor:
    """Give pieces of the same photographs that overlap with no private image."""
    others = normalise(photographs()[1], secret.private.normalisation)
    return others.pixels(torch.from_numpy(chance.integers(len(others), size=secret.items)))


def blurred(secret: MixingSecret, chance: Generator) -> Tensor:
    """Blur unrelated images."""
    return functional.avg_pool2d(unrelated(secret, chance), 5, 1, 2, count_include_pad=False)


def low_frequencies(secret: MixingSecret, chance: Generator) -> Tensor:
    """Enlarge 2×2 random pixels."""
    small = drawn(chance, secret.items, 1, 2, 2).float()
    return functional.interpolate(small, tuple(secret.private.shape[1:]), mode="bilinear")


def class_means(secret: MixingSecret, chance: Generator) -> Tensor:
    """Average unrelated images of the class that a row was made for."""
    others = normalise(photographs()[1], secret.private.normalisation)
    means = functional.normalize(others.labels, p=1.0, dim=0).T @ others.pixels().flatten(1)
    classes = secret.private.labels.argmax(1)[secret.sources[:, 0]]
    return means.view(-1, *secret.private.shape)[classes]


def of_all(secret: MixingSecret, chance: Generator, absolute: bool = False) -> Tensor:
    """Answer with the mean of all private images, or of their absolute values."""
    pixels = secret.private.pixels()
    return (pixels.abs() if absolute else pixels).mean(0).expand(secret.items, -1, -1, -1)


def partly(secret: MixingSecret, chance: Generator, share: float) -> Tensor:
    """Mix the image that a row was made for with an unrelated one."""
    return share * secret.private.pixels(secret.sources[:, 0]) + (1 - share) * unrelated(secret, chance)


NOTHING_SEEN: dict[str, Guess] = {
    "noise": lambda secret, chance: drawn(chance, secret.items, *secret.private.shape).float(),
    "mean image": of_all,
    "unrelated images": unrelated,
    "unrelated images, blurred 5×5": blurred,
    "low frequencies at random": low_frequencies,
    "class means of unrelated images": class_means,
}
PARTLY_SEEN: dict[str, Guess] = {
    f"{share:.0%} image, {1 - share:.0%} unrelated": partial(partly, share=share) for share in (0.2, 0.4, 0.6, 0.9)
}


def reconstructions(
    of: str, sizes: tuple[int, ...], hide: Callable[[int, Generator], MixingSecret], **more: Guess
) -> Kind:
    """Guess one image for each row."""

    def claim(secret: MixingSecret, images: Tensor) -> Claim:
        return Reconstruction(images, torch.arange(secret.items), of)  # type: ignore[arg-type]

    return Kind("reconstruction", sizes, hide, claim, {**NOTHING_SEEN, **more}, PARTLY_SEEN)


KINDS: dict[str, Kind] = {
    "links": LINKS,
    "attribution": ATTRIBUTION,
    "masks": MASKS,
    "public-images": PUBLIC_IMAGES,
    "reconstruction of images": reconstructions("images", (5, 8, 20, 100), pictured),
    "reconstruction in any order": reconstructions("any", (5, 20, 100, 500), pictured),
    "reconstruction of rows": reconstructions("items", (8, 40), partial(pictured, rounds=2)),
    "reconstruction of masked rows": reconstructions(
        "items",
        (40,),
        partial(pictured, rounds=2, mask=True),
        **{"mean of absolute values": partial(of_all, absolute=True)},
    ),
}
