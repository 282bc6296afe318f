"""The claim that these are private images: how much of an image a guess shows, one score a guess."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from hideseek import similarity
from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Reconstruction, Release
from hideseek.records.result import Harm
from hideseek.records.secret import Secret
from hideseek.score import perceptual, unrelated_pairs
from hideseek.score.baseline_images import (
    answering,
    class_means,
    heaviest,
    matched_samples,
    mean_image,
    others,
)
from hideseek.score.batch_baselines import matched_within, of_classes_within
from hideseek.score.checks import ADVICE, check_shape, check_within
from hideseek.score.claim_rules import Baseline, ClaimRules, Shown, no_curves
from hideseek.score.gallery import gallery, usual_item
from hideseek.score.ground_truth import Matched, candidates, match_guesses, subjects
from hideseek.score.guesses import guessed_images
from hideseek.score.identification import beyond_class, by_chance, exposure, re_identified
from hideseek.score.image_scores import LIMIT, Compare, by_pixels, by_raw_pixels, psnr, snr
from hideseek.score.metric import Metric, Scores
from hideseek.score.recovered import BEYOND, CORRELATION, LOW, SSIM, recovered, recovered_of_sure, unsure
from hideseek.score.row_groups import guessed
from hideseek.score.smoothing import blurred, low_frequencies

BLURRED, LOWEST = 5, 2  # pixels and frequencies of smoothed baselines
EACH = 3  # of the best, the median and the worst, to show


def check(claim: Reconstruction, secret: Secret) -> None:
    """Refuse guesses of another size, and those about items or images that are not there."""
    check_shape(claim.images, secret)
    if claim.of in ("items", "batches"):
        check_within(claim.about, secret.items, "item")
    elif claim.of == "images":
        check_within(claim.about, len(secret.private), "private image")
    elif claim.of != "any":
        raise BadInput(f"reconstructions cannot be of {claim.of!r}, but of items, batches, images or any: {ADVICE}.")
    if claim.sure is not None and claim.sure.shape != claim.about.shape:
        raise BadInput(f"{len(claim.about)} guesses cannot be sure or not in {len(claim.sure)} answers: {ADVICE}.")


def baselines(claim: Reconstruction, secret: Secret, chance: Randomness) -> Iterator[Baseline]:
    """Answer with the mean of all private images or of the class, with another one of the class, or with any other.

    Smooth images are like all others, so the mean of the class and the other image are smoothed, too.
    An item's class is that of the private image that most of it is of, which its label shows. The ground truth is not
    in the mean of its class, which may be small. Where there is no other image, the baseline is about nothing (−1).
    Deviation: without an order no class is known, and guesses are matched. So the baselines are random samples of the
    private images, sharp, smoothed or averaged, matched like the guesses, except that no image is matched to itself;
    within items, random images that are not in the item, and for each of its labels the mean of the class, or another
    image of it.
    """
    claim = match_guesses(claim, secret)
    private = secret.private
    streams = chance.spawn(2)
    averages = {"mean image": mean_image(private).expand_as(claim.images)}
    if secret.masked:  # then absolute values are what anybody can average
        averages["mean of absolute values"] = mean_image(private, absolute=True).expand_as(claim.images)
    if isinstance(claim, Matched):
        items = claim.items
        for name, average in averages.items():
            again = Reconstruction(
                average, claim.about if items is None else items, "any" if items is None else "batches"
            )
            yield Baseline(name, match_guesses(again, secret))
        several = partial(matched_samples, len(claim.about)) if items is None else partial(matched_within, items)
        yield from (Baseline(name, matched) for name, matched in several(secret, streams[1]))
        if items is not None and len(items) and private.labels.shape[1] > 1:
            yield from (Baseline(name, matched) for name, matched in of_classes_within(items, secret, streams[0]))
        return
    for name, average in averages.items():
        yield Baseline(name, replace(claim, images=average))
    truths = candidates(claim, secret)
    pictures = private.shape[1:] != (1, 1)
    if private.labels.shape[1] > 1:
        classes = heaviest(claim, secret)
        of_class = class_means(claim, truths, classes, private)
        yield Baseline("mean image of the class", of_class)
        if pictures:
            smooth = blurred(of_class.images, BLURRED)
            yield Baseline(f"mean image of the class, blurred {BLURRED}×{BLURRED}", replace(of_class, images=smooth))
        another = others(truths, private, streams[0], classes)
        yield Baseline("random image of the class", answering(claim, private, another))
    random = answering(claim, private, others(truths, private, streams[1]))
    yield Baseline("random image", random)
    if pictures:
        smooth = low_frequencies(random.images, LOWEST)
        yield Baseline(f"random image, {LOWEST}×{LOWEST} lowest frequencies", replace(random, images=smooth))


def examples(claim: Reconstruction, release: Release, secret: Secret) -> list[Shown]:
    """Show the best, the median and the worst guesses beside the original and an item that holds it."""
    if not len(claim.images) or claim.picked:
        return []
    shown = []
    for kind, chosen in gallery(claim, secret, EACH).items():
        for each in chosen:
            by_item = claim.of in ("items", "batches")
            item = int(claim.about[each.number]) if by_item else usual_item(secret, each.image)
            shared = None if item is None else release.picture(item)
            panels = (
                ("original", each.truth, True),
                *(() if shared is None else (("shared", shared, release.shows_private),)),
                ("guess, fitted", each.guess, True),
            )
            metric = "|correlation|" if secret.masked else "correlation"
            shown.append(Shown(kind, "image", each.image, metric, each.likeness, "", panels))
    return shown


def _metric(
    meaning: str, score: Callable[..., Scores], compare: Compare, unit: str = "", finding: str = "", **how: bool
) -> Metric:
    limit = LIMIT if unit == "dB" else None
    higher = how.get("higher", True)
    return Metric(partial(score, compare, **how), subjects, higher, unit, meaning, finding, limit)


_SSIM = partial(similarity.ssim, data_range=1.0)
_FIT = "once brightness and contrast are set to fit the ground truth"
_NEGATIVES = "negatives count only under a mask of signs, where they give the same rows"
_BESIDE = "{value} against {baseline} by {name}"

METRICS = {
    "snr": _metric("signal-to-noise ratio of normalised pixels, 100 dB at most", by_pixels, snr, "dB"),
    "psnr": _metric("peak signal-to-noise ratio of raw pixels in [0, 1], 100 dB at most", by_raw_pixels, psnr, "dB"),
    "ssim": _metric("structural similarity of raw pixels, windows of 7×7", by_raw_pixels, _SSIM),
    "ssim-gaussian": _metric("the same, Gaussian windows of 11×11", by_raw_pixels, partial(_SSIM, window="gaussian")),
    "fitted-psnr": _metric(f"psnr {_FIT}; {_NEGATIVES}", by_raw_pixels, psnr, "dB", fit=True),
    "fitted-ssim": _metric(
        f"ssim {_FIT}; {_NEGATIVES}", by_raw_pixels, _SSIM, finding=f"fitted SSIM {_BESIDE}", fit=True
    ),
    "correlation": _metric("Pearson's correlation of normalised pixels", by_pixels, similarity.correlation),
    "absolute-correlation": _metric(
        "the same of absolute values: signs need not be right",
        by_pixels,
        similarity.absolute_correlation,
        finding=f"correlation of absolute values {_BESIDE}",
    ),
    "recovered": Metric(
        recovered,
        subjects,
        True,
        "share",
        f"the share of guesses that are the private image: correlation {CORRELATION} and, in pictures, SSIM {SSIM} or"
        f" more {_FIT}; where {LOW}×{LOW} frequencies would be enough for that, a correlation of {BEYOND} beyond them;"
        f" {_NEGATIVES}",
        f"{{value}} of its guesses count as recovered (correlation ≥ {CORRELATION} with the private image and fitted"
        f" SSIM ≥ {SSIM}; {{baseline}} by {{name}})",
        chance=unrelated_pairs.by_chance,
    ),
    "recovered-of-sure": Metric(
        recovered_of_sure,
        subjects,
        True,
        "share",
        "the same share, of the guesses that the attacker can confirm by himself",
        chance=unrelated_pairs.by_chance,
        skip_unless_named=unsure,
    ),
    "l2": _metric("distance to the ground truth, of normalised pixels", by_pixels, similarity.l2, higher=False),
    "re-identified": Metric(
        re_identified,
        subjects,
        True,
        "share",
        "the share of guesses that are more like their ground truth than like any other candidate of a gallery: the"
        " private images, and as many others",
        "{value} of its guesses are re-identified: they point to their image in a gallery of {images} private images"
        " and others ({baseline} by {name})",
        chance=by_chance,
        test=beyond_class,
        needs=("candidates",),
    ),
}

RULES = ClaimRules(
    claim=Reconstruction,
    check=check,
    prepare=match_guesses,
    baselines=baselines,
    metrics={**METRICS, **perceptual.METRICS},
    decisive={
        "recovered": Harm.RECOVERED,
        "re-identified": Harm.REIDENTIFIED,
        "fitted-ssim": Harm.LIKENESS,
        "absolute-correlation": Harm.LIKENESS,
    },
    curves=no_curves,
    examples=examples,
    states=guessed,
    guesses=guessed_images,
    exposure=exposure,
)
