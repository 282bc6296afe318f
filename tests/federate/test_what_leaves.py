"""Nothing else of a client's data is in its messages: all bytes are kept, and searched for what must not be there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.federate.agreement import Agreement
from hideseek.federate.encodings import run_encodings
from hideseek.federate.gradients import run_gradients
from hideseek.federate.messages import Message
from hideseek.federate.party import PartySettings, load_party
from hideseek.hide import InstaHide
from hideseek.hide.updates import ShareUpdates
from local_parties import LocalParties, agreement, server

pytest.importorskip("flwr")
from hideseek.federate.flower.records import content
from hideseek.federate.flower.strategies import FlowerAggregate

SIDE, CLASSES, EACH = 12, ("ill", "well"), 12
WINDOW = 12  # bytes of an image or a weight that are searched for


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """A folder of images with telling names."""
    for name in CLASSES:
        (tmp_path / "patients" / name).mkdir(parents=True)
        for place in range(EACH):
            noise = seeded(hash(name) % 1000 * 100 + place).normals(SIDE, SIDE).numpy()
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


def private_bytes(settings: PartySettings, agreed: Agreement) -> dict[str, bytes]:
    """Give what must not leave: images in every form that the client has them in, names, and the party's folder."""
    party = load_party(settings, agreed)
    raw, pixels = party.private.images, party.private.pixels()
    found = {f"pixels of image {place}": image.numpy().tobytes() for place, image in enumerate(pixels)}
    found |= {f"bytes of image {place}": image.numpy().tobytes() for place, image in enumerate(raw)}
    return found | {
        "a name": b"mueller",
        "the folder": str(settings.folder).encode(),
        "the data": settings.data.encode(),
    }


def leaks(wire: bytes, private: dict[str, bytes]) -> list[str]:
    """Name what is found: any window of an image that is not all of one value."""
    found = []
    for name, secret in private.items():
        starts = range(0, max(1, len(secret) - WINDOW), WINDOW)
        windows = {secret[start : start + WINDOW] for start in starts}
        if any(len(set(window)) > 3 and window in wire for window in windows):
            found.append(name)
    return found


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
    wire, private = sent_bytes(who), private_bytes(settings[0], agreed)
    secrets = [*settings[0].folder.rglob("*.secret")]
    assert secrets
    from hideseek.train.state_files import read_state

    for number, path in enumerate(secrets):
        try:
            kept = read_state(path, "secret")[0]
        except Exception:  # noqa: BLE001 (secrets of encodings have another form)
            from safetensors.torch import load_file

            kept = load_file(path)
        for name in ("sources", "weights", "mask"):
            if name in kept:
                private[f"{name} of secret {number}"] = kept[name].contiguous().numpy().tobytes()
    assert len(wire) > 10_000
    assert leaks(wire, private) == []


def test_the_search_finds_what_is_there(tmp_path: Path, hospital: Path) -> None:
    """The same search, on a message that holds an image, a name, and a mask."""
    agreed = agreed_on(hospital, InstaHide(k=4))
    settings = PartySettings(f"folder:{hospital}", tmp_path / "node")
    private, who = private_bytes(settings, agreed), LocalParties({})
    image = load_party(settings, agreed).private.pixels()[3:4]
    who.answered.append((0, Message("train", {"update": {"w": image}}, words={"config": {"from": "mueller-003.png"}})))
    assert {"pixels of image 3", "a name"} <= set(leaks(sent_bytes(who), private))
    assert torch.equal(image, image)
