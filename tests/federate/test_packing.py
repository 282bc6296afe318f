"""Packed arrays: the same bits come back, in fewer bytes, and what anybody may have written is refused."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.federate.messages import Message
from hideseek.federate.packing import packed, unpacked
from hideseek.hide.updates import GradientPruning, Quantised, Sign
from hideseek.records.defence import Defence

ENTRIES = 20_003  # no multiple of eight


def normal() -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(ENTRIES).astype(np.float32)


def defended(defence: Defence) -> NDArray[np.float32]:
    found: NDArray[np.float32] = defence.apply({"w": torch.from_numpy(normal())}, seeded(0))["w"].numpy()
    return found


@pytest.mark.parametrize(
    ("array", "share"),
    [
        (defended(GradientPruning(0.9)), 1 / 32 + 0.1),
        (defended(GradientPruning(0.99)), 1 / 32 + 0.01),
        (defended(Sign()), 1 / 32),
        (defended(Quantised(8)), 8 / 32),
        (defended(Quantised(2)), 2 / 32),
        (defended(Quantised(4)), 4 / 32),
        (np.zeros(ENTRIES, np.float32), 1 / 32),
        (np.where(normal() > 0, -0.0, 0.0).astype(np.float32), 1 / 32),
        (np.array([np.nan, np.inf, -np.inf, 1e-45] * 50, np.float32), 2 / 32),
    ],
)
def test_the_same_bits_come_back_in_as_few_bytes_as_are_needed(array: NDArray[np.float32], share: float) -> None:
    found = packed(array)
    assert found is not None
    assert len(found[1]) <= share * array.nbytes + 4 * 256 + 8  # and the levels
    np.testing.assert_array_equal(unpacked(*found, array.size).view(np.uint32), array.view(np.uint32))


@pytest.mark.parametrize(
    "array", [normal(), normal().astype(np.float64), np.zeros(10, np.float32), np.zeros(100, np.int64)]
)
def test_what_would_not_be_shorter_is_left(array: NDArray[Any]) -> None:
    assert packed(array) is None


def damaged() -> list[tuple[str, bytes, int]]:
    pruned, signs = packed(defended(GradientPruning(0.9))), packed(defended(Quantised(2)))
    assert pruned is not None
    assert signs is not None
    (sparse, values), (levels, numbers) = pruned, signs
    return [
        ("other", values, ENTRIES),
        (sparse, values[:-1], ENTRIES),
        (sparse, values + b"\0", ENTRIES),
        (sparse, b"\xff" + values[1:], ENTRIES),  # more entries than are there
        (sparse, values, ENTRIES + 8),
        (sparse, b"", 1 << 40),  # room that a stranger only claims to need
        (levels, numbers[:-1], ENTRIES),
        (levels, numbers, 1 << 40),
        (levels, b"", ENTRIES),
        (levels, b"\0\0" + numbers[2:], ENTRIES),
        (levels, b"\xff\xff" + numbers[2:], ENTRIES),
        (levels, numbers[:-2] + b"\xff\xff", ENTRIES),  # a level that is not there: three of four are
    ]


@pytest.mark.parametrize(("name", "data", "entries"), damaged())
def test_what_is_packed_wrongly_is_refused(name: str, data: bytes, entries: int) -> None:
    with pytest.raises(BadInput, match="packed"):
        unpacked(name, data, entries)


def test_messages_of_flower_carry_packed_updates_and_count_their_bytes() -> None:
    flwr = pytest.importorskip("flwr.app")
    from hideseek.federate.flower.records import content, plain

    class Carried:
        def __init__(self, records: Any) -> None:
            self.content, self.metadata = records, type("Metadata", (), {"message_type": "train"})

        def has_error(self) -> bool:
            return False

    tensor = torch.from_numpy(defended(Sign())[:20_000]).reshape(40, 500)
    message = Message("train", {"update": {"w": tensor, "bias": torch.zeros(3)}})
    found = plain(Carried(content(message)))  # type: ignore[arg-type]
    assert found.digest() == message.digest()
    assert found.size() < message.size() / 25
    array = content(message).array_records["update"]["w"]
    for shape, data in (((-40, -500), array.data), ((40, 501), array.data), ((40, 500), array.data[1:])):
        wrong = flwr.Array("float32", shape, array.stype, data)
        with pytest.raises(BadInput, match="is not read"):
            plain(Carried(flwr.RecordDict({"update": flwr.ArrayRecord({"w": wrong})})))  # type: ignore[arg-type]
