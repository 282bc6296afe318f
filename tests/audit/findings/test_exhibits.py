"""Pictures of what was found, as files."""

import stat
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from hideseek.audit.findings.exhibits import exhibits
from hideseek.chance import seeded
from hideseek.hide import InstaHide, Mixup
from hideseek.records import Evidence, Links, Masks, PublicImagesFound, Reconstruction
from toys import images


def test_pictures_are_files_for_their_owner_alone(tmp_path: Path) -> None:
    private = images(30, stored=False, channels=1)
    release, secret = Mixup().hide(private, None, seeded(0), rounds=3)
    noise = torch.linspace(0, 3, 30)[:, None, None, None] * seeded(1).normals(*private.images.shape)
    claim = Reconstruction(private.pixels() + noise, torch.arange(30), "images")
    shown = exhibits(Evidence((claim,)), release, secret, tmp_path, "x")
    assert [each.kind for each in shown] == ["best"] * 3 + ["median"] * 3 + ["worst"] * 3
    assert (shown[0].subject, shown[0].number, shown[0].metric) == ("image", 0, "correlation")
    names = [panel.file for each in shown for panel in each.panels]
    assert len(set(names)) == len(names) == 27
    for each in shown:
        for panel in each.panels:
            assert stat.S_IMODE((tmp_path / panel.file).stat().st_mode) == 0o600
    with (
        Image.open(tmp_path / shown[0].panels[0].file) as original,
        Image.open(tmp_path / shown[0].panels[2].file) as found,
    ):
        assert original.size == (5, 7)
        assert np.corrcoef(np.asarray(original).ravel(), np.asarray(found).ravel())[0, 1] > 0.99


def test_reconstructions_come_first(tmp_path: Path) -> None:
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
    assert [each.kind for each in shown[:9]] == ["best"] * 3 + ["median"] * 3 + ["worst"] * 3
    private_labels = {panel.label for each in shown for panel in each.panels if panel.private}
    assert private_labels == {"original", "guess, fitted", "under the mask", "signs restored"}
    assert {panel.label for each in shown for panel in each.panels} - private_labels == {
        "shared",
        "public image in it",
        "found",
    }
