"""A new mechanism is one class and one line in a registry: files, plans, knowledge and commands follow."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import toys
from hideseek.chance import Randomness, seeded
from hideseek.cli import main
from hideseek.hide import ENCODERS, RecipeEncoder
from hideseek.hide.files.release_files import read_release
from hideseek.hide.files.schemes import from_json, to_json
from hideseek.hide.mixing.partners import partners
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Encoder, ImagesPerRow, Samples


@pytest.fixture
def scheme(monkeypatch: pytest.MonkeyPatch) -> RecipeEncoder:
    """A mechanism that no other file knows of: two images with fixed weights."""
    monkeypatch.setattr(Encoder, "mechanisms", dict(Encoder.mechanisms))

    @dataclass(frozen=True)
    class Fixed(RecipeEncoder, mechanism="fixed"):
        """Mix two images with fixed weights: x̃_i = w x_i + (1 − w) x_j."""

        weight: float = 0.75
        """w, the weight of the first image."""

        @property
        def images_per_row(self) -> ImagesPerRow:
            return ImagesPerRow(2, 0)

        def recipe(self, private: Samples, public: Samples | None, chance: Randomness) -> Recipe:
            count = len(private)
            weights = torch.tensor([self.weight, 1 - self.weight]).expand(count, 2)
            return Recipe(self, partners(count, 2, chance), weights, torch.empty(count, 0, dtype=torch.int64))

        def weak_cases(self, images: Samples, chance: Randomness) -> Iterator[Encoder]:
            yield Fixed(weight=0.99)

    monkeypatch.setitem(ENCODERS, "fixed", Fixed())
    return Fixed(weight=0.6)


def test_it_hides(scheme: RecipeEncoder) -> None:
    release, secret = scheme.hide(toys.images(20), None, seeded(0), rounds=2)
    rows, labels = toys.mixture(secret, None)
    np.testing.assert_allclose(release.encoded.images.numpy(), rows, atol=2e-6)
    np.testing.assert_allclose(release.encoded.labels.numpy(), labels, atol=1e-6)
    assert release.size() == scheme.planned_size(toys.images(20), rounds=2)
    assert (release.size().items, release.size().images, release.size().images_per_item) == (40, 20, 2)


def test_it_is_written_and_read(scheme: RecipeEncoder, tmp_path: Path) -> None:
    assert from_json(json.loads(json.dumps(to_json(scheme)))) == scheme
    scheme.write(toys.images(20), None, seeded(0), tmp_path / "out", tmp_path / "secret", rounds=2)
    read, kept = scheme.read(tmp_path / "out", tmp_path / "secret", None)
    release, secret = scheme.hide(toys.images(20), None, seeded(0), rounds=2)
    assert read.scheme == scheme
    assert torch.equal(read.encoded.images, release.encoded.images)
    assert torch.equal(kept.sources, secret.sources)


def test_it_trains_and_answers(scheme: RecipeEncoder) -> None:
    (piece,) = scheme.encodings(toys.images(20), None, seeded(0), 20)
    asked = scheme.queries(toys.images(20), None, seeded(0))(toys.images(3, seed=1))
    assert piece.images.shape == (20, 3, 7, 5)
    assert asked.images.shape == (3, 3, 7, 5)


def test_it_is_known(scheme: RecipeEncoder) -> None:
    release, secret = scheme.hide(toys.images(20), None, seeded(0))
    known = scheme.known(1, labelled=True, of_bytes=False)
    assert [each.citation.partition(",")[0] for each in known] == ["measured: studies/queries.py", "hideseek"]
    (together,) = scheme.effective(release, secret, seeded(1))
    assert together.effective == pytest.approx(1 / (0.6**2 + 0.4**2))
    assert scheme.bounds((together,)) == ()
    assert scheme.weak_kind == "fixed-private"
    ((fewer, same, rounds),) = scheme.stronger(3)
    assert (fewer.after, same, rounds) == (1, scheme, 1)


def test_it_is_a_command(scheme: RecipeEncoder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hide", "--help"]) == 0
    assert "Mix two images with fixed weights\n    fixed               weight 0.75" in capsys.readouterr().out
    assert main(["hide", "fixed", "--data", "faces", "--weight", "0.6", "--out", str(tmp_path / "out")]) == 0
    assert read_release(tmp_path / "out").scheme == scheme
