"""The sheet of what an attack brings back: only claims about pictures are drawn, beside what was shared."""

from dataclasses import dataclass
from typing import Self

import pytest
import torch
from PIL import Image
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.records import (
    Claim,
    Contents,
    Encoder,
    Evidence,
    Links,
    Masks,
    PublicImagesFound,
    Reconstruction,
    Release,
    Task,
)
from hideseek.report import evidence_sheet as module
from hideseek.report.contact_sheet import Row
from hideseek.report.evidence_sheet import evidence_sheet


@dataclass(frozen=True)
class Shared(Release):
    pictures: Tensor | None

    @property
    def encoder(self) -> Encoder:
        raise NotImplementedError

    def size(self) -> Task:
        raise NotImplementedError

    def contents(self) -> Contents:
        raise NotImplementedError

    def as_noise(self, chance: Randomness) -> Self:
        raise NotImplementedError

    def picture(self, item: int) -> Tensor | None:
        return None if self.pictures is None else self.pictures[item]


IMAGES = torch.linspace(-1, 1, 4 * 3 * 5 * 5).reshape(4, 3, 5, 5)
ORDER = torch.tensor([2, 0])
SIGNS = torch.where(IMAGES[:2] < 0, -1, 1).to(torch.int8)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Take note of the rows that are drawn."""
    rows: list[Row] = []

    def note(title: str, heads: object, drawn: list[Row], foot: str) -> Image.Image:
        rows.extend(drawn)
        assert "nothing here was compared with the ground truth" in foot
        return Image.new("RGB", (1, 1))

    monkeypatch.setattr(module, "contact_sheet", note)
    return rows


def _sheet(claim: Claim, pictures: Tensor | None = IMAGES) -> Image.Image | None:
    return evidence_sheet("title", Shared(pictures), Evidence((claim,), {}, 1.0, 1 << 20), count=2)


@pytest.mark.parametrize("of", ["items", "batches"])
def test_guesses_stand_beside_what_was_shared(drawn: list[Row], of: str) -> None:
    _sheet(Reconstruction(IMAGES[:2] + 7, ORDER, of))  # type: ignore[arg-type]
    assert [row.caption for row in drawn] == ["shared", "taken for private"]
    assert torch.equal(torch.stack(list(drawn[0].tiles)), IMAGES[ORDER])
    assert torch.equal(torch.stack(list(drawn[1].tiles)), IMAGES[:2] + 7)


@pytest.mark.parametrize(("of", "pictures"), [("any", IMAGES), ("images", IMAGES), ("items", None)])
def test_guesses_stand_alone_where_nothing_can_be_beside(drawn: list[Row], of: str, pictures: Tensor | None) -> None:
    _sheet(Reconstruction(IMAGES[:2], ORDER, of), pictures)  # type: ignore[arg-type]
    assert [row.caption for row in drawn] == ["taken for private"]


def test_signs_are_restored(drawn: list[Row]) -> None:
    _sheet(Masks(ORDER, SIGNS))
    assert [row.caption for row in drawn] == ["shared", "signs restored"]
    assert torch.equal(torch.stack(list(drawn[1].tiles)), IMAGES[ORDER] * SIGNS)


def test_claims_that_are_no_pictures_are_not_drawn(drawn: list[Row]) -> None:
    assert _sheet(Links(ORDER, ORDER, torch.ones(2))) is None
    assert _sheet(Masks(ORDER, SIGNS), None) is None
    assert _sheet(PublicImagesFound(ORDER, ORDER[:, None], torch.ones(2, 1), 4)) is None
    assert drawn == []


def test_a_sheet_is_a_picture() -> None:
    sheet = _sheet(Reconstruction(IMAGES[:2], ORDER))
    assert sheet is not None
    assert min(sheet.size) > 200
