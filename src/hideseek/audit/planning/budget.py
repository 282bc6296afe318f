"""Sharing out the time of an audit among its parts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hideseek.errors import BadInput

ACCURACY = "accuracy"  # the part in which everything is trained
QUARTER = 0.25  # of the budget, for training, where attacks could use all of it


@dataclass(frozen=True)
class Piece:
    """A part of the work, in seconds of this machine; what may be scaled lies between `least` and `full`."""

    key: str
    words: str
    fixed: float = 0.0
    least: float = 0.0
    full: float = 0.0
    needed: bool = False
    """Without it there is no audit of its scheme."""
    unknown: bool = False
    share: float = 1.0
    """Of what lies between least and full."""
    left_out: bool = False

    @property
    def scaled(self) -> float:
        """Seconds for the part that may be scaled."""
        return self.least + self.share * (self.full - self.least)

    @property
    def expected(self) -> float:
        """Seconds in all."""
        return 0.0 if self.left_out else self.fixed + self.scaled


def share(pieces: Sequence[Piece], budget: float) -> tuple[Piece, ...]:
    """Give every attack as much time as any other may have, so that all fit the budget: who needs less is not cut.

    Where even the least is too much, the costliest parts are left out, one after another. Training takes what attacks
    leave, or a quarter of the budget where they leave less: what leaks is the first question.

    >>> [round(piece.expected) for piece in share([Piece("a/x", "", 1, 1, 2), Piece("a/y", "", 1, 1, 90)], 10)]
    [3, 7]
    >>> [piece.left_out for piece in share([Piece("a/x", "", 1, 1, 5), Piece("a/y", "", 1, 5, 9)], 4)]
    [False, True]
    """
    kept = list(pieces)
    while sum(piece.fixed + piece.least for piece in kept) > budget:
        costliest = max((piece for piece in kept if not piece.needed), key=lambda p: p.fixed + p.least, default=None)
        if costliest is None:
            break
        kept.remove(costliest)
    if not any(_is_attack(piece) for piece in kept):
        _refuse(pieces, budget)
    spare = max(0.0, budget - sum(piece.fixed + piece.least for piece in kept))
    training = sum(piece.full - piece.least for piece in kept if piece.key == ACCURACY)
    others = sum(piece.full - piece.least for piece in kept if piece.key != ACCURACY)
    to_train = min(training, spare, max(spare - others, QUARTER * budget))
    cap = _cap([piece for piece in kept if piece.key != ACCURACY], spare - to_train)
    keys = {piece.key for piece in kept}

    def part(piece: Piece) -> float:
        if piece.key == ACCURACY:
            return _part(to_train, training)
        return _part(min(piece.full, max(piece.least, cap)) - piece.least, piece.full - piece.least)

    return tuple(replace(piece, share=part(piece), left_out=piece.key not in keys) for piece in pieces)


def _cap(pieces: Sequence[Piece], spare: float) -> float:
    """Find the seconds that no part may exceed, its least apart, so that all together take what is to spare."""
    low, high = 0.0, max((piece.full for piece in pieces), default=0.0)
    for _ in range(60):
        middle = (low + high) / 2
        more = sum(min(piece.full, max(piece.least, middle)) - piece.least for piece in pieces)
        low, high = (middle, high) if more <= spare else (low, middle)
    return high if sum(piece.full - piece.least for piece in pieces) <= spare else low


def _part(given: float, wanted: float) -> float:
    return min(1.0, given / wanted) if wanted else 1.0


def _refuse(pieces: Sequence[Piece], budget: float) -> None:
    """Say the least that works: hiding, and the cheapest attack; nothing where no attack applies anyway."""
    attacks = [piece.fixed + piece.least for piece in pieces if _is_attack(piece)]
    if attacks:
        needed = sum(piece.fixed for piece in pieces if piece.needed) + min(attacks)
        raise BadInput(
            f"a budget of {in_words(budget)} is too small for anything: the least that works is"
            f" {in_words(1.1 * needed)}; give a larger --budget, or fewer images with --sample."
        )


def _is_attack(piece: Piece) -> bool:
    return "/" in piece.key and not piece.key.endswith(("/hide", "/change"))


def in_words(seconds: float) -> str:
    """Say how long.

    >>> in_words(3.2), in_words(90), in_words(7200)
    ('4 s', '1.5 min', '2.0 h')
    """
    if seconds < 60:
        return f"{-(-seconds // 1):.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
