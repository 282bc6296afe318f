"""What is said, and with which code the program ends, when a command does not come to its end."""

import errno
import sys
from typing import NamedTuple

from hideseek.errors import BadInput

CODES = {
    0: "done",
    1: "not done: what was named, the machine or the files do not allow it",
    2: "not understood: the command line is wrong; under --fail-on: a finding (a wrong command line is 1 then)",
    3: "an error in hideseek itself, to be reported",
    4: "of federate check: a promise that does not hold; of ledger verify: a ledger that was changed",
    130: "stopped",
}
"""The codes that the program ends with, and what they mean."""
NEEDED = 5 << 28  # bytes of addresses that the libraries take before anything is done: with less, some never return
NO_MEMORY = "there is not enough memory for this: use fewer or smaller images (--size), or free some."
OUT_OF_MEMORY = (  # how libraries say it that have no exception of their own for it
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "out of memory",
    "failed to map segment",
    "cannot allocate",
    "can't start new thread",
    "bad_alloc",
)


class BadArguments(BadInput):
    """A command line that cannot be understood."""


class Finding(Exception):  # noqa: N818 (no error: what the gate of an audit is there for)
    """A gate that does not pass: something was found that it forbids."""


class Explained(NamedTuple):
    """What is said to the person at the keyboard, and the code to end with."""

    sentence: str
    code: int


def explained(error: BaseException, *, gated: bool = False) -> Explained:
    """Say in one sentence what went wrong; what nobody foresaw is an error of ours.

    Under a gate, 2 means a finding and nothing else: a command line that cannot be understood ends with 1.
    """
    if isinstance(error, Finding):
        return Explained(str(error), 2)
    if isinstance(error, BadArguments):
        return Explained(str(error), 1 if gated else 2)
    if isinstance(error, BadInput):
        return Explained(str(error), 1)
    if isinstance(error, KeyboardInterrupt):
        return Explained(str(error) or "stopped.", 130)
    if is_memory(error):
        return Explained(NO_MEMORY, 1)
    if isinstance(error, ImportError):
        return Explained(f"a library cannot be loaded ({_first_line(error)}): install hideseek again.", 1)
    if isinstance(error, OSError):
        return Explained(f"{error.filename or 'a file or the output'} cannot be used: {error.strerror or error}.", 1)
    what = f"{type(error).__name__}: {_first_line(error)}".rstrip(": ")
    asked = "Please report it, with the command and what it prints with --debug"
    return Explained(f"this is an error in hideseek, not in what you asked for ({what}). {asked}.", 3)


def is_memory(error: BaseException) -> bool:
    """Tell whether memory, or room for another thread, was lacking, whichever library said so."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return True
    said = str(error).lower()
    return isinstance(error, ImportError | RuntimeError | OSError) and any(words in said for words in OUT_OF_MEMORY)


def check_memory() -> None:
    """Refuse to begin where the process is allowed so little memory that libraries would end it without a word."""
    if sys.platform == "win32":
        return
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    if allowed != resource.RLIM_INFINITY and allowed < NEEDED:
        raise BadInput(
            f"this process may use {allowed / 2**20:,.0f} MiB of memory, and hideseek needs {NEEDED / 2**20:,.0f} MiB"
            " at least: raise the limit (ulimit -v)."
        )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")
