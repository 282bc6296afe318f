"""Whose encoding is this? InstaHide's test of Appendix E.3, the same test done soundly, and a classifier."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, Attribution, EncodedRelease, Evidence, Reason, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.run import check
from hideseek.seek.signals.discriminant import chosen_discriminant, discriminant_work
from hideseek.seek.signals.encoding_tests import one_against_the_rest, single_against_many, statistics, statistics_names
from hideseek.seek.work import CALL, TOUCH, largest, sorting

FEWEST = 8  # rows of an image: half to learn from, of these some to choose by, and half to guess
LEVEL = 0.05  # at which all tests together may err once in so often
LEAST_TESTS, LEAST_ENCODINGS, LEAST_IMAGES = 5, 40, 20  # that tell something
TEST = 33  # calls of a test, however few values it compares


@dataclass(frozen=True)
class Distinguish(Attack[EncodedRelease]):
    """Tell encodings of different images apart, when it is known which rows were made for the same image.

    InstaHide (§4.1, Appendix E.3) conjectures that it is hard, and takes 7 statistics of encodings (mean, standard
    deviation, total variation, 4 pixels) through Kolmogorov-Smirnov tests, D = sup_t |F(t) − G(t)|, of a single
    encoding against all, averaged over 50. But single values against all of which they are a part have p-values that
    average to one half, whatever the images are, and an image must stand out from all others in nearly all its
    encodings for its own average to fall. The remarks have that table (`single`), and the same test of all encodings of
    an image against those of the others (`whole`), which can reject; both of ten images, as in the paper.

    The claim is a classifier's: it learns from half of the rows of each image, and guesses whose the other half are.
    It is asked about more images than ten: with each, guesses are further from chance in their own deviations.

    Deviation: the paper draws images at random; here they are those with most rows, at random among equals. Its total
    variation is not defined: here Σ|differences| of neighbours, down and across.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    needs: ClassVar[tuple[str, ...]] = ("made_for",)
    source: ClassVar[str] = "InstaHide E.3; the classifier is ours"
    shows: ClassVar[Harm] = Harm.TOLD_APART

    images: int = 100
    """How many images to tell apart: those with most rows."""
    tested: int = 10
    """How many of them go through the paper's tests."""
    encodings: int = 400
    """How many rows of each to use, at most."""
    locations: int = 4
    """How many random pixels are among the statistics."""
    tests: int = 50
    """How many single encodings of each of these are tested."""

    def __post_init__(self) -> None:
        if self.images < 2 or self.encodings < FEWEST:
            raise BadInput(f"telling apart takes 2 images or more and {FEWEST} encodings of each, or more.")
        if self.locations < 0 or self.tests < 1:
            raise BadInput("the number of locations cannot be negative, and one encoding or more must be tested.")
        if self.tested < 2:
            raise BadInput("a test takes the encodings of 2 images or more.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Test, learn from half of the rows, and guess the other half."""
        check(self, release)
        candidates, rows, ids = self._chosen(release, chance)
        encoded = release.encoded.pixels(rows)
        tested = chance.permutation(len(candidates))[: self.tested].sort().values
        places = chance.permutation(encoded[0].numel())[: self.locations]
        among = torch.isin(ids, tested)
        values, owners = statistics(encoded[among], places).numpy(), torch.searchsorted(tested, ids[among]).numpy()
        single = single_against_many(values, owners, self.tests, chance)
        whole = one_against_the_rest(values, owners)
        learnt = torch.zeros(len(rows), dtype=torch.bool)
        for number in range(len(candidates)):
            own = (ids == number).nonzero()[:, 0]
            learnt[own[chance.permutation(len(own))[: len(own) // 2]]] = True
        known, asked = encoded[learnt].numpy(), encoded[~learnt].numpy()
        discriminant = chosen_discriminant(known, ids[learnt].numpy(), masked=release.scheme.masked, chance=chance)
        scores = torch.from_numpy(discriminant.scores(asked)).float()
        remarks: dict[str, Any] = {
            "images": candidates.tolist(),
            "rows": torch.bincount(ids).tolist(),
            "tested": candidates[tested].tolist(),
            "statistics": statistics_names(self.locations),
            "single against all": _rounded(single[0]),
            "single against others": _rounded(single[1]),
            "single, mean": [round(float(table.mean()), 4) for table in single],
            "whole against others": _rounded(whole),
            "whole, rejected": int((whole < LEVEL / whole.size).sum()),
            "whole, tests": whole.size,
            "classifier": discriminant.described,
        }
        return Evidence((Attribution(rows[~learnt], candidates, scores),), remarks)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse knowledge of some rows alone, and a release without two images that have rows enough."""
        enough = len(release.encoded) // release.rounds if release.rounds >= FEWEST else 0
        if release.made_for is not None:
            if len(release.made_for) != len(release.encoded):
                return Refusal(Reason.INCOMPLETE_SOURCES, {"wanted": len(release.encoded)})
            enough = int((torch.bincount(release.made_for) >= FEWEST).sum())
        return Refusal(Reason.TOO_FEW_ROUNDS, {"wanted": FEWEST}) if enough < 2 else None

    def work(self, task: Task) -> float:
        """Count the tests, and the classifiers that are tried."""
        images = min(self.images, task.images)
        encodings = min(self.encodings, task.items // max(1, task.images))
        rows = images * encodings
        tested = min(self.tested, images)
        tests = (
            2 * tested * (3 + self.locations) * min(self.tests, encodings) * (TEST * CALL + sorting(tested * encodings))
        )
        return tests + discriminant_work(rows, task) + 30 * rows * task.pixels * TOUCH

    def within(self, work: float, task: Task) -> Self:
        """Do fewer tests, then tell fewer images apart, then use fewer rows of each."""
        tests = largest(lambda tests: replace(self, tests=tests).work(task), LEAST_TESTS, self.tests, work)
        attack = replace(self, tests=tests)
        images = largest(lambda images: replace(attack, images=images).work(task), LEAST_IMAGES, self.images, work)
        attack = replace(attack, images=images)
        most = min(self.encodings, max(FEWEST, task.items // max(1, task.images)))
        rows = largest(lambda rows: replace(attack, encodings=rows).work(task), LEAST_ENCODINGS, most, work)
        return replace(attack, encodings=rows) if rows < most else attack

    def _chosen(
        self, release: EncodedRelease, chance: Randomness
    ) -> tuple[Int[Tensor, " images"], Int[Tensor, " rows"], Int[Tensor, " rows"]]:
        """Choose images and rows; give the images' places, the rows, and whose they are as numbers from 0."""
        first = release.made_for
        assert first is not None  # noqa: S101 (`needs`)
        counts = torch.bincount(first)
        order = chance.permutation(len(counts))
        best = order[counts[order].argsort(descending=True, stable=True)][: self.images].sort().values
        best = best[counts[best] >= FEWEST]
        parts = []
        for image in best:
            own = (first == image).nonzero()[:, 0]
            parts.append(own[chance.permutation(len(own))[: self.encodings]].sort().values)
        ids = torch.repeat_interleave(torch.arange(len(best)), torch.tensor([len(part) for part in parts]))
        return best, torch.cat(parts), ids


def _rounded(table: Float[np.ndarray, "images statistics"]) -> list[list[float]]:
    return [[float(f"{value:.3g}") for value in row] for row in table]
