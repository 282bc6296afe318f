"""Faults and enemies: what one of ten parties that fails or cheats costs, and what thirty parties take.

python studies/federated.py --only faults
python studies/federated.py --only hostile
python studies/federated.py --only bounds
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
from federation import bounds
from federation.local import IMAGES, MODEL, ODD, PARTIES, TESTED, Behaviour, Local, agreed, flipped, server
from ledger import Ledger, Trial, shown, table

from hideseek.federate.encodings import collected, run_encodings
from hideseek.federate.flower.strategies import FlowerAggregate
from hideseek.federate.gradients import Received, State, run_gradients
from hideseek.federate.messages import CONFIG, SHARD, UPDATE, Message, number
from hideseek.federate.metrics import read_metrics
from hideseek.hide import Mixup, RecipeEncoder
from hideseek.hide.updates import ShareUpdates

SEEDS = (0, 1, 2)
ROUNDS, EPOCHS = 10, 10
UPDATES = ShareUpdates(MODEL, batch=16, local_steps=7, rate=0.1, sends="weights", mode="eval")  # all 100 digits once
MIXED = Mixup(k=2)
SIZE = {"bounds": {"parties": 30, "rounds": 50, "images": 3000}}
FAULTS = {
    "none": "no fault",
    "nine": "nine parties, the tenth never connected",
    "never": "one never answers",
    "leaves": "one vanishes in the middle",
    "returns": "one vanishes and comes back",
    "killed": "the server is killed in the middle, and started again",
}
ENEMIES = {
    "honest": "nobody",
    "flipped": "update × (−10)",
    "labels": "labels 9 − d",
    "noise": "noise of 10 times the norm",
}
STRATEGIES = ("fedavg", "trimmed-mean", "fedmedian", "krum", "multi-krum")


class KilledError(Exception):
    """The server is gone."""


class Killed(FlowerAggregate):
    """Ends the server in the middle of a round."""

    def __call__(self, round_: int, state: State, received: Sequence[Received]) -> State:
        """Raise in the round after the middle."""
        if round_ == ROUNDS // 2 + 1:
            raise KilledError
        return super().__call__(round_, state, received)


def _absent(fault: str) -> Mapping[int, Behaviour]:
    """Give a party that is away: in which rounds of updates, or for which shards and how often."""
    away = {"never": range(ROUNDS + 1), "leaves": range(ROUNDS // 2, ROUNDS + 1), "returns": range(3, 7)}
    if fault not in away:
        return {}
    missed = 0

    def behave(asked: Message, honest: Any) -> Message | None:
        nonlocal missed
        if asked.kind == UPDATE:
            return None if number(asked, CONFIG, "round") in away[fault] else honest(asked)
        if fault == "never":
            return None
        if asked.kind == SHARD:
            missed += 1
            return None if fault == "leaves" or missed <= 2 else honest(asked)
        return honest(asked)  # type: ignore[no-any-return]

    return {ODD: behave}


def _faulty(scheme: ShareUpdates | RecipeEncoder, fault: str, seed: int) -> dict[str, Any]:
    """Run a federation with a fault, and tell how good its model is, and what was used twice."""
    folder = Path(tempfile.mkdtemp(prefix="hideseek-study-"))
    connected = tuple(place for place in range(PARTIES) if fault != "nine" or place != ODD)
    who = Local(agreed(scheme, ROUNDS), folder, seed, _absent(fault), connected=connected)
    try:
        if isinstance(scheme, ShareUpdates):
            if fault == "killed":
                with suppress(KilledError):
                    run_gradients(server(folder / "out", who), Killed("fedavg"))
            run_gradients(server(folder / "out", who), FlowerAggregate("fedavg"))
            used = [(each["round"], party) for each in read_metrics(folder / "out")[1:] for party in each["parties"]]
            what = {"updates": len(used), "twice": len(used) - len(set(used))}
        else:
            run = partial(server, folder / "out", who, epochs=EPOCHS)
            if fault == "killed":
                _killed_while_collecting(folder, who)
            run_encodings(run())
            rows = collected(run(), 0).images.flatten(1)
            what = {"rows": len(rows), "twice": len(rows) - len(rows.unique(dim=0))}
        return {"accuracy": 100 * read_metrics(folder / "out")[-1]["test_accuracy"], **what}
    finally:
        shutil.rmtree(folder)


def _killed_while_collecting(folder: Path, who: Local) -> None:
    def kill(asked: Message, honest: Any) -> Message | None:
        if asked.kind == SHARD:
            raise KilledError
        return honest(asked)  # type: ignore[no-any-return]

    first = Local(who.agreement, who.folder, who.seed, {PARTIES // 2: kill})
    with suppress(KilledError):
        run_encodings(server(folder / "out", first, epochs=EPOCHS))


def _enemy(name: str, seed: int) -> Behaviour:
    """Give a party that changes its honest update."""

    def behave(asked: Message, honest: Any) -> Message | None:
        answer: Message = honest(asked)
        if asked.kind != UPDATE:
            return answer
        update = answer.tensors["update"]
        if name == "noise":
            drawn = torch.Generator().manual_seed(1000 * seed + int(number(asked, CONFIG, "round")))
            noise = {key: torch.randn(each.shape, generator=drawn) for key, each in update.items()}
            norm, length = (
                sum(float(each.square().sum()) for each in some.values()) ** 0.5 for some in (update, noise)
            )
            changed = {key: 10 * norm / length * each for key, each in noise.items()}
        else:
            changed = {key: -10 * each for key, each in update.items()}
        return Message(answer.kind, {"update": changed}, answer.numbers)

    return behave


def _hostile(enemy: str, strategy: str, seed: int) -> dict[str, Any]:
    """Run a federation with one enemy among ten parties."""
    folder = Path(tempfile.mkdtemp(prefix="hideseek-study-"))
    behaviours = {ODD: _enemy(enemy, seed)} if enemy in ("flipped", "noise") else {}
    changed = {ODD: flipped} if enemy == "labels" else {}
    who = Local(agreed(UPDATES, ROUNDS), folder, seed, behaviours, changed)
    try:
        run_gradients(server(folder / "out", who), FlowerAggregate(strategy))
        return {"accuracy": 100 * read_metrics(folder / "out")[-1]["test_accuracy"]}
    finally:
        shutil.rmtree(folder)


def trials(scale: str) -> Iterator[Trial]:
    """Give all measurements; their size is the same at every scale."""
    usual = {"parties": PARTIES, "images": IMAGES, "tested": TESTED, "model": MODEL, "rounds": ROUNDS}
    schemes: tuple[ShareUpdates | RecipeEncoder, ...] = (UPDATES, MIXED)
    for scheme, fault, seed in product(schemes, FAULTS, SEEDS):
        what = "gradients" if scheme is UPDATES else "encodings"
        settings = {**usual, "protocol": what, "fault": fault, "seed": seed}
        yield Trial("faults", f"faults: {what}, {fault}, seed {seed}", settings, partial(_faulty, scheme, fault, seed))
    for seed, enemy, strategy in product(SEEDS, ENEMIES, STRATEGIES):
        settings = {**usual, "enemy": enemy, "strategy": strategy, "seed": seed}
        name = f"hostile: {enemy}, {strategy}, seed {seed}"
        yield Trial("hostile", name, settings, partial(_hostile, enemy, strategy, seed))
    size = SIZE["bounds"]
    yield Trial("bounds", "bounds: 30 parties, 50 rounds", size, partial(bounds.measured, **size))


def tables(ledger: Ledger, scale: str) -> str:
    """Give the tables of faults, of enemies, and of what thirty parties take."""
    said = [f"{IMAGES:,} digits of MNIST among {PARTIES} parties, {MODEL}, accuracy on {TESTED:,} others in %, over"]
    said[0] += f" {len(SEEDS)} seeds; {ROUNDS} rounds of fedavg, or Mixup of k = 2 sent once and {EPOCHS} epochs.\n"
    rows = []
    for fault, words in FAULTS.items():
        found = {what: _all(ledger, f"faults: {what}, {fault}") for what in ("gradients", "encodings")}
        twice = sum(each["twice"] for some in found.values() for each in some)
        cells = [shown([each["accuracy"] for each in some]) for some in found.values()]
        used = [_used(some, unit) for some, unit in zip(found.values(), ("updates", "rows"), strict=True)]
        rows.append([words, *cells, *used, str(twice)])
    heads = ["fault", "gradients", "encodings", "updates used", "rows used", "used twice"]
    said += ["### One of ten parties, or the server, fails\n", table(heads, rows)]
    rows = [
        [
            words,
            *(shown([each["accuracy"] for each in _all(ledger, f"hostile: {enemy}, {name}")]) for name in STRATEGIES),
        ]
        for enemy, words in ENEMIES.items()
    ]
    said += ["### One of ten parties is hostile\n", table(["what it sends", *STRATEGIES], rows)]
    if (thirty := ledger.results("bounds: 30 parties, 50 rounds")) is not None:
        said += ["### 30 parties, 50 rounds, by Flower's simulation\n"]
        said += [table(["measured", ""], [[name, f"{value:,}"] for name, value in thirty.items()])]
    return "\n".join(["## Faults and enemies\n", *said])


def _all(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    return [found for seed in SEEDS if (found := ledger.results(f"{name}, seed {seed}")) is not None]


def _used(found: Sequence[Mapping[str, Any]], unit: str) -> str:
    return " / ".join(sorted({str(each[unit]) for each in found})) or "–"
