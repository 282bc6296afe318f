"""What the studies measured: their pages, and what of it names one attack or mechanism."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
    """Give all rows of the studies' tables, and all pictures, that name one of these."""
    named = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in names))
    parts = []
    for study in studies():
        found = [*_tables(study, named), *_pictures(study, named)]
        if found:
            parts += [f"From [{title(study)}](../studies/{study}.md):", *found]
    return joined("## Measured", *parts) if parts else ""


def _tables(study: str, named: re.Pattern[str]) -> Iterator[str]:
    """Give the tables of a study, cut down to the rows whose first cell names something."""
    for block in studies()[study].split("\n\n"):
        lines = block.splitlines()
        if len(lines) > 2 and lines[0].startswith("|"):
            kept = [line for line in lines[2:] if named.search(line.split(" | ")[0] + line.split(" | ")[1])]
            if kept:
                yield "\n".join([*lines[:2], *kept])


def _pictures(study: str, named: re.Pattern[str]) -> Iterator[str]:
    for text, path in _PICTURE.findall(studies()[study]):
        if named.search(text):
            yield f"![{text}](../studies/{path})"
