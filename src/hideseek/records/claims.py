"""What an attack may claim to have found; each kind of claim can be scored against the truth."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Literal

from jaxtyping import Float, Int, Int8
from torch import Tensor


@dataclass(frozen=True)
class Claim(ABC):  # noqa: B024 (a kind of thing, told apart by its subclasses)
    """One thing that an attack says about the private images or the keys."""


@dataclass(frozen=True)
class Reconstruction(Claim):
    """These are private images.

    `about` says which: the row of the release that holds it (`rows`), or the image's place in the private set, for an
    attacker who knows who met whom (`images`); without an order (`any`) the judge matches guesses to images one to one.
    """

    images: Float[Tensor, "guesses c h w"]
    about: Int[Tensor, " guesses"]
    of: Literal["rows", "images", "any"] = "rows"


@dataclass(frozen=True)
class Uncovered(Claim):
    """These public images are in this row, the likeliest first.

    `among` is the number of public images. `scores` are comparable within a row; `complete` says that the first
    k − k_private candidates are the attack's answer, not only the head of a search.
    """

    rows: Int[Tensor, " queries"]
    candidates: Int[Tensor, "queries kept"]
    scores: Float[Tensor, "queries kept"]
    among: int
    complete: bool = False


@dataclass(frozen=True)
class Links(Claim):
    """These two rows share a private image: the higher the score, the surer."""

    first: Int[Tensor, " pairs"]
    second: Int[Tensor, " pairs"]
    scores: Float[Tensor, " pairs"]


@dataclass(frozen=True)
class Masks(Claim):
    """These are the signs of a row's mask, σ, one for every pixel and channel."""

    rows: Int[Tensor, " guesses"]
    signs: Int8[Tensor, "guesses c h w"]


@dataclass(frozen=True)
class Attribution(Claim):
    """This row was made for one of these private images: the higher the score, the likelier."""

    rows: Int[Tensor, " queries"]
    candidates: Int[Tensor, " images"]
    scores: Float[Tensor, "queries images"]
