"""Taking the public images out of Mixup (InstaHide §2.2)."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.errors import BadInput
from hideseek.progress import track
from hideseek.randomness import Randomness
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction, Samples, Uncovered
from hideseek.seek.flat_pairs import SURE, TRIES, Array, Pairs, exact_weights, missing_one, smoothest
from hideseek.seek.matched_filter import Candidates, in_blocks, pursue, quietness, strongest
from hideseek.seek.run import check_rows, mixed_in
from hideseek.seek.whitening import Whitening

WEAKEST = 2  # images of an unconfirmed row that are put in doubt
RUNNERS_UP = 50  # that are tried in the place of each
WORTH = 0.2  # of rows must be confirmed, else images do not come in bytes, and nothing can be mended
PATIENT = 30  # times as many guesses where an image is missing


@dataclass(frozen=True)
class MixupPublic(Attack[EncodedRelease]):
    """Find the public images in every row, solve for their weights, and subtract them: the private image remains.

    InstaHide §2.2 compares a row with every public image by inner products, ⟨x̃, s⟩, in O(N k). Real images are not
    independent at the pixel level, so that plain inner products find all public images in hardly any row.

    Deviation, to make it work: images are made white first, every place is weighted by how quiet the rest of the row
    is there, and images are found one after another (`matched_filter`); then `exact` takes the weights from places
    where the private image is flat (`flat_pairs`), which confirms a row, or mends it.
    """

    sees: ClassVar = EncodedRelease
    needs: ClassVar = ("public",)

    exact: bool = True
    """Confirm and mend by places where neighbouring pixels are equal; for images that come in bytes."""
    rows: int | None = None
    """Attack the first rows only."""

    def __post_init__(self) -> None:
        check_rows(self.rows)

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Find, confirm, subtract."""
        public, count = mixed_in(release), release.scheme.meets[1]
        if release.scheme.masked:
            raise BadInput("this attack is on Mixup with public images; under a mask use public-search or braverman.")
        encoded = release.encoded.take(slice(self.rows))
        white = Whitening.of(public)
        candidates = Candidates(public, lambda pixels: white(pixels).flatten(1))
        rows = encoded.pixels()
        found, weights = pursue(white(rows), candidates, count)
        confirmed = torch.zeros(len(rows), dtype=torch.bool)
        if self.exact:
            mass = 1 - encoded.labels.sum(1).double() if encoded.labels.shape[1] else None  # of the public images
            row_by_row = _Exact(rows, mass, public, chance)
            confirmed = row_by_row.confirm(found, weights)
            doubted = (~confirmed).nonzero()[:, 0]
            if mass is not None and 0 < len(doubted) < (1 - WORTH) * len(rows):
                row_by_row.mend(doubted, found, weights, confirmed, white, candidates)
        private = encoded.labels.sum(1) if encoded.labels.shape[1] else (1 - weights.sum(1))
        remains = _remaining(rows, public, found, weights) / private.clamp_min(1e-3)[:, None, None, None]
        about = torch.arange(len(rows))
        return Evidence(
            (Uncovered(about, found, weights, len(public), complete=True), Reconstruction(remains, about)),
            {"confirmed": float(confirmed.float().mean())},
        )


def _remaining(
    rows: Float[Tensor, "n c h w"], public: Samples, found: Int[Tensor, "n j"], weights: Float[Tensor, "n j"]
) -> Float[Tensor, "n c h w"]:
    """Subtract what was found."""
    remaining = rows.clone()
    for places, weight in zip(found.T, weights.T, strict=True):
        for part in torch.arange(len(rows)).split(1024):
            remaining[part] -= weight[part, None, None, None] * public.pixels(places[part])
    return remaining


@dataclass(frozen=True)
class _Judged:
    """Images of a row, with exact weights, and by how many pairs they are confirmed."""

    places: Int[Tensor, " j"]
    weights: Array
    support: int


@dataclass(frozen=True)
class _Exact:
    """Confirms and mends rows one by one."""

    rows: Float[Tensor, "n c h w"]
    mass: Float[Tensor, " n"] | None
    public: Samples
    chance: Randomness

    def confirm(self, found: Int[Tensor, "n j"], weights: Float[Tensor, "n j"]) -> Tensor:
        """Take the exact weights of the rows where there are any; tell which these are."""
        remaining = _remaining(self.rows, self.public, found, weights)
        confirmed = torch.zeros(len(found), dtype=torch.bool)
        for row in track(range(len(found)), "confirming"):
            pairs = smoothest(self.rows[row], remaining[row])
            judged = self._judged(row, pairs, found[row])
            if judged.support >= SURE:
                weights[row], confirmed[row] = torch.from_numpy(judged.weights), True
        return confirmed

    def _judged(self, row: int, pairs: Pairs, places: Int[Tensor, " j"]) -> "_Judged":
        mass = None if self.mass is None else float(self.mass[row])
        return _Judged(places, *exact_weights(pairs, self.public.pixels(places).flatten(1), mass, self.chance))

    def mend(
        self,
        doubted: Int[Tensor, " m"],
        found: Int[Tensor, "n j"],
        weights: Float[Tensor, "n j"],
        confirmed: Tensor,
        white: Whitening,
        candidates: Candidates,
    ) -> None:
        """Put others in the place of the weakest images of doubted rows, if that confirms the row."""
        remaining = _remaining(self.rows[doubted], self.public, found[doubted], weights[doubted])
        pixels = white(self.rows[doubted]).flatten(1)
        quiet = quietness(white(remaining)).flatten(1)
        order = weights[doubted].argsort(1)[:, : min(WEAKEST, found.shape[1])]
        for nth in range(order.shape[1]):
            kept = torch.ones(len(doubted), found.shape[1], dtype=torch.bool).scatter_(
                1, order[:, nth : nth + 1], False
            )
            others = found[doubted][kept].view(len(doubted), found.shape[1] - 1)
            rest = in_blocks(pixels, candidates, others, quiet)[1] if others.shape[1] else pixels
            _, instead = strongest(rest, quiet, candidates, RUNNERS_UP, found[doubted])
            for number, row in enumerate(track(doubted.tolist(), "mending")):
                if not confirmed[row]:
                    pairs = smoothest(self.rows[row], remaining[number])
                    self._replace(row, pairs, others[number], instead[number], found, weights, confirmed)

    def _replace(
        self,
        row: int,
        pairs: Pairs,
        others: Int[Tensor, " known"],
        instead: Int[Tensor, " candidates"],
        found: Int[Tensor, "n j"],
        weights: Float[Tensor, "n j"],
        confirmed: Tensor,
    ) -> None:
        """Try the runners-up beside the other images of a row, then every public image."""
        assert self.mass is not None  # noqa: S101 (the caller has looked)
        best = max(
            (self._judged(row, pairs, torch.cat([others, place[None]])) for place in instead),
            key=lambda one: one.support,
        )
        if len(others):
            known, mass = self.public.pixels(others).flatten(1), float(self.mass[row])
            exact = best.weights[:-1]
            if best.support < SURE:  # then from pairs where the missing image is flat too, which are few
                exact, _ = exact_weights(pairs, known, None, self.chance, tries=PATIENT * TRIES)
            if exact.sum() < mass:
                place = missing_one(pairs, known, exact, mass - float(exact.sum()), self.public)
                other = self._judged(row, pairs, torch.cat([others, torch.tensor([place])]))
                best = max(best, other, key=lambda one: one.support)
        if best.support >= SURE:
            found[row], weights[row], confirmed[row] = best.places, torch.from_numpy(best.weights), True
