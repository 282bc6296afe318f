"""Finding known images in rows: the best of many candidates for each row, by products of large matrices in blocks."""

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from hideseek.progress import track
from hideseek.records import Samples

QUERIES = 1024  # rows of a block
CANDIDATES = 8192  # images of a block
KEPT = 1 << 29  # bytes of white candidates that are kept from one search to the next
TINY = torch.finfo(torch.float32).tiny
WIDTH = 3  # pixels on a side of the neighbourhood that local energy is averaged over
_SHARE = 0.5  # of the local energy that is common to all colours
LEAST = 0.02  # of the mean energy, which is added everywhere


class Candidates:
    """Known images, as the features by which they are compared, block by block; kept where they fit."""

    def __init__(self, images: Samples, features: Callable[[Float[Tensor, "n c h w"]], Tensor]) -> None:
        self._images, self._features = images, features
        self._kept: dict[int, Float[Tensor, "rows pixels"]] = {}
        self._fit = 4 * images.images.numel() <= KEPT

    def __len__(self) -> int:
        return len(self._images)

    def __iter__(self) -> Iterator[tuple[int, Float[Tensor, "rows pixels"]]]:
        """Give each block with the place where it starts."""
        for start in range(0, len(self), CANDIDATES):
            block = self._kept.get(start)
            if block is None:
                block = self._features(self._images.pixels(slice(start, start + CANDIDATES))).flatten(1)
                if self._fit:
                    self._kept[start] = block
            yield start, block

    def __getitem__(self, places: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape pixels"]:
        """Give some candidates."""
        features = self._features(self._images.pixels(places.flatten())).flatten(1)
        return features.view(*places.shape, features.shape[1])


def inverse_energy(
    residual: Float[Tensor, "n c h w"], width: int = WIDTH, least: float = LEAST
) -> Float[Tensor, "n c h w"]:
    """Give one over the local energy of a white residual: its mean square around every place.

    What hides the images that are sought is an image itself, smooth here and busy there. The matched filter for noise
    of varying energy divides by that energy, so places where the residual is small tell most.
    """
    energy = residual.square()
    energy = _SHARE * energy.mean(1, keepdim=True) + (1 - _SHARE) * energy
    padded = functional.pad(energy, (width // 2,) * 4, mode="replicate")
    local = functional.avg_pool2d(padded, width, stride=1)
    return 1 / (local + least * local.mean((2, 3), keepdim=True) + TINY)


def strongest(
    residual: Float[Tensor, "n pixels"],
    weights: Float[Tensor, "n pixels"],
    candidates: Candidates,
    count: int,
    without: Int[Tensor, "n found"],
) -> tuple[Float[Tensor, "n count"], Int[Tensor, "n count"]]:
    """Give the candidates s that explain most of each residual r: ⟨w∘r, s⟩² / ⟨w, s²⟩, if the weight is positive.

    That is by how much a weighted least-squares fit of λ s, λ = ⟨w∘r, s⟩ / ⟨w, s²⟩, lowers the error.
    """
    best = BestCandidates(len(residual), min(count, len(candidates)), residual.device)
    for start, block in candidates:
        squares = block.square().T
        for top in range(0, len(residual), QUERIES):
            rows = slice(top, top + QUERIES)
            product = (weights[rows] * residual[rows]) @ block.T
            gain = product.mul_(product.clamp_min(0)).div_((weights[rows] @ squares).clamp_min(TINY))
            _leave_out(gain, without[rows] - start)
            best.take(rows, gain, start)
    return best.scores, best.places


def nearest(
    queries: Float[Tensor, "n features"], candidates: Candidates, count: int
) -> tuple[Float[Tensor, "n count"], Int[Tensor, "n count"]]:
    """Give the candidates with the largest inner products with each query, the largest first."""
    best = BestCandidates(len(queries), min(count, len(candidates)), queries.device)
    for start, block in track(candidates, "searching", -(-len(candidates) // CANDIDATES)):
        for top in range(0, len(queries), QUERIES):
            rows = slice(top, top + QUERIES)
            best.take(rows, queries[rows] @ block.T, start)
    return best.scores, best.places


class BestCandidates:
    """The best candidates so far, for every query, the best first."""

    def __init__(self, queries: int, count: int, device: torch.device) -> None:
        self.scores = torch.full((queries, count), -torch.inf, device=device)
        self.places = torch.zeros(queries, count, dtype=torch.int64, device=device)

    def take(self, rows: slice, scores: Float[Tensor, "n block"], start: int) -> None:
        """Look at a block of candidates, of which the first is number `start`."""
        count = self.scores.shape[1]
        here = scores.topk(min(count, scores.shape[1]), 1)
        merged = torch.cat([self.scores[rows], here.values], 1).topk(count, 1)
        self.places[rows] = torch.cat([self.places[rows], here.indices + start], 1).gather(1, merged.indices)
        self.scores[rows] = merged.values


def _leave_out(gain: Float[Tensor, "n block"], places: Int[Tensor, "n found"]) -> None:
    """Strike out what was found before, where it is in this block."""
    row, column = ((places >= 0) & (places < gain.shape[1])).nonzero(as_tuple=True)
    gain[row, places[row, column]] = -torch.inf


def weigh(
    rows: Float[Tensor, "n pixels"], found: Float[Tensor, "n j pixels"], weights: Float[Tensor, "n pixels"]
) -> tuple[Float[Tensor, "n j"], Float[Tensor, "n pixels"]]:
    """Fit rows by the images found in them, by weighted least squares; give the coefficients and what remains."""
    weighted = found * weights[:, None]
    gram = weighted @ found.mT
    diagonal = gram.diagonal(dim1=1, dim2=2)
    diagonal.add_(1e-6 * diagonal.mean(1, keepdim=True) + TINY)  # equal or blank candidates must not stop the others
    fitted = torch.linalg.solve(gram, weighted @ rows[..., None])
    return fitted[..., 0], rows - (fitted.mT @ found)[:, 0]


def pursue(
    rows: Float[Tensor, "n c h w"], candidates: Candidates, count: int
) -> tuple[Int[Tensor, "n count"], Float[Tensor, "n count"]]:
    """Find `count` images in every white row, the strongest first, with their coefficients.

    Orthogonal matching pursuit, where the local energy of what remains is estimated again after every image.
    """
    pixels = rows.flatten(1)
    found = torch.zeros(len(rows), 0, dtype=torch.int64, device=rows.device)
    remaining = pixels
    fitted = rows.new_zeros(len(rows), 0)
    for _ in track(range(count), "finding public images"):
        weights = inverse_energy(remaining.view_as(rows)).flatten(1)
        if found.shape[1]:
            _, remaining = in_blocks(pixels, candidates, found, weights)
        _, next_one = strongest(remaining, weights, candidates, 1, found)
        found = torch.cat([found, next_one], 1)
        fitted, remaining = in_blocks(pixels, candidates, found, weights)
    return found, fitted


def in_blocks(
    rows: Float[Tensor, "n pixels"],
    candidates: Candidates,
    found: Int[Tensor, "n j"],
    weights: Float[Tensor, "n pixels"],
) -> tuple[Float[Tensor, "n j"], Float[Tensor, "n pixels"]]:
    """Weigh what was found, a block of rows at a time."""
    parts = [
        weigh(
            rows[start : start + QUERIES], candidates[found[start : start + QUERIES]], weights[start : start + QUERIES]
        )
        for start in range(0, len(rows), QUERIES)
    ]
    return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts])
