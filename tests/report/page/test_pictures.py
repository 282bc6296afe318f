"""Pictures of a page: what a blur leaves, and what is not shown."""

from pathlib import Path

import numpy as np
from PIL import Image

from hideseek.records.result import Panel
from hideseek.report.page.page import write_page
from hideseek.report.page.pictures import Gallery, blurred
from report.results import sample


def test_a_blur_keeps_the_averages_of_36_cells_and_nothing_else() -> None:
    chance = np.random.default_rng(0)
    one = chance.integers(0, 256, (24, 24, 3), dtype=np.uint8)
    cells = one.reshape(6, 4, 6, 4, 3).transpose(0, 2, 1, 3, 4).reshape(6, 6, 16, 3)
    other = chance.permuted(cells, axis=2).reshape(6, 6, 4, 4, 3).transpose(0, 2, 1, 3, 4).reshape(24, 24, 3)
    assert (one != other).mean() > 0.9
    first, second = (np.asarray(blurred(Image.fromarray(each))) for each in (one, other))
    np.testing.assert_array_equal(first, second)
    assert first.shape == (96, 96, 3)
    assert first.std() > 5  # and something is left
    assert (
        len(np.unique(np.asarray(blurred(Image.fromarray(one[:3, :3]))))) <= 3
    )  # one colour: a cell is 3 pixels or more


def test_pictures_that_are_missing_damaged_or_elsewhere_are_tiles_that_say_so(tmp_path: Path) -> None:
    result = sample(tmp_path)
    pictures = tmp_path / "pictures"
    outside = tmp_path / "outside.png"
    Image.new("RGB", (8, 8), "red").save(outside)
    (pictures / "link.png").symlink_to(outside)
    (pictures / "damaged.png").write_bytes(outside.read_bytes()[:40])
    (pictures / "text.png").write_text("no picture")
    Image.new("L", (5000, 1)).save(pictures / "huge.png")
    for name in ("link.png", "damaged.png", "text.png", "huge.png", "none.png", "../outside.png", str(outside), "."):
        assert Gallery(tmp_path).picture(Panel("x", name, False)).address == "", name
    assert write_page(result, tmp_path).read_text("utf-8").count("picture missing") == 1
