"""Decoding updates of encodings: the images that all of them share, what it refuses, and how it is planned."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, RecipeEncoder
from hideseek.hide.updates import GradientPruning, ShareUpdates
from hideseek.records import Reason, Refusal, Samples, Task
from hideseek.records.update_release import UpdateRelease
from hideseek.score.judge import judge
from hideseek.seek import ATTACKS, describe, refusal, run
from hideseek.seek.rows.linear_inversion import LinearInversion
from hideseek.seek.systems.matching_loop import Adam
from hideseek.seek.systems.row_labels import row_labels
from hideseek.seek.updates.decode import DecodeKnown, DecodeUpdates
from hideseek.seek.updates.first_layer import FirstLayer
from hideseek.seek.updates.gradient_matching import GradientMatching
from hideseek.seek.updates.inverted_rows import InvertedRows, exact_layer, rows_by_layer
from hideseek.seek.updates.joint_images import JointImages
from hideseek.similarity import correlation

TASK = Task(items=80, images=64, pixels=3072, images_per_item=16, channels=3, network=5e6, parameters=160_000)
KNOWN = ("round_of", "labels", "sources", "weights")


@pytest.fixture(scope="module")
def faces() -> Samples:
    return normalise(load("faces", size=12), "channel").take(torch.arange(0, 160, 20))


def shared(
    faces: Samples, encoding: RecipeEncoder | None, model: str = "lenet", batch: int = 4, rounds: int = 4, **how: Any
) -> UpdateRelease:
    release, secret = ShareUpdates(model, batch=batch, encoding=encoding, mode="eval", **how).hide(
        faces, None, seeded(1), rounds
    )
    return secret.reveal(release, KNOWN)


@pytest.mark.parametrize("how", [{}, {"sends": "weights", "rate": 0.1}])
def test_images_are_sought_in_all_updates_at_once(faces: Samples, how: dict[str, Any]) -> None:
    attack = DecodeKnown(LinearInversion(), joint=JointImages(epochs=40))
    evidence = run(attack, shared(faces, Mixup(k=2), rounds=6, **how), seeded(2))
    claim: Any = evidence.claims[0]
    assert claim.of == "images"
    assert float(correlation(claim.images, faces.pixels()).median()) > 0.75


def test_masked_rows_of_single_images_are_solved_layer_by_layer_and_then_for_the_images(faces: Samples) -> None:
    release = shared(faces, InstaHide(k=2, largest=0.65), batch=1, rounds=8)
    claim: Any = run(ATTACKS["decode-known"], release, seeded(2)).claims[0]
    assert float(correlation(claim.images, faces.pixels()).min()) > 0.95


def test_masked_rows_are_decoded_where_nothing_is_given_but_updates_and_their_rounds() -> None:
    """40 faces in ten epochs of InstaHide, k = 4, batches of 8: rows by the layer, images by attacks on rows."""
    faces = normalise(load("faces", size=16), "channel").take(torch.arange(0, 160, 4))
    scheme = ShareUpdates("relu-dense", batch=8, encoding=InstaHide(k=4, largest=0.65), mode="eval")
    release, secret = scheme.hide(faces, None, seeded(1), 10)
    evidence = run(ATTACKS["decode-blind"], secret.reveal(release, ["round_of"]), seeded(2))
    (score,) = judge(evidence, secret, seeded(3), ["recovered"]).scores
    assert float(score.values.mean()) > 0.6  # of images; 0.75 with this seed
    assert score.beats


def test_rows_behind_a_dense_layer_are_exact_after_pruning(faces: Samples) -> None:
    """What is left of the layer is completed, and images follow from rows."""
    release = shared(faces, InstaHide(k=2, largest=0.65), "relu-dense", rounds=8, defences=(GradientPruning(0.5),))
    evidence = run(ATTACKS["decode-known"], release, seeded(2))
    assert evidence.remarks["rows by"] == "the layer features.1"
    assert evidence.remarks["certified rows"] >= 0.9 * 64
    claim: Any = evidence.claims[0]
    assert float(correlation(claim.images, faces.pixels()).median()) > 0.9


def test_rows_behind_a_dense_layer_are_exact_after_local_steps(faces: Samples) -> None:
    """Inputs are the same in all steps, and given labels put rows in their order."""
    scheme = ShareUpdates(
        "relu-dense", batch=1, local_steps=2, sends="weights", encoding=InstaHide(k=2, largest=0.65), mode="eval"
    )
    release, secret = scheme.hide(faces.take(slice(0, 4)), None, seeded(1))
    found = rows_by_layer(secret.reveal(release, KNOWN), FirstLayer(rounds=2), seeded(2))
    assert found is not None
    assert found.remarks["certified rows"] == 4
    truth = torch.cat([each.pixels() for each in getattr(secret.again, "rows", ())])
    assert torch.allclose(found.rows.pixels(), truth, atol=1e-2)


def test_labels_of_rows_by_entries_that_were_not_pruned(faces: Samples) -> None:
    release, secret = ShareUpdates("relu-dense", batch=4, mode="eval").hide(faces, None, seeded(1))
    layer = exact_layer(release)
    assert layer is not None
    matrix, rows = layer.matrix(release.updates[0]), next(iter(getattr(secret.again, "rows")))  # noqa: B009
    known = seeded(3).uniforms(matrix.numel()).view(matrix.shape) > 0.6
    network = release.models[0].network().eval()
    found = row_labels(network, layer, matrix * known, rows.pixels(), known)
    assert torch.allclose(found, rows.labels, atol=1e-3)


def test_a_layer_of_which_little_is_left_leads_to_matching(faces: Samples) -> None:
    release = shared(faces, InstaHide(k=2, largest=0.65), "relu-dense", rounds=1, defences=(GradientPruning(0.999),))
    assert rows_by_layer(release, FirstLayer(rounds=1), seeded(2)) is None


def test_rows_that_are_wrong_count_less_in_least_squares(faces: Samples) -> None:
    release, secret = ShareUpdates("lenet", encoding=Mixup(k=2), mode="eval").hide(faces, None, seeded(1), 4)
    pixels = torch.cat([each.pixels() for each in getattr(secret.again, "rows", ())])
    labels = torch.cat(secret.reveal(release, ["labels"]).labels or ())
    wrong = torch.arange(len(pixels)) % 4 == 0
    pixels[wrong] += seeded(5).normals(int(wrong.sum()), *release.shape)
    alike = []
    for precision in (None, torch.where(wrong, 1e-3, 1.0)):
        rows = InvertedRows(Samples(pixels, labels, normalisation=faces.normalisation), {}, precision)
        claim: Any = run(LinearInversion(), rows.release(secret.reveal(release, KNOWN)), seeded(2)).claims[0]
        alike.append(float(correlation(claim.images, faces.pixels()).min()))
    assert alike[0] < 0.95
    assert alike[1] > 0.999


def test_images_that_were_not_encoded_are_refused(faces: Samples) -> None:
    release = shared(faces, None)
    for name in ("decode-known", "decode-blind"):
        assert refusal(ATTACKS[name], release) == Refusal(Reason.NOT_ENCODED)
    assert refusal(DecodeUpdates(), shared(faces, Mixup(k=2))) == Refusal(Reason.NOT_ENCODED)


def test_who_does_not_know_the_mix_is_told_so(faces: Samples) -> None:
    release = replace(shared(faces, Mixup(k=2)), sources=None)
    assert refusal(ATTACKS["decode-known"], release) == Refusal(Reason.MISSING_FIELDS, {"fields": "sources"})
    assert refusal(ATTACKS["decode-blind"], release) is None


@pytest.mark.parametrize("name", ["decode-known", "decode-blind"])
def test_it_fits_into_less_work(name: str) -> None:
    attack = ATTACKS[name]
    work = attack.work(TASK) or 0.0
    fewer = attack.within(work / 10, TASK)
    assert (fewer.work(TASK) or 0.0) < work / 2
    assert attack.within(2 * work, TASK) == attack


def test_its_line_names_the_attacks_on_rows() -> None:
    assert describe(ATTACKS["decode-blind"]).endswith("(unmasked: mixup pairs, masked: link and solve)")
    assert "optimiser steps 60" in describe(GradientMatching(optimiser=Adam(60)))
    assert "balance" not in describe(ATTACKS["gradient-matching"])
