"""`hideseek data`: list the image sets that can be named."""

from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from hideseek.data import DATASETS


@dataclass(frozen=True)
class Data:
    """List the image sets that --data and --public take by name: their sizes, where they are, and their terms."""


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and list."""
    tyro.cli(Data, prog="hideseek data", args=arguments)
    for name, dataset in DATASETS.items():
        counts = " + ".join(f"{count:,} {split}" for split, count in dataset.counts.items())
        pixels = "×".join(str(side) for side in dataset.shape)
        print(f"{name}: {dataset.title}")
        print(f"    {counts} images of {pixels}, {dataset.classes} classes")
        print(f"    where: {dataset.where}")
        print(f"    terms: {dataset.terms}\n")
    print("Others: folder:PATH (a subfolder a class), npz:PATH, patches:ADDRESS (public patches of any of these).")
