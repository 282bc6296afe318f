"""What an attack may claim to have found; each kind of claim can be scored against the ground truth."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from jaxtyping import Bool, Float, Int, Int8
from torch import Tensor


@dataclass(frozen=True)
class Claim(ABC):
    """One thing that an attack says about the private images or the keys; kinds have names."""

    kinds: ClassVar[dict[str, type[Claim]]] = {}
    """Every kind of claim by its name."""
    name: ClassVar[str]

    def __init_subclass__(cls, name: str = "") -> None:
        """Take note of a kind that has a name of its own, which no other may have."""
        if name:
            if cls.kinds.get(name, cls).__qualname__ != cls.__qualname__:
                raise TypeError(f"there is a claim called {name!r} already.")
            cls.name = name
            cls.kinds[name] = cls

    def parts(self) -> dict[str, Any]:
        """Give the value of each field by its name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def finite(self) -> bool:
        """Tell whether all numbers in it are finite."""
        return all(
            bool(value.isfinite().all()) if isinstance(value, Tensor) else math.isfinite(value)
            for value in self.parts().values()
            if isinstance(value, Tensor | float)
        )


@dataclass(frozen=True)
class Reconstruction(Claim, name="reconstruction"):
    """These are private images.

    `about` says which, by `of`:
    - `items`: an item of the release, a row or an update, that holds the image; of several images in the item, the
      guess is judged by the one that it is most like;
    - `batches`: the same, where all guesses about one item are different images of it: they are matched one to one to
      the images of that item, and to no others;
    - `images`: the image's place in the private set, for an attacker who knows who was mixed with whom;
    - `any`: no order; guesses are matched one to one to all private images.

    `sure` says which guesses the attacker can confirm by himself, without the truth; None: he cannot tell. `picked`:
    guesses are candidates of a gallery, which he had before, so that what counts is only which of them he picks.
    `groups`: the rows that he put together to each guess, those first that show most of it, −1 where there are fewer;
    None: no rows were put together.
    """

    images: Float[Tensor, "guesses c h w"]
    about: Int[Tensor, " guesses"]
    of: Literal["items", "batches", "images", "any"] = "items"
    sure: Bool[Tensor, " guesses"] | None = None
    picked: bool = False
    groups: Int[Tensor, "guesses rows"] | None = None


@dataclass(frozen=True)
class PublicImagesFound(Claim, name="public-images"):
    """These public images are in this row, the likeliest first.

    `among` is the number of public images. `scores` are comparable within a row; `complete` says that the first
    k − k_private candidates are the attack's answer, not only the head of a search; `larger` that candidates are the
    larger images that the public ones were cut from.
    """

    rows: Int[Tensor, " queries"]
    candidates: Int[Tensor, "queries kept"]
    scores: Float[Tensor, "queries kept"]
    among: int
    complete: bool = False
    larger: bool = False


@dataclass(frozen=True)
class Links(Claim, name="links"):
    """These two items share a private image: the higher the score, the surer.

    A score above the `threshold` says that they do; None: pairs are ranked alone.
    """

    first: Int[Tensor, " pairs"]
    second: Int[Tensor, " pairs"]
    scores: Float[Tensor, " pairs"]
    threshold: float | None = None


@dataclass(frozen=True)
class Masks(Claim, name="masks"):
    """These are the signs of a row's mask, σ, one for every pixel and channel."""

    rows: Int[Tensor, " guesses"]
    signs: Int8[Tensor, "guesses c h w"]


@dataclass(frozen=True)
class Attribution(Claim, name="attribution"):
    """This row was made for one of these private images: the higher the score, the likelier."""

    rows: Int[Tensor, " queries"]
    candidates: Int[Tensor, " images"]
    scores: Float[Tensor, "queries images"]


@dataclass(frozen=True)
class Labels(Claim, name="labels"):
    """The images of this update have these labels: shares of each class, which sum to one; of mixtures, their mean."""

    about: Int[Tensor, " guesses"]
    shares: Float[Tensor, "guesses classes"]


@dataclass(frozen=True)
class Membership(Claim, name="membership"):
    """These candidates are private images: the higher the score, the surer. Places are those of the gallery."""

    candidates: Int[Tensor, " asked"]
    scores: Float[Tensor, " asked"]
