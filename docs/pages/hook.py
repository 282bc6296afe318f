"""What MkDocs asks while it builds the site: pages that are made from registries and results, and their places."""

import logging
import re
from pathlib import Path
from typing import Any

from catalogue import attack_pages, defence_pages, mechanism_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as SitePage
from page import Page
from pictures import hidden_faces
from results import study_pages

ROOT = Path(__file__).parents[2]
OUTSIDE = re.compile(r"\]\(\.\./(?:\.\./)?(studies/results/([\w-]+)-cpu\.md|[\w/.-]+)\)")

logging.getLogger("matplotlib").setLevel(logging.WARNING)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that nobody writes: one a mechanism, a defence, an attack, a study."""
    assert config.nav is not None
    for section, pages in (
        ("Mechanisms", [*mechanism_pages(), *defence_pages()]),
        ("Attacks", attack_pages()),
        ("Studies", study_pages()),
    ):
        config.nav.append({section: [_added(page, files, config) for page in pages]})
    for name, picture in hidden_faces():
        files.append(File.generated(config, f"mechanisms/{name}.png", content=picture))
    for path in sorted((ROOT / "studies" / "results").glob("*.png")):
        files.append(File.generated(config, f"studies/{path.name}", abs_src_path=str(path)))
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    config.nav.append({"Changes": _added(Page("changelog.md", "Changes", changes), files, config)})
    return files


def _added(page: Page, files: Files, config: MkDocsConfig) -> Any:
    files.append(File.generated(config, page.path, content=page.text))
    return {page.title: page.path} if not page.path.endswith("index.md") else page.path


def on_page_markdown(markdown: str, page: SitePage, **_: Any) -> str:
    """Send links that leave docs/ to the study's page where there is one; else leave the name, as code."""
    return OUTSIDE.sub(lambda link: _inside(link, page.file.src_uri), markdown)


def _inside(link: re.Match[str], source: str) -> str:
    depth = "../" * source.count("/")
    return f"]({depth}studies/{link[2]}.md)" if link[2] else "](" + depth + "index.md)"

