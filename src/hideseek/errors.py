"""The one exception whose text is written for the person at the keyboard."""


class BadInput(Exception):  # noqa: N818 (what it says, not that it is an error)
    """Something that the caller can mend; the message is one sentence that says what to do.

    The command line prints the message alone and exits with 1.
    """
