"""Solving for the images under masks of signs, where the weights are known: phase retrieval, pixel by pixel."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import (
    Attack,
    Claim,
    EncodedRelease,
    Evidence,
    PublicImagesFound,
    Reconstruction,
    Refusal,
    Samples,
    Task,
)
from hideseek.seek.refusals import without_phases
from hideseek.seek.rows.linear_inversion import pixel_range
from hideseek.seek.run import check
from hideseek.seek.systems.image_spectrum import likelier_sign, spectrum_for
from hideseek.seek.systems.linear_system import mixing_matrix
from hideseek.seek.systems.mixtures import Mixtures
from hideseek.seek.systems.phase_retrieval import (
    PhaseProblem,
    annealed,
    em_step,
    log_likelihood,
    refined,
    retrieval_work,
)
from hideseek.seek.systems.public_parts import PublicParts, public_parts, public_work
from hideseek.seek.systems.signed_solve import signed_work, with_signs
from hideseek.seek.systems.spectral_start import spectral_start, start_work
from hideseek.seek.work import largest

LEAST_STEPS = 10
REFINING = 6  # steps after the annealing, for either sign
SIGNED_STEPS = 4  # in which all pixels of a row tell its signs
KNOWN_STEPS = 12  # between two searches of public images
EXPLAINED = 0.5  # of what is in doubt without public images: with the right ones rows are explained far better
SMALLEST = 1e-4  # of the variance of images: the doubt of a row whose images are all known
UNSURE, SURER = 1.0, 0.05  # of the variance of images: what is assumed at the first search, and at later ones


@dataclass(frozen=True)
class PhaseRetrieval(Attack[EncodedRelease]):
    """Solve |A x + u| = |x̃| for the private images, where the weights and the images of every row are known.

    Squares of rows tell products of images at every pixel, whose leading eigenvector is one pixel of all images but for
    a sign; neighbours tell the sign. From there, images and soft signs are found in turn (EM), under an assumed error
    that falls, each step followed by a Wiener filter. u are public images, of the spectrum and mean of images, so that
    all pixels of a row together tell its signs in the end, and places count by what is left unknown there. Where the
    attacker has the very public images, they are found by squares, cross terms and products, and then belong to what is
    known; that leaves no noise, and takes few rounds.

    One sign for all is left: the mean of public images decides it, or else how bright photographs are.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    needs: ClassVar[tuple[str, ...]] = ("weights", "sources")
    source: ClassVar[str] = "ours; that weights and sources undo the mask: Carlini et al. 2021"

    steps: int = 60
    """Of the annealing."""
    searches: int = 2
    """For public images, each with better private ones, where the attacker has them; 0: they count as noise."""

    def __post_init__(self) -> None:
        if self.steps < 1 or self.searches < 0:
            raise BadInput(f"there must be one step or more, and no fewer searches than none, not {self.steps} steps.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Start, anneal, choose the sign, find public images."""
        check(self, release)
        mixing_matrix(release)  # refuses sources and weights that cannot be
        assert release.sources is not None and release.weights is not None  # noqa: S101, PT018 (`needs`)
        count, known = len(release.encoded) // release.rounds, release.sources.shape[1]
        others = release.weights[:, known:].float()
        spectrum, like = spectrum_for(release)
        mixtures = Mixtures(release.sources.long(), release.weights[:, :known].float().contiguous(), count)
        magnitudes = release.encoded.pixels().abs()
        problem = PhaseProblem(magnitudes, mixtures, others.square().sum(1), others.sum(1), spectrum)
        images = annealed(problem, spectral_start(problem, chance), self.steps)
        images = signed(problem, images, release, like)
        if release.scheme.images_per_row.public:
            images = with_signs(problem, images, SIGNED_STEPS)
        claims: list[Claim] = []
        remarks: dict[str, Any] = {"rows": len(magnitudes), "images": count}
        if self.searches and self._public(release):
            assert release.public is not None  # noqa: S101 (`_public`)
            better, parts, doubt = self._with_public(problem, release.public, others)
            if float(doubt.median()) < EXPLAINED * float(problem.doubt(SURER).median()):
                images = better
            rows, order = torch.arange(len(others)), others.argsort(dim=1, descending=True)
            found, shares = parts.candidates.gather(1, order), others.gather(1, order)
            claims.append(PublicImagesFound(rows, found, shares, len(release.public), complete=True))
            remarks["unexplained"] = round(float(doubt.median()), 6)
        remarks["log-likelihood"] = round(log_likelihood(problem, images), 6)
        limits = pixel_range(release.encoded)
        guess = images if limits is None else images.clamp(*limits)
        return Evidence((Reconstruction(guess, torch.arange(count), "images"), *claims), remarks)

    def _with_public(
        self, problem: PhaseProblem, public: Samples, weights: Float[Tensor, "m k_public"]
    ) -> tuple[Float[Tensor, "n c h w"], PublicParts, Float[Tensor, " m"]]:
        """Find public images and solve with them, in turn; rows that are not explained count for less.

        At first nothing private is known: what was solved before may be wrong, where rows are few, and is not needed.
        """
        images = problem.magnitudes.new_zeros(problem.mixtures.images, *problem.magnitudes.shape[1:])
        doubt = torch.empty(0)
        for search in range(self.searches):
            error = SURER if search else UNSURE
            parts = public_parts(problem, images, public, weights, error)
            solved = replace(problem, known=parts.sums, mass=torch.zeros_like(problem.mass))
            doubt = problem.doubt(error)
            for _ in range(KNOWN_STEPS):
                images, seen = em_step(solved, images, doubt, 0.0)
                doubt = seen.clamp_min(SMALLEST)
        return images, parts, doubt

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse rows without a mask, moved images, features, and rows with one private image."""
        return without_phases(release)

    def work(self, task: Task) -> float:
        """Count the start, the steps, and the searches."""
        work = start_work(task) + retrieval_work(task, self.steps + 2 * REFINING)
        if task.public:
            work += signed_work(task, SIGNED_STEPS)
        if task.public and not task.public_pixels:
            work += self.searches * public_work(task, max(1, task.images_per_item - 2))
        return work

    def within(self, work: float, task: Task) -> Self:
        """Search less often, then take fewer steps."""
        searches = largest(lambda searches: replace(self, searches=searches).work(task), 0, self.searches, work)
        fewer = replace(self, searches=searches)
        steps = largest(lambda steps: replace(fewer, steps=steps).work(task), LEAST_STEPS, self.steps, work)
        return replace(fewer, steps=steps)

    def _public(self, release: EncodedRelease) -> bool:
        """Tell whether the attacker has the very public images that may be in rows."""
        count, public = release.scheme.images_per_row.public, release.public
        if not count or public is None or len(public) < count:
            return False
        return public.shape == release.encoded.shape and public.normalisation == release.encoded.normalisation


def range_votes(images: Float[Tensor, "n c h w"], others: Float[Tensor, "n c h w"], release: EncodedRelease) -> int:
    """Tell how many more images are less beyond black and white than the others are; 0 where these are not known.

    Each image has one vote: a few wrong ones are far beyond.
    """
    limits = pixel_range(release.encoded)
    if limits is None:
        return 0
    beyond = [(each - each.clamp(*limits)).abs().flatten(1).mean(1) for each in (images, others)]
    return int((beyond[1] - beyond[0]).sign().sum())


def signed(
    problem: PhaseProblem, images: Float[Tensor, "n c h w"], release: EncodedRelease, like: Samples | None
) -> Float[Tensor, "n c h w"]:
    """Refine images and their negatives, and give those that fit better.

    Rows tell them apart by the mean of their unknown images. Without one, negatives have pixels that are blacker than
    black or whiter than white, as far as 0 and 255 are not the negatives of each other: that was right for each of the
    first ten hundreds of CIFAR-10, with noise too, where the histogram of other photographs, which is asked where there
    is no such range, erred twice.
    """
    both = [refined(problem, sign * images, REFINING) for sign in (1, -1)]
    if float(problem.mass.max()) > 0 and float(problem.spectrum.mean.abs().max()) > 0:
        return max(both, key=lambda each: log_likelihood(problem, each))
    if votes := range_votes(both[0], both[1], release):
        return both[0] if votes > 0 else both[1]
    if like is not None:
        return both[0] if likelier_sign(both[0], like.pixels()) > 0 else both[1]
    return max(both, key=lambda each: float(each.pow(3).mean()))  # photographs have bright spots, not dark ones
