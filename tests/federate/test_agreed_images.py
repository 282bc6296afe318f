"""What all agree on is what all have: public images by name and checksum, shapes, classes; who differs is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.data.digests import images_digest
from hideseek.errors import BadInput
from hideseek.federate.agreement import Agreement, PublicSet
from hideseek.federate.encodings import run_encodings
from hideseek.federate.gradients import run_gradients
from hideseek.federate.messages import DESCRIBE, UPDATE, Message
from hideseek.federate.server import Server, read_metrics, read_refused
from hideseek.hide import InstaHide
from hideseek.hide.updates import ShareUpdates
from leak_search import Secrets, pieces_of
from local_parties import SIDE, LocalParties, agreement, faces, parties, server

pytest.importorskip("flwr")
from flwr.app import Context, RecordDict
from flwr.app import Message as FlowerMessage
from flwr.app.message.message import make_message
from flwr.app.metadata import Metadata

from hideseek.federate.flower.apps import client_app
from hideseek.federate.flower.records import content
from hideseek.federate.flower.strategies import FlowerAggregate

MIXED = InstaHide(k=4, k_private=2)
RUNS: dict[str, Callable[[Server], object]] = {
    "gradients": lambda run: run_gradients(run, FlowerAggregate("fedavg")),
    "encodings": run_encodings,
}


def public_file(path: Path, seed: int) -> None:
    values = seeded(seed).normals(30, 1, SIDE, SIDE).numpy()
    np.savez(path, x=np.clip(128 + 40 * values, 0, 255).astype(np.uint8))


@pytest.fixture
def address(tmp_path: Path) -> str:
    public_file(tmp_path / "public.npz", 3)
    return f"npz:{tmp_path / 'public.npz'}"


def agreed_on(address: str, protocol: str) -> Agreement:
    loaded = normalise(load(address, size=SIDE, channels=1, labelled=False), faces().normalisation)
    public = PublicSet(address, images_digest(loaded))
    if protocol == "encodings":
        return replace(agreement(InstaHide(k=4)), scheme=MIXED, public=public)
    updates = ShareUpdates("lenet", 8, 2, 1, 0.05, "weights", "eval")
    return replace(agreement(updates), scheme=replace(updates, encoding=MIXED), public=public)


@pytest.mark.parametrize("protocol", ["gradients", "encodings"])
def test_public_images_are_mixed_in_and_never_sent(tmp_path: Path, address: str, protocol: str) -> None:
    who = parties(tmp_path, 2)
    who.settings = {place: replace(each, record=True) for place, each in who.settings.items()}
    RUNS[protocol](server(tmp_path, agreed_on(address, protocol), who))
    assert read_refused(tmp_path / "out") == []
    assert len(next(each["parties"] for each in read_metrics(tmp_path / "out") if "parties" in each)) == 2
    images = load(address, labelled=False).images.numpy()
    shown = Secrets({f"image {place}": pieces_of(image) for place, image in enumerate(images)})
    both = who.asked + who.answered
    wire = b"".join(tensor.contiguous().numpy().tobytes() for _, each in both for _, _, tensor in each.named_tensors())
    assert shown.found_in(wire) == []
    if protocol == "encodings":  # whose ground truth says so
        for settings in who.settings.values():
            for path in settings.folder.rglob("*.secret"):
                truth = load_file(path)
                assert truth["public_sources"].shape[1] == 2
                assert float(truth["weights"][:, 2:].min()) > 0


@pytest.mark.parametrize("protocol", ["gradients", "encodings"])
def test_other_public_images_than_were_agreed_on_are_refused(tmp_path: Path, address: str, protocol: str) -> None:
    """The second party has other images at the same address."""
    agreed = agreed_on(address, protocol)

    def other(asked: Message, honest: Callable[[Message], Message]) -> Message:
        public_file(tmp_path / "public.npz", 4)
        try:
            return honest(asked)
        finally:
            public_file(tmp_path / "public.npz", 3)

    RUNS[protocol](server(tmp_path, agreed, parties(tmp_path, 2, {1: other})))
    refused = read_refused(tmp_path / "out")
    assert {each["party"] for each in refused} == {1}
    assert all("are others than were agreed on" in each["why"] for each in refused)
    assert read_metrics(tmp_path / "out")[-1]["bytes_in"] > 0


@pytest.mark.parametrize("protocol", ["gradients", "encodings"])
def test_a_party_that_differs_is_refused_with_the_difference_and_the_others_go_on(
    tmp_path: Path, protocol: str
) -> None:
    values = seeded(5).normals(24, 1, SIDE, SIDE).numpy()
    np.savez(tmp_path / "three.npz", x=(128 + 20 * values).clip(0, 255).astype(np.uint8), y=np.arange(24) % 3)
    updates = ShareUpdates("lenet", 8, 2, 1, 0.05, "weights", "eval")
    agreed = agreement(updates if protocol == "gradients" else InstaHide(k=4))
    who = parties(tmp_path, 3)
    who.settings = {**who.settings, 2: replace(who.settings[2], data=f"npz:{tmp_path / 'three.npz'}", part=None)}
    RUNS[protocol](server(tmp_path, agreed, who))
    refused = read_refused(tmp_path / "out")
    assert {(each["party"], each["why"]) for each in refused} == {(2, "there are 3 classes, agreed were 2")}
    taken = [each["parties"] for each in read_metrics(tmp_path / "out") if "parties" in each]
    assert all(each == [0, 1] for each in taken)
    reply = answered_by_flower(who, 2, agreed, DESCRIBE if protocol == "encodings" else UPDATE)
    assert reply.error.reason == "there are 3 classes, agreed were 2"


def answered_by_flower(who: LocalParties, party: int, agreed: Agreement, kind: str) -> Any:
    """Ask the ClientApp of a party, as Flower does."""
    asked = next(message for place, message in who.asked if place == party and message.kind == kind)
    about = Metadata(1, "", 1, party, "", "", 1e9, 1e9, kind)
    message: FlowerMessage = make_message(about, content(asked))
    message.metadata.__dict__["_message_id"] = message.object_id
    context = Context(run_id=1, node_id=party, node_config={}, state=RecordDict(), run_config={})
    return client_app(lambda _: who.settings[party])(message, context)


def test_all_parties_differ(tmp_path: Path, address: str) -> None:
    agreed = replace(agreed_on(address, "encodings"), public=PublicSet(address, "00" * 32))
    with pytest.raises(BadInput, match="0 parties sent their encodings and 1 are needed"):
        run_encodings(server(tmp_path, agreed, parties(tmp_path, 2)))
    assert len(read_refused(tmp_path / "out")) == 2
