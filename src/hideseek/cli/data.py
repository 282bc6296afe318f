"""`hideseek data`: list the image sets that can be named."""

from collections.abc import Sequence
from dataclasses import dataclass

from hideseek.cli.arguments import parse
from hideseek.cli.terminal import say
from hideseek.data import DATASETS

OTHERS = """Others:
    folder:PATH      JPEG, PNG, WebP, BMP, TIFF; a subfolder a class, or a labels.csv
    dicom:PATH       a folder of DICOM files (every frame is an image), or one file;
                     needs hideseek[dicom]
    npz:PATH         arrays x_train and y_train, x and y, or as MedMNIST calls them;
                     npz:PATH?split=test
    patches:ADDRESS  public patches of any of these
labels.csv lies in the folder and has the columns file (from the folder on), label,
and patient, if you know it. Another column of labels: ADDRESS?label-column=NAME, or
--label-column NAME; of an npz with several labels an image its number, from 0.
All images of a patient stay together wherever sets are divided, and are one record."""


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
    say(*OTHERS.split("\n"))
