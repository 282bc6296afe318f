"""Pictures of what was found."""

import stat
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from hideseek.audit.findings.exhibits import _usual_row, exhibits
from hideseek.chance import seeded
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Evidence, Links, Masks, PublicImagesFound, Reconstruction
from toys import images


def test_reconstructions_beside_what_was_shared(tmp_path: Path) -> None:
    """Best, median and worst; all private where nothing is masked, since what was shared shows the images too."""
    private = images(30, stored=False, channels=1)
    release, secret = Mixup().hide(private, None, seeded(0), rounds=3)
    noise = torch.linspace(0, 3, 30)[:, None, None, None] * seeded(1).normals(*private.images.shape)
    claim = Reconstruction(private.pixels() + noise, torch.arange(30), "images")
    shown = exhibits(Evidence((claim,)), release, secret, tmp_path, "x")
    assert [each.kind for each in shown] == ["best"] * 3 + ["median"] * 3 + ["worst"] * 3
    assert [panel.label for panel in shown[0].panels] == ["original", "shared", "recovered"]
    assert all(panel.private for each in shown for panel in each.panels)
    assert "image 0: correlation 1.00" in shown[0].caption
    for each in shown:
        for panel in each.panels:
            assert stat.S_IMODE((tmp_path / panel.file).stat().st_mode) == 0o600
    with (
        Image.open(tmp_path / shown[0].panels[0].file) as original,
        Image.open(tmp_path / shown[0].panels[2].file) as found,
    ):
        assert original.size == (5, 7)
        assert np.corrcoef(np.asarray(original).ravel(), np.asarray(found).ravel())[0, 1] > 0.99


def test_under_a_mask_what_was_shared_may_be_shown(tmp_path: Path) -> None:
    private, public = images(20, stored=False), images(25, stored=False, seed=4)
    release, secret = InstaHide(k=4, k_private=2).hide(private, public, seeded(0))
    rows = torch.arange(20)
    claims = (
        PublicImagesFound(rows, secret.public_sources[:, :1], torch.zeros(20, 1), 25),
        Masks(rows, secret.signs()),
        Reconstruction(private.pixels(secret.sources[:, 0]), rows),
        Links(rows[:1], rows[1:2], torch.zeros(1)),
    )
    shown = exhibits(Evidence(claims), release, secret, tmp_path, "x")
    assert [each.kind for each in shown[:9]] == ["best"] * 3 + ["median"] * 3 + ["worst"] * 3  # pictures first
    private_labels = {panel.label for each in shown for panel in each.panels if panel.private}
    assert private_labels == {"original", "recovered", "under the mask", "signs restored"}
    assert {panel.label for each in shown for panel in each.panels} - private_labels == {
        "shared",
        "public image in it",
        "found",
    }


def test_a_usual_row_has_the_median_weight() -> None:
    _, secret = Mixup().hide(images(12), None, seeded(0), rounds=5)
    for image in range(12):
        has = [(float(secret.weights[r, j]), r) for r in range(60) for j in range(2) if secret.sources[r, j] == image]
        assert _usual_row(secret, image) == sorted(has)[len(has) // 2][1]
