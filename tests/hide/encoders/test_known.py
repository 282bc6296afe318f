"""What is known of every mechanism without running anything, and from where."""

import pytest

from hideseek.hide import Augmented, InstaHide, Laplace, Mixup, PairInstaHide, RecipeEncoder, SingularizedMixup
from hideseek.records import Encoder

INSTAHIDE = "Huang, Song, Li and Arora: InstaHide, ICML 2020"
CARLINI = "Carlini et al.: Is Private Learning Possible with Instance Encoding?, IEEE S&P 2021"
TWO = "Huang et al.: InstaHide's Sample Complexity When Mixing Two Private Images, 2020"
CHEN = "Chen, Song, Tao and Zhang: Symmetric Boolean Factor Analysis with Applications to InstaHide, 2021"
CHALLENGE = "InstaHide challenge"
SINGULARIZED = "Singularized Mixup, Algorithm 1, Theorems 4.1 and 4.2"
LUO = "Luo et al.: Fusion-denoising attack on InstaHide with data augmentation, AAAI 2022"
LABELS = ("labels show the classes", "hideseek")

# A configuration, its rounds, and every statement that must be made: words of it, and how its citation begins.
STATEMENTS: list[tuple[RecipeEncoder, int, list[tuple[str, str]]]] = [
    (Mixup(), 1, [("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"), LABELS]),
    (
        Mixup(k=3),
        10,
        [
            ("found by their inner products, and averaged", f"{INSTAHIDE}, §2.1"),
            ("in 30 rows, which are 10 times as many equations", f"{INSTAHIDE}, §2.1; hideseek, mixup-pairs"),
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
    (InstaHide(k=4), 1, [("Broken in 2020", CARLINI), ("cryptographic generator", CHALLENGE), LABELS]),
    (
        InstaHide(k=4),
        10,
        [("Broken in 2020", CARLINI), ("in 40 rows", CARLINI), ("cryptographic generator", CHALLENGE), LABELS],
    ),
    (
        InstaHide(k=6, k_private=2),
        1,
        [
            ("Broken in 2020", CARLINI),
            ("line graph", TWO),
            ("larger k is no defence", CHEN),
            ("cryptographic generator", CHALLENGE),
            LABELS,
        ],
    ),
    (
        PairInstaHide(),
        1,
        [("Broken in 2020", CARLINI), ("line graph", TWO), ("cryptographic generator", CHALLENGE), LABELS],
    ),
    (Laplace(), 1, [("averages out", f"{INSTAHIDE}, §5.2 b")]),
    (SingularizedMixup(), 1, [("no finite (ε, δ)", SINGULARIZED), ("Theorem 4.1", SINGULARIZED), LABELS]),
    (
        SingularizedMixup(),
        7,
        [
            ("no finite (ε, δ)", SINGULARIZED),
            ("Theorem 4.1", SINGULARIZED),
            ("7 releases of an image add up", SINGULARIZED),
            LABELS,
        ],
    ),
    (
        Augmented(InstaHide(k=4)),
        1,
        [
            ("Broken in 2020", CARLINI),
            ("cryptographic generator", CHALLENGE),
            ("breaks the linear system, not attacks that compare and fuse", LUO),
            LABELS,
        ],
    ),
    (Augmented(Laplace()), 1, [("averages out", f"{INSTAHIDE}, §5.2 b"), ("breaks the linear system", LUO)]),
]


@pytest.mark.parametrize(("scheme", "rounds", "expected"), STATEMENTS, ids=lambda value: str(value)[:40])
def test_every_statement_is_made_with_its_source(
    scheme: RecipeEncoder, rounds: int, expected: list[tuple[str, str]]
) -> None:
    said = scheme.known(rounds, labelled=True)
    assert len(said) == len(expected)
    for known, (words, citation) in zip(said, expected, strict=True):
        assert words in known.statement
        assert known.statement.endswith(".")
        assert known.citation.startswith(citation)


def test_no_mechanism_is_left_out() -> None:
    own = {name for name, kind in Encoder.mechanisms.items() if kind.__module__.startswith("hideseek.hide.")}
    assert own == {scheme.mechanism for scheme, _, _ in STATEMENTS}


@pytest.mark.parametrize("scheme", [Mixup(), InstaHide(), SingularizedMixup()])
def test_labels_show_nothing_where_there_are_none(scheme: RecipeEncoder) -> None:
    labelled, not_labelled = (scheme.known(3, labelled=labelled) for labelled in (True, False))
    assert labelled[:-1] == not_labelled
