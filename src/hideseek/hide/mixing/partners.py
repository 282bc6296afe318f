"""Which images are mixed into a row: all different, every image as likely as every other."""

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.data.store import allocate, pieces
from hideseek.errors import BadInput
from hideseek.hide.mixing.trades import Images, Table, clashes, lacked, trade
from hideseek.progress import track

MOST = 1 << 28  # sources of all rows together: 2 GiB, and a minute to draw them
SPARSE = 64  # with fewer than count/64 images in a row, a table of who is where would be larger than the rows
RARE = 8  # where a row lacks one image in eight or fewer, those are listed anew
PLACES = 1 << 10  # draws at a time


def partners(count: int, k: int, chance: Randomness) -> Int[Tensor, "count k"]:
    """Draw the private sources of every row: π_1 the identity, π_2 … π_k random permutations of the whole set.

    Algorithm 2 of InstaHide, line 5. Each image is used k times. π_2 is a uniform derangement, and each row by itself
    is a uniform draw of k different images that begins with its own, since nothing here goes by the images' names.

    Deviation: independent permutations clash (4 % of rows at n = 128, k = 4 would hold an image twice). Here a row
    where a permutation repeats an earlier one takes a random image that it lacks, the row that had this image takes
    another, and so on, until one can take the image that the first row gives away. Such a cycle always exists: as many
    rows lack an image as a row lacks images, so whoever walks from row to row can always come back.
    """
    if k > count:
        raise BadInput(f"k = {k} images cannot differ when there are {count}: lower k or add images.")
    if count * k > MOST:
        raise BadInput(f"rows of k = {k:,} of {count:,} images are too much to draw: lower k, or hide them in parts.")
    sources = allocate((count, k), np.int64)
    sources[:, 0] = np.arange(count)
    held: Table = np.zeros((count, 0 if count > SPARSE * k else -(-count // 8)), np.uint8)
    offers: Images = np.empty((count, 0), np.int64)  # none: all images
    for j in track(range(1, k), "drawing partners"):
        if held.size:
            last = sources[:, j - 1]
            held[np.arange(count), last >> 3] |= (1 << (last & 7)).astype(np.uint8)
        if held.size and RARE * (count - j) < (offers.shape[1] or count):
            offers = lacked(held, count - j)
        sources[:, j] = _differing(sources, j, held, offers, chance)
    return torch.from_numpy(sources)


def _differing(sources: Images, width: int, held: Table, offers: Images, chance: Randomness) -> Images:
    """Draw a permutation that differs everywhere from the earlier ones, the first `width` columns."""
    count = len(sources)
    drawn, owner, choice = (allocate((count,), np.int64) for _ in range(3))
    if width == 1:
        return chance.derangement(count, drawn).numpy()
    chance.permutation(count, drawn)
    clashing = clashes(sources, width, held, drawn)
    clashing = clashing[chance.permutation(len(clashing)).numpy()]
    for rows in pieces(count):
        owner[drawn[rows]] = np.arange(rows.start, rows.stop)
    done, row = 0, -1
    while done < len(clashing):
        places = chance.integers(offers.shape[1] or count, PLACES).numpy()
        done, row = trade(sources, width, held, offers, places, drawn, owner, clashing, choice, done, row)
    return drawn


def public_partners(rows: int, available: int, k: int, chance: Randomness) -> Int[Tensor, "rows k"]:
    """Draw k public images for every row, each row its own, all different within a row.

    A row with repeats is drawn again. Where k is large, only its repeats are: an image that stands earlier in its row.
    Either way every choice of k images is equally likely.
    """
    if k > available:
        raise BadInput(f"{k} public images cannot differ when there are {available}: name a larger public set.")
    if rows * k > MOST:
        raise BadInput(f"{k:,} public images in each of {rows:,} rows are too much to draw: mix fewer into a row.")
    if k == 0:
        return torch.empty(rows, 0, dtype=torch.int64)
    if 2 * k > available:  # most of the set: the last repeats would take long
        return torch.from_numpy(chance.uniforms(rows, available).numpy().argsort()[:, :k].copy())
    drawn = chance.integers(available, rows, k).numpy()
    again = np.arange(rows)
    while len(again):
        row, place = _repeats(drawn[again])
        some = np.unique(row)
        if k * k > available:  # hardly any row would be without repeats
            drawn[again[row], place] = chance.integers(available, len(row)).numpy()
        else:
            drawn[again[some]] = chance.integers(available, len(some), k).numpy()
        again = again[some]
    return torch.from_numpy(drawn)


def _repeats(drawn: Images) -> tuple[Images, Images]:
    """Give rows and places of images that stand earlier in their row too."""
    order = drawn.argsort(axis=1, kind="stable")
    row, place = np.nonzero(np.diff(np.take_along_axis(drawn, order, 1)) == 0)
    return row, order[row, place + 1]
