"""What the attacks on InstaHide found, as Markdown and pictures: part of instahide.py."""

from pathlib import Path
from typing import Any

from instahide_attacks import PUBLIC, TOPS
from ledger import Ledger, table
from matplotlib.figure import Figure

HEAD = """## Attacks

CIFAR-10 is private, 10,000 images of Tiny-ImageNet are public. Attacks see the release alone, and are judged
afterwards: mean, 95 % interval, and in brackets the best baseline that ignores the release.
"""
TABLE_1 = {
    "reused images, averages": ("each image in 200 rows (n = 50, T = 50), groups averaged, as in §2.1", "not secure"),
    "reused images": ("the same, then taken apart (ours)", "not secure"),
    "public images": ("each image in one row, with three public images", "not secure"),
    "each image in one row": ("each image in one row, with private images", "maybe secure"),
}
AVERAGED = ("mixup", "instahide, absolute values", "instahide, demasked")


def sections(ledger: Ledger, path: Path) -> list[str]:
    """Give what was found, claim beside measurement."""
    parts = [part(ledger, path) for part in (table_1, figure_2, figure_6, figure_7, figure_8, braverman)]
    return [HEAD, *(part for part in parts if part)]


def result(ledger: Ledger, name: str) -> dict[str, Any]:
    """Give the result of an attack, with its mark where older rules judged it; or nothing."""
    found = ledger.results(f"attack: {name}")
    return {} if found is None else {**found, "mark": ledger.mark(f"attack: {name}")}


def cell(found: dict[str, Any], metric: str, higher: bool = True) -> str:
    """Write a score with its interval and its best baseline."""
    score = found.get("scores", {}).get(metric)
    if score is None:
        return ""
    low, high = score["interval"]
    baselines = score["baselines"].values()
    baseline = f" ({(max if higher else min)(baselines):.2f})" if baselines else ""
    return f"{score['mean']:.2f}, {low:.2f}–{high:.2f}{baseline}{found['mark']}"


def share(found: dict[str, Any], metric: str) -> str:
    """Write a score as a percentage."""
    return f"{100 * found['scores'][metric]['mean']:.1f} %{found['mark']}"


def picture(name: str) -> str:
    """Give the file that an attack's picture is in."""
    return f"instahide-{name.replace(', ', '-').replace(' ', '-')}.png"


def table_1(ledger: Ledger, path: Path) -> str:
    """Set Table 1 beside what was recovered."""
    rows = []
    for name, (words, claim) in TABLE_1.items():
        if found := result(ledger, name):
            columns = (cell(found, metric) for metric in ("fitted-ssim", "fitted-psnr", "correlation"))
            rows.append([words, claim, *columns, f"{found['seconds']:,.0f} s"])
    if not rows:
        return ""
    heads = ["Mixup, k = 4", "paper", "fitted SSIM", "fitted PSNR (dB)", "correlation", "time"]
    said = "Attacks: `mixup-pairs`; with public images, `mixup-public`."
    parts = ["## Table 1: is Mixup secure?", said, table(heads, rows), "Fitted: after the best affine fit."]
    if found := result(ledger, "reused images"):
        area = f"{found['scores']['auc']['mean']:.3f}{found['mark']}"
        parts[-1] += f" Two rows that share an image are told from others with an AUC of {area}."
    if found := result(ledger, "public images"):
        parts.append(
            f"All three public images are found in {share(found, 'all-found')} of rows"
            f" ({share(found, 'found')} of the images) at N = 10,000; the attacker himself can confirm"
            f" {100 * found['remarks']['confirmed']:.1f} % of the rows by exact weights."
        )
        if held := result(ledger, "public images, held out"):
            parts[-1] += (
                " The attack's constants were chosen while looking at the first 400 of these images; on 500 others it"
                f" finds all three in {share(held, 'all-found')} of rows."
            )
        if plain := result(ledger, "public images, plain inner products"):
            parts[-1] += (
                f" Plain inner products, as in §2.2, find all three in {share(plain, 'all-found')} of rows"
                f" ({share(plain, 'found')} of the images): photographs are all alike in their low"
                " frequencies."
            )
    return "\n\n".join(parts) + f"\n\n![Recovered from Mixup]({picture('reused images')})\n"


def figure_2(ledger: Ledger, path: Path) -> str:
    """Set the paper's tests beside tests that can reject, and a classifier."""
    found = result(ledger, "distinguish")
    if not found:
        return ""
    remarks = found["remarks"]
    low, high = found["scores"]["accuracy"]["interval"]
    validation = remarks["classifier"]["validation accuracy"]
    rows = [
        [f"image {number + 1}", *(f"{a:.2f} / {b:.2f}; {c:.1g}" for a, b, c in zip(*three, strict=True))]
        for number, three in enumerate(
            zip(
                remarks["single against all"],
                remarks["single against others"],
                remarks["whole against others"],
                strict=True,
            )
        )
    ]
    return f"""## Figure 2 and Table 4: are encodings of different images alike?

Cross-dataset InstaHide, k = 4, 10 of 50 images, 400 encodings each. Paper: Kolmogorov–Smirnov tests have p-values of
about one half for every image and statistic, so "there is no significant difference". That test takes *single*
encodings against 4,000, and averages the p-values of 50: over the images that is one half whatever they are, and one
image must stand out in nearly all its encodings for its own to fall. Attack: `distinguish`.
Each cell: single against all / against others, as in the paper; then all 400 encodings of an image against the others'.

{table(["", *remarks["statistics"]], rows)}
Single encodings: mean p-values {remarks["single, mean"][0]:.2f} and {remarks["single, mean"][1]:.2f}. All encodings:
{remarks["whole, rejected"]} of {remarks["whole, tests"]} tests reject that an image's encodings are like the others',
at a level of 5 % for all together.

**A classifier tells whose encoding it is** with {share(found, "accuracy")} ({100 * low:.1f}–{100 * high:.1f} %),
where chance is 10 %. It is a linear discriminant of squared pixels, learnt from half of the encodings of each image in
{found["seconds"]:,.0f} s; of the attacker's own validation rows it has {100 * validation:.0f} % right.

![Figure 2](instahide-cpu-figure2.png)
"""


def figure_6(ledger: Ledger, path: Path) -> str:
    """Say how many signs are wrong."""
    found = result(ledger, "demask")
    if not found:
        return ""
    return f"""## Figure 6: restoring signs

Paper: half of the signs are wrong before, about a quarter after. Here, at k = 6, after:
{cell(found, "wrong-signs", higher=False)}; up to a flip of the whole row:
{cell(found, "wrong-signs-flipped", higher=False)}. The network was trained for {found["seconds"]:,.0f} seconds.
Attack: `demask`.

![Figure 6]({picture("demask")})
"""


def figure_7(ledger: Ledger, path: Path) -> str:
    """Set averaging beside its baselines."""
    cases = [(scheme, strength) for scheme in AVERAGED for strength in ("stronger", "weaker")]
    rows = [
        [scheme, strength, *(cell(found, metric) for metric in ("fitted-ssim", "correlation", "re-identified"))]
        for scheme, strength in cases
        if (found := result(ledger, f"{strength}, {scheme}"))
    ]
    if not rows:
        return ""
    pictures = "\n".join(f"![{b}, {a}]({picture(f'{b}, {a}')})" for a, b in cases if "absolute" not in a)
    return f"""## Figure 7: averaging encodings of one image

k = 6, n = 50, T = 50, m = 5. The paper has pictures only: on Mixup both attacks show the image; on InstaHide the
stronger one shows flat or contrasty images vaguely, the weaker one nothing. Attacks: `average-known` (stronger),
`average-search` (weaker).

{table(["", "attack", "fitted SSIM", "correlation", "re-identified among 50"], rows)}
{pictures}
"""


def figure_8(ledger: Ledger, path: Path) -> str:
    """Draw hit rates over m."""
    names = [name.removeprefix("attack: search, ") for name in ledger.entries if name.startswith("attack: search, ")]
    if not names:
        return ""
    figure = Figure(figsize=(9, 4.2), dpi=120, layout="constrained")
    axes = figure.subplots()
    rows = []
    for name in sorted(names):
        hits = {int(top): rate for top, rate in result(ledger, f"search, {name}")["hits"].items()}
        ours = "white" in name
        axes.plot(list(hits), list(hits.values()), "o-" if ours else "s--", label=name + " (ours)" * ours)
        rows.append([name, *(f"{hits[top]:.2f}" for top in (1, 10, 100))])
    axes.plot(TOPS, [1 - (1 - 4 / PUBLIC) ** top for top in TOPS], ":", color="black", label="chance")
    axes.set(xscale="log", xlabel="m, candidates looked at", ylabel="share of rows with a hit", ylim=(-0.03, 1.03))
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    file = path.with_name(f"{path.stem}-figure8.png")
    figure.savefig(file)
    return f"""## Figure 8: which public images are in a row?

k = 6, 4 of them public, N = 10,000, 50 rows; a hit is one of the four among the top m. Paper: about 0.05 at m = 100 for
InstaHide with patches, by a learned similarity; §4.2 counts on the N^(k−2) = 10^16 tries of the naive attack. Attack:
`public-search`, by several similarities.

{table(["", "m = 1", "m = 10", "m = 100"], rows)}
![Figure 8]({file.name})

**The mask does not hide the public images.** It changes no square, and squares that are made white (each frequency of
each colour equally strong) match those of the images in the row: one matrix product, no network, no signs restored.
Patches do not help: every place of the whole image is tried, by the Fourier transform.
"""


def braverman(ledger: Ledger, path: Path) -> str:
    """Set the shrinkage of the search space beside what the paper says of it."""
    rows = []
    for k, chance in ((4, 2 / 3), (6, 4 / 5)):
        for how in ("as printed", "normalised", "white squares"):
            if found := result(ledger, f"ranking, k={k}, {how}"):
                kept, rank = (found["scores"][metric]["mean"] for metric in ("search-space", "rank"))
                left = f"{(kept / chance) ** (k - 2):.2g}"
                rows.append([f"k = {k}, {how}", f"{rank:,.0f}", f"{kept:.3f} ({chance:.3f})", left])
    if not rows:
        return ""
    heads = ["ranking", "mean rank of 10,000", "share to keep (by chance)", "search space left"]
    return f"""## §9: Braverman's attack

Paper: the search space shrinks a little at k = 4 and hardly at k = 6. *Share to keep* is how much of the ranking must
be kept to hold all of a row's public images; *search space left* is that over chance, to the power of the images
sought. Attack: `braverman`.

{table(heads, rows)}"""
