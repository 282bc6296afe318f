"""Nothing else of a client's data is in its messages: all bytes are kept, and searched for what must not be there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.federate.agreement import Agreement
from hideseek.federate.encodings import run_encodings
from hideseek.federate.gradients import run_gradients
from hideseek.federate.messages import Message
from hideseek.federate.party import PartySettings, load_party
from hideseek.hide import InstaHide
from hideseek.hide.updates import ShareUpdates
from leak_search import Secrets, images_of, truths, words
from local_parties import LocalParties, agreement, server

pytest.importorskip("flwr")
from hideseek.federate.flower.records import content
from hideseek.federate.flower.strategies import FlowerAggregate

SIDE, CLASSES, EACH = 12, ("ill", "well"), 12


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """A folder of images with telling names."""
    for name in CLASSES:
        (tmp_path / "patients" / name).mkdir(parents=True)
        for place in range(EACH):
            noise = seeded(100 * CLASSES.index(name) + place).normals(SIDE, SIDE).numpy()
            pixels = np.clip(128 + 40 * noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "patients" / name / f"mueller-{place:03d}.png")
    return tmp_path / "patients"


def agreed_on(hospital: Path, scheme: ShareUpdates | InstaHide) -> Agreement:
    images = normalise(load(f"folder:{hospital}"), "channel")
    shape, constants = images.shape, images.normalisation
    return replace(agreement(scheme), shape=shape, classes=images.classes, normalisation=constants, size=None)


def sent_bytes(who: LocalParties) -> bytes:
    """Give all bytes of all answers, as Flower puts them on the wire, and as they are once they are unpacked."""
    from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

    parts = []
    for _, message in who.answered:
        parts += [each.deflate() for each in get_all_nested_objects(content(message)).values()]
        parts += [tensor.contiguous().numpy().tobytes() for _, _, tensor in message.named_tensors()]
    return b"".join(parts)


def private(settings: PartySettings, agreed: Agreement) -> Secrets:
    """Give what must not leave a party: images in every form that it has them in, names, and its folder."""
    return images_of(settings, agreed) | words(name="mueller", folder=str(settings.folder), data=settings.data)


@pytest.mark.parametrize("protocol", ["gradients", "encodings"])
def test_nothing_else_of_a_clients_data_is_in_its_messages(tmp_path: Path, hospital: Path, protocol: str) -> None:
    masked = InstaHide(k=4)
    updates = ShareUpdates("lenet", 8, 2, 1, 0.1, "weights", "eval", encoding=masked)
    agreed = agreed_on(hospital, updates if protocol == "gradients" else masked)
    settings = {
        place: PartySettings(f"folder:{hospital}", tmp_path / f"secret-{place}", record=True) for place in (0, 1)
    }
    who = LocalParties(settings)
    run = server(tmp_path, agreed, who)
    if protocol == "gradients":
        run_gradients(run, FlowerAggregate("fedavg"))
    else:
        run_encodings(run)
    kept = truths(settings[0].folder.rglob("*.secret"))
    assert {name.split()[0] for name in kept.pieces} >= {"sources", "weights"}
    wire = sent_bytes(who)
    assert len(wire) > 10_000
    assert (private(settings[0], agreed) | kept).found_in(wire) == []
    if protocol == "encodings":  # masks are kept where rows are
        assert any(name.startswith("mask") for name in kept.pieces)


def test_the_search_finds_what_is_there(tmp_path: Path, hospital: Path) -> None:
    """The same search, on messages that hold an image, a name, and a party's secrets, in forms that apps may choose."""
    agreed = agreed_on(hospital, InstaHide(k=4))
    settings = PartySettings(f"folder:{hospital}", tmp_path / "node", record=True)
    who = LocalParties({0: settings, 1: replace(settings, folder=tmp_path / "other")})
    run_encodings(server(tmp_path, agreed, who))
    (path,) = settings.folder.rglob("*.secret")
    secrets = private(settings, agreed) | truths([path])
    truth = load_file(path)
    images = load_party(settings, agreed).private
    half = images.pixels()[3:4, :, SIDE // 2 :]
    signs = np.unpackbits(truth["mask"].numpy(), axis=-1, count=SIDE * SIDE, bitorder="little")
    for name, tensor in (
        ("pixels of image 3", images.pixels()[3:4]),
        ("pixels of image 3", half),
        ("pixels of image 3", half.half()),
        ("pixels of image 3", half.double()),
        ("bytes of image 4", images.images[4:5]),
        (f"sources in {path.name}", truth["sources"].to(torch.int16)),
        (f"weights in {path.name}", truth["weights"].half()),
        (f"mask in {path.name}", truth["mask"][:1]),
        (f"mask in {path.name}", torch.from_numpy(signs[5:6])),
    ):
        assert secrets.found_in(sent_bytes(_answered(Message("train", {"update": {"w": tensor}})))) == [name]
    told = Message("train", words={"config": {"from": "mueller-003.png", "rows": str(truth["sources"].tolist())}})
    assert secrets.found_in(sent_bytes(_answered(told))) == ["name", f"sources in {path.name}"]


def _answered(message: Message) -> LocalParties:
    return LocalParties({}, answered=[(0, message)])
