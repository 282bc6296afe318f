"""Images from rows that are known but for a sign each: the atoms of a dictionary, few of which are in a row."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Task
from hideseek.seek.signals.signed_clusters import (
    distinct,
    signed_centres,
    signed_centres_work,
    whitener,
    whitening_work,
)
from hideseek.seek.work import DOUBLE, TOUCH

TURNS = 4  # of rows' atoms and the dictionary
APART, MERGED = 0.4, 0.6  # cosines from which two clusters, or two fitted atoms, are of one image
SEEN = 3.0  # deviations of what is left, from which an atom counts as there
RIDGE = 0.1  # of the mean energy of an atom
SCALE = 0.55  # √Σλ² of a row, on the whole: the scale of images is fitted later


@dataclass(frozen=True)
class SignedDictionary:
    """Images, and which of them rows are seen to hold."""

    images: Float[Tensor, "n pixels"]
    sources: Int[Tensor, "m k"]
    """The heaviest first."""
    weights: Float[Tensor, "m k"]
    """0 or more; 0 where fewer are seen."""
    agreeing: float
    """The share of all that is seen in rows whose sign agrees with that of the others: ½ says that it is noise."""


def signed_dictionary(
    rows: Float[Tensor, "m pixels"], shape: tuple[int, ...], images: int, per_row: int, rounds: int, chance: Randomness
) -> SignedDictionary:
    """Find so many images, few of which are in each row, with weights above 0, each row having one unknown sign.

    White rows are clustered; rows are then explained by the centres (matching pursuit), and the centres fitted to them,
    in turn. Two centres of one image are merged, and what rows have left is clustered for those that are missing. All
    weights of a row have one sign, which tells how the signs of atoms fit together.
    """
    white = rows @ whitener(rows, shape)
    white = white / white.square().sum(1).mean().sqrt().clamp_min(1e-12)
    atoms = signed_centres(white, white[:0], images, rounds, APART, chance)
    for _ in track(range(TURNS), "images in rows, and rows of images"):
        codes = coded(white, atoms, per_row)
        fitted = functional.normalize(_fitted(codes, white))
        atoms = fitted[distinct(fitted, codes.abs().sum(0), fitted[:0], images, MERGED)]
        if len(atoms) < images:
            left = white - coded(white, atoms, per_row) @ atoms
            more = signed_centres(left, atoms, images - len(atoms), rounds, APART, chance)
            atoms = torch.cat([atoms, more])
    codes = coded(white, atoms, per_row)
    turned, sides = agreed(codes)
    agreeing = float((turned > 0).sum() / (turned != 0).sum().clamp_min(1))
    weights = SCALE * functional.normalize(turned.clamp_min(0))
    heaviest = weights.topk(min(per_row, len(atoms)), 1)
    return SignedDictionary(_fitted(weights, rows * sides[:, None]), heaviest.indices, heaviest.values, agreeing)


def coded(rows: Float[Tensor, "m pixels"], atoms: Float[Tensor, "n pixels"], per_row: int) -> Float[Tensor, "m n"]:
    """Explain rows by a few atoms of unit length each (orthogonal matching pursuit), leaving out what may be noise."""
    grams, products = atoms @ atoms.T, rows @ atoms.T
    left = products
    chosen = torch.empty(len(rows), 0, dtype=torch.int64)
    found = products[:, :0]
    for count in range(1, min(per_row, len(atoms)) + 1):
        chosen = torch.cat([chosen, left.abs().scatter(1, chosen, -1.0).argmax(1, keepdim=True)], 1)
        among = grams[chosen[:, :, None], chosen[:, None, :]] + 1e-2 * torch.eye(count)
        found = torch.linalg.solve(among, products.gather(1, chosen)[..., None])[..., 0]
        left = products - (found[:, :, None] * grams[chosen]).sum(1)
    codes = torch.zeros_like(products).scatter(1, chosen, found)
    noise = (rows - codes @ atoms).square().mean(1, keepdim=True).sqrt()
    return codes * (codes.abs() > SEEN * noise)


def agreed(codes: Float[Tensor, "m n"]) -> tuple[Float[Tensor, "m n"], Float[Tensor, " m"]]:
    """Turn atoms and rows so that as many codes as can be are above 0, and give the codes and the sign of each row.

    The signs of atoms are those of the leading eigenvector of how often two have one sign in a row.
    """
    rooted = codes.sign() * codes.abs().sqrt()
    together = rooted.T @ rooted
    together.fill_diagonal_(0.0)
    size = together.abs().sum(1).clamp_min(1e-9).rsqrt()
    vectors = torch.linalg.eigh(size[:, None] * together * size)[1]
    atoms = torch.where(vectors[:, -1] < 0, -1.0, 1.0)
    sides = torch.where((codes * atoms).sum(1) < 0, -1.0, 1.0)
    return codes * atoms * sides[:, None], sides


def _fitted(codes: Float[Tensor, "m n"], rows: Float[Tensor, "m pixels"]) -> Float[Tensor, "n pixels"]:
    """Fit atoms to rows in least squares."""
    matrix = codes.T @ codes
    ridge = RIDGE * float(matrix.diagonal().mean()) + 1e-9
    atoms: Tensor = torch.linalg.solve(matrix + ridge * torch.eye(len(matrix)), codes.T @ rows)
    return atoms


def dictionary_work(task: Task) -> float:
    """Count the whitening, clusters, and in every turn two codings and a fit."""
    rows, images, pixels = float(task.items), task.images, task.pixels
    coding = rows * images * (2.0 * pixels + task.images_per_item * (task.images_per_item + 2.0) * TOUCH)
    fit = rows * images * (images + pixels) + DOUBLE * float(images) ** 2 * (images + pixels)
    clusters = signed_centres_work(task.items, images, pixels)
    return whitening_work(task.items, pixels) + (1 + TURNS / 4) * clusters + TURNS * (2 * coding + fit)
