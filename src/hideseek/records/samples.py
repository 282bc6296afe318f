"""Images with their labels, and how stored numbers become pixel values."""

from dataclasses import dataclass, field, replace
from typing import Literal, Self

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from hideseek.errors import BadInput


@dataclass(frozen=True)
class Normalisation:
    """How raw pixels in [0, 1] became the values that are mixed; public, since test images need the same.

    `none` leaves them; `channel` is (x − mean) / std for each channel; `image` gives every image zero mean and unit
    norm, Σ_j x_j = 0 and ‖x‖₂ = 1 (InstaHide §2).
    """

    kind: Literal["none", "channel", "image"] = "none"
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()


@dataclass(frozen=True)
class CutFrom:
    """The larger images that patches were cut from, and which of them each patch is from, by its place."""

    images: "Samples"
    places: Int[Tensor, " patches"]

    def take(self, patches: slice | Tensor) -> Self:
        """Give what some patches were cut from, and no image besides."""
        used, places = self.places[patches].unique(return_inverse=True)
        return replace(self, images=self.images.take(used), places=places)


@dataclass(frozen=True)
class Samples:
    """`n` images and their labels.

    A pixel's value is `scale · stored + shift`, so that a set may stay in its bytes, on disk or in memory, while
    everybody works with normalised floats: `pixels` gives them, and no one else needs to know.
    """

    images: Shaped[Tensor, "n c h w"]  # float32, or uint8 as stored
    labels: Float[Tensor, "n classes"]  # soft; a hard label is one-hot; unlabelled is n × 0
    scale: Float[Tensor, "#n #c"] = field(default_factory=lambda: torch.ones(1, 1))
    shift: Float[Tensor, "#n #c"] = field(default_factory=lambda: torch.zeros(1, 1))
    classes: tuple[str, ...] = ()  # their names, where they have names
    normalisation: Normalisation = field(default_factory=Normalisation)  # of encodings: of what was mixed
    cut_from: CutFrom | None = None  # of patches: what they were cut from
    patients: Int[Tensor, " n"] | None = None  # whose image each is, by numbers of this process; None: not known

    def __post_init__(self) -> None:
        """Refuse what cannot be a set of images."""
        if self.images.ndim != 4 or self.images.dtype not in (torch.float32, torch.uint8):
            raise BadInput(
                "images must be an n×c×h×w tensor of float32 or uint8, not"
                f" {tuple(self.images.shape)} of {self.images.dtype}."
            )
        if self.labels.ndim != 2 or len(self.labels) != len(self.images) or self.labels.dtype != torch.float32:
            raise BadInput(
                f"labels must be an n×classes tensor of float32 with n = {len(self.images)}, not"
                f" {tuple(self.labels.shape)} of {self.labels.dtype}."
            )
        if self.classes and len(self.classes) != self.labels.shape[1]:
            raise BadInput(f"{len(self.classes)} class names do not fit labels with {self.labels.shape[1]} columns.")
        for affine in (self.scale, self.shift):
            rows, channels = affine.shape
            if rows not in (1, len(self.images)) or channels not in (1, self.images.shape[1]):
                raise BadInput(f"scale and shift must broadcast over n×c, not have the shape {tuple(affine.shape)}.")
        if self.patients is not None and self.patients.shape != (len(self.images),):
            raise BadInput(f"{len(self.patients)} patients do not fit {len(self.images)} images: one number an image.")

    def __len__(self) -> int:
        return len(self.images)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one image."""
        channels, height, width = self.images.shape[1:]
        return channels, height, width

    @property
    def records(self) -> Int[Tensor, " n"]:
        """Say which record each image is of, counted from 0 in their order: a patient, or where none are known, itself.

        >>> Samples(torch.zeros(3, 1, 1, 1), torch.zeros(3, 0), patients=torch.tensor([9, 2, 9])).records
        tensor([0, 1, 0])
        """
        if self.patients is None:
            return torch.arange(len(self))
        numbers: dict[int, int] = {}
        return torch.tensor([numbers.setdefault(each, len(numbers)) for each in self.patients.tolist()]).long()

    def pixels(self, rows: slice | Tensor = slice(None)) -> Float[Tensor, "rows c h w"]:
        """Give the pixel values of some images, or all, as floats: scale · stored + shift.

        >>> stored = torch.full((1, 1, 1, 2), 51, dtype=torch.uint8)
        >>> Samples(stored, torch.ones(1, 1), scale=torch.full((1, 1), 1 / 255)).pixels().squeeze()
        tensor([0.2000, 0.2000])
        """
        scale = self.scale if len(self.scale) == 1 else self.scale[rows]
        shift = self.shift if len(self.shift) == 1 else self.shift[rows]
        return torch.addcmul(shift[:, :, None, None], scale[:, :, None, None], self.images[rows].float())

    def take(self, rows: slice | Tensor) -> Self:
        """Give some of the images, still as stored."""
        return replace(
            self,
            images=self.images[rows],
            labels=self.labels[rows],
            scale=self.scale if len(self.scale) == 1 else self.scale[rows],
            shift=self.shift if len(self.shift) == 1 else self.shift[rows],
            cut_from=None if self.cut_from is None else self.cut_from.take(rows),
            patients=None if self.patients is None else self.patients[rows],
        )


def describe_shape(shape: tuple[int, int, int]) -> str:
    """Say what images are like.

    >>> describe_shape((1, 28, 28))
    '28×28 with 1 channel'
    """
    channels, height, width = shape
    return f"{height}×{width} with {channels} channel{'s' if channels > 1 else ''}"
