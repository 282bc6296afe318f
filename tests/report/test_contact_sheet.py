"""Contact sheets: what is drawn where."""

import numpy as np
import torch
from PIL import Image

from hideseek.report.contact_sheet import Row, contact_sheet, visible


def test_visible_stretches_to_black_and_white() -> None:
    ramp = torch.linspace(-7, 3, 400).reshape(1, 20, 20)
    seen = np.asarray(visible(ramp))
    assert seen.shape == (20, 20, 3)
    assert seen.min() == 0
    assert seen.max() == 255
    assert (np.diff(seen[..., 0].ravel().astype(int)) >= 0).all()


def test_visible_shows_a_flat_image_and_features() -> None:
    assert visible(torch.full((3, 4, 5), 2.0)).size == (5, 4)
    assert visible(torch.randn(50, 1, 1)).size == (8, 8)


def test_tiles_are_enlarged_and_none_is_lost() -> None:
    white, black = torch.ones(1, 8, 8), torch.ones(1, 8, 8)
    black[0, :, :4] = 0  # half and half: the stretch makes it black and white
    sheet = contact_sheet("title", ("one", "two"), [Row("first", [white, black], ("a", "b")), Row("second", [black])])
    pixels = np.asarray(sheet)
    dark = (pixels == 0).all(axis=2)
    assert dark.sum() >= 2 * 96 * 48  # the black halves of two tiles, twelve times enlarged
    assert isinstance(sheet, Image.Image)


def test_long_captions_stay_under_their_tiles_and_long_feet_fit() -> None:
    tiles = [torch.rand(1, 8, 8) for _ in range(2)]
    plain = contact_sheet("t", (), [Row("", tiles, ("short", "short"))])
    long = contact_sheet("t", (), [Row("", tiles, ("a name that is much longer than its tile\nand two lines", "x"))])
    assert long.width == plain.width
    assert long.height > plain.height
    wide = contact_sheet("t", (), [Row("", tiles)], foot="a foot that is wider than the tiles above it, " * 3)
    assert wide.width > plain.width


def test_names_of_any_length_and_any_characters_are_drawn() -> None:
    tiles = [torch.rand(1, 8, 8) for _ in range(2)]
    hostile = "\x1b[2J\u202e\ud800\u2028"
    for name in ("x" * 1_000_001, hostile * 1000, hostile):
        sheet = contact_sheet(name, (), [Row(name, tiles, (name, "y"))], foot=name)
        assert sheet.width < 20_000
    assert contact_sheet(hostile, (), [Row("", tiles)]).height == contact_sheet("t", (), [Row("", tiles)]).height


def test_groups_are_set_apart() -> None:
    tiles = [torch.rand(1, 8, 8) for _ in range(4)]
    assert contact_sheet("t", (), [Row("", tiles)], group=2).width > contact_sheet("t", (), [Row("", tiles)]).width
