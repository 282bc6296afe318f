"""Messages as Flower's records: nothing is lost, and what anybody may have written is read as numbers, or refused."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from hideseek.errors import BadInput
from hideseek.federate.messages import Message

flwr = pytest.importorskip("flwr.app")
from hideseek.federate.flower.records import content, plain  # noqa: E402


class Carried:
    """A message as Flower hands it over."""

    def __init__(self, records: Any, kind: str = "train") -> None:
        self.content, self.metadata = records, type("Metadata", (), {"message_type": kind})

    def has_error(self) -> bool:
        return False


def test_a_message_comes_back_as_it_was() -> None:
    tensors = {"update": {"w": torch.randn(3, 2), "n": torch.tensor(5), "half": torch.ones(2).half()}}
    tensors |= {"shard": {"bytes": torch.arange(200, dtype=torch.uint8)}}
    message = Message("train", tensors, {"metrics": {"num-examples": 4}}, {"config": {"agreement": "{}", "raw": b"\0"}})
    found = plain(Carried(content(message)))  # type: ignore[arg-type]
    assert found.digest() == message.digest()
    assert found.tensors["update"]["n"].shape == ()


def header(text: str) -> bytes:
    """Write the head of an array of numpy's, whatever it says."""
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("dtype", "shape", "stype", "data", "said"),
    [
        ("object", (1,), "numpy.ndarray", b"", "no array of numbers"),
        ("float32", (2,), "pickle", b"", "no array of numbers"),
        ("float32", (2,), "numpy.ndarray", b"\x93NUMPY", "bytes, and says"),
        ("float32", (1 << 40,), "numpy.ndarray", b"\0" * 16, "bytes, and says"),
        ("uint8", (5,), "hideseek.raw", b"\0" * 4, "bytes, and says"),
        ("float32", (2,), "numpy.ndarray", pickle.dumps([1.0] * 20), "pickled objects"),
        ("float32", (2,), "numpy.ndarray", b"PK\3\4" + b"\0" * 60, "damaged"),
        (
            "float32",
            (2,),
            "numpy.ndarray",
            header("{'descr': '<f4', 'fortran_order': False, 'shape': (9" + "0" * 14 + ",)}"),
            "shape",
        ),
        ("float32", (2,), "numpy.ndarray", header("(" * 60), "damaged"),
        ("float32", (2,), "numpy.ndarray", header("-" * 3000 + "1"), "damaged"),
        ("float32", (1 << 16, 1 << 16), "hideseek.packed.sparse", b"\0" * 64, "when it is unpacked"),
    ],
)
def test_what_is_no_array_of_numbers_is_not_read(
    dtype: str, shape: tuple[int, ...], stype: str, data: bytes, said: str
) -> None:
    array = flwr.Array(dtype, shape, stype, data)
    with pytest.raises(BadInput, match=said):
        plain(Carried(flwr.RecordDict({"update": flwr.ArrayRecord({"w": array})})))  # type: ignore[arg-type]


def test_a_pickle_in_an_array_of_objects_is_never_run() -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pytest.fail, ("it was run",))

    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], dtype=object), allow_pickle=True)
    array = flwr.Array("float32", (len(buffer.getvalue()) // 4,), "numpy.ndarray", buffer.getvalue())
    with pytest.raises(BadInput, match="pickled objects"):
        plain(Carried(flwr.RecordDict({"update": flwr.ArrayRecord({"w": array})})))  # type: ignore[arg-type]


def test_an_array_of_another_shape_than_it_says() -> None:
    true = flwr.Array(np.zeros((2, 3), np.float32))
    array = flwr.Array("float32", (3, 2), true.stype, true.data)
    with pytest.raises(BadInput, match="another type or shape"):
        plain(Carried(flwr.RecordDict({"update": flwr.ArrayRecord({"w": array})})))  # type: ignore[arg-type]
