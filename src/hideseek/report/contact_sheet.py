"""Many small images on one sheet, with captions, for people who would rather look than read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from hideseek.escapes import escaped

TILE = 96  # pixels that a tile is at least wide
LONGEST = 300  # characters of a line
GAP, MARGIN, LINE = 6, 16, 18
SAMPLE = 1 << 20  # values that the range is judged by
INK, PALE, PAPER = (32, 33, 36), (110, 112, 118), (255, 255, 255)


@dataclass(frozen=True)
class Row:
    """Tiles side by side, with a caption on their left; `captions` go under the tiles."""

    caption: str
    tiles: Sequence[Float[Tensor, "c h w"]]
    captions: Sequence[str] = ()


def visible(image: Float[Tensor, "c h w"]) -> Image.Image:
    """Stretch an image of any range to what can be seen: its darkest 1 % to black, its brightest 1 % to white."""
    values = image.detach().float().cpu()
    sample = values.flatten()[:: max(1, values.numel() // SAMPLE)]
    low, high = torch.quantile(sample, torch.tensor([0.01, 0.99]))
    grey = ((values - low) / (high - low).clamp_min(1e-12)).clamp(0, 1).mul(255).round().byte().numpy()
    if len(grey) == 1:
        return Image.fromarray(grey[0]).convert("RGB")
    if len(grey) == 3:
        return Image.fromarray(np.ascontiguousarray(grey.transpose(1, 2, 0)))
    return Image.fromarray(_square(grey.reshape(-1))).convert("RGB")  # features: a square of their values


def _square(values: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    side = int(np.ceil(np.sqrt(len(values))))
    return np.pad(values, (0, side * side - len(values))).reshape(side, side)


def _readable(text: str) -> str:
    """Show control characters as escapes, and no line that is longer than anybody reads."""
    lines = map(escaped, text.split("\n"))
    return "\n".join(line if len(line) <= LONGEST else f"{line[:LONGEST]}…" for line in lines)


def _fitted(text: str, width: float, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    """Shorten every line of a text until it fits."""
    lines = []
    for line in _readable(text).split("\n"):
        short = line
        while short and font.getlength(short + "…" * (short != line)) > width:
            short = short[:-1]
        lines.append(short + "…" * (short != line))
    return "\n".join(lines)


def contact_sheet(title: str, heads: Sequence[str], rows: Sequence[Row], foot: str = "", group: int = 0) -> Image.Image:
    """Draw rows of tiles under a title and column heads, with a wider gap after every `group` columns."""
    title, foot = _readable(title), _readable(foot)
    rows = [replace(row, caption=_readable(row.caption)) for row in rows]
    large, small = ImageFont.load_default(20), ImageFont.load_default(13)
    pictures = [[visible(tile) for tile in row.tiles] for row in rows]
    widest = max(picture.width for line in pictures for picture in line)
    factor = max(1, -(-TILE // widest))
    tile = factor * widest
    captions = [[_fitted(caption, tile, small) for caption in row.captions] for row in rows]
    left = MARGIN + max(int(small.getlength(row.caption)) + MARGIN if row.caption else 0 for row in rows)
    count = max(len(row.tiles) for row in rows)
    columns = [left + i * (tile + GAP) + (i // group * 3 * GAP if group else 0) for i in range(count)]
    tall = [factor * max(picture.height for picture in line) for line in pictures]
    under = [LINE * max((caption.count("\n") + 1 for caption in line), default=0) + GAP for line in captions]
    texts = [(title, large), *[(line, small) for line in foot.splitlines()]]
    width = max(columns[-1] + tile, *(MARGIN + int(font.getlength(text)) for text, font in texts)) + MARGIN
    y = MARGIN + 34 + (22 if heads else 0)
    height = y + sum(tall) + sum(under) + MARGIN + LINE * len(foot.splitlines())
    sheet = Image.new("RGB", (width, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, MARGIN), title, INK, large)
    for x, head in zip(columns, heads, strict=False):
        draw.text((x, y - 20), head, PALE, small)
    for row, line, notes, high, below in zip(rows, pictures, captions, tall, under, strict=True):
        draw.text((MARGIN, y + high // 2 - 8), row.caption, INK, small)
        for x, picture in zip(columns, line, strict=False):
            size = (factor * picture.width, factor * picture.height)
            sheet.paste(picture.resize(size, Image.Resampling.NEAREST), (x, y))
        for x, note in zip(columns, notes, strict=False):
            draw.multiline_text((x, y + high + 2), note, PALE, small)
        y += high + below
    draw.multiline_text((MARGIN, y + 8), foot, PALE, small)
    return sheet
