"""The study as tables: the paper's figures beside ours, the order of defences, and what they cost."""

from collections.abc import Sequence
from itertools import product

from inversion import accuracy, epochs, floors, mnist, settings
from inversion.columns import BATCHES, COLUMNS, Attacker
from inversion.table5 import SETTINGS, WAYS, Setting, cell
from ledger import Ledger, table
from scipy.stats import spearmanr

FEWEST = 4  # columns whose order can be compared


def table5(ledger: Ledger, scale: str) -> str:
    """Write a table for each network, batch and attacker."""
    said = []
    for setting in SETTINGS[scale]:
        for batch in BATCHES:
            for attacker in setting.attackers:
                rows = [_row(ledger, setting.model, batch, attacker, name) for name in COLUMNS]
                if all(row[3] == row[5] == "–" for row in rows):
                    continue
                said.append(f"### {setting.model}, batch {batch}: the attacker knows {knows(setting, attacker)}\n")
                said.append(table(HEADS, rows))
                said.append(orders(ledger, setting.model, batch, attacker))
    return "\n".join(said)


WHO = {"strongest": "labels, batch-norm statistics and the mix", "realistic": "labels"}
WITHOUT_STATISTICS = "labels and the mix"  # the strongest, where there is no batch norm
HEADS = (
    "defence", "accuracy, paper", "LPIPS, paper", "LPIPS, published attack", "re-identified", "LPIPS, adaptive attack",
    "re-identified ",
)  # fmt: skip


def knows(setting: Setting, attacker: Attacker) -> str:
    """Say what an attacker on a network knows."""
    return WITHOUT_STATISTICS if len(setting.attackers) == 1 else WHO[attacker]


def _row(ledger: Ledger, model: str, batch: int, attacker: Attacker, name: str) -> list[str]:
    column = COLUMNS[name]
    paper = column.lpips.get((attacker, batch))
    row = [name, f"{column.accuracy:.1f}", "–" if paper is None else f"{paper[0]:.2f} ({paper[1]:.2f}, {paper[2]:.2f})"]
    for way in WAYS:
        title = cell(way, model, batch, attacker, name)
        found = ledger.results(title)
        if found is None:
            row += ["–", "–"]
            continue
        figures = f"{found['lpips']:.2f} ({found['best lpips']:.2f}, {found['lpips deviation']:.2f})"
        picked = found.get("re-identified")  # nobody is picked by guesses that name no image
        row += [figures + ledger.mark(title), "–" if picked is None else f"{100 * picked:.0f} %"]
    return row


def orders(ledger: Ledger, model: str, batch: int, attacker: Attacker) -> str:
    """Compare the order of defences with the paper's, by rank correlation: by LPIPS, and by how many are picked."""
    said = []
    for way in WAYS:
        cells = {name: ledger.results(cell(way, model, batch, attacker, name)) for name in COLUMNS}
        found = {name: each for name, each in cells.items() if each is not None}
        picked = {name: -each["re-identified"] for name, each in found.items() if "re-identified" in each}
        ranks = {
            "LPIPS": _rank(attacker, batch, {name: each["lpips"] for name, each in found.items()}),
            "re-identified": _rank(attacker, batch, picked),
        }
        said += [f"{way} attack, by {what}: {rank}" for what, rank in ranks.items() if rank]
    return f"Rank correlation with the paper's order of defences: {'; '.join(said)}.\n" if said else ""


def _rank(attacker: Attacker, batch: int, known: dict[str, float]) -> str:
    if len(known) < FEWEST:
        return ""
    paper = [COLUMNS[name].lpips[attacker, batch][0] for name in known]
    return f"{spearmanr(paper, list(known.values())).statistic:.2f} over {len(known)} columns"


def accuracies(ledger: Ledger) -> str:
    """Write what the defences cost."""
    base = ledger.results(accuracy.title("none"))
    rows = []
    for name, column in COLUMNS.items():
        found = ledger.results(accuracy.title(name))
        if found is not None and base is not None:
            lost, paper = base["accuracy"] - found["accuracy"], COLUMNS["none"].accuracy - column.accuracy
            rows.append([name, f"{column.accuracy:.1f}", f"{paper:.1f}", f"{found['accuracy']:.1f}", f"{lost:.1f}"])
    return table(("defence", "accuracy, paper", "lost, paper", "accuracy, here", "lost, here"), rows) if rows else ""


def plain(ledger: Ledger, heads: Sequence[str], titles: Sequence[tuple[str, str]], keys: Sequence[str]) -> str:
    """Write some figures of some trials."""
    rows = []
    for label, title in titles:
        found = ledger.results(title)
        if found is not None:
            rows.append([label, *(_shown(found.get(key)) + ledger.mark(title) for key in keys)])
    return table(heads, rows) if rows else ""


def _shown(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "–" if value is None else str(value)


def others(ledger: Ledger, scale: str) -> dict[str, str]:
    """Write the smaller tables, by their headings."""
    image_keys = ("lpips", "psnr", "ssim", "correlation")
    return {
        "Floors: LPIPS where nothing was recovered": plain(
            ledger, ("guess", "LPIPS", "best"), [(name, floors.title(name)) for name in floors.FLOORS],
            ("lpips", "best lpips"),
        ),
        "Figure 4: weights of total variation, single images": plain(
            ledger, ("α_TV", "LPIPS", "PSNR", "SSIM", "correlation"),
            [(f"{each:g}", settings.variation(each)) for each in settings.VARIATION], image_keys,
        ),
        "Figure 5: weights of batch-norm statistics, told by the attacker's own images; a batch of 16": plain(
            ledger, ("α_BN", "LPIPS", "PSNR", "SSIM", "correlation"),
            [(f"{each:g}", settings.statistics(each)) for each in settings.STATISTICS], image_keys,
        ),
        "Figure 8: digits behind the six-layer ConvNet, single images": plain(
            ledger, ("defence", "LPIPS", "PSNR", "SSIM", "correlation", "re-identified"),
            [(f"{name}, {way}", mnist.title(name, way)) for name, way in product(mnist.CASES, WAYS)],
            (*image_keys, "re-identified"),
        ),
        f"Leakage over epochs: batches of {epochs.BATCH}, undefended": plain(
            ledger, ("state", "test accuracy", "LPIPS", "PSNR", "correlation", "re-identified"),
            [(f"{each.model}, after {epoch} epochs", epochs.title(each.model, epoch))
             for each in SETTINGS[scale] for epoch in epochs.EPOCHS[scale]],
            ("test accuracy", "lpips", "psnr", "correlation", "re-identified"),
        ),
    }  # fmt: skip
