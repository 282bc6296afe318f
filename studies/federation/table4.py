"""Table 4 of Singularized Mixup through the protocol *encodings*: 10, 20 and 30 parties, party 0 alone, and all united.

python studies/federated.py --only table4
python studies/federated.py --only flower
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from federation.leakage import worst
from federation.picture import Point
from federation.unions import ON_FLOWER, Cell, alone, cells, on_flower, party_alone, union
from ledger import Ledger, Trial, table
from singularized_features import BY_TAU, CLAIMED_TAU, EXTRACTOR, JOINED, MODEL, PARTIES, SCALES, TABLE_4, Hiding, Scale
from verdicts import comparable, verdict

WHOLE = (50_000, 10_000)  # images of CIFAR-10
CLAIMED = BY_TAU[CLAIMED_TAU].row  # of the rows that the paper trains on
PANEL = "features of CIFAR-10, 10 parties"


def trials(scale: str) -> Iterator[Trial]:
    """Give every cell: unions in this process, one of them on Flower, and party 0 alone."""
    size = SCALES[scale]
    for cell in cells():
        about = _settings(cell.hiding, size) | {"parties": cell.parties, "attacks": [*cell.attacks]}
        yield Trial("table4", cell.name, about, partial(union, cell, size), judged=bool(cell.attacks))
    about = _settings(ON_FLOWER.hiding, size) | {"parties": ON_FLOWER.parties, "by": "Flower's simulation"}
    yield Trial("flower", ON_FLOWER.name, about, partial(on_flower, ON_FLOWER, size))
    for parties in PARTIES:
        about = _settings(None, size) | {"parties": parties}
        yield Trial("table4", alone(parties), about, partial(party_alone, parties, size))


def _settings(hiding: Hiding | None, scale: Scale) -> dict[str, Any]:
    return {
        "data": "cifar10",
        "images": scale.images,
        "features": f"{EXTRACTOR} at {scale.side}, centred",
        "hiding": None if hiding is None else [hiding.kind, hiding.value],
        "model": MODEL,
        "training": repr(scale.local if hiding is None else scale.training["cifar10"]),
        "seed": 0,
    }


def tables(ledger: Ledger, scale: str) -> str:
    """Write Table 4, ours beside the paper's, and what it means."""
    size = SCALES[scale]
    train, test = (count or whole for count, whole in zip(size.images, WHOLE, strict=True))
    epochs = {"epochs": size.training["cifar10"].epochs, "local": size.local.epochs}
    said = [ABOUT.format(train=train, test=test, side=size.side, **epochs)]
    rows = []
    for parties in PARTIES:
        own = ledger.results(alone(parties))
        row = [str(parties), "–" if own is None else f"{own['accuracy']:.1f}"]
        for hiding in JOINED:
            found = ledger.results(Cell(parties, hiding).name)
            row.append("–" if found is None else _three(found))
        rows.append([*row, *(f"{each:.2f}" for each in TABLE_4[parties])])
    heads = ["parties", "party 0 alone", *(f"union, {hiding.row}" for hiding in JOINED), "paper: alone", "paper: union"]
    said += [table(heads, rows), *_verdicts(ledger), _on_flower(ledger), _leaks(ledger)]
    return "\n".join(part for part in said if part)


ABOUT = """\
## Table 4 of Singularized Mixup, through the protocol *encodings*

Each of 10, 20 or 30 parties encodes the features of its own images (EfficientNet-Lite0 at {side} pixels; {train:,}
images of CIFAR-10, dealt out evenly) with keys and a radius of its own, and sends shards through its gate. The server
checks, pools and shuffles them, trains the paper's classifier for {epochs} epochs (AdamW, cosine), tests it on clean
features of {test:,} other images, and hands it back. Parties bring features in a file (`npz:`), so that nobody takes
them twice. One seed. In each cell: the network, as it is / asked about features that are as long as the rows / class
means of the same pool (neither of the last two is the paper's; [the central study](singularized-cpu.md) explains
them). Party 0 alone trains on its features, unhidden, for {local} epochs. Accuracies in %.
"""


def _three(found: dict[str, Any]) -> str:
    return " / ".join(f"{found[key]:.1f}" for key in ("accuracy", "lengthened accuracy", "class means"))


def _verdicts(ledger: Ledger) -> Iterator[str]:
    """Set what joining gains beside what the paper says, by the rule of all studies."""
    for parties in PARTIES:
        claimed_alone, claimed = TABLE_4[parties]
        own, all_of_them = ledger.results(alone(parties)), {}
        for hiding in JOINED:
            if (found := ledger.results(Cell(parties, hiding).name)) is not None:
                all_of_them[hiding.row] = found["accuracy"]
        if own is None or not all_of_them:
            continue
        gained = "; ".join(f"{row} {value - own['accuracy']:+.1f}" for row, value in all_of_them.items())
        judged = verdict(claimed, all_of_them.get(CLAIMED, 0.0), claimed_alone, own["accuracy"])
        differs = f" (party 0 alone has {own['accuracy']:.1f} here and {claimed_alone:.2f} there)"
        near = "" if comparable(own["accuracy"], claimed_alone) else differs
        yield (
            f"- {parties} parties: the paper gains {claimed - claimed_alone:+.1f} points at τ = 1e-6;"
            f" **{judged}**{near}. Here joining gives party 0, by the network: {gained}."
        )


def _on_flower(ledger: Ledger) -> str:
    there = ledger.results(ON_FLOWER.name)
    here = ledger.results(Cell(ON_FLOWER.parties, ON_FLOWER.hiding).name)
    if there is None or here is None:
        return ""
    same = "the same model, bit by bit" if there["model"] == here["model"] else "another model"
    return (
        f"- The cell of {ON_FLOWER.parties} parties at {ON_FLOWER.hiding.row} was run once more by Flower's simulation,"
        f" with the same seed: {there['accuracy']:.2f} % there and {here['accuracy']:.2f} % in one process,"
        f" {same} (digests {there['model']} and {here['model']})."
    )


def _leaks(ledger: Ledger) -> str:
    """Write what the server gets of party 0's features."""
    rows = []
    for hiding in JOINED:
        name = Cell(PARTIES[0], hiding).name
        found = ledger.results(name)
        for attack, each in ((found or {}).get("attacks") or {}).items():
            figures = [each.get(key) for key in ("re-identified", "recovered", "correlation", "correlation, baseline")]
            shown = ["–" if value is None else f"{100 * value:.0f} %" for value in figures[:2]]
            shown += ["–" if value is None else f"{value:.2f}" for value in figures[2:]]
            knows = " and ".join(each.get("knows", [])) or "nothing"
            rows.append([hiding.row, attack, knows, *(text + ledger.mark(name) for text in shown)])
    if not rows:
        return ""
    heads = ["rows", "attack", "the server knows of each row", "re-identified", "recovered", "correlation", "baseline"]
    return f"\n{LEAKS}\n{table(heads, rows)}"


LEAKS = """\
What the server could get of party 0's 1,000 features, from its pool of ten parties. It has 2,000 features of other
images of the set, to learn what features are like. *Re-identified*: the guess points to its image in a gallery of
these 1,000 and as many others (chance: 0.05 %). *Recovered*: a correlation of 0.9 or more with the private features.
*Baseline*: the correlation of the best answer without the rows, such as the mean of the class.
"""


def points(ledger: Ledger) -> Iterator[Point]:
    """Give the cells of ten parties, as points of the picture."""
    for hiding in JOINED:
        found = ledger.results(Cell(PARTIES[0], hiding).name)
        if found is not None and "attacks" in found:
            best = max(found[key] for key in ("accuracy", "lengthened accuracy", "class means"))
            label = f"Singularized Mixup, {hiding.row} ({worst(found).attack})"
            yield Point(PANEL, "encodings", label, 100 * worst(found).share, best)
