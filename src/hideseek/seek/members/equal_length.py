"""Noise of one length confirms which candidates are in a row: Singularized Mixup."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from hideseek.chance import Randomness
from hideseek.errors import BadInput
from hideseek.records import Attack, EncodedRelease, Evidence, Membership, Reason, Reconstruction, Refusal, Task
from hideseek.records.result import Harm
from hideseek.seek.refusals import check_rows, unsuited_candidates
from hideseek.seek.run import check
from hideseek.seek.systems.length_pairs import KnownRow, LengthPairs
from hideseek.seek.systems.pair_beliefs import Beliefs, Rows, believed
from hideseek.seek.work import CALL, DOUBLE, LEAST_ROWS, LOOKUP, attacked, largest

ROUNDING = {"float32": 6e-8, "float16": 3e-4}  # of a length, and of a number, over itself
SURE = 0.99  # of a pair, from which on a row is decided
AGREED = 0.95  # of rows that must be decided before any pair counts as confirmed: messages in loops are too sure
TRIED = 10  # multiplications a pair: it is read, summed and compared


@dataclass(frozen=True)
class EqualLength(Attack[EncodedRelease]):
    """Pick the two images of each row from candidates: ‖x̃ − w₁x − w₂x′‖ = w₂r, for no other pair (to rounding).

    Rows are x̃ = w₁x + w₂(x′ + e), and all e have the same length r. Labels tell the two weights where classes differ,
    but not which is whose: candidates have no labels, so all pairs are tried in both orders. Where both images are of
    one class, any pair fits with some weights, and the row says nothing.

    The length is right to some 6·10⁻⁸ of itself, which leaves a handful of wrong pairs of a thousand candidates at
    τ = 10⁻², hundreds at 10⁻⁴ and thousands at 10⁻⁶. All rows together tell more (`pair_beliefs`): in a round every
    private image is the first of one row and the second of one, and has one class. What they leave of a candidate's
    odds is its membership score, and every row's likeliest pair is picked.
    """

    sees: ClassVar[type[EncodedRelease]] = EncodedRelease
    needs: ClassVar[tuple[str, ...]] = ("candidates",)
    source: ClassVar[str] = "hideseek; the length of the noise is Singularized Mixup's, Algorithm 1"
    shows: ClassVar[Harm] = Harm.REIDENTIFIED

    rows: int | None = None
    """Attack the first rows only."""
    sweeps: int = 60
    """Of messages between rows and candidates, at most."""

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if self.sweeps < 1:
            raise BadInput(f"messages need one sweep or more, not {self.sweeps}.")

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Try all pairs in every row, and weigh those that fit; nothing is left to chance."""
        check(self, release)
        gallery = release.candidates
        assert gallery is not None  # noqa: S101 (`needs`)
        encoded = release.encoded.take(slice(self.rows))
        known = known_rows(release.mixed_labels[: self.rows].double().numpy())
        pixels = math.prod(encoded.shape)
        noise = release.scheme.noise(pixels)
        assert noise is not None  # noqa: S101 (not refused)
        images, rows = (each.pixels().flatten(1).double() for each in (gallery, encoded))
        coarse = ROUNDING[release.scheme.row_type]
        lengths = LengthPairs(
            (images @ images.T).numpy(),
            (rows @ images.T).numpy(),
            rows.square().sum(1).numpy(),
            math.sqrt(noise.variance * pixels),
            coarse if coarse < 1e-6 else coarse / math.sqrt(pixels),  # numbers are rounded apart from each other
        )
        pairs = lengths.fitting(known)
        beliefs = believed(pairs, _rows(release, known, len(encoded), len(gallery), pairs.rows), self.sweeps)
        remarks = {
            "rows with two classes": len(known),
            "pairs that fit a row": round(len(pairs.rows) / max(1, len(known)), 2),
            "rows decided": int((beliefs.chances > SURE).sum()),
            "rows confirmed": int(_sure(beliefs).sum()),
        }
        member = Membership(torch.arange(len(gallery)), torch.from_numpy(beliefs.log_odds).float())
        picked = self._picked(release, beliefs)
        return Evidence((member,) if picked is None else (member, picked), remarks)

    def _picked(self, release: EncodedRelease, beliefs: Beliefs) -> Reconstruction | None:
        """Give the two candidates of each row's likeliest pair as what is in it."""
        if not len(beliefs.rows) or release.candidates is None:
            return None
        places = torch.from_numpy(np.concatenate([beliefs.first, beliefs.second]))
        about = torch.from_numpy(np.tile(beliefs.rows, 2))
        sure = torch.from_numpy(np.tile(_sure(beliefs), 2))
        return Reconstruction(release.candidates.pixels(places), about, "items", sure, picked=True)

    def refuses(self, release: EncodedRelease) -> Refusal | None:
        """Refuse other noise, moved images, weights that labels do not tell, and candidates that cannot be in rows."""
        scheme = release.scheme
        noise = scheme.noise(math.prod(release.encoded.shape))
        if noise is None or not noise.one_length or scheme.images_per_row != (2, 0):
            return Refusal(Reason.NOT_ONE_LENGTH)
        if not scheme.linear:
            return Refusal(Reason.NOT_LINEAR)
        if scheme.row_type not in ROUNDING:
            return Refusal(Reason.COARSE_ROWS)
        labels = release.mixed_labels
        if scheme.label_kind != "exact" or not known_rows(labels.double().numpy()):
            return Refusal(Reason.WEIGHTS_UNKNOWN)
        return unsuited_candidates(release)

    def work(self, task: Task) -> float:
        """Count inner products, both orders of all pairs in every row, and some messages about those that fit."""
        rows, gallery = attacked(self.rows, task), 2 * task.images
        products = DOUBLE * (float(rows) + gallery) * gallery * task.pixels
        return products + rows * gallery * (2.0 * gallery * TRIED + self.sweeps * LOOKUP) + 40 * self.sweeps * CALL

    def within(self, work: float, task: Task) -> Self:
        """Attack fewer rows."""
        most = attacked(self.rows, task)
        rows = largest(lambda rows: replace(self, rows=rows).work(task), LEAST_ROWS, most, work)
        return self if rows >= most else replace(self, rows=rows)


def _sure(beliefs: Beliefs) -> NDArray[np.bool_]:
    """Tell which rows' pairs are confirmed: decided, where nearly all rows are; else wrong ones confirm each other."""
    decided = beliefs.chances > SURE
    return decided & (decided.mean() >= AGREED if len(decided) else False)


def known_rows(labels: np.ndarray) -> list[KnownRow]:
    """Read both weights of each row whose label shows two classes."""
    known = []
    for number, label in enumerate(labels):
        classes = np.flatnonzero(label > 0)
        if len(classes) == 2:
            one, two = (int(each) for each in classes)
            known.append(KnownRow(number, (float(label[one]), float(label[two])), (one, two)))
    return known


def _rows(release: EncodedRelease, known: list[KnownRow], count: int, candidates: int, fitting: np.ndarray) -> Rows:
    """Say what labels tell of rows, and how many slots of a class those have that tell nothing."""
    labels = release.mixed_labels
    images = max(1, len(labels) // release.rounds)
    classes = np.zeros((count, 2), np.int64)
    for row in known:
        classes[row.number] = row.classes
    mass = labels.double().sum(0).numpy()
    sizes = mass / max(mass.sum(), 1e-30) * images
    telling = np.zeros(len(labels), bool)
    telling[fitting] = True
    round_of = np.minimum(np.arange(len(labels)) // images, release.rounds - 1)
    rounds = int(round_of[:count].max()) + 1
    others = np.zeros((rounds, labels.shape[1]))
    silent = np.flatnonzero(~telling & (round_of < rounds))
    shares = (labels > 0).double().numpy()[silent]
    np.add.at(others, round_of[silent], shares / np.maximum(shares.sum(1, keepdims=True), 1.0))
    return Rows(classes, round_of[:count], others, sizes, candidates)
