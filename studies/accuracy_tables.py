"""The tables, the fit and the picture of `accuracy_over_compute.py`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np
from ledger import HERE, Ledger, Trial, shown, table
from matplotlib.artist import Artist
from verdicts import verdict

TITLE = "Accuracy over compute"
NAMES = {"pneumoniamnist": "PneumoniaMNIST", "two-class": "CIFAR-10, two classes", "cifar10": "CIFAR-10"}
FACTORS = (1, 3, 9, 27)
WAYS = ("vanilla", "inside, k=4", "cross, k=4")
HIDDEN = WAYS[1:]
CLAIMED = {
    "vanilla": 94.8,
    "inside, k=4": 91.2,
    "inside, k=4 hidden": 91.4,
    "cross, k=4": 90.7,
    "cross, k=4 hidden": 90.3,
}
ENOUGH = 1.0  # points that three times the compute may still add at a plateau
FLAT = 0.1  # exponents up to which a gap does not fall: three times the compute take less than a tenth off
PRIVATE = "privacy_utility-cpu.json"  # where DP-SGD on public features is measured
BEFORE = "instahide-cpu.json"  # where the earlier training is, in Table 2
PUBLISHED = (("accuracy", ""), ("hidden accuracy", ", in inference"))  # ways to ask that the paper has
ASKED = (*PUBLISHED, ("weighted accuracy", ", in inference, weighted"))
Key = tuple[str, str, int]  # set, way, factor

ABOUT = """Everybody gets the same number of images and steps; 1× is five epochs of CIFAR-10 (250,000 images; 50,000 of
the two smaller sets), as in Table 2 of `instahide.py`. Vanilla and hidden rows are trained alike: Muon, one warm-up and
half a cosine; images and rows of CIFAR-10 are shifted and mirrored, as in InstaHide's published code. Multiply-adds are
those of the network, three times for every image, and of the optimiser's products; they are in `{name}.json` for every
training, with its settings, seed and commit. Accuracies on test images in %; "in inference": the mean over ten
encodings of the image, as in the paper; "weighted": the same answers, joined by how much of each encoding is the image
(`hideseek.learn.predict`). A dash is a cell that is not measured yet.
"""
RECIPES = """*earlier*: the network on |x|, SGD at a rate of 0.1; its first seed is that of Table 2
(`instahide-cpu.json`), of which weighted answers were not asked. *today*: `small-resnet-masked` (|x| standardised image
by image, a first convolution that begins as cosines, 88 channels in the end in place of 96, which pays for the
optimiser's products) under Muon. Both see the same number of rows, and the same number of steps is taken. Choices were
made on 5,000 training images that were held out, in trainings of two epochs on the others (`--only choice` repeats the
main ones); test images were asked about in the trainings of these tables alone.
"""
PRE_TRAINED = """The paper's row stands under its assumption A1, "using a labelled public dataset for pre-training". So
does this one: DP-SGD of a linear model, through `learn` and Opacus, on features of EfficientNet-Lite0, which was
trained on ImageNet, at ε = 3 and δ = 1e-5 (the paper names no ε). It is measured by `privacy_utility.py`, on
10,000 images; InstaHide's rows above begin from random weights, so that the two do not compare.
"""


def results(ledger: Ledger, name: str, way: str, factor: int, which: str = "accuracy") -> list[float]:
    """Give what the seeds of a point measured."""
    found = (ledger.results(f"{name}: {way}, {factor}x, seed {seed}") for seed in range(9))
    return [result[which] for result in found if result and which in result]


def fitted(compute: Sequence[float], gaps: Sequence[float]) -> tuple[float, float] | None:
    """Fit gap = a · compute^(−b) by least squares of logarithms; None where there are no two positive gaps.

    >>> a, b = fitted([1, 3, 9], [16, 8, 4])
    >>> round(a, 3), round(b, 3)
    (16.0, 0.631)
    """
    pairs = [(c, gap) for c, gap in zip(compute, gaps, strict=True) if gap > 0]
    if len(pairs) < 2:
        return None
    logs = np.log(np.array(pairs))
    slope, offset = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(np.exp(offset)), float(-slope)


def gaps(ledger: Ledger, name: str, way: str, which: str) -> dict[int, float]:
    """Give what hiding costs at every factor where vanilla is measured, too."""
    found = {}
    for factor in FACTORS:
        vanilla, hidden = results(ledger, name, "vanilla", factor), results(ledger, name, way, factor, which)
        if vanilla and hidden:
            found[factor] = mean(vanilla) - mean(hidden)
    return found


def recipes(ledger: Ledger, works: Mapping[str, float]) -> str:
    """Set the two trainings of hidden rows side by side; the first seed of each is a cell of another table, too."""
    table_2 = Ledger.open(HERE / "results" / BEFORE, "")
    firsts = {
        "earlier": table_2.results("cifar10: inside, k=4, seed 0"),
        "today": ledger.results("cifar10: inside, k=4, today, seed 0"),
    }
    rows = []
    for recipe, first in firsts.items():
        others = [ledger.results(f"cifar10: inside, k=4, {recipe}, seed {seed}") for seed in range(1, 9)]
        found = [result for result in (first, *others) if result]
        cells = [shown([each[which] for each in found if which in each]) for which, _ in ASKED]
        rows.append([recipe, *cells, str(len(found)), f"{works[recipe] / 1e12:.2f}"])
    heads = ["training", "asked plainly", "in inference", "weighted", "seeds", "10¹² multiply-adds"]
    return table(heads, rows)


def choice(ledger: Ledger, trials: Sequence[Trial]) -> str:
    """Give what each change is worth on images that were held out of the training set."""
    rows = []
    for each in trials:
        if each.item == "choice" and (found := ledger.results(each.name)):
            name = each.name.removeprefix("held-out: ").removesuffix(", seed 0")
            rows.append([name, *(shown([found[which]]) if which in found else "" for which, _ in PUBLISHED)])
    return table(["held-out images, two epochs", "asked plainly", "in inference"], rows) if rows else ""


def curve(ledger: Ledger, name: str) -> str:
    """Give the accuracies of a set, a row for every way and question."""
    rows = []
    for way in WAYS:
        for which, label in ASKED:
            cells = [shown(results(ledger, name, way, factor, which)) for factor in FACTORS]
            if any(cell != "–" for cell in cells):
                rows.append([way + label, *cells])
    return table(["", *(f"{factor}×" for factor in FACTORS)], rows) if rows else "Nothing is measured yet.\n"


def not_augmented(ledger: Ledger) -> str:
    """Say what vanilla training comes to on images as they are."""
    found = {factor: results(ledger, "cifar10", "vanilla, not augmented", factor) for factor in FACTORS}
    said = [f"{shown(values)} at {factor}×" for factor, values in found.items() if values]
    return f"Vanilla on images that are neither shifted nor mirrored: {', '.join(said)}.\n" if said else ""


def fit(ledger: Ledger, name: str) -> str:
    """Say how the gap falls with compute."""
    lines = []
    for way in HIDDEN:
        for which, label in ASKED:
            found = gaps(ledger, name, way, which)
            law = fitted(list(found), list(found.values()))
            if law is None:
                continue
            a, b = law
            halves = f"it halves with every {2 ** (1 / b):,.1f}-fold compute" if b > FLAT else "it does not fall"
            points = f"{len(found)} points" + (", which any such law fits" if len(found) == 2 else "")
            lines.append(f"- {way}{label}: the gap is {a:.1f} · factor^({-b:.2f}), {halves} ({points}).")
    return "\n".join(lines) + "\n" if lines else "There are no two factors yet to fit the gap by.\n"


def plateau(ledger: Ledger, name: str) -> str:
    """Say which curves are at their end: three times the compute adds less than a point."""
    said = []
    for way in WAYS:
        found = [(factor, mean(each)) for factor in FACTORS if (each := results(ledger, name, way, factor))]
        if len(found) < 2:
            continue
        (_, before), (factor, last) = found[-2:]
        at_end = "at its plateau" if last - before < ENOUGH else "not at its plateau"
        said.append(f"{way} is {at_end} ({last - before:+.1f} points from {found[-2][0]}× to {factor}×)")
    return ("\n" + ". ".join(said) + ".\n") if said else ""


def verdicts(ledger: Ledger) -> str:
    """Judge the paper's cells of CIFAR-10 at the largest factor that is measured."""
    rows = []
    for way in HIDDEN:
        for which, label in PUBLISHED:
            found = gaps(ledger, "cifar10", way, which)
            if not found:
                continue
            factor = max(found)
            vanilla, ours = (
                mean(results(ledger, "cifar10", "vanilla", factor)),
                results(ledger, "cifar10", way, factor, which),
            )
            claim = CLAIMED[way + (" hidden" if label else "")]
            said = verdict(claim, mean(ours), CLAIMED["vanilla"], vanilla)
            rows.append(
                [
                    way + label,
                    f"{factor}×",
                    f"{CLAIMED['vanilla'] - claim:.1f}",
                    f"{found[factor]:.1f}",
                    f"{vanilla:.1f}",
                    said,
                ]
            )
    return table(["", "compute", "paper lost", "lost here", "vanilla here", ""], rows) if rows else ""


def private(path: Path) -> str:
    """Give DP-SGD on public features from the study that measures it."""
    ledger = Ledger.open(path, "") if path.exists() else Ledger(path, "")
    rows = []
    for name, claim in (("cifar10", "72.0"), ("mnist", "98.1"), ("pneumoniamnist", "")):
        found = (ledger.results(f"{name}: dp-sgd, ε = 3, seed {seed}") for seed in range(9))
        values = [100 * each["accuracy"] for each in found if each]
        rows.append([name, claim, shown(values), str(len(values))])
    return table(["dp-sgd, ε = 3", "paper", "here", "seeds"], rows)


def missing(ledger: Ledger, trials: Sequence[Trial]) -> str:
    """Name the cells that are not measured yet, and the command that goes on."""
    left = [each.name for each in trials if not ledger.has(each)]
    if not left:
        return "Everything is measured.\n"
    names = "\n".join(f"- {name}" for name in left)
    return (
        f"{len(left)} of {len(trials)} trainings are not measured yet. `python studies/accuracy_over_compute.py` goes"
        f" on with them, one after another; `--only 1x`, `3x`, `9x` or `27x` with those of one step:\n\n{names}\n"
    )


def draw(ledger: Ledger, path: Path) -> bool:
    """Draw accuracy over compute, a panel for every set of which at least two factors are measured."""
    from matplotlib.figure import Figure

    sets = [name for name in NAMES if len({factor for _, factor, _ in points(ledger, name)}) > 1]
    if not sets:
        return False
    figure = Figure(figsize=(1 + 3.4 * len(sets), 3.6), dpi=120, layout="constrained")
    lines: dict[str, Artist] = {}
    for axes, name in zip(figure.subplots(1, len(sets), squeeze=False)[0], sets, strict=True):
        for way, colour in zip(WAYS, ("black", "tab:blue", "tab:orange"), strict=True):
            for (which, label), style in zip(ASKED, ("o-", "s--", "^:"), strict=True):
                found = [(factor, value) for row, factor, value in points(ledger, name, which) if row == way]
                if found:
                    (lines[way + label],) = axes.plot(*zip(*found, strict=True), style, color=colour)
        axes.set(title=NAMES[name], xlabel="compute", xscale="log", xlim=(0.8, 34))
        axes.set_xticks(FACTORS, [f"{factor}×" for factor in FACTORS])
        axes.minorticks_off()
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("test accuracy (%)")
    figure.legend([*lines.values()], [*lines], loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    figure.savefig(path)
    return True


def points(ledger: Ledger, name: str, which: str = "accuracy") -> list[tuple[str, int, float]]:
    """Give what is measured of a set: way, factor, mean accuracy."""
    return [
        (way, factor, mean(found))
        for way in WAYS
        for factor in FACTORS
        if (found := results(ledger, name, way, factor, which))
    ]


def render(ledger: Ledger, path: Path, trials: Sequence[Trial], works: Mapping[str, float]) -> None:
    """Write the page and the picture; `works` are the multiply-adds of the two trainings."""
    picture = path.with_suffix(".png")
    parts = [
        f"# {TITLE}\n",
        ABOUT.format(name=path.stem),
        f"![Accuracy over compute]({picture.name})\n" if draw(ledger, picture) else "",
        f"## A training that suits hidden rows\n\nCIFAR-10, inside, k=4, at 1×.\n\n{recipes(ledger, works)}"
        if works
        else "",
        RECIPES if works else "",
        f"{choice(ledger, trials)}",
        *(
            f"## {title}\n\n{curve(ledger, name)}\n{fit(ledger, name)}{plateau(ledger, name)}"
            + (f"\n{not_augmented(ledger)}" if name == "cifar10" else "")
            for name, title in NAMES.items()
        ),
        f"## Against the paper\n\n{verdicts(ledger)}" if verdicts(ledger) else "",
        "No paper states what hiding costs on PneumoniaMNIST or on two classes of CIFAR-10: there is no verdict.\n",
        f"## DP-SGD with public pre-training\n\n{PRE_TRAINED}\n{private(HERE / 'results' / PRIVATE)}",
        f"## What is left\n\n{missing(ledger, trials)}",
    ]
    path.with_suffix(".md").write_text("\n".join(part for part in parts if part), "utf-8")
