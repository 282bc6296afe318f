"""Schemes as JSON and back."""

import json

import pytest

from hideseek.errors import BadInput
from hideseek.hide import ENCODERS, Augmented, Coarse, Geometry, InstaHide, Laplace
from hideseek.hide.files.schemes import BadParameter, from_json, to_json
from hideseek.records import Encoder

ALL = {
    **ENCODERS,
    "augmented": Augmented(ENCODERS["instahide-cross"]),
    "coarse": Coarse(ENCODERS["mixup"], "drawn", "int8", 0.5),
}


def test_schemes_survive_json() -> None:
    seen = set()
    for scheme in ALL.values():
        described = json.loads(json.dumps(to_json(scheme)))
        assert from_json(described) == scheme
        seen.add(described["mechanism"])
    assert seen == {
        name for name, kind in Encoder.mechanisms.items() if kind.__module__.startswith("hideseek.hide.encoders.")
    }


def test_parts_of_a_scheme_are_nested() -> None:
    scheme = Augmented(Laplace(alpha=0.25), Geometry(flip=True))
    assert to_json(scheme) == {
        "mechanism": "augmented",
        "scheme": {"mechanism": "laplace", "alpha": 0.25, "scale": None},
        "geometry": {"mechanism": "geometry", "shift": 0.0, "crop": 1.0, "rotation": 0.0, "flip": True},
    }


def test_whole_numbers_are_read_where_any_number_may_be() -> None:
    described = {**to_json(InstaHide()), "largest": 1}
    scheme = from_json(described)
    assert isinstance(scheme, InstaHide)
    assert type(scheme.largest) is float


@pytest.mark.parametrize("described", [None, 5, {}, {"mechanism": "geometry"}, to_json(Geometry())])
def test_what_is_no_scheme_is_refused(described: object) -> None:
    with pytest.raises(BadInput, match="unknown here"):
        from_json(described)


def test_a_parameter_that_cannot_be_is_named() -> None:
    with pytest.raises(BadParameter) as bad:
        from_json({**to_json(InstaHide()), "largest": "much"})
    assert (bad.value.name, bad.value.value) == ("largest", "much")
