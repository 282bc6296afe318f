"""Federations, measured: what a model that parties learn together is worth, and what its server could reconstruct.

python studies/federated.py
python studies/federated.py --only table4
python studies/federated.py --only "gradients: small-resnet"
"""

from collections.abc import Iterator
from pathlib import Path

from federation import faults, findings, gradients, picture, shipped, table4
from ledger import Ledger, Trial, conduct

TITLE = "Federations"
PARTS = (  # each has trials(scale) and tables(ledger, scale), which begins with its heading
    table4,
    gradients,
    shipped,
    faults,
)
DRAWN = (gradients, shipped, table4)  # have points of the picture, too


def trials(scale: str) -> Iterator[Trial]:
    """Give the trials of every part."""
    for part in PARTS:
        yield from part.trials(scale)


def render(ledger: Ledger, path: Path, scale: str) -> None:
    """Write the page, and draw the picture, from what was measured."""
    figure = path.with_name(f"{path.stem}-leakage.png")
    points = [point for part in DRAWN for point in part.points(ledger)]
    picture.draw(points, figure)
    said = [f"# {TITLE}\n", findings.about(path.stem), f"![Accuracy against leakage]({figure.name})\n"]
    said += [findings.said(points), *(part.tables(ledger, scale) for part in PARTS)]
    said += [findings.missing(ledger, trials(scale)), ledger.legend("federated.py")]
    path.with_suffix(".md").write_text("\n".join(part for part in said if part), "utf-8")


if __name__ == "__main__":
    conduct(__doc__, "federated", TITLE, trials, render)
