"""The site is built without a warning, is whole, and loads nothing from elsewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from effects import SURE
from hideseek.hide import ENCODERS
from hideseek.hide.updates import DEFENCES
from hideseek.seek import ATTACKS, ON_MODELS, VARIANTS

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"<(?:script|img|iframe|source)[^>]*\ssrc=[\"']?([^\"'\s>]+)|<link(?![^>]*canonical)[^>]*\shref=[\"']?([^\"'\s>]+)"
)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?![\w.])|(?<![\w.])\d+(?= %)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, with warnings as errors."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def test_every_scheme_attack_defence_and_study_is_in_the_site(site: Path) -> None:
    for names, folder in (
        (ENCODERS, "mechanisms"),
        ({**ATTACKS, **VARIANTS, **ON_MODELS}, "attacks"),
        (DEFENCES, "defences"),
    ):
        pages = {page.stem: page.read_text("utf-8") for page in (site / folder).glob("*.html")}
        told = "".join(pages.values())
        assert not [name for name in names if name not in pages and f"<code>{name}</code>" not in told]
    studied = {path.stem.removesuffix("-cpu") for path in (ROOT / "studies" / "results").glob("*-cpu.md")}
    assert studied <= {page.stem for page in (site / "studies").glob("*.html")}


def test_every_page_of_a_mechanism_or_attack_has_its_source_and_figures(site: Path) -> None:
    for folder in ("mechanisms", "attacks", "defences"):
        for page in (site / folder).glob("*.html"):
            if page.stem == "index":
                continue
            text = page.read_text("utf-8")
            assert re.search(r"<td>from</td>\s*<td>\w", text), page.name
            assert re.search(r'id="(measured|its-effect|what-it-does-to-faces)"', text) or folder == "defences", (
                page.name
            )


def test_the_effect_of_every_attack_is_measured() -> None:
    measured = json.loads((ROOT / "benchmarks" / "results" / "effects.json").read_text("utf-8"))
    assert set(measured) == set(ATTACKS) | set(VARIANTS)
    for name, case in measured.items():
        assert case["found"], name
        assert all(figure["p_value"] < SURE for figure in case["found"].values()), name
        assert all(figure["p_value"] > SURE for figure in case["nothing"].values()), name


def test_no_equation_is_lost_in_a_page(site: Path) -> None:
    page = (site / "mechanisms" / "mixup.html").read_text("utf-8")
    assert "λ<sub>ij</sub> x<sub>π<sub>j</sub>(i)</sub>" in page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    loaded = {next(filter(None, found)) for page in pages for found in LOADED.findall(page.read_text("utf-8"))}
    assert len(loaded) > 10
    assert not [address for address in loaded if re.match(r"(https?:)?//", address)]


def test_figures_of_findings_are_those_of_the_results_they_name() -> None:
    sections = (ROOT / "docs" / "found.md").read_text("utf-8").split("\n## ")[1:]
    assert len(sections) >= 10
    for section in sections:
        named = re.findall(r"\]\(\.\./(studies/results/[\w-]+\.md)\)", section)
        measured = "".join((ROOT / name).read_text("utf-8") for name in named)
        told = {number.replace("−", "-") for number in NUMBER.findall(section.replace("−", "-"))}
        assert told
        known = set(re.findall(r"-?\d+(?:\.\d+)?", measured))
        assert not told - known, f"{section.splitlines()[0]}: not in {named}"
        scripts = re.findall(r"`python (studies/\w+\.py)`", section)
        assert scripts
        assert all((ROOT / script).exists() for script in scripts)
