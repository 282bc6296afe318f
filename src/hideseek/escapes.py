"""Text that others wrote, such as names of files and classes, made safe to print and to draw."""

import unicodedata

SHOWN_AS_ESCAPES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of controls (C0, DEL, C1), invisible marks (bidirectional overrides, zero widths), halves of
characters, and separators of lines: they move cursors, turn text around, or cannot be encoded."""


def escaped(text: str) -> str:
    r"""Show every character as an escape that would control a terminal, break a line, or is invisible.

    >>> escaped("kätzchen\x1b[2J\u202e"), escaped("−3.1 dB × λ")
    ('kätzchen\\x1b[2J\\u202e', '−3.1 dB × λ')
    """
    if text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if unicodedata.category(character) not in SHOWN_AS_ESCAPES:
        return character
    return character.encode("unicode_escape").decode()
