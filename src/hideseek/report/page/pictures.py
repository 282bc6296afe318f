"""Pictures as they stand in a page: inside it, and blurred where they are private."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from hideseek.errors import BadInput
from hideseek.files import read_bytes
from hideseek.records.result import Panel
from hideseek.report.result_files import PICTURES, inside

CELLS = 6  # averages along each side that a blur leaves
SHARPEST = 3  # pixels along a side that an average is at least made of
BLURRED = 96  # pixels along the longer side of what a blur makes
LONGEST = 1 << 24  # bytes of its file
LARGEST = 1024  # pixels along a side of a picture that is shown: those of an audit are small


@dataclass(frozen=True)
class Picture:
    """A panel as it is shown; without an address where its file is missing or no picture."""

    label: str
    address: str
    blurred: bool


@dataclass(frozen=True)
class Gallery:
    """The pictures of an audit as a page shows them: private ones are blurred, unless their owner says otherwise."""

    folder: Path
    show_private: bool = False

    def picture(self, panel: Panel) -> Picture:
        """Read the file of a panel, and blur it where it must be."""
        image = _read(panel, self.folder)
        if image is None:
            return Picture(panel.label, "", False)
        hidden = panel.private and not self.show_private
        return Picture(panel.label, _address(blurred(image) if hidden else image), hidden)


def blurred(image: Image.Image) -> Image.Image:
    """Average an image to 6×6 cells, and enlarge those smoothly: what is left of a face is where it is light.

    A small image is averaged to fewer, so that no cell is less than three pixels wide.
    """
    values = np.asarray(image.convert("RGB"), np.float64)
    for axis in (0, 1):
        side = values.shape[axis]
        edges = np.linspace(0, side, max(1, min(CELLS, side // SHARPEST)) + 1).round().astype(int)
        widths = np.diff(edges).reshape([-1 if each == axis else 1 for each in range(3)])
        values = np.add.reduceat(values, edges[:-1], axis) / widths
    width, height = (max(1, round(side * BLURRED / max(image.size))) for side in image.size)
    return Image.fromarray(values.round().astype(np.uint8)).resize((width, height), Image.Resampling.BICUBIC)


def _read(panel: Panel, folder: Path) -> Image.Image | None:
    """Read a PNG file of the audit; None where there is none, or it is damaged, or lies elsewhere."""
    pictures = (folder / PICTURES).resolve()
    path = pictures / panel.file
    if not inside(panel.file) or not path.resolve().is_relative_to(pictures):  # a link may lead anywhere
        return None
    try:
        with Image.open(io.BytesIO(read_bytes(path, LONGEST)), formats=("PNG",)) as image:
            return image.convert("RGB") if max(image.size) <= LARGEST else None
    except (BadInput, OSError, SyntaxError, ValueError, Image.DecompressionBombError):  # not there, or no picture
        return None


def _address(image: Image.Image) -> str:
    """Write the pixels, and nothing else that the file may have held, as an address that is the picture itself."""
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
