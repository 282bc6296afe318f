"""The code blocks of a Markdown file: indented or fenced, with what a console block shows as output."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^```(\w*)$")
_INDENT = "    "
_PROMPT = "$ "


@dataclass(frozen=True)
class Block:
    """A code block, and the line of the file that it begins at."""

    line: int
    language: str
    """As the fence says; of indented blocks, sh."""
    text: str


@dataclass(frozen=True)
class Command:
    """A command of a shell, in one line or more, and the output that is shown for it; None where none is."""

    line: int
    text: str
    shown: str | None = None


def blocks(markdown: str) -> Iterator[Block]:
    """Give the code blocks of a text, in order.

    >>> [block.text for block in blocks("So:\\n\\n    ls  # all\\n")]
    ['ls  # all']
    """
    lines = markdown.splitlines()
    number = 0
    while number < len(lines):
        begin, fence = number, _FENCE.match(lines[number])
        if fence:
            number = lines.index("```", begin + 1)
            yield Block(begin + 2, fence[1], "\n".join(lines[begin + 1 : number]))
        elif lines[number].startswith(_INDENT):
            while number + 1 < len(lines) and lines[number + 1].startswith(_INDENT):
                number += 1
            yield Block(begin + 1, "sh", "\n".join(line[len(_INDENT) :] for line in lines[begin : number + 1]))
        number += 1


def commands(block: Block) -> Iterator[Command]:
    """Give the commands of a block: one a line, or several lines that end in a backslash.

    >>> list(commands(Block(3, "console", "$ echo a\\na\\n$ true")))
    [Command(line=3, text='echo a', shown='a'), Command(line=5, text='true', shown='')]
    """
    lines = block.text.splitlines()
    number = 0
    while number < len(lines):
        begin, text = number, lines[number].removeprefix(_PROMPT)
        while lines[number].endswith("\\"):
            number += 1
            text += "\n" + lines[number]
        number += 1
        shown = None
        if block.language == "console":
            output = number
            while number < len(lines) and not lines[number].startswith(_PROMPT):
                number += 1
            shown = "\n".join(lines[output:number])
        if text.strip():
            yield Command(block.line + begin, text, shown)


def shows(shown: str, real: str) -> bool:
    """Tell whether real output is what is shown: word for word, numbers aside; … at the end of a line is any text.

    Keys are drawn anew in every run, so numbers are not compared; nor is how a table's columns are spaced.

    >>> shows("…\\n3 are hidden.", "Plan\\n\\n5 are hidden."), shows("3 are hidden.", "5 are seen.")
    (True, False)
    """
    parts = [_plain(part) for part in re.split(r"…$", shown, flags=re.MULTILINE)]
    return re.fullmatch(".*".join(map(re.escape, parts)), _plain(real), re.DOTALL) is not None


def _plain(text: str) -> str:
    """Give a text's words, with one 0 for every number, and one dash for a rule or a minus."""
    numbers = re.sub(r"[−+-]?\d[\d.,]*(e[−+-]?\d+)?", "0", text)
    return " ".join(re.sub("[─-]+", "-", numbers).split())
