"""The one exception whose text is written for the person at the keyboard."""

import difflib
from collections.abc import Iterable


class BadInput(Exception):  # noqa: N818 (what it says, not that it is an error)
    """Something that the caller can repair; the message is one sentence that says what to do.

    The command line prints the message alone and exits with 1.
    """


def no_such(what: str, name: str, known: Iterable[str]) -> BadInput:
    """Say that there is nothing of that name, and what may have been meant.

    >>> str(no_such("model", "lenett", ["lenet", "unet"]))
    "there is no model 'lenett': did you mean lenet?"
    """
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1)
    advice = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(names)}."
    return BadInput(f"there is no {what} {name!r}: {advice}")
