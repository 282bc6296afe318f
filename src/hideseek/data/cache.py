"""Where downloaded and derived sets are kept: the user's cache folder."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import platformdirs
from numpy.typing import NDArray

from hideseek.files import content, new_file


def cache_folder() -> Path:
    """Give the user's cache folder for hideseek; it need not exist yet."""
    return platformdirs.user_cache_path("hideseek")


def keep(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays to an .npz file, uncompressed so that they can be mapped; a reader never sees half of the file."""
    with new_file(path) as file:
        save(file, arrays)


def save(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as numpy.savez does, which copies each of them on the way."""
    with zipfile.ZipFile(file, "w") as archive:
        for key, array in arrays.items():
            whole = np.asarray(array, order="C")
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, np.lib.format.header_data_from_array_1_0(whole))
                member.write(content(whole))
