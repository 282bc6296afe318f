"""The study of federations: its page is what its figures give, and its way of running is that of real parties."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from ledger import HERE, Ledger
from matplotlib.figure import Figure

from hideseek.federate.server import ServerSettings
from hideseek.hide import Mixup
from hideseek.hide.updates import ShareUpdates
from hideseek.seek import ATTACKS
from local_parties import agreement, faces

pytest.importorskip("flwr")
import federated
from federation import leakage, picture
from federation.picture import Point
from federation.running import Federation


def test_the_page_is_written_from_the_figures(tmp_path: Path) -> None:
    committed = HERE / "results" / "federated-cpu.json"
    copy = Path(shutil.copy(committed, tmp_path))
    federated.render(Ledger.open(copy, federated.TITLE), copy, "cpu")
    assert copy.with_suffix(".md").read_text() == committed.with_suffix(".md").read_text(), (
        "python studies/federated.py --render"
    )
    assert copy.with_name("federated-cpu-leakage.png").exists()


@pytest.mark.filterwarnings("ignore:.*click.utils:DeprecationWarning")  # of Flower's import of typer
def test_updates_are_attacked_as_the_server_recorded_them(tmp_path: Path) -> None:
    agreed = agreement(ShareUpdates("relu-dense", batch=2))
    federation = Federation("faces", 3, seed=1, recording=(1,))
    settings = ServerSettings(tmp_path / "server", wait=0.0, record=True, seed=1)
    outcome = federation.run(agreed, settings, None)
    release, secret = leakage.received(federation, outcome.out, 1, [1, 2])
    assert release.models[0].state.keys() == outcome.state.keys()
    others = replace(faces(), images=faces().images.flip(3))
    found = leakage.attacked(release, secret, ATTACKS["first-layer"], others)
    assert found["judged"] == 4  # two images of two rounds
    assert found["recovered"] == 1.0


def test_rows_are_attacked_as_the_server_pooled_them(tmp_path: Path) -> None:
    agreed = agreement(Mixup(k=2))
    federation = Federation("faces", 3, seed=1, recording=(2,))
    settings = ServerSettings(tmp_path / "server", wait=0.0, epochs=1, seed=1)
    outcome = federation.run(agreed, settings, None)
    release, secret = leakage.delivered(federation, outcome.out, 2)
    mixed = (
        secret.private.pixels(secret.sources.flatten()).view(*secret.sources.shape, -1) * secret.weights[..., None]
    ).sum(1)
    assert torch.allclose(release.encoded.pixels().flatten(1), mixed, atol=1e-4)


def test_the_worst_attack_is_the_one_that_beats_its_baseline_most() -> None:
    often = {"re-identified": 0.4, "re-identified, baseline": 0.41, "recovered": 0.0, "knows": []}
    seldom = {"re-identified": 0.3, "re-identified, baseline": 0.2, "recovered": 0.0, "knows": ["sources"]}
    blind = {"recovered": 0.1, "recovered, baseline": 0.0, "knows": []}
    found = {"attacks": {"often": often, "seldom": seldom, "blind": blind, "none": {"refused": "masked"}}}
    worst = leakage.worst(found)
    assert worst.attack == "seldom*"
    assert worst.share == pytest.approx(0.125)
    assert leakage.worst({"attacks": {"often": often}}).share == 0.0


def test_numbers_of_points_do_not_cover_each_other(tmp_path: Path) -> None:
    points = [Point("images", "gradients", str(number), 0.0, 50.0 + number / 10) for number in range(12)]
    axes = Figure(figsize=(6, 4), dpi=120).subplots()
    places = [tuple(axes.transData.transform((point.leak, point.accuracy))) for point in points]
    taken: list[tuple[float, float]] = []
    for place in places:
        taken.append(picture._free(place, places, taken))
    distances = torch.cdist(torch.tensor(taken), torch.tensor(taken)) + torch.eye(len(taken)) * 1e3
    assert float(distances.min()) >= picture.ROOM
    picture.draw(points, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


@pytest.mark.parametrize("scale", ["cpu", "paper"])
def test_trials_have_names_of_their_own(scale: str) -> None:
    names = [trial.name for part in federated.PARTS for trial in part.trials(scale)]
    assert names
    assert len(names) == len(set(names))
