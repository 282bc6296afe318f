"""Agreements: written and read again, and what of anybody's text is refused."""

import json
from dataclasses import replace

import pytest
import torch

from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement, PublicSet
from hideseek.hide import InstaHide, Mixup
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.records import Normalisation, Samples

UPDATES = Agreement(
    "gradients",
    "lenet",
    ShareUpdates("lenet", batch=4, encoding=InstaHide(k=4), defences=(GradientPruning(0.9),)),
    (1, 12, 12),
    ("a", "b"),
    Normalisation("channel", (0.5,), (0.25,)),
    rounds=3,
)
ENCODINGS = replace(UPDATES, protocol="encodings", scheme=Mixup(k=4, k_private=1), public=PublicSet("faces", "00"))


@pytest.mark.parametrize("agreement", [UPDATES, ENCODINGS])
def test_it_is_read_as_it_was_written(agreement: Agreement) -> None:
    assert Agreement.from_json(agreement.to_json()) == agreement


@pytest.mark.parametrize(
    "change",
    [
        {"protocol": "pigeons"},
        {"model": "no-such-model"},
        {"model": 3},
        {"scheme": {"mechanism": "mixup"}},
        {"shape": [1, 12]},
        {"shape": [1, 12, -1]},
        {"shape": "1x12"},
        {"classes": ["one"]},
        {"classes": [1, 2]},
        {"rounds": 0},
        {"rounds": 1.5},
        {"rounds": True},
        {"buffers": 1},
        {"features": "of somebody"},
        {"proximal": -1.0},
        {"public": {"address": "faces", "digest": "00"}},
        {"normalisation": {"kind": "channel", "mean": [0.5], "std": [0.0]}},
        {"unknown": 1},
    ],
)
def test_what_cannot_be_agreed_on(change: dict[str, object]) -> None:
    plain = json.loads(UPDATES.to_json()) | change
    with pytest.raises(BadInput):
        Agreement.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"rounds": NaN}', "{" * 10_000])
def test_what_is_no_agreement(text: str) -> None:
    with pytest.raises(BadInput):
        Agreement.from_json(text)


def test_differences_are_named() -> None:
    images = Samples(torch.zeros(3, 3, 8, 8), torch.eye(3), classes=("a", "b", "c"))
    said = " ".join(UPDATES.differences(images))
    assert "8×8 with 3 channels" in said
    assert "3 classes, agreed were 2" in said
    assert "other constants" in said
    fits = Samples(torch.zeros(2, 1, 12, 12), torch.eye(2), classes=("a", "x"), normalisation=UPDATES.normalisation)
    assert UPDATES.differences(fits) == ["class 1 has another name than was agreed, b"]
    assert UPDATES.differences(replace(fits, classes=("a", "b"))) == []
