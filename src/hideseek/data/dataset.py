"""What is known of a named data set, and how it is had."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hideseek.data import npz
from hideseek.data.cache import cache_folder, keep
from hideseek.data.download import Published, fetch, user_folder
from hideseek.data.publishers import Arrays, Files
from hideseek.errors import BadInput
from hideseek.records import Samples


@dataclass(frozen=True)
class Embedded:
    """A set that comes with the installed libraries: `make` gives a split."""

    make: Callable[[str], Samples]


@dataclass(frozen=True)
class Download:
    """A set that comes from its publisher: `unpack` makes arrays of the files."""

    files: tuple[Published, ...]
    unpack: Callable[[Files], Arrays]


@dataclass(frozen=True)
class Dataset:
    """A named set: what a list of sets shows, and where it comes from."""

    name: str
    title: str
    classes: int
    shape: tuple[int, int, int]  # channels, height and width
    published: Mapping[str, int]  # images in each split
    terms: str
    citation: str
    origin: Embedded | Download
    class_names: tuple[str, ...] = ()

    @property
    def path(self) -> Path | None:
        """The file that holds the set now: the user's own copy, or the cached one, or none."""
        if isinstance(self.origin, Embedded):
            return None
        paths = (folder / f"{self.name}.npz" for folder in (user_folder(), cache_folder()) if folder is not None)
        return next((path for path in paths if path.is_file()), None)

    @property
    def where(self) -> str:
        """Where the set is now, for a reader."""
        return (
            "embedded" if isinstance(self.origin, Embedded) else str(self.path or "not here: downloaded on first use")
        )

    @property
    def counts(self) -> Mapping[str, int]:
        """How many images each split has: in the copy that is here, which may be a part, else as published."""
        return npz.counts(self.path) if self.path else self.published

    def load(self, split: str | None = None, labelled: bool = True) -> Samples:
        """Give one split, the training images unless said otherwise; the first time, the set may be downloaded."""
        if split is not None and split not in self.published:
            raise BadInput(f"{self.name} has no split {split}; choose one of {', '.join(self.published)}.")
        if isinstance(self.origin, Embedded):
            return self.origin.make(split or "train")
        path = self.path or _download(self.name, self.origin)
        return npz.load_npz(path, split, labelled, self.class_names)


def _download(name: str, origin: Download) -> Path:
    """Fetch a set from its publisher and keep it as one .npz file in the cache."""
    path = cache_folder() / f"{name}.npz"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent, prefix=name) as folder:
            keep(path, origin.unpack({file.name: fetch(file, Path(folder)) for file in origin.files}))
    except OSError as error:
        raise BadInput(
            f"{name} cannot be kept in {path.parent} ({error}); make room there or allow writing."
        ) from error
    return path
