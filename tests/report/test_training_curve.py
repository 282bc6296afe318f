"""The picture of a training."""

import io

from PIL import Image

from hideseek.report.training_curve import draw_curve

HISTORY = [{"epoch": 1, "loss": 2.0, "accuracy": 0.4}, {"epoch": 2, "loss": 1.0, "accuracy": 0.6, "test_accuracy": 0.5}]


def test_any_name_is_a_title() -> None:
    """Dollars begin formulas elsewhere, letters of other scripts are in no font here, and a path may be long."""
    sizes = set()
    for title in ("lenet on faces", r"$\frac$ $\x$", "日本 \x1b[2J\u202e", "a" * 100_000):
        draw_curve(HISTORY, title, file := io.BytesIO())
        sizes.add(Image.open(file).size)
    assert len(sizes) == 1
