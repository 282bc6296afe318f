"""The page as a file: what is in it, what must not be, and where its links lead."""

import base64
import io
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from hideseek.records.result import NoAccuracy, NoAccuracyKind, Result, Truth
from hideseek.report import sentences
from hideseek.report.page.page import write_page
from report.pieces import MISSING, NASTY
from report.results import sample
from report.schemes import trained

Audit = tuple[Result, Path]


class _Tags(HTMLParser):
    """All tags with what they say of themselves, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, name: str) -> list[str]:
        return [about[name] for _, about in self.tags if name in about]


@pytest.fixture
def text(audit: Audit) -> str:
    return (audit[1] / "report.html").read_text("utf-8")


def _embedded(page: str) -> list[NDArray[np.uint8]]:
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(each)))) for each in found]


def _files(audit: Audit, private: bool) -> list[Path]:
    panels = [panel for attack in audit[0].schemes[0].attacks for each in attack.exhibits for panel in each.panels]
    return [
        audit[1] / "pictures" / panel.file for panel in panels if panel.private == private and panel.file != MISSING
    ]


def _alike(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Correlate what images have at full resolution: each pixel less its neighbours."""
    fine = [
        4 * each[1:-1, 1:-1] - each[:-2, 1:-1] - each[2:, 1:-1] - each[1:-1, :-2] - each[1:-1, 2:]
        for each in (one, other)
    ]
    return float(np.corrcoef(fine[0].ravel(), fine[1].ravel())[0, 1])


def test_nothing_comes_from_elsewhere(text: str) -> None:
    tags = _Tags(text)
    assert {tag for tag, _ in tags.tags} & {"link", "iframe", "object", "embed", "base", "form"} == set()
    assert all(source.startswith("data:") for source in tags.all("src"))
    assert all(address.startswith("#") for address in tags.all("href"))
    assert not re.search(r"url\(|@import|https?:", text)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
    assert {"http-equiv": "Content-Security-Policy", "content": policy} in [about for tag, about in tags.tags]


def test_every_link_has_a_place_and_no_two_places_have_one_name(text: str) -> None:
    tags = _Tags(text)
    places = Counter(tags.all("id"))
    assert [place for place, count in places.items() if count > 1] == []
    assert {address[1:] for address in tags.all("href")} <= set(places)
    assert {"mixup", "mixup/mixup-pairs", "mixup/demask", "singularized-mixup/linear-inversion"} <= set(places)
    for names in tags.all("aria-labelledby"):
        assert set(names.split()) <= set(places)


def test_schemes_of_one_name_have_places_of_their_own(tmp_path: Path) -> None:
    result = sample(tmp_path)
    schemes = (
        replace(result.schemes[3], name="plan"),
        *(replace(result.schemes[3], name=name) for name in ("A b", "a-b", "×")),
    )
    tags = _Tags(write_page(replace(result, schemes=schemes), tmp_path).read_text("utf-8"))
    assert max(Counter(tags.all("id")).values()) == 1
    assert {"plan-2", "a-b", "a-b-2", "scheme", "a-b-2/mixup-pairs"} <= set(tags.all("id"))


def test_what_is_written_is_text_and_no_markup(text: str) -> None:
    tags = _Tags(text)
    assert [about for tag, about in tags.tags if tag == "script"] == [{}]
    assert not any(tag == "b" for tag, _ in tags.tags)
    assert "alert(1)" in tags.text
    assert tags.text.count(NASTY) >= 6


def test_private_images_are_not_in_the_page(audit: Audit, text: str) -> None:
    shown = _embedded(text)
    assert len(shown) == 17  # one of eighteen files is missing
    for path in _files(audit, private=True):
        assert base64.b64encode(path.read_bytes()).decode() not in text
        truth = np.asarray(Image.open(path)).astype(float)
        for image in shown:
            assert not (image.shape == truth.shape and (image == truth).all())
            small = np.asarray(Image.fromarray(image).resize((25, 25), Image.Resampling.BOX)).astype(float)
            assert abs(_alike(small, truth)) < 0.25
        assert _alike(truth, truth) > 0.99
    for path in _files(audit, private=False):
        assert any(np.array_equal(image, np.asarray(Image.open(path))) for image in shown)
    assert "blurred in this page" in text
    assert "do not pass it on" not in text
    assert (audit[1] / "report.html").stat().st_mode & 0o777 == 0o644


def test_private_images_are_shown_to_who_asks(tmp_path: Path) -> None:
    result = sample(tmp_path)
    path = write_page(result, tmp_path, show_private=True)
    text = path.read_text("utf-8")
    shown = _embedded(text)
    for file in _files((result, tmp_path), private=True):
        assert any(np.array_equal(image, np.asarray(Image.open(file))) for image in shown)
    assert "This page shows private images: do not pass it on." in text
    assert "blurred in this page" not in text
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_page_of_little_is_a_page_too(tmp_path: Path) -> None:
    result = sample(tmp_path)
    bare = replace(
        result.schemes[0], attacks=(), verdicts=(), known=(), advice=(), effective=(), accuracy=None, lost=None
    )
    for schemes in ((bare,), ()):
        little = replace(
            result,
            schemes=schemes,
            flags=(),
            plan=(),
            vanilla=None,
            why_no_accuracy=NoAccuracy(NoAccuracyKind.NO_LABELS),
            public=None,
        )
        text = _Tags(write_page(little, tmp_path).read_text("utf-8")).text
        assert "the images have no labels" in text
        assert "nothing is known" in text


def test_who_breaks_it_and_what_would_have_been_shown_is_said(text: str) -> None:
    said = " ".join(_Tags(text).text.split())
    assert "Broken by an attacker who also has candidate images; nothing is found by one who sees only what" in said
    least = "fitted-ssim ≥ 0.35, 0.31 by mean image; auc ≥ 0.56, 0.50 by chance."
    assert f"The smallest effects that it would have shown: {least}" in said
    assert "not applicableweaker ones: broken" in said  # in two lines
    assert "resisted1 not tried" in said


def test_the_word_is_never_used(text: str) -> None:
    assert not re.search(r"\bsafe", _Tags(text).text)
    for outcome in sentences.outcomes(Truth.KNOWN):
        assert f'class="badge {outcome.replace(" ", "-")}"' in text


def test_accuracies_stand_beside_the_largest_class(tmp_path: Path) -> None:
    result = sample(tmp_path)
    weak = replace(trained(0.51), largest_class=0.52)
    schemes = (replace(result.schemes[0], accuracy=weak, lost=-0.045), *result.schemes[1:])
    text = write_page(replace(result, schemes=schemes), tmp_path).read_text()
    assert text.count("not above the largest class, 52.0 %") >= 3  # the table, its own section, the chart in words
    assert "4.5 points gained" in text
    assert "Always naming the largest class would be right for 50.0 % of the test images." in text
    assert "largest class: 52.0 %" in text  # a line of the chart
