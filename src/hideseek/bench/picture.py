"""One picture an entry: what the worst attack found, beside the truth."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

from hideseek.records.result import Result
from hideseek.report import Row, contact_sheet, sentences
from hideseek.report.ranking import worst_attack

SHOWN = 8  # images


def found_sheet(result: Result, pictures: Path) -> Image.Image | None:
    """Draw what the worst attack found; None where it found nothing that can be drawn."""
    (scheme,) = result.schemes
    worst = worst_attack(scheme)
    if worst is None or not worst.exhibits:
        return None
    shown = worst.exhibits[:SHOWN]
    labels = list(dict.fromkeys(panel.label for exhibit in shown for panel in exhibit.panels))
    heads = [labels[0]] if len(labels) == 1 else labels
    rows = [
        Row(sentences.caption(exhibit), [_image(pictures / panel.file) for panel in exhibit.panels])
        for exhibit in shown
    ]
    return contact_sheet(f"{scheme.name}: {worst.attack}, {worst.outcome.value}", heads, rows)


def _image(path: Path) -> torch.Tensor:
    with Image.open(path) as picture:
        return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1) / 255
