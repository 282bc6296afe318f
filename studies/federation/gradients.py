"""The protocol *gradients*: FedAvg as it is, with pruned updates, and on images that InstaHide encodes in every round.

Beside the accuracy: what the server could reconstruct of a party, from the updates that it recorded.

    python studies/federated.py --only gradients
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from federation import digits
from federation.leakage import attacked, leaks, received, worst
from federation.picture import Point
from federation.running import Federation
from ledger import Ledger, Trial, table

from hideseek.federate.agreement import Agreement
from hideseek.federate.server import ServerSettings
from hideseek.hide.files.schemes import to_json
from hideseek.hide.updates import ShareUpdates
from hideseek.hide.updates.chains import chains
from hideseek.records import Attack
from hideseek.seek import ATTACKS
from hideseek.seek.updates.gradient_matching import GradientMatching

MODELS = {"small-resnet": "small-resnet-absolute", "relu-dense": "relu-dense"}  # and what takes its place under masks
DEFENCES = {"none": "none", "pruning": "gradient-pruning:p=0.9", "instahide": "intra-instahide:k=4"}
WORDS = {"none": "none", "pruning": "pruning, p = 0.9", "instahide": "InstaHide, k = 4"}
BATCH, STEPS, RATE = 8, 4, 0.2
ROUNDS = {"cpu": {"small-resnet": 12, "relu-dense": 25}, "paper": {"small-resnet": 200, "relu-dense": 200}}
ATTACKED = 0  # the party whose updates are attacked
MATCHING = {"small-resnet": 60, "relu-dense": 150}  # steps of gradient matching


@dataclass(frozen=True)
class Cell:
    """A network, a defence, and how images are dealt out."""

    model: str
    defence: str
    split: str
    seed: int = 0

    @property
    def name(self) -> str:
        """Name its trial."""
        return f"gradients: {self.model}, {self.defence}, {self.split}, seed {self.seed}"

    @property
    def scheme(self) -> ShareUpdates:
        """Give the client that defends itself so."""
        encoding, defences = next(iter(chains(DEFENCES[self.defence]).values()))
        model = MODELS[self.model] if encoding is not None else self.model
        return ShareUpdates(model, BATCH, STEPS, 1, RATE, "weights", encoding=encoding, defences=defences)

    def attacks(self, rounds: int) -> dict[str, tuple[Attack[Any], list[int]]]:
        """Give the attacks that apply, and the rounds whose updates each takes.

        Deviation: decoding, which solves the rows of many rounds for the images in them, takes it that all images of a
        party are in every round, and refuses these updates, which are of a third of them.
        """
        some = [1, rounds] if self.model == "small-resnet" else [1, rounds // 2, rounds]
        matching = ATTACKS["gradient-matching"]
        assert isinstance(matching, GradientMatching)  # noqa: S101 (for the type checker)
        shorter = replace(matching, optimiser=matching.optimiser.lowered(MATCHING[self.model]))
        found: dict[str, tuple[Attack[Any], list[int]]] = {"gradient-matching": (shorter, some)}
        if self.model == "relu-dense":
            found["first-layer"] = (ATTACKS["first-layer"], some)
        return found


def cells() -> Iterator[Cell]:
    """Give every cell."""
    for split, model, defence in product(digits.SPLITS, MODELS, DEFENCES):
        if split == "even" or defence != "pruning":
            yield Cell(model, defence, split)


def trials(scale: str) -> Iterator[Trial]:
    """Give every cell as a trial."""
    for cell in cells():
        rounds = ROUNDS[scale][cell.model]
        about = {
            "data": f"{digits.DATA}, {digits.IMAGES} images at {digits.SIDE}",
            "parties": digits.PARTIES,
            "alpha": digits.SPLITS[cell.split],
            "scheme": to_json(cell.scheme),
            "rounds": rounds,
            "attacks": {name: [repr(attack), taken] for name, (attack, taken) in cell.attacks(rounds).items()},
            "seed": cell.seed,
        }
        yield Trial("gradients", cell.name, about, partial(measured, cell, rounds), judged=True)


def measured(cell: Cell, rounds: int) -> dict[str, Any]:
    """Run the federation, and attack what the server recorded of one party."""
    images, scheme = digits.private(), cell.scheme
    agreement = Agreement(
        "gradients", scheme.model, scheme, images.shape, images.classes, images.normalisation, rounds, size=digits.SIDE
    )
    with TemporaryDirectory() as folder:
        settings = ServerSettings(Path(folder) / "server", wait=0.0, record=True, seed=cell.seed)
        federation = Federation(
            digits.address(), digits.PARTIES, digits.SPLITS[cell.split], cell.seed, recording=(ATTACKED,)
        )
        outcome = federation.run(agreement, settings, digits.tested())
        found = {}
        for name, (attack, taken) in cell.attacks(rounds).items():
            release, secret = received(federation, outcome.out, ATTACKED, taken)
            found[name] = attacked(release, secret, attack, digits.others()) | {"rounds": taken}
        return outcome.figures(len(secret.private), found)


def tables(ledger: Ledger, scale: str) -> str:
    """Write accuracy and leakage of every cell."""
    rows = []
    for cell in cells():
        found = ledger.results(cell.name)
        if found is not None:
            accuracy = f"{found['accuracy']:.1f}"
            traffic = f"{found['megabytes in']:.0f}"
            rows.append([*_words(cell), accuracy, leaks(found) + ledger.mark(cell.name), traffic])
    heads = ["network", "defence", "split", "accuracy", "the server gets, of what it recorded of party 0", "MB in"]
    rounds = ROUNDS[scale]
    about = ABOUT.format(
        parties=digits.PARTIES, images=digits.IMAGES, side=digits.SIDE, together=BATCH * STEPS, batch=BATCH,
        steps=STEPS, rate=RATE, resnet=rounds["small-resnet"], dense=rounds["relu-dense"], tested=digits.TESTED,
        resnet_steps=MATCHING["small-resnet"], dense_steps=MATCHING["relu-dense"],
    )  # fmt: skip
    return f"{about}\n{table(heads, rows)}"


ABOUT = """\
## The protocol *gradients*: FedAvg, with and without InstaHide

{parties} parties have {images:,} digits of MNIST at {side} × {side} pixels, dealt out evenly (100 each) or by
Dirichlet(0.3) of every class. In every round each party takes {steps} local steps of {batch} of its images, drawn anew
({together} an update), at the rate {rate}, and sends its weights; the server averages them by Flower's FedAvg.
{resnet} rounds of the small ResNet (on absolute values under InstaHide's masks), {dense} of a network of three dense
layers. Tested with {tested:,} digits. *Pruning* keeps the largest tenth of every tensor. *InstaHide* is
intra-instahide, k = 4: images are encoded anew in every round, under fresh keys. One seed.

Attacked is what the server recorded of party 0: updates of the first and the last round, behind dense layers of the
middle one, too. For every attack: the share of guesses, in %, that are re-identified in a gallery of the party's digits
and as many others / recovered; in brackets what the best baseline has, which does not look at updates. An update of
mixtures holds nearly all images of the party, so that its baseline is high. Attackers have 2,000 digits of their own.

What falls short: gradient matching takes {resnet_steps} steps behind the small ResNet and {dense_steps} behind dense
layers, where its default is 600: what it gets is a lower bound. Attacks that decode InstaHide's rows of many rounds
take it that all images of a party are in every round; here an update is of a third of them, and they do not apply. That
no guess beats its baseline is therefore no proof that nothing leaks.
"""


def _words(cell: Cell) -> tuple[str, str, str]:
    return cell.model, WORDS[cell.defence], cell.split


def points(ledger: Ledger) -> Iterator[Point]:
    """Give every cell as a point of the picture."""
    for cell in cells():
        found = ledger.results(cell.name)
        if found is not None:
            model, defence, split = _words(cell)
            plain = "FedAvg" if defence == "none" else f"FedAvg, {defence}"
            label = f"{plain}, {model}, {split} ({worst(found).attack})"
            yield Point(digits.PANEL, "gradients", label, 100 * worst(found).share, found["accuracy"])
