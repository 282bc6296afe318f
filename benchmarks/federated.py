"""What federating costs, against what must be paid: ratios of times that were measured side by side in this run.

    python benchmarks/federated.py [--quick] [--json FILE] [--only PART …]

- shipping: encodings in MB/s over plain Flower messages of the same bytes. Both go through one real SuperLink
  (`hideseek federate superlink`), over TLS, with as many messages under way and looked for as often: ours from
  `hideseek federate node`, with its gate and policy, plain ones from Flower's own SuperNode, which signs in too. Both
  kinds of client are forked from a process that has everything imported, so that what is compared is not the start of
  Python. The plain client reads a file and sends it, the plain server reads the array. Ours also describes what comes,
  is put together, held against the policy, logged and written anew by the node; the server checks every shard, and
  writes it to the disk;
- memory: the most that every process had, for a small set and a large one;
- server: pooling, training and handing back, once encodings are there, over training on the same rows in memory;
- gate: its time over the message's. The message's time is what it takes in all: made by the party, carried, received;
  that is, to make it, and what a plain message of the same bytes took all processes in "shipping". The gate's is all
  that a node does between an app and the network: put the answer together, check it, log it, write it anew (and, by
  itself, the check alone). Beside it, over making and serialising, which leaves out that a message is carried at all;
- rows: bytes on the wire over raw uint8 images, and what the narrower rows cost in accuracy, on MNIST;
- updates: bytes on the wire over the size of the model.

Every contender has its turn in every round; a ratio is the median over the rounds. One thread.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import torch
from flwr.app import Message as FlowerMessage
from flwr.app.message.message import make_message
from flwr.app.metadata import Metadata
from flwr.supercore.inflatable.inflatable_object import (
    get_all_nested_objects,
    get_object_tree,
    no_object_id_recompute,
)
from loopback_processes import loopback

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.federate.agreement import Agreement
from hideseek.federate.client import answer
from hideseek.federate.encodings import collected, run_encodings
from hideseek.federate.flower.gated_connection import Connection, GatedConnection
from hideseek.federate.flower.records import content
from hideseek.federate.gate import Gate
from hideseek.federate.messages import DESCRIBE, SHARD, UPDATE, Message
from hideseek.federate.parties import Parties
from hideseek.federate.party import PartySettings
from hideseek.federate.planned import Plan
from hideseek.federate.policy import template
from hideseek.federate.server import Server, ServerSettings
from hideseek.hide.files.release_files import read_release, write_release
from hideseek.hide.named import schemes
from hideseek.learn import Plain, learn
from hideseek.train.training import SGD, Training, automatic

REACH = {"shipping": 0.8, "server": 1.1, "gate": 0.05}
SHARD_ROWS = 2560  # of 3×32×32 floats, about
CARRIED = {"update of lenet": 64_000, "update of small-resnet": 660_000}  # bytes of other messages, about
SCHEME = "instahide-inside:k=4"


@dataclass
class Clock:
    """Seconds of several contenders, by the clock on the wall and by the processor's."""

    wall: dict[str, list[float]]
    processor: dict[str, list[float]]

    @classmethod
    def of(cls, rounds: int, **contenders: Callable[[], object]) -> "Clock":
        """Time every contender once a round, after one round that does not count."""
        clock = cls({name: [] for name in contenders}, {name: [] for name in contenders})
        for number in range(rounds + 1):
            for name, run in contenders.items():
                start, used = time.perf_counter(), time.process_time()
                run()
                if number:
                    clock.wall[name].append(time.perf_counter() - start)
                    clock.processor[name].append(time.process_time() - used)
        return clock

    def ratio(self, one: str, *others: str) -> dict[str, float]:
        """Compare a contender with the sum of others, round by round."""
        found = {}
        for name, seconds in (("wall", self.wall), ("processor", self.processor)):
            below = [sum(each) for each in zip(*(seconds[other] for other in others), strict=True)]
            found[name] = round(median(a / b for a, b in zip(seconds[one], below, strict=True)), 4)
        return found


@dataclass(frozen=True)
class Here(Parties):
    """One party in this process, behind its gate."""

    settings: PartySettings

    def present(self) -> list[int]:
        """Give the one party."""
        return [0]

    def ask(self, messages: Mapping[int, Message], timeout: float) -> dict[int, Message]:
        """Answer at once."""
        return {
            party: Gate.of(self.settings, asked).passed(asked, answer(asked, self.settings))
            for party, asked in messages.items()
        }


def random_images(folder: Path, count: int, side: int = 32) -> str:
    """Write random images as bytes, and give their address."""
    stored = np.random.default_rng(0).integers(0, 256, (count, 3, side, side), dtype=np.uint8)
    np.savez(folder / f"images-{count}.npz", x=stored, y=np.arange(count) % 10)
    return f"npz:{folder / f'images-{count}.npz'}"


def shipping(folder: Path, sizes: list[int], rounds: int, ways: list[str]) -> dict[str, Any]:
    """Ship sets of so many shards through real processes, alone to see the memory, and the last one beside others."""
    found: dict[str, Any] = {"memory": {}}
    for size in sizes:
        place = folder / f"shards-{size}"
        place.mkdir()
        data = random_images(place, size * SHARD_ROWS)
        agreement, _ = Plan(data, SCHEME, "encodings", "lenet", parties=1).agreement()
        with loopback(place, data, agreement, SCHEME) as held:
            plan = {"agreement": agreement.to_json(), "out": str(place / "out"), "shards": []}
            first = held.run({**plan, "ways": ["ours"], "rounds": 0})
            megabytes = first["bytes"]["ours"] / 1e6
            peaks = {name: round(peak) for name, peak in sorted(held.peaks.items())}
            found["memory"][f"{megabytes:.0f} MB"] = peaks
            if size == sizes[-1]:
                files = sorted(map(str, (place / "node" / "kept").glob("encodings-*/*.safetensors")))
                figures = held.run({**plan, "shards": files, "ways": ways, "rounds": rounds})
                seconds, used = figures["seconds"], figures["processor"]
                for name in ways:
                    found[f"{name} MB/s"] = round(megabytes / median(seconds[name]), 2)
                    if name == "ours":
                        continue
                    found[f"ours over {name}"] = {
                        "wall": _over(seconds[name], seconds["ours"]),
                        "wall, without the description": _over(
                            seconds[name], [a - b for a, b in zip(seconds["ours"], figures["described"], strict=True)]
                        ),
                        "processor, of all processes": _over(used[name], used["ours"]),
                    }
                found |= {"shards": len(files), **figures}
                found["processor seconds of a plain message"] = {"shard": median(used["plain"]) / len(files)}
                for name, count in CARRIED.items():
                    (place / name).write_bytes(bytes(count))
                    few = held.run({**plan, "shards": [str(place / name)] * len(files), "ways": ["plain"], "rounds": 1})
                    seconds_each = few["processor"]["plain"][0] / len(files)
                    found["processor seconds of a plain message"][name] = seconds_each
    return found


def _over(one: list[float], other: list[float]) -> float:
    return round(median(a / b for a, b in zip(one, other, strict=True)), 3)


def _asked(agreement: Agreement, kind: str, model: Any = None, **numbers: int) -> Message:
    words = {"config": {"agreement": agreement.to_json()}}
    return Message(kind, {} if model is None else {"model": model}, {"config": {"round": 0, **numbers}}, words)


def serialised(message: Message) -> int:
    """Write a message as Flower does: every object with its checksum."""
    with no_object_id_recompute():
        return sum(len(each.deflate()) for each in get_all_nested_objects(content(message)).values())


def gated(settings: PartySettings, asked: Message, made: Message) -> Callable[[], None]:
    """Give a function that passes an answer of an app through a node's gate, whose network is left out."""
    question = make_message(Metadata(1, "", 1, 7, "", "", 1e9, 1e9, asked.kind), content(asked))
    question.metadata.__dict__["_message_id"] = question.object_id
    reply = FlowerMessage(content(made), reply_to=question)
    reply.metadata.__dict__["_message_id"] = reply.object_id
    with no_object_id_recompute():
        tree = get_object_tree(reply)
        parts = {name: each.deflate() for name, each in get_all_nested_objects(reply).items()}
        known = {name: each.deflate() for name, each in get_all_nested_objects(question).items()}
    left: list[FlowerMessage] = []

    def send(message: FlowerMessage, tree: Any, seconds: float) -> tuple[set[str], str]:
        left.append(message)
        return set(get_all_nested_objects(message)), "session"

    def nothing(*_: Any) -> Any: ...

    connection = Connection(7, nothing, send, nothing, nothing, nothing, nothing, nothing)
    node = GatedConnection(connection, settings, {question.object_id: question}, known)

    def passed() -> None:
        _, session = node.send(reply, tree, 0.1)
        for name, part in parts.items():
            node.push_object(1, session, name, part)
        if left.pop().has_error():
            raise RuntimeError("the gate lets nothing leave: see its log")

    return passed


def _policy(agreement: Agreement, scheme: str, folder: Path) -> Path:
    """Write a policy that allows what is measured, without inspections, which are the owner's to add."""
    folder.mkdir(parents=True)
    said = template(agreement, scheme, 1 << 20, 10).splitlines()
    (folder / "policy.toml").write_text("\n".join("inspect = []" if "inspect =" in line else line for line in said))
    return folder / "policy.toml"


def gate(folder: Path, rounds: int) -> dict[str, Any]:
    """Compare the gate with the messages that it lets through."""
    data = random_images(folder, SHARD_ROWS)
    found: dict[str, Any] = {}
    agreement, images = Plan(data, SCHEME, "encodings", "lenet", parties=1).agreement()
    policy = _policy(agreement, SCHEME, folder / "policy")
    settings, numbers = PartySettings(data, folder / "shards", policy=policy), iter(range(1 << 20))
    asked, shard = _asked(agreement, DESCRIBE), _asked(agreement, SHARD, shard=0)
    Gate.of(settings, asked).passed(asked, answer(asked, settings))
    made = answer(shard, settings)
    scheme = next(iter(schemes(SCHEME).values()))
    clock = Clock.of(
        rounds,
        encode=lambda: write_release(scheme, images, None, seeded(0), folder / f"encoded-{next(numbers)}"),
        read=lambda: answer(shard, settings),
        serialise=lambda: serialised(made),
        check=lambda: Gate.of(settings, shard).passed(shard, replace(made)),  # anew: it keeps its checksums
        gate=gated(settings, shard, made),
    )
    found["shard"] = {
        "MB": round(made.size() / 1e6, 1),
        "over encoding, reading and serialising": clock.ratio("gate", "encode", "read", "serialise"),
        "over reading and serialising": clock.ratio("gate", "read", "serialise"),
        "milliseconds of the processor": _milliseconds(clock),
    }
    for name, chain, model, steps in (
        ("update of lenet, one step of 16 images", "none", "lenet", 1),
        ("update of small-resnet, four steps of 16, pruned", "gradient-pruning:p=0.9", "small-resnet", 4),
    ):
        agreement, _ = Plan(data, chain, "gradients", model, parties=1, local_steps=steps).agreement()
        allowed = _policy(agreement, chain, folder / f"{model}-policy")
        found[name] = _gate_of_updates(agreement, replace(settings, folder=folder / model, policy=allowed), rounds)
    return found


def _gate_of_updates(agreement: Agreement, settings: PartySettings, rounds: int) -> dict[str, Any]:
    server = Server(agreement, ServerSettings(settings.folder / "server", seed=0), Here(settings))
    asked = _asked(agreement, UPDATE, server.initial_state())
    made = answer(asked, settings)
    clock = Clock.of(
        rounds,
        make=lambda: answer(asked, settings),
        serialise=lambda: serialised(made),
        check=lambda: Gate.of(settings, asked).passed(asked, replace(made)),
        gate=gated(settings, asked, made),
    )
    return {
        "MB": round(made.size() / 1e6, 2),
        "over making and serialising": clock.ratio("gate", "make", "serialise"),
        "milliseconds of the processor": _milliseconds(clock),
    }


def _milliseconds(clock: Clock) -> dict[str, float]:
    return {name: round(1e3 * median(seconds), 1) for name, seconds in clock.processor.items()}


def server(folder: Path, count: int, epochs: int, rounds: int) -> dict[str, Any]:
    """Compare the server, once all encodings are there, with training on the same rows in memory."""
    data = random_images(folder, count)
    agreement, _ = Plan(data, SCHEME, "encodings", "small-resnet", parties=1).agreement()
    here, numbers = Here(PartySettings(data, folder / "party")), iter(range(1 << 20))
    settings = ServerSettings(folder / "out", least=1, epochs=epochs, seed=0)
    rows = collected(Server(agreement, settings, here), 0)

    def ours() -> None:
        out = folder / f"out-{next(numbers)}"
        out.mkdir()
        (out / "pool").symlink_to(folder / "out" / "pool")
        run_encodings(Server(agreement, replace(settings, out=out), here))

    def central() -> None:
        batch = min(settings.batch, max(1, len(rows) // 8))
        training = replace(
            automatic(len(rows)), epochs=epochs, batch=batch, optimiser=SGD(0.1 * batch / 128, 0.9, 5e-4)
        )
        learn(Plain(rows, agreement.encoding), agreement.model, training, chance=seeded(0))

    clock = Clock.of(rounds, ours=ours, central=central)
    return {
        "rows": count, "epochs": epochs, "MB": round(rows.images.nbytes / 1e6),
        "over central training": clock.ratio("ours", "central"),
        "seconds of the processor": {name: round(median(each), 2) for name, each in clock.processor.items()},
    }  # fmt: skip


def rows(folder: Path, count: int, epochs: int, seeds: int) -> dict[str, Any]:
    """Count the bytes of rows of every kind, and train on them."""
    whole = normalise(load("mnist"), "channel")
    test = normalise(load("mnist?split=test"), whole.normalisation).take(slice(0, 2000))
    images = whole.take(slice(0, count))
    raw = images.pixels().numel()  # bytes of uint8 images
    found: dict[str, Any] = {"images": count, "epochs": epochs, "model": "lenet"}
    for name in ("mixup:k=2",):
        for kind in ("float32", "float16", "int8"):
            scheme = next(iter(schemes(f"{name}:rows={kind}").values()))
            accuracies = []
            for seed in range(seeds):
                place = folder / f"{name}-{kind}-{seed}".replace(":", "-")
                write_release(scheme, images, None, seeded(seed), place)
                release = read_release(place)
                learnt = learn(
                    Plain(release.encoded, release.scheme), "lenet", Training(epochs, 32, SGD(0.03, 0.9, 5e-4)),
                    test=test, chance=seeded(seed),
                )  # fmt: skip
                accuracies.append(float(learnt.history[-1]["test_accuracy"]))
            shipped = sum(path.stat().st_size for path in place.iterdir())
            found[f"{name}, {kind}"] = {
                "bytes over uint8 images": round(shipped / raw, 3),
                "accuracy": round(mean(accuracies), 4),
                "deviation of seeds": round(stdev(accuracies), 4) if seeds > 1 else None,
            }
    return found


def updates(folder: Path) -> dict[str, Any]:
    """Count the bytes of an update as it is carried, with and without defences."""
    data = random_images(folder, 64)
    found: dict[str, Any] = {}
    for model in ("lenet", "small-resnet"):
        for chain in ("none", "gradient-pruning:p=0.9", "gradient-pruning:p=0.99", "sign", "quantised:bits=8",
                      "quantised:bits=2", "gradient-noise"):  # fmt: skip
            agreement, _ = Plan(data, chain, "gradients", model, parties=1, local_steps=1, buffers=False).agreement()
            settings = PartySettings(data, folder / "party")
            state = Server(agreement, ServerSettings(folder / "out", seed=0), Here(settings)).initial_state()
            made = answer(_asked(agreement, UPDATE, state), settings)
            start = time.process_time()
            size = serialised(made)
            seconds = time.process_time() - start
            dense = sum(tensor.nbytes for tensor in made.tensors["update"].values())
            found[f"{model}, {chain}"] = {
                "bytes": size, "over the trained weights": round(size / dense, 4),
                "milliseconds to serialise": round(1e3 * seconds, 1),
            }  # fmt: skip
    return found


def report(found: Mapping[str, Any]) -> Iterator[str]:
    """Say what was measured and what was to be reached."""
    for part, figures in found.items():
        if isinstance(figures, dict):
            yield f"{part}:"
            for name, value in figures.items():
                yield f"  {name}: {value}"
    yield ""
    if "shipping" in found:
        for how, value in found["shipping"]["ours over plain"].items():
            yield _line(f"encodings over plain messages ({how})", value, "shipping")
    if "server" in found:
        yield _line("server over central training", found["server"]["over central training"]["processor"], "server")
    for name, figures in found.get("gate over the message", {}).items():
        yield _line(f"gate over the message, made, carried and received, {name}", figures["gate"], "gate")


def over_the_message(found: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the gate with all that a message takes: to make it, to carry it, to receive it."""
    carried = found.get("shipping", {}).get("processor seconds of a plain message", {})
    whole: dict[str, Any] = {}
    for name, figures in found.get("gate", {}).items():
        kind = next((kind for kind in carried if name.startswith(kind)), None)
        if kind is not None:
            spent = figures["milliseconds of the processor"]
            message = sum(spent[part] for part in ("encode", "read", "make") if part in spent) + 1e3 * carried[kind]
            whole[name] = {part: round(spent[part] / message, 4) for part in ("gate", "check")}
            whole[name]["milliseconds of the message"] = round(message)
    return whole


def _line(what: str, value: float, reach: str) -> str:
    bound = "at least" if reach == "shipping" else "at most"
    reached = value >= REACH[reach] if bound == "at least" else value <= REACH[reach]
    return f"{'reached' if reached else 'MISSED '}  {what}: {value:.3f} ({bound} {REACH[reach]})"


def main() -> None:
    """Measure, say it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer bytes, rows and rounds, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file; parts that were not run are kept")
    parser.add_argument("--only", nargs="*", help="parts to run")
    asked, quick = (given := parser.parse_args()), given.quick
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    torch.set_num_threads(1)
    parts: dict[str, Callable[[Path], dict[str, Any]]] = {
        "updates": updates,
        "gate": lambda folder: gate(folder, 3 if quick else 15),
        "server": lambda folder: server(folder, 1280 if quick else 5120, 1 if quick else 3, 1 if quick else 3),
        "rows": lambda folder: rows(folder, *((500, 2, 1) if quick else (2000, 8, 3))),
        "shipping": lambda folder: shipping(folder, [2] if quick else [2, 8], 1 if quick else 3, ["plain", "ours"]),
    }
    kept = json.loads(asked.json.read_text()) if asked.json and asked.json.exists() else {}
    found: dict[str, Any] = {**kept, "torch": torch.__version__, "threads": 1, "quick": quick}
    for name, run in parts.items():
        if not asked.only or name in asked.only:
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                found[name] = {**run(Path(folder)), "took": round(time.perf_counter() - start)}
            found["gate over the message"] = over_the_message(found)
            if asked.json:
                asked.json.write_text(json.dumps(found, indent=1) + "\n")
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
