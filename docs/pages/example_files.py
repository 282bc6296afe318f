"""The files of examples/, shown in the site with their text: a page of the site cannot link to a file beside it."""

import re
from pathlib import Path

from page import Page, joined

ROOT = Path(__file__).parents[2]
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml", ".yaml": "yaml"}


def examples_page() -> Page:
    """Give a page with all examples."""
    files = sorted(path for path in (ROOT / "examples").rglob("*") if path.suffix in LANGUAGES)
    return Page(
        "examples.md",
        "Examples",
        joined(
            "# Examples",
            "Each is run by the tests: Python files as they are, and the commands of the files for CI as plain shell.",
            *(_shown(path) for path in files),
        ),
    )


def _shown(path: Path) -> str:
    name = path.relative_to(ROOT).as_posix()
    text = path.read_text("utf-8").rstrip("\n")
    return f"## {name} {{ #{anchor(name)} }}\n\n```{LANGUAGES[path.suffix]}\n{text}\n```"


def anchor(name: str) -> str:
    """Name the place of a file in the page.

    >>> anchor("examples/ci/audit.toml")
    'examples-ci-audit-toml'
    """
    return re.sub(r"\W+", "-", name)
