"""What MkDocs asks while it builds the site: pages that are made from registries and results, and their places."""

import logging
import re
from pathlib import Path
from typing import Any

from boards import BOARDS, board_pages
from catalogue import attack_pages, defence_pages, mechanism_pages
from effect_cases import PICTURES
from example_files import anchor, examples_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage
from page import Page
from pictures import hidden_faces
from results import study_pages

ROOT = Path(__file__).parents[2]
RESULT = re.compile(r"\]\((?:\.\./)+studies/results/(?:([\w-]+)-cpu\.md|([\w-]+\.png))\)")
BOARD = re.compile(r"\]\((?:\.\./)+leaderboard/(\w+\.md)\)")
EXAMPLE = re.compile(r"\]\((?:\.\./)+(examples/[\w./-]+)\)")

logging.getLogger("matplotlib").setLevel(logging.WARNING)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that nobody writes: one a mechanism, a defence, an attack, a study, a leaderboard."""
    nav = config.nav or []
    for section, pages in (
        ("Mechanisms", [*mechanism_pages(), *defence_pages()]),
        ("Attacks", attack_pages()),
        ("Studies", study_pages()),
        ("Leaderboard", board_pages()),
    ):
        if listed := [_added(page, files, config) for page in pages]:
            nav.append({section: listed})
    guides = next(each["How to"] for each in nav if "How to" in each)
    guides.append(_added(examples_page(), files, config))
    for name, picture in hidden_faces():
        files.append(File.generated(config, f"mechanisms/{name}.png", content=picture))
    for path in sorted((ROOT / "studies" / "results").glob("*.png")):
        files.append(File.generated(config, f"studies/{path.name}", abs_src_path=str(path)))
    for path in sorted(PICTURES.glob("*.png")):
        files.append(File.generated(config, f"attacks/effects/{path.name}", abs_src_path=str(path)))
    for path in sorted(BOARDS.glob("*/*/*.png")):
        name = path.relative_to(BOARDS).as_posix()
        files.append(File.generated(config, f"leaderboard/{name}", abs_src_path=str(path)))
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    nav.append(_added(Page("changelog.md", "Changes", changes), files, config))
    config.nav = nav
    return files


def _added(page: Page, files: Files, config: MkDocsConfig) -> Any:
    files.append(File.generated(config, page.path, content=page.text))
    return {page.title: page.path} if not page.path.endswith("index.md") else page.path


def on_page_markdown(markdown: str, page: SitePage, **_: Any) -> str:
    """Send links to the results of studies, leaderboards and examples to their pages and pictures in the site."""
    top = "../" * page.file.src_uri.count("/")
    markdown = EXAMPLE.sub(lambda link: f"]({top}examples.md#{anchor(link[1])})", markdown)
    sent = RESULT.sub(lambda link: f"]({top}studies/{f'{link[1]}.md' if link[1] else link[2]})", markdown)
    return BOARD.sub(lambda link: f"]({top}leaderboard/{link[1]})", sent)
