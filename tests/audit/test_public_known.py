"""What the attacker has of public patches: the larger images that they were cut from, or the very patches."""

from functools import partial
from pathlib import Path

import pytest
import torch

from clocks import VirtualClock
from hideseek.audit import Question, make_plan
from hideseek.audit import audit as real_audit
from hideseek.audit.planning.plan import planned_task
from hideseek.data import load, normalise
from hideseek.data.public import PublicKnown
from hideseek.errors import BadInput
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Reason, Samples
from hideseek.records.result import Outcome, StepKey, StepKind
from hideseek.report import sentences
from hideseek.seek.rows.mixup_public import MixupPublic
from hideseek.seek.rows.public_search import PublicSearch

audit = partial(real_audit, clock=VirtualClock())  # which never moves
pytestmark = pytest.mark.usefixtures("without_lpips")
CROSS = Mixup(k=2, k_private=1)


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces").take(torch.arange(0, 160, 4)), "channel")


def asked(faces: Samples, known: PublicKnown, scheme: Mixup | InstaHide = CROSS) -> Question:
    loaded = load("patches:photos?each=4", size=25, channels=1, labelled=False).take(slice(0, 300))
    public = normalise(loaded, faces.normalisation)
    attacks = {"search": PublicSearch(rows=50), "subtract": MixupPublic(rows=50, exact=False)}
    return Question(faces, {"it": scheme}, public, None, 5, attacks, 1e9, public_known=known)


def test_the_larger_images_are_searched_by_default(faces: Samples, tmp_path: Path) -> None:
    """A patch of 25×25 pixels is found in its photograph of 32×32: right in most rows, among 300 images or fewer."""
    assert asked(faces, "images").public_known == Question(faces, {"it": Mixup()}).public_known
    result = audit(asked(faces, "images"), tmp_path / "a", seed=1)
    by_name = {each.attack: each for each in result.schemes[0].attacks}
    refused = by_name["subtract"].refusal
    assert refused is not None
    assert refused.reason is Reason.LARGER_PUBLIC_IMAGES
    search = by_name["search"]
    hits = next(figure for figure in search.figures if figure.metric == "hit@1")
    assert hits.found.mean > 0.5
    assert search.contents.larger
    assert "larger public images, of which patches were mixed in" in sentences.knew(search.contents, search.given)
    assert search.exhibits


def test_the_very_patches_are_there_for_who_asks(faces: Samples, tmp_path: Path) -> None:
    result = audit(asked(faces, "patches"), tmp_path / "a", seed=1)
    for each in result.schemes[0].attacks:
        assert each.outcome in (Outcome.BROKEN, Outcome.LEAKS)
        assert not each.contents.larger
        assert "the very 300 public images mixed in" in sentences.knew(each.contents, each.given)


def test_an_audit_goes_on_only_with_what_the_attacker_had(faces: Samples, tmp_path: Path) -> None:
    audit(asked(faces, "images"), tmp_path / "a", seed=1, keep=True)
    with pytest.raises(BadInput, match="other public known"):
        audit(asked(faces, "patches"), tmp_path / "a", seed=1, resume=True)


def test_a_search_at_every_place_is_planned_as_one(faces: Samples) -> None:
    """118 photographs of 32×32 at every place take far longer than products with 300 patches of 25×25."""
    larger, very = (planned_task(CROSS, asked(faces, known)) for known in ("images", "patches"))
    assert (larger.public_pixels, very.public_pixels) == (32 * 32, 0)
    assert larger.public <= very.public == 300
    assert PublicSearch().work(larger) > 10 * PublicSearch().work(very)
    refused = make_plan(asked(faces, "images")).refused
    assert refused[StepKey(StepKind.ATTACK, "it", "subtract")].reason is Reason.LARGER_PUBLIC_IMAGES
