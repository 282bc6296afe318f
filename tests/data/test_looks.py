"""What was seen of files is kept for each, and added up rightly."""

import numpy as np

from hideseek.data.decode import BadImage
from hideseek.data.looks import Looks
from hideseek.data.reader import Look


def test_looks_are_kept_by_place_and_counted() -> None:
    generator = np.random.default_rng(0)
    seen = [Look(8, grey=True), Look(9, grey=False), Look(9, grey=False, frames=3, patient="x"), None]
    drawn = [seen[each] for each in generator.integers(0, 4, 100)]
    looks = Looks(100)
    for place in generator.permutation(100).tolist():
        looks[place] = drawn[place] or BadImage("a.png", "cut", "a.png is cut.")
    assert list(looks) == [each for each in drawn if each is not None]
    assert sorted(looks.bad) == looks.missing().tolist() == [place for place in range(100) if drawn[place] is None]
    assert looks.frames.tolist() == [each.frames if each else 0 for each in drawn]
    assert looks.count([each.grey for each in looks.every]) == drawn.count(seen[0])
    assert len(looks.every) == 3


def test_several_places_are_filled_at_once() -> None:
    looks = Looks(5)
    looks[1] = Look(8, grey=True)
    looks.put(np.array([0, 2, 4]), [Look(7, grey=True), Look(8, grey=True)], np.array([1, 0, 1]))
    assert [look.side for look in looks] == [8, 8, 7, 8]
    assert looks.missing().tolist() == [3]
    assert not looks.bad
