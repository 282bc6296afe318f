"""The area under every row's ROC curve: its pairs with a common image against its others."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hideseek.chance.compiled import compiled
from hideseek.records import Links


@dataclass(frozen=True)
class RankedPairs:
    """Pairs sorted by their first item, each with its rank among the pairs of that item; ties share a rank."""

    queries: NDArray[np.int64]  # the first items
    starts: NDArray[np.int64]  # where the pairs of each begin, and where the last ones end
    seconds: NDArray[np.int64]
    ranks: NDArray[np.float64]  # from 1, the lowest score

    @classmethod
    def of(cls, claim: Links) -> Self:
        """Sort the pairs of a claim."""
        first, scores = claim.first.long().numpy(), claim.scores.double().numpy()
        order = np.lexsort((scores, first))
        first, scores = first[order], scores[order]
        queries, starts = np.unique(first, return_index=True)
        new = np.ones(len(first), np.bool_)
        new[1:] = (first[1:] != first[:-1]) | (scores[1:] != scores[:-1])
        run = new.cumsum() - 1  # pairs of one row with equal scores
        begin, length = np.flatnonzero(new), np.bincount(run)
        ranks = begin[run] - np.repeat(starts, np.diff(starts, append=len(first))) + (length[run] + 1) / 2
        return cls(queries, np.append(starts, len(first)), claim.second.long().numpy()[order], ranks)

    def areas(self, held: NDArray[np.int64], images: int) -> NDArray[np.float64]:
        """Give every query's AUC where items hold these of so many images; NaN where its pairs are of one kind."""
        found = np.empty(len(self.queries))
        _areas(self.starts, self.queries, self.seconds, self.ranks, held, np.zeros(images + 1, np.bool_), found)
        return found


@compiled()
def _areas(
    starts: NDArray[np.int64],
    queries: NDArray[np.int64],
    seconds: NDArray[np.int64],
    ranks: NDArray[np.float64],
    held: NDArray[np.int64],
    marked: NDArray[np.bool_],
    areas: NDArray[np.float64],
) -> None:  # pragma: no cover (compiled)
    """Give AUCs by Mann and Whitney: (R − p (p + 1) / 2) / (p q), R the ranks of p pairs that share against q."""
    places = held.shape[1]
    for query in range(len(queries)):
        own = held[queries[query]]
        for place in range(places):
            marked[own[place] + 1] = own[place] >= 0  # −1, no image, is before the first
        total, members = 0.0, 0
        for pair in range(starts[query], starts[query + 1]):
            other = held[seconds[pair]]
            for place in range(places):
                if marked[other[place] + 1]:
                    total += ranks[pair]
                    members += 1
                    break
        for place in range(places):
            marked[own[place] + 1] = False
        rest = starts[query + 1] - starts[query] - members
        areas[query] = np.nan
        if members and rest:
            areas[query] = (total - members * (members + 1) / 2) / (members * rest)
