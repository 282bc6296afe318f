import numpy as np
import pytest

from hideseek.data.labels import class_ids, to_labels, width_of
from hideseek.errors import BadInput


@pytest.mark.parametrize("ids", [np.array([2, 0, 1, 0]), np.array([[2], [0], [1], [0]], np.uint8)])
def test_ids_become_rows_with_a_single_one(ids: np.ndarray) -> None:
    assert to_labels(ids, "y", 0).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert to_labels(ids, "y", 5).shape == (4, 5)


def test_soft_labels_stay() -> None:
    soft = np.array([[0.25, 0.5], [0.0, 1.0]])
    assert to_labels(soft, "y", 7).tolist() == soft.tolist()


def test_the_number_of_classes_counts_every_array() -> None:
    assert width_of([("a", np.array([0, 1])), ("b", np.array([[6]])), ("c", np.ones((2, 9)))]) == 7
    assert width_of([]) == 0


@pytest.mark.parametrize(
    ("stored", "says"),
    [
        (np.array([0, -1]), "holds the class id -1"),
        (np.array([3, 3, 3]), "holds one class only"),
        (np.array([0.0, 1.0]), "must hold n class ids"),
        (np.array(["cat", "dog"]), "must hold n class ids"),
        (np.zeros((2, 3), int), "must hold n class ids"),
        (np.array([[0.5, np.nan], [0, 1]]), "negative, not finite or sum"),
        (np.array([[0.5, -0.5], [0, 1]]), "negative, not finite or sum"),
        (np.array([0, 2**40]), "number the classes"),
    ],
)
def test_what_cannot_be_labels(stored: np.ndarray, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        to_labels(stored, "y", 0)


def test_soft_labels_are_not_ids() -> None:
    assert class_ids(np.ones((3, 2), np.float32), "y") is None
