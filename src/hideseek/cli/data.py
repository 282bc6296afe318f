"""`hideseek data`: list the image sets that can be named."""

from collections.abc import Sequence
from dataclasses import dataclass

from hideseek.cli.arguments import parse
from hideseek.cli.terminal import say
from hideseek.data import DATASETS


@dataclass(frozen=True)
class Data:
    """List the image sets that --data and --public take by name: their sizes, where they are, and their terms."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and list."""
    parse(Data, "hideseek data", arguments)
    for name, dataset in DATASETS.items():
        counts = " + ".join(f"{count:,} {split}" for split, count in dataset.counts.items())
        pixels = "×".join(str(side) for side in dataset.shape)
        say(
            f"{name}: {dataset.title}",
            f"    {counts} images of {pixels}, {dataset.classes} classes",
            f"    where: {dataset.where}",
            f"    terms: {dataset.terms}",
            "",
        )
    say("Others: folder:PATH (a subfolder a class), npz:PATH, patches:ADDRESS (public patches of any of these).")
