"""The paper's figures as pictures: what came back under every defence, from the strips that the trials left."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from inversion import figure9, mnist, settings
from inversion.columns import BATCHES, COLUMNS, TARGETS, attacked_images
from inversion.measured import PICTURES, SHOWN, file_name
from inversion.table5 import SETTINGS, WAYS, cell
from inversion.tables import knows
from PIL import Image
from torch import Tensor

from hideseek.records import Samples
from hideseek.report.contact_sheet import Row, contact_sheet


def drawn(scale: str, path: Path) -> Iterator[tuple[str, Path]]:
    """Draw every figure whose trials were run, and give its title and file."""
    for title, name, images, strips in _figures(scale):
        rows = [Row(label, _tiles(strip)) for label, strip in strips.items() if strip.exists()]
        if rows:
            original = Row("original", list(images.pixels(torch.arange(min(SHOWN, len(images))))))
            target = path.with_name(f"{path.stem}-{name}.png")
            contact_sheet(title, (), [original, *rows]).save(target, optimize=True)
            yield title, target


def _figures(scale: str) -> Iterator[tuple[str, str, Samples, Mapping[str, Path]]]:
    images = attacked_images(TARGETS)
    for setting in SETTINGS[scale]:
        for batch in BATCHES:
            for attacker in setting.attackers:
                titles = {
                    f"{name}, {way}": cell(way, setting.model, batch, attacker, name)
                    for name in COLUMNS
                    for way in WAYS
                }
                known = knows(setting, attacker)
                title = f"Figures 3, 6 and 7: {setting.model}, batch {batch}; the attacker knows {known}"
                yield title, f"figure7-{setting.model}-{batch}-{attacker}", images, _strips(titles)
    singles = {name: figure9.single(name) for name in COLUMNS}
    few = images.take(slice(0, figure9.SINGLE))
    yield f"Figure 7a: {figure9.MODEL}, batch 1, adaptive attack", "figure7-batch-1", few, _strips(singles)
    mixed = {f"{name}, {part}": strip for name in figure9.MIXED for part, strip in figure9.strips(name).items()}
    yield f"Figure 9: {figure9.ROWS}, a batch of 16 mixtures, adaptive attack", "figure9", images, _strips(mixed)
    weights = {f"α_TV {each:g}": settings.variation(each) for each in settings.VARIATION}
    yield "Figure 4: total variation", "figure4", images, _strips(weights)
    weights = {f"α_BN {each:g}": settings.statistics(each) for each in settings.STATISTICS}
    yield "Figure 5: batch-norm statistics", "figure5", images, _strips(weights)
    digits = {f"{name}, {way}": mnist.title(name, way) for name in mnist.CASES for way in WAYS}
    yield "Figure 8: digits", "figure8", mnist.digits(), _strips(digits)


def _strips(titles: Mapping[str, str]) -> dict[str, Path]:
    return {label: PICTURES / f"{file_name(title)}.png" for label, title in titles.items()}


def _tiles(strip: Path) -> list[Tensor]:
    """Cut a strip into its images."""
    with Image.open(strip) as picture:
        pixels = torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1).float() / 255
    return list(pixels.split(pixels.shape[1], 2))
