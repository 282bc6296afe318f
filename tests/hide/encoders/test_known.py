"""What is known of every mechanism without running anything, and from where."""

import pytest

from hideseek.hide import (
    Augmented,
    Coarse,
    GaussianMixup,
    InstaHide,
    Laplace,
    Mixup,
    PairInstaHide,
    RecipeEncoder,
    SingularizedMixup,
)
from hideseek.records import Encoder

INSTAHIDE = "Huang, Song, Li and Arora: InstaHide, ICML 2020"
CARLINI = "Carlini et al.: Is Private Learning Possible with Instance Encoding?, IEEE S&P 2021"
TWO = "Huang et al.: InstaHide's Sample Complexity When Mixing Two Private Images, 2020"
CHEN = "Chen, Song, Tao and Zhang: Symmetric Boolean Factor Analysis with Applications to InstaHide, 2021"
CHALLENGE = "InstaHide challenge"
SINGULARIZED = "Singularized Mixup, Algorithm 1, Theorems 4.1 and 4.2"
LUO = "Luo et al.: Fusion-denoising attack on InstaHide with data augmentation, AAAI 2022"
QUERIES = ("mixes training images into every query", "measured: studies/queries.py")
LABELS = ("labels show the classes", "hideseek")
SMOOTH = ("absolute values alone tell most of the mask", "hideseek, smooth-signs; measured")

# A configuration, its rounds, and every statement that must be made: words of it, and how its citation begins.
STATEMENTS: list[tuple[RecipeEncoder, int, list[tuple[str, str]]]] = [
    (
        GaussianMixup(),
        1,
        [("holds against whoever knows which images are in which row", "hideseek, docs/threat-model")],
    ),
    (GaussianMixup(proof="poisson"), 1, [("proof poisson holds while nobody knows", "hideseek, docs/threat-model")]),
    (Mixup(), 1, [("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"), QUERIES, LABELS]),
    (
        Mixup(k=3),
        10,
        [
            ("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"),
            ("in 30 rows, which are 10 times as many equations", f"{INSTAHIDE}, §2.1; hideseek, mixup-pairs"),
            QUERIES,
            LABELS,
        ],
    ),
    (
        Mixup(k=4, k_private=1),
        1,
        [
            ("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"),
            ("public images in a row are found by inner products and subtracted", f"{INSTAHIDE}, §2.2"),
            LABELS,
        ],
    ),
    (InstaHide(k=4), 1, [("Broken in 2020", CARLINI), SMOOTH, ("cryptographic generator", CHALLENGE), QUERIES, LABELS]),
    (
        InstaHide(k=4),
        10,
        [
            ("Broken in 2020", CARLINI),
            ("in 40 rows", CARLINI),
            ("No network is needed", "hideseek, link-and-solve, phase-retrieval; measured"),
            SMOOTH,
            ("cryptographic generator", CHALLENGE),
            QUERIES,
            LABELS,
        ],
    ),
    (
        InstaHide(k=6, k_private=2),
        1,
        [
            ("Broken in 2020", CARLINI),
            SMOOTH,
            ("A single row is enough", "hideseek, unmask-public; measured"),
            ("line graph", TWO),
            ("larger k is no defence", CHEN),
            ("cryptographic generator", CHALLENGE),
            QUERIES,
            LABELS,
        ],
    ),
    (
        PairInstaHide(),
        1,
        [
            ("Broken in 2020", CARLINI),
            SMOOTH,
            ("line graph", TWO),
            ("cryptographic generator", CHALLENGE),
            QUERIES,
            LABELS,
        ],
    ),
    (Laplace(), 1, [("averages out", f"{INSTAHIDE}, §5.2 b")]),
    (SingularizedMixup(), 1, [("no finite (ε, δ)", SINGULARIZED), ("Theorem 4.1", SINGULARIZED), QUERIES, LABELS]),
    (
        SingularizedMixup(),
        7,
        [
            ("no finite (ε, δ)", SINGULARIZED),
            ("Theorem 4.1", SINGULARIZED),
            ("7 releases of an image add up", SINGULARIZED),
            QUERIES,
            LABELS,
        ],
    ),
    (
        Augmented(InstaHide(k=4)),
        1,
        [
            ("Broken in 2020", CARLINI),
            SMOOTH,
            ("cryptographic generator", CHALLENGE),
            ("breaks the linear system, not attacks that compare and fuse", LUO),
            QUERIES,
            LABELS,
        ],
    ),
    (
        Coarse(Mixup(), "drawn", "int8"),
        1,
        [
            ("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"),
            QUERIES,
            ("one class of a row", "hideseek"),
        ],
    ),
    (
        Coarse(Mixup(), "rounded"),
        1,
        [
            ("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"),
            QUERIES,
            LABELS,
            ("weights to 1/20", "hideseek"),
        ],
    ),
    (Augmented(Laplace()), 1, [("averages out", f"{INSTAHIDE}, §5.2 b"), ("breaks the linear system", LUO)]),
]


@pytest.mark.parametrize(("scheme", "rounds", "expected"), STATEMENTS, ids=lambda value: str(value)[:40])
def test_every_statement_is_made_with_its_source(
    scheme: RecipeEncoder, rounds: int, expected: list[tuple[str, str]]
) -> None:
    said = scheme.known(rounds, labelled=True, of_bytes=False)
    assert len(said) == len(expected)
    for known, (words, citation) in zip(said, expected, strict=True):
        assert words in known.statement
        assert known.statement.endswith(".")
        assert known.citation.startswith(citation)


def test_no_mechanism_is_left_out() -> None:
    own = {name for name, kind in Encoder.mechanisms.items() if kind.__module__.startswith("hideseek.hide.encoders.")}
    assert own == {scheme.mechanism for scheme, _, _ in STATEMENTS}


@pytest.mark.parametrize("scheme", [Mixup(), InstaHide(), SingularizedMixup()])
def test_labels_show_nothing_where_there_are_none(scheme: RecipeEncoder) -> None:
    labelled, not_labelled = (scheme.known(3, labelled=each, of_bytes=True) for each in (True, False))
    assert labelled[: len(not_labelled)] == not_labelled
    assert LABELS[0] in labelled[len(not_labelled)].statement


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        (Mixup(k=2), "one solution or two: one row gives all its images away."),
        (InstaHide(k=3), "one solution or two, under a mask too: one row gives all its images away."),
        (PairInstaHide(0.3), "one solution or two, under a mask too: one row gives all its images away."),
        (PairInstaHide(0.5), "the weights are equal: a pixel shows the sum of two bytes, under a mask too."),
        (Mixup(k=2, k_private=1), "where all but two images of a row are known, a pixel has about one solution"),
        (InstaHide(k=4), "where all but two images of a row are known, a pixel has about one solution, under a mask"),
        (SingularizedMixup(), None),  # noise that is no byte
        (Laplace(), None),
        (Augmented(Mixup(k=2)), None),  # moved images are no bytes any more
    ],
    ids=lambda value: str(value)[:30],
)
def test_exact_rows_of_bytes_with_labels_give_images_away(scheme: RecipeEncoder, words: str | None) -> None:
    said = scheme.known(1, labelled=True, of_bytes=True)
    assert said[: -1 if words else None] == scheme.known(1, labelled=True, of_bytes=False)
    assert [each for each in said if "bytes" in each.statement] == ([said[-1]] if words else [])
    if words:
        assert words in said[-1].statement
        decoded = "all its images" in words
        assert said[-1].citation.startswith(
            "hideseek, byte-decoding" if decoded else "measured: benchmarks/byte_solutions"
        )
