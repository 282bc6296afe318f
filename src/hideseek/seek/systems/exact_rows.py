"""Confirming and repairing rows one by one, once their public images were found."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.progress import track
from hideseek.records import Samples, Task
from hideseek.seek.signals.matched_filter import Candidates, in_blocks, inverse_energy, strongest
from hideseek.seek.signals.whitening import Whitening
from hideseek.seek.systems.flat_pairs import (
    SURE,
    TRIES,
    Array,
    Pairs,
    exact_weights,
    exact_weights_work,
    missing_one,
    missing_one_work,
    smoothest,
)

WEAKEST = 2  # images of an unconfirmed row that are put in doubt
RUNNERS_UP = 50  # that are tried in the place of each
PATIENT = 30  # times as many guesses where an image is missing
UNCONFIRMED = 0.08  # of rows, or so, must be repaired


def remaining_of(
    rows: Float[Tensor, "n c h w"], public: Samples, found: Int[Tensor, "n j"], weights: Float[Tensor, "n j"]
) -> Float[Tensor, "n c h w"]:
    """Subtract what was found."""
    remaining = rows.clone()
    for places, weight in zip(found.T, weights.T, strict=True):
        for part in torch.arange(len(rows)).split(1024):
            remaining[part] -= weight[part, None, None, None] * public.pixels(places[part])
    return remaining


def exact_work(count: int, task: Task) -> float:
    """Count what a row takes, with so many public images: one set of weights, and more where it must be repaired.

    Of several images, one may be wrong. Then others are tried in its place, for which half of the guesses cannot be
    weights and are not judged; many more guesses follow where none will do, in about one case of three.
    """
    weights = exact_weights_work(count)
    if count == 1:
        return weights
    repair = (RUNNERS_UP / 2 + PATIENT / 3) * weights + missing_one_work(task)
    return weights + UNCONFIRMED * (1 + WEAKEST) / 2 * repair


@dataclass(frozen=True)
class _Candidate:
    """Images that may be those of a row, with exact weights, and by how many pairs they are confirmed."""

    places: Int[Tensor, " j"]
    weights: Array
    support: int


@dataclass(frozen=True)
class ExactRows:
    """Confirms and repairs rows one by one, by exact weights."""

    rows: Float[Tensor, "n c h w"]
    mass: Float[Tensor, " n"] | None
    public: Samples
    chance: Randomness

    def confirm(self, found: Int[Tensor, "n j"], weights: Float[Tensor, "n j"]) -> Tensor:
        """Take the exact weights of the rows where there are any; tell which these are."""
        remaining = remaining_of(self.rows, self.public, found, weights)
        confirmed = torch.zeros(len(found), dtype=torch.bool)
        for row in track(range(len(found)), "confirming"):
            pairs = smoothest(self.rows[row], remaining[row])
            candidate = self._candidate(row, pairs, found[row])
            if candidate.support >= SURE:
                weights[row], confirmed[row] = torch.from_numpy(candidate.weights), True
        return confirmed

    def _candidate(self, row: int, pairs: Pairs, places: Int[Tensor, " j"]) -> _Candidate:
        mass = None if self.mass is None else float(self.mass[row])
        return _Candidate(places, *exact_weights(pairs, self.public.pixels(places).flatten(1), mass, self.chance))

    def repair(
        self,
        doubted: Int[Tensor, " m"],
        found: Int[Tensor, "n j"],
        weights: Float[Tensor, "n j"],
        confirmed: Tensor,
        white: Whitening,
        candidates: Candidates,
    ) -> None:
        """Put others in the place of the weakest images of doubted rows, if that confirms the row."""
        remaining = remaining_of(self.rows[doubted], self.public, found[doubted], weights[doubted])
        pixels = white(self.rows[doubted]).flatten(1)
        inverse = inverse_energy(white(remaining)).flatten(1)
        order = weights[doubted].argsort(1)[:, : min(WEAKEST, found.shape[1])]
        for nth in range(order.shape[1]):
            kept = torch.ones(len(doubted), found.shape[1], dtype=torch.bool).scatter_(
                1, order[:, nth : nth + 1], False
            )
            others = found[doubted][kept].view(len(doubted), found.shape[1] - 1)
            rest = in_blocks(pixels, candidates, others, inverse)[1] if others.shape[1] else pixels
            _, instead = strongest(rest, inverse, candidates, RUNNERS_UP, found[doubted])
            for number, row in enumerate(track(doubted.tolist(), "repairing")):
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
            (self._candidate(row, pairs, torch.cat([others, place[None]])) for place in instead),
            key=lambda one: one.support,
        )
        if len(others):
            known, mass = self.public.pixels(others).flatten(1), float(self.mass[row])
            exact = best.weights[:-1]
            if best.support < SURE:  # then from pairs where the missing image is flat too, which are few
                exact, _ = exact_weights(pairs, known, None, self.chance, tries=PATIENT * TRIES)
            if exact.sum() < mass:
                place = missing_one(pairs, known, exact, mass - float(exact.sum()), self.public)
                other = self._candidate(row, pairs, torch.cat([others, torch.tensor([place])]))
                best = max(best, other, key=lambda one: one.support)
        if best.support >= SURE:
            found[row], weights[row], confirmed[row] = best.places, torch.from_numpy(best.weights), True
