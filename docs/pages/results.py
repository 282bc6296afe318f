"""What the studies measured: their pages, and what of it names one attack or mechanism."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from boards import BOARDS
from page import Page, joined, table

RESULTS = Path(__file__).parents[2] / "studies" / "results"
SUFFIX = "-cpu"
_LINK = re.compile(r"\]\((\w+)-cpu\.md\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


@cache
def studies() -> dict[str, str]:
    """Give the Markdown of every study's results, by the name of the study."""
    return {
        path.stem.removesuffix(SUFFIX): _LINK.sub(r"](\1.md)", path.read_text("utf-8"))
        for path in sorted(RESULTS.glob(f"*{SUFFIX}.md"))
    }


def title(name: str) -> str:
    """Give the title of a study."""
    return studies()[name].partition("\n")[0].removeprefix("# ").strip()


def study_pages() -> Iterator[Page]:
    """Give a page a study, after a list of all."""
    rows = [(f"[{title(name)}]({name}.md)", f"`python studies/{name}.py`", _trials(name)) for name in studies()]
    yield Page(
        "studies/index.md",
        "Studies",
        joined(
            "# Studies",
            "A study is a file a paper: what the paper claims, and what is measured beside it. Its command measures"
            " again what is not measured yet; `--only ITEM` measures a part, `--render` writes the tables again."
            " Every figure is in `studies/results`, with its settings, seed and commit.",
            table(["study", "command", "trials"], rows),
        ),
    )
    for name, text in studies().items():
        foot = f"Measured by `python studies/{name}.py`; the trials are in `studies/results/{name}{SUFFIX}.json`."
        yield Page(f"studies/{name}.md", title(name), joined(text, foot))


def _trials(name: str) -> str:
    path = RESULTS / f"{name}{SUFFIX}.json"
    return str(len(json.loads(path.read_text("utf-8"))["trials"])) if path.exists() else "–"


def measured(names: tuple[str, ...]) -> str:
    """Give what the studies have of these names.

    Of sections whose text names one as code, all tables and pictures; elsewhere, the rows of tables whose first cells
    name one, and the pictures whose titles do.
    """
    named = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in names))
    parts = []
    for study, text in studies().items():
        found = [block for section in _sections(text) for block in _of_section(section, study, named, names)]
        if found:
            parts += [f"From [{title(study)}](../studies/{study}.md):", *found]
    for path in sorted(BOARDS.glob("*.md")):
        text = re.sub(r"\]\((?=\w+/)", "](../leaderboard/", path.read_text("utf-8"))
        if found := [block for section in _sections(text) for block in _of_section(section, path.stem, named, ())]:
            parts += [f"From [the leaderboard](../leaderboard/{path.name}):", *found]
    return joined("## Measured", *parts) if parts else ""


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    """Give the text of every section, with that of the section it is in; and its tables and pictures."""
    outer = ""
    for part in re.split(r"^(?=##+ )", text, flags=re.MULTILINE):
        shown = [block for block in part.split("\n\n") if block.startswith(("|", "!["))]
        words = "".join(block for block in part.split("\n\n") if not block.startswith(("|", "![")))
        outer = outer if part.startswith("### ") else words
        yield outer + words, shown


def _of_section(
    section: tuple[str, list[str]], study: str, named: re.Pattern[str], names: tuple[str, ...]
) -> Iterator[str]:
    words, shown = section
    whole = any(f"`{name}`" in words for name in names)
    for block in shown:
        lines = block.splitlines()
        pictures = [(text, path) for text, path in _PICTURE.findall(block) if whole or named.search(text)]
        yield from (f"![{text}](../studies/{path})" for text, path in pictures)
        if lines[0].startswith("|") and len(lines) > 2:
            kept = [line for line in lines[2:] if whole or named.search(" ".join(line.split(" | ")[:2]))]
            if kept:
                yield "\n".join([*lines[:2], *(line for line in kept if line.startswith("|"))])
