"""What is known of a way of sharing before anything is run: published breaks, proved bounds, parameters as they are."""

import math
from collections.abc import Iterator

from hideseek.chance import Randomness
from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, PairInstaHide, SingularizedMixup
from hideseek.hide.encoders.singularized_mixup import spread
from hideseek.records import EncodedRelease, MixingEncoder, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import Effective, Known
from hideseek.score.bounds import signal_to_noise

INSTAHIDE = "Huang, Song, Li and Arora: InstaHide, ICML 2020"
CARLINI = "Carlini et al.: Is Private Learning Possible with Instance Encoding?, IEEE S&P 2021"
LUO = "Luo et al.: Fusion-denoising attack on InstaHide with data augmentation, AAAI 2022"
CHEN = "Chen, Song, Tao and Zhang: Symmetric Boolean Factor Analysis with Applications to InstaHide, 2021"
TWO = "Huang et al.: InstaHide's Sample Complexity When Mixing Two Private Images, 2020"
CHALLENGE = "InstaHide challenge, leaderboard: the generator's attack, 2020"
SINGULARIZED = (
    "Singularized Mixup, Algorithm 1, Theorems 4.1 and 4.2; what follows from them is a finding of hideseek's"
)
HERE = "hideseek, docs/threat-model.md"
LARGE = 4  # images in a row, the papers' usual number: more are meant as a defence


def inner(scheme: MixingEncoder) -> MixingEncoder:
    """Give the scheme that mixes, without the movements before it."""
    return scheme.scheme if isinstance(scheme, Augmented) else scheme


def known(scheme: MixingEncoder, rounds: int, *, labelled: bool, seeded: bool) -> tuple[Known, ...]:
    """Say what is known of a configuration, with the citation."""
    mixing = inner(scheme)
    said = [Known(*each) for each in _of_scheme(mixing, rounds)]
    if isinstance(scheme, Augmented):
        said.append(
            Known("Moving images before mixing breaks the linear system, not attacks that compare and fuse.", LUO)
        )
    if labelled and sum(mixing.images_per_row) > 1:
        said.append(Known("Mixed labels show the classes in a row and, wherever these differ, the weights.", HERE))
    if seeded:
        text = "The keys come from a seed: whoever knows or guesses it takes every mask and all noise off."
        said.append(Known(text, HERE))
    return tuple(said)


def _of_scheme(scheme: MixingEncoder, rounds: int) -> Iterator[tuple[str, str]]:
    private, public = scheme.images_per_row
    if isinstance(scheme, Mixup):
        yield "Rows that share an image are found by their inner products, and averaged.", f"{INSTAHIDE}, §2.1"
        if public:
            yield "The public images in a row are found by inner products and subtracted.", f"{INSTAHIDE}, §2.2"
        if rounds > 1:
            yield (
                f"Every image is in {private * rounds} rows, which are {rounds} times as many equations as there are"
                " images: who finds out who met whom solves them exactly.",
                f"{INSTAHIDE}, §2.1; hideseek, mixup-pairs",
            )
    if isinstance(scheme, InstaHide | PairInstaHide):
        yield (
            "Broken in 2020: absolute values undo the mask, a network tells which rows share an image, labels give the"
            " weights, and the images are solved for.",
            CARLINI,
        )
        if rounds > 1:
            yield (
                f"Re-encoding feeds that attack: every image is in {private * rounds} rows under fresh masks.",
                CARLINI,
            )
        if private == 2:
            yield "With two private images in a row, who met whom is a line graph, which is recovered efficiently.", TWO
        if private + public > LARGE:
            yield "A larger k is no defence: sparse factorisation recovers who met whom for any k.", CHEN
        yield (
            "Masks must come from a cryptographic generator, as they do here: those of the InstaHide challenge did not,"
            " and were drawn again.",
            CHALLENGE,
        )
    if isinstance(scheme, SingularizedMixup):
        yield (
            "All noise has one length, so ‖x̃ − w₁x − w₂x′‖ = w₂r confirms a guessed pair of images to rounding, at"
            " every τ: membership is not protected, and there is no finite (ε, δ).",
            SINGULARIZED,
        )
        yield (
            "For images of bounded range, Theorem 4.1 is above the error of answering with the mean: it says nothing.",
            SINGULARIZED,
        )
        if rounds > 1:
            yield f"What counts is dimensions × τ × rounds: {rounds} releases of an image add up.", SINGULARIZED
    if isinstance(scheme, Laplace):
        yield "Noise hides no label, and it averages out: T rounds divide its variance by T.", f"{INSTAHIDE}, §5.2 b"


def effective(release: EncodedRelease, secret: MixingSecret, chance: Randomness) -> tuple[Effective, ...]:
    """Measure what the stated parameters come to in what is shared."""
    scheme = inner(release.scheme)  # type: ignore[arg-type] # releases here are made by mixing encoders
    told = []
    if isinstance(scheme, SingularizedMixup) and scheme.radius is not None:
        ratio = signal_to_noise(scheme.alpha, scheme.radius, spread(secret.private, chance).variance)
        told.append(
            Effective("tau", scheme.tau, ratio, "the signal-to-noise ratio that one row may have (Theorem 4.2)")
        )
    if isinstance(scheme, Laplace) and scheme.scale is not None:
        size = _mean_size(secret.private)
        told.append(
            Effective(
                "alpha", scheme.alpha, scheme.scale / size, "the mean size of the noise, in mean sizes of a pixel"
            )
        )
    together = sum(scheme.images_per_row)
    if together > 1:
        each = float((1 / secret.weights.double().square().sum(1)).mean())
        told.append(Effective("k", float(together), each, "how many equally weighted images a row amounts to, 1 / Σλ²"))
    return tuple(told)


def bound(scheme: MixingEncoder, told: tuple[Effective, ...]) -> str:
    """Say what is proved of a scheme, and what that is worth."""
    ratio = next((each.effective for each in told if each.name == "tau"), None)
    if not isinstance(inner(scheme), SingularizedMixup) or not ratio:
        return ""
    return (
        f"Theorem 4.2: the signal-to-noise ratio of one row is at most {ratio:.3g} ({10 * math.log10(ratio):.1f} dB);"
        " it says nothing of several rows, of priors, or of membership."
    )


def _mean_size(samples: Samples) -> float:
    total = sum(float(samples.pixels(slice(i, i + 1024)).abs().double().sum()) for i in range(0, len(samples), 1024))
    return total / (len(samples) * math.prod(samples.shape))
