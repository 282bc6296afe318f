"""Trades of images between the rows of a release until no row has an image twice, compiled.

`sources` has the images of every row, of which the first `width` columns are drawn; `held` has a bit for every row and
image, or no columns where a table would be too large, and then `sources` is searched.
"""

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled

Images = NDArray[np.int64]
Table = NDArray[np.uint8]


@compiled()
def lacked(held: Table, count: int) -> Images:  # pragma: no cover (compiled)
    """List the images that each row lacks, `count` of them."""
    rows = len(held)
    found = np.empty((rows, count), np.int64)
    for row in range(rows):
        place = 0
        for image in range(rows):
            if not (held[row, image >> 3] >> (image & 7)) & 1:
                found[row, place] = image
                place += 1
    return found


@compiled()
def _holds(  # pragma: no cover (compiled)
    sources: Images, width: int, held: Table, row: int, image: int
) -> bool:
    """Tell whether a row has an image already."""
    if held.size:
        return bool((held[row, image >> 3] >> (image & 7)) & 1)
    for j in range(width):  # noqa: SIM110 (numba compiles no generator in any())
        if sources[row, j] == image:
            return True
    return False


@compiled()
def clashes(sources: Images, width: int, held: Table, drawn: Images) -> Images:  # pragma: no cover (compiled)
    """Find the rows that were drawn an image which they have."""
    found = np.empty(len(drawn), np.int64)
    count = 0
    for row in range(len(drawn)):
        if _holds(sources, width, held, row, drawn[row]):
            found[count] = row
            count += 1
    return found[:count]


@compiled()
def trade(  # pragma: no cover (compiled)
    sources: Images,
    width: int,
    held: Table,
    offers: Images,
    places: Images,
    drawn: Images,
    owner: Images,
    clashing: Images,
    choice: Images,
    done: int,
    row: int,
) -> tuple[int, int]:
    """Let rows that clash trade around cycles, as long as there are places to draw images from.

    A cycle leaves each row by its last choice, so it has no loops. Gives how many rows are done, and where a walk
    stands.
    """
    for place in places:
        if row < 0:
            while done < len(clashing) and not _holds(sources, width, held, clashing[done], drawn[clashing[done]]):
                done += 1  # it was on the cycle of another
            if done == len(clashing):
                break
            row = clashing[done]
        image = offers[row, place] if offers.size else place
        if image == drawn[row] or _holds(sources, width, held, row, image):
            continue
        choice[row] = image
        row = owner[image]
        given = drawn[clashing[done]]
        if _holds(sources, width, held, row, given):
            continue
        choice[row] = given
        row, taken = clashing[done], -1
        while taken != given:
            taken = choice[row]
            before = owner[taken]
            drawn[row], owner[taken] = taken, row
            row = before
        done, row = done + 1, -1
    return done, row
