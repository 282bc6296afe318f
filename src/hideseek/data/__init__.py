"""Images in: folders, arrays and named sets; normalising, splitting among parties, public patches."""

from hideseek.data.address import load
from hideseek.data.dataset import Dataset
from hideseek.data.named import DATASETS
from hideseek.data.normalise import normalise
from hideseek.data.public import public_patches
from hideseek.data.split import split_by_class, split_dirichlet, split_evenly

__all__ = [
    "DATASETS",
    "Dataset",
    "load",
    "normalise",
    "public_patches",
    "split_by_class",
    "split_dirichlet",
    "split_evenly",
]
