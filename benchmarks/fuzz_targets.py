"""What `fuzz.py` damages: a good file of each kind that hideseek reads, how a stranger may change it, who reads it.

Where a file has a checksum, it is made again after the change: a stranger would do so too.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from blake3 import blake3
from fuzz_changes import Draw, arrays_of, bytes_of, changed, tensors_of, text_of, values_of
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from hideseek.audit import Question, audit
from hideseek.audit.store import Part, PartKind, opened
from hideseek.challenge.received import read_rows
from hideseek.chance import seeded
from hideseek.cli.audit_options import Audit, Several
from hideseek.cli.config import configured
from hideseek.data import load, normalise
from hideseek.data.npz import load_npz
from hideseek.hide import ENCODERS, Augmented
from hideseek.hide.files.release_files import read_release, release_digest, write_release
from hideseek.hide.files.secret_files import read_secret
from hideseek.models import build
from hideseek.records.result import Accuracy, Range
from hideseek.report.result_files import read_result
from hideseek.seek import ATTACKS
from hideseek.seek import run as attack_release
from hideseek.seek.evidence_files import Found, read_evidence, write_evidence
from hideseek.train.checkpoint import Checkpoints, Position, read_checkpoint, write_checkpoint
from hideseek.train.state_files import read_state, write_state
from hideseek.train.trained import Trained, read_model, write_model

Read = Callable[[], object]


@dataclass(frozen=True)
class Target:
    """Files of one kind: which are changed, how, and who reads them; they are put back afterwards."""

    files: tuple[Path, ...]
    change: Callable[[Draw], None]
    read: Read


def targets(folder: Path) -> Iterator[tuple[str, Target]]:
    """Write one good file of each kind, and say how it is changed and read."""
    private = normalise(load("faces").take(slice(0, 12)), "channel")
    public = normalise(load("faces?split=test", labelled=False), private.normalisation)
    release, found, secret = folder / "release", folder / "found", folder / "secret"
    write_release(ENCODERS["mixup"], private, None, seeded(1), release, rounds=2, give_away=("sources", "weights"))
    yield "release.json", of_json(release / "release.json", lambda: read_release(release))
    yield "shards", resealed_shard(release)
    write_release(Augmented(ENCODERS["instahide-cross"]), private, public, seeded(1), folder / "crossed", secret)
    digest = release_digest(folder / "crossed")
    yield "secret, header", of_header(secret, lambda: read_secret(secret, digest))
    yield "secret, values", of_values(secret, lambda: read_secret(secret, digest))
    evidence = attack_release(ATTACKS["mixup-pairs"], read_release(release), seeded(1))
    write_evidence(Found(evidence, "mixup-pairs", digest, {"top": 3}, 7), found)
    claims = found / "claims.safetensors"
    yield "evidence.json", of_json(found / "evidence.json", lambda: read_evidence(found))
    yield "claims, header", of_header(claims, lambda: read_evidence(found))
    yield "claims, values", of_values(claims, lambda: read_evidence(found))
    attacks = {"linear-inversion": ATTACKS["linear-inversion"]}
    question = Question(private, {"mixup": ENCODERS["mixup"]}, attacks=attacks, budget=1.0)
    audit(question, folder / "audit", seed=1)
    yield "result.json", of_json(folder / "audit" / "result.json", lambda: read_result(folder / "audit"))
    yield from states(folder)
    npz = folder / "a.npz"
    np.savez(npz, x=np.zeros((4, 8, 8), np.uint8), y=np.arange(4) % 2, classes=np.array(["a", "b"]))
    content = npz.read_bytes()
    read: Read = lambda: load_npz(npz, None, True)  # noqa: E731
    yield "npz, bytes", Target((npz,), lambda draw: _put(npz, bytes_of(draw, content)), read)
    yield "npz, headers", Target((npz,), lambda draw: _put(npz, arrays_of(draw)), read)
    yield from received(folder)


def received(folder: Path) -> Iterator[tuple[str, Target]]:
    """Give rows that others saved, and options in a file."""
    npz, tensors, config = folder / "rows.npz", folder / "rows.safetensors", folder / "audit.toml"
    np.savez(npz, inputs=np.zeros((4, 3, 8, 8), np.float32), labels=np.eye(4, dtype=np.float32))
    content = npz.read_bytes()
    yield "rows, bytes", Target((npz,), lambda draw: _put(npz, bytes_of(draw, content)), lambda: read_rows(npz))
    yield "rows, headers", Target((npz,), lambda draw: _put(npz, arrays_of(draw)), lambda: read_rows(npz))
    save_file({"inputs": torch.zeros(4, 3, 8, 8), "labels": torch.eye(4)}, tensors)
    yield "rows, tensors", of_header(tensors, lambda: read_rows(tensors))
    yield "rows, values", of_values(tensors, lambda: read_rows(tensors))
    text = b'[audit]\nschemes = ["mixup", "instahide-inside"]\nrounds = 4\nlearn = false\nshift = 0.25\n'
    config.write_bytes(text)
    yield "audit.toml", Target((config,), lambda draw: _put(config, bytes_of(draw, text)), lambda: _options(config))


def _options(config: Path) -> object:
    arguments, file = configured(["--config", str(config)])
    return None if file is None else file.options(arguments, Audit[Several])


def states(folder: Path) -> Iterator[tuple[str, Target]]:
    """Give files that carry their own checksum, and what an audit keeps on its way."""
    network, model, checkpoint = build("lenet", (1, 8, 8), 2), folder / "model", folder / "checkpoint"
    write_model(model, Trained(network, "lenet", (1, 8, 8), ("a", "b")), {"mechanism": "mixup"})
    yield "model, header", of_header(model, lambda: read_model(model))
    yield "model, resealed", resealed_state(model, lambda: read_model(model))
    kept, optimiser = Checkpoints(checkpoint), torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    write_checkpoint(kept, network, optimiser, Position(3, 1, history=[{"epoch": 1, "loss": 0.5}]))
    yield "checkpoint, resealed", resealed_state(checkpoint, lambda: read_checkpoint(kept, network, optimiser))
    begun, part = folder / "begun", Part(PartKind.ACCURACY, "mixup")
    with opened(begun, {"rounds": 3}, resume=False) as store:
        store.part(part, Accuracy, lambda: Accuracy(Range(0.5, 0.4, 0.6, 9), "lenet", 1, 2, 3.0))

    def resumed() -> object:
        with opened(begun, {"rounds": 3}, resume=True) as store:
            return store.kept(part, Accuracy)

    yield "audit.json", of_json(begun / "audit.json", resumed)
    yield "a part of an audit", of_json(store.path(part), resumed)


def of_json(path: Path, read: Read) -> Target:
    """Change a JSON file."""
    value = json.loads(path.read_bytes())
    return Target((path,), lambda draw: _put(path, text_of(draw, value)), read)


def of_header(path: Path, read: Read) -> Target:
    """Change the header of a safetensors file."""
    content = path.read_bytes()
    return Target((path,), lambda draw: _put(path, tensors_of(draw, content)), read)


def of_values(path: Path, read: Read) -> Target:
    """Change a tensor of a safetensors file."""
    tensors, about = _opened(path)
    return Target((path,), lambda draw: save_file(values_of(draw, tensors), path, about), read)


def resealed_shard(release: Path) -> Target:
    """Change a shard of a release, and its checksum with it."""
    shard, described = release / "encoded-00000.safetensors", release / "release.json"
    content, about, (tensors, _) = shard.read_bytes(), json.loads(described.read_bytes()), _opened(shard)

    def change(draw: Draw) -> None:
        if draw(st.booleans()):
            shard.write_bytes(tensors_of(draw, content))
        else:
            save_file(values_of(draw, tensors), shard)
        sealed = {"rows": about["rows"], "blake3": blake3(shard.read_bytes()).hexdigest()}
        described.write_text(json.dumps({**about, "shards": [sealed]}))

    return Target((shard, described), change, lambda: read_release(release))


def resealed_state(path: Path, read: Read) -> Target:
    """Change what a state file says or holds, and its checksum with it."""
    tensors, about = read_state(path, "state")

    def change(draw: Draw) -> None:
        if draw(st.booleans()):
            write_state(path, values_of(draw, tensors), about)
            return
        said = changed(draw, about)
        try:
            write_state(path, tensors, said)
        except ValueError:  # NaN, which it does not write
            write_state(path, tensors, {})

    return Target((path,), change, read)


def _opened(path: Path) -> tuple[dict[str, torch.Tensor], Any]:
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}, file.metadata()  # noqa: SIM118


def _put(path: Path, content: bytes) -> None:
    path.write_bytes(content)
