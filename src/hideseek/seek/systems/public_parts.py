"""The public images of rows whose private part is nearly known, found one by one; likelihood tells their weights."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.progress import track
from hideseek.records import Samples, Task
from hideseek.seek.systems.phase_retrieval import FLOOR, PhaseProblem, row_likelihoods
from hideseek.seek.systems.public_scores import PublicScores
from hideseek.seek.work import TOUCH

ROWS = 512  # that are searched together
AGAIN = 1  # times that every image is sought again, given the others

Pixels = Float[Tensor, "n c h w"]


@dataclass(frozen=True)
class PublicParts:
    """The public images of rows, in the order of the weights, and their sum."""

    candidates: Int[Tensor, "m k_public"]
    sums: Pixels


def public_parts(
    problem: PhaseProblem, images: Pixels, public: Samples, weights: Float[Tensor, "m k_public"], error: float
) -> PublicParts:
    """Find the public images of every row, the clearest first, each time with what was found before.

    Scores tell that an image is in a row, not with which of the known weights: that is what makes the row likeliest.
    `error`, of the variance of images, is how far private images are in doubt.
    """
    scores = PublicScores.of(problem, public)
    parts = [
        _Search.of(problem, images, scores, weights, error, slice(first, first + ROWS)).found()
        for first in track(range(0, len(weights), ROWS), "finding public images")
    ]
    return PublicParts(torch.cat([part.candidates for part in parts]), torch.cat([part.sums for part in parts]))


@dataclass(frozen=True)
class _Search:
    """Some rows, their private part, and how far that is in doubt."""

    problem: PhaseProblem
    scores: PublicScores
    magnitudes: Pixels
    private: Pixels
    doubt: Float[Tensor, " n"]
    weights: Float[Tensor, "n k"]

    @classmethod
    def of(
        cls, problem: PhaseProblem, images: Pixels, scores: PublicScores, weights: Tensor, error: float, some: slice
    ) -> "_Search":
        magnitudes, mixtures = problem.magnitudes[some], problem.mixtures.some(some)
        private = mixtures.mixed(images.flatten(1)).view_as(magnitudes)
        return cls(problem, scores, magnitudes, private, mixtures.energies() * error + FLOOR, weights[some])

    def found(self) -> PublicParts:
        """Choose images and their weights, exchange weights, and choose each image again."""
        chosen = torch.full(self.weights.shape, -1, dtype=torch.int64)
        for _ in range(chosen.shape[1]):
            image = self.scores.best(self.magnitudes, self._known(chosen), self._left(chosen), self.doubt, chosen)
            chosen = self._likeliest([self._with(chosen, column, image) for column in range(chosen.shape[1])], chosen)
        chosen = self._exchanged(chosen)
        for _ in range(AGAIN):
            for column in range(chosen.shape[1]):
                without = self._with(chosen, column, torch.full_like(chosen[:, 0], -1), full=True)
                image = self.scores.best(
                    self.magnitudes, self._known(without), self._left(without), self.doubt, without
                )
                chosen = self._likeliest([chosen, self._with(without, column, image)], without)
            chosen = self._exchanged(chosen)
        return PublicParts(chosen, self._known(chosen) - self.private)

    def _with(self, chosen: Tensor, column: int, image: Tensor, *, full: bool = False) -> Tensor:
        """Give a column another image, in rows where it has none yet, or in all."""
        given = chosen.clone()
        given[:, column] = image if full else torch.where(chosen[:, column] < 0, image, -2)
        return given

    def _likeliest(self, ways: list[Tensor], otherwise: Tensor) -> Tensor:
        """Give for each row the likeliest way; those with −2 cannot be."""
        logs = torch.stack([self._likelihoods(way.clamp_min(-1)) for way in ways])
        for log, way in zip(logs, ways, strict=True):
            log[(way == -2).any(1)] = -torch.inf
        which = logs.argmax(0)
        best = torch.stack(ways)[which, torch.arange(len(which))]
        return torch.where(logs.amax(0).isfinite()[:, None], best, otherwise)

    def _exchanged(self, chosen: Tensor) -> Tensor:
        """Let pairs of images exchange their weights where that makes rows likelier."""
        count = chosen.shape[1]
        pairs = [(first, second) for first in range(count) for second in range(first)]
        for _ in range(2):
            for first, second in pairs:
                order = list(range(count))
                order[first], order[second] = second, first
                chosen = self._likeliest([chosen, chosen[:, order]], chosen)
        return chosen

    def _left(self, chosen: Tensor) -> Tensor:
        return self.weights * (chosen < 0)

    def _known(self, chosen: Tensor) -> Pixels:
        """Give the private part with the public images that are chosen."""
        known = self.private.clone()
        for column in range(chosen.shape[1]):
            weight = self.weights[:, column] * (chosen[:, column] >= 0)
            known.addcmul_(self.scores.public.pixels(chosen[:, column].clamp_min(0)), weight[:, None, None, None])
        return known

    def _likelihoods(self, chosen: Tensor) -> Float[Tensor, " n"]:
        left = self._left(chosen)
        mean = self._known(chosen) + left.sum(1)[:, None, None, None] * self.scores.mean
        return row_likelihoods(
            self.magnitudes, mean, (self.doubt + left.square().sum(1))[:, None, None, None] * self.scores.variance
        )


def public_work(task: Task, count: int) -> float:
    """Count the products of all rows with all public images, four a search, and trying the weights."""
    each = float(task.items) * task.public * (4 * task.pixels + 10 * TOUCH)
    made = (task.items / ROWS + 1) * task.public * task.pixels * 60 * TOUCH
    tried = float(task.items) * task.pixels * 15 * TOUCH * count * (count + 4)
    return (1 + AGAIN) * (count * (each + made) + tried)
