"""Chains of defences on the command line, and what is said of those that cannot be."""

from dataclasses import replace

import pytest

from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, InstaHide, Mixup
from hideseek.hide.updates import GradientNoise, GradientPruning, Quantised, Sign
from hideseek.hide.updates.chains import Chain, chains


def test_chains_side_by_side() -> None:
    text = (
        "none, gradient-pruning:p=0.9+intra-instahide:k=6 ,intra-mixup-6+quantised:bits=4+sign,gradient-noise:clip=1e+4"
    )
    assert list(chains(text).values()) == [
        Chain(),
        Chain(InstaHide(k=6, largest=0.65), (GradientPruning(0.9),)),
        Chain(Mixup(k=6, largest=0.65), (Quantised(4), Sign())),
        Chain(None, (GradientNoise(clip=1e4),)),
    ]
    assert list(chains(text))[:2] == ["undefended", "gradient-pruning:p=0.9+intra-instahide:k=6"]


def test_mixup_before_a_gradient_has_the_bound_of_the_paper_unless_another_is_given() -> None:
    found = chains("mixup,mixup:k=6+sign,mixup:k=4:largest=0.9")
    assert [each.encoding for each in found.values()] == [
        replace(ENCODERS["mixup"], largest=0.65),  # type: ignore[type-var]
        Mixup(k=6, largest=0.65),
        Mixup(k=4, largest=0.9),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "name a defence, or none"),
        ("gradient-prunning", "no defence 'gradient-prunning': did you mean gradient-pruning?"),
        ("sign,sign", "sign is named twice"),
        ("none+sign", "none stands alone"),
        ("mixup+intra-instahide", "names 2 encodings: keep one of them"),
        ("gradient-pruning:q=1", "no parameter of gradient-pruning 'q'"),
        ("gradient-pruning:p", "write gradient-pruning:p=VALUE"),
        ("gradient-pruning:p=many", "p = 'many' is not usable"),
        ("gradient-pruning:p=2", "gradient-pruning: p, the share of entries"),
        ("quantised:bits=2.5", "bits = 2.5 is not usable"),
        ("sign:p=1", "sign has no parameters"),
        ("intra-instahide:kk=1", "no parameter of intra-instahide 'kk'"),
    ],
)
def test_chains_that_cannot_be(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        chains(text)
    assert said in str(caught.value)
    assert str(caught.value).count("\n") == 0
