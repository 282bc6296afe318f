"""What it takes to unmask a row: how its parts grow with the row, the public images and the settings."""

from dataclasses import replace

from hideseek.records import Task
from hideseek.seek.signals.masked_beam import CHILDREN, STEPS
from hideseek.seek.signals.matched_filter import KEPT
from hideseek.seek.systems.byte_prior import IMAGES
from hideseek.seek.systems.cut_candidates import CANDIDATES as PATCHES
from hideseek.seek.systems.exact_sets import DRAWN_FROM, TRIES
from hideseek.seek.systems.masked_guesses import SETS, SINGLES
from hideseek.seek.systems.set_repair import CANDIDATES, SCREENED, SCREENING
from hideseek.seek.systems.signed_pairs import SAMPLE
from hideseek.seek.systems.weight_lines import VOTERS
from hideseek.seek.work import CALL, LOOKUP, TOUCH

BLOCK = 32  # rows that are searched together
MAPS = 3  # of public images, that rows are compared with
CALLS = 1000  # of libraries, for a row
DECODING = 3600  # numbers that are looked up for a pixel of a row, to decode it
TESTED = 0.2  # of the candidates that may be tested; most rows are confirmed by the first
PASSES = 12  # over each map of public images, to make it; over a row, for each image of a guess and each step, 30


def once(task: Task) -> float:
    """Count what is done once: maps of public images, as far as they are kept, and the prior of pixels."""
    kept = 4 * task.public * task.pixels <= KEPT
    passes = MAPS * PASSES if kept else 0
    return task.pixels * TOUCH * (passes * task.public + 250.0 * min(IMAGES, task.public))


def a_row(task: Task, guesses: int, tests: int, private: int, *, exact: bool) -> float:
    """Count the search for every public image, the fits of all guesses, exact tests, and decoding."""
    count = max(1, task.images_per_item - private)
    kept = 4 * task.public * task.pixels <= KEPT
    maps = 0.0 if kept else count * MAPS * PASSES * TOUCH / BLOCK
    search = task.public * task.pixels * (1 + maps + 2 * 2 * MAPS * guesses * (count - 1))
    slopes = sum(images + 2 for images in range(2, count + 1))
    fits = guesses * (8 * STEPS + CHILDREN * STEPS * slopes) * 30 * task.pixels * TOUCH
    if task.public_pixels:  # larger images: Fourier transforms for every image that is sought, then few candidates
        return a_row(_among_few(task, count), guesses, tests, private, exact=exact) + (
            count * task.public * 10.0 * TOUCH * task.public_pixels
        )
    repair = _repair(task, count) if count > 1 else 0.0
    return search + fits + repair + CALLS * CALL + (_exact(task, count, tests) if exact else 0.0)


def _among_few(task: Task, count: int) -> Task:
    return replace(task, public=min(task.public, count * PATCHES), public_pixels=0)


def _repair(task: Task, count: int) -> float:
    """Count the search for what fits in the place of every image, and fits of all that may, about twice a row."""
    search = task.public * task.pixels * (count + PASSES * TOUCH / BLOCK)
    numbers = min(SCREENED, 2 * task.pixels)
    return 2 * (search + count * CANDIDATES * len(SCREENING) * ((count + 4) * 4 * numbers * TOUCH + 10 * CALL))


def _exact(task: Task, count: int, tests: int) -> float:
    """Count tests by exact weights, and decoding."""
    pairs = 2 * task.pixels
    if count > 2:
        lines = len(DRAWN_FROM) * TRIES[min(count, len(TRIES)) - 1]
        return SETS * lines * VOTERS * count * LOOKUP / 2 + task.pixels * DECODING * LOOKUP
    votes = 6 * min(SAMPLE, pairs) * LOOKUP if count == 2 else 4 * pairs * TOUCH
    each = votes + pairs * 4 * TOUCH + 4 * CALL
    tested = TESTED * min(tests if count == 2 else SINGLES, task.public)
    return tested * each + task.pixels * DECODING * LOOKUP
