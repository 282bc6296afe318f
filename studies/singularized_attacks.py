"""What Singularized Mixup's paper says of the linear attack (Table 1), measured: part of singularized.py.

The weights and the images of every row are known to the attacker. Beside the paper's attack by Adam stand the exact
least squares that it walks towards, and the linear optimum (Wiener) of an attacker who also has images of the same
kind. Images have mean zero: the mean image as an answer has about 0 dB, and an answer below that is worse than it.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ledger import Ledger, Trial, table
from matplotlib.figure import Figure

from hideseek.chance import seeded
from hideseek.data import load, normalise
from hideseek.hide import Mixup, SingularizedMixup
from hideseek.hide.files.schemes import to_json
from hideseek.records import MixingEncoder
from hideseek.score.judge import judge
from hideseek.seek import run
from hideseek.seek.rows.linear_inversion import LinearInversion

SETS = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
TAUS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
TABLE_1 = {  # mean SNR in dB
    "mnist": dict(zip(TAUS, (8.19, 0.09, -2.79, -3.65, -3.90, -3.98, -4.01), strict=True)),
    "cifar10": dict(zip(TAUS, (0.85, -5.06, -6.92, -7.45, -7.61, -7.66, -7.67), strict=True)),
}
METHODS = {
    "adam": LinearInversion("adam"),
    "exact": LinearInversion("exact"),
    "wiener": LinearInversion("exact", prior="public"),
}
IMAGES = {"cpu": (1000, 5000), "paper": (10_000, 50_000)}  # private ones, and the attacker's own


def rows() -> Iterator[tuple[str, MixingEncoder]]:
    """List the schemes: plain Mixup of two images, and Singularized Mixup at every τ."""
    yield "mixup, k=2", Mixup(k=2, largest=0.65)
    for tau in TAUS:
        yield f"τ = {tau:g}", SingularizedMixup(tau=tau)


def trials(scale: str) -> Iterator[Trial]:
    """List what is to be measured."""
    for name in SETS:
        for row, scheme in rows():
            for method, attack in METHODS.items():
                described = {
                    "data": name,
                    "images": IMAGES[scale],
                    "scheme": to_json(scheme),
                    **{key: value for key, value in asdict(attack).items() if key != "weights"},  # known, as ever
                    "seed": 0,
                }
                run_it = _measuring(name, scheme, attack, scale)
                yield Trial("table1", title(name, row, method), described, run_it, judged=True)


def title(name: str, row: str, method: str) -> str:
    """Give the name of a trial."""
    return f"attack: {name}, {row}, {method}"


def _measuring(name: str, scheme: MixingEncoder, attack: LinearInversion, scale: str):  # type: ignore[no-untyped-def]
    def measured() -> dict[str, Any]:
        count, own = IMAGES[scale]
        images = load(name)
        private = normalise(images.take(slice(0, count)), "channel")
        others = normalise(images.take(slice(count, count + own)), private.normalisation)
        release, secret = scheme.hide(private, None, seeded(0))
        known = replace(release, weights=secret.weights, sources=secret.sources, own=others)
        evidence = run(attack, known, seeded(1))
        (score,) = judge(evidence, secret, seeded(2), ("snr",)).scores
        return {
            "snr": round(score.interval.mean, 3),
            "deviation": round(float(score.values.std()), 3),
            "baselines": {baseline: round(value.mean, 3) for baseline, value in score.baselines.items()},
            "beats": score.beats,
            "seconds": round(evidence.seconds, 1),
        }

    return measured


def optima(ledger: Ledger) -> dict[float, float]:
    """Give the linear optimum of every τ on CIFAR-10."""
    found = {tau: ledger.results(title("cifar10", f"τ = {tau:g}", "wiener")) for tau in TAUS}
    return {tau: result["snr"] for tau, result in found.items() if result}


def section(ledger: Ledger, path: Path) -> str:
    """Set Table 1 beside what was measured, as Markdown and a picture."""
    parts = []
    figure = Figure(figsize=(9, 3.8), dpi=120, layout="constrained")
    for axes, (name, words) in zip(figure.subplots(1, 2, sharey=True), SETS.items(), strict=True):
        lines = []
        curves: dict[str, dict[float, float]] = {"paper": TABLE_1[name]}
        for row, scheme in rows():
            found = {method: ledger.results(title(name, row, method)) for method in METHODS}
            tau = scheme.tau if isinstance(scheme, SingularizedMixup) else None
            claim = f"{TABLE_1[name][tau]:.2f}" if tau else ""
            if any(found.values()):
                cells = [f"{each['snr']:.2f} ± {each['deviation']:.2f}" if each else "" for each in found.values()]
                baselines = next(each["baselines"] for each in found.values() if each)
                mark = next((mark for method in METHODS if (mark := ledger.mark(title(name, row, method)))), "")
                lines.append([row + mark, claim, *cells, f"{baselines['mean image']:.2f}"])
                for method, each in found.items():
                    if each and tau:
                        curves.setdefault(method, {})[tau] = each["snr"]
        if not lines:
            continue
        heads = ["", "paper", "Adam", "exact", "Wiener (ours)", "the mean image"]
        parts.append(f"### {words}\n\n{table(heads, lines)}")
        styles = {"paper": "*:", "adam": "o-", "exact": "s--", "wiener": "D-"}
        for method, points in curves.items():
            axes.plot(list(points), list(points.values()), styles[method], label=method)
        axes.axhline(float(lines[-1][-1]), color="black", linewidth=1, label="the mean image")
        axes.set(xscale="log", title=words, xlabel="τ", ylabel="SNR (dB)", ylim=(-12, 20))
        axes.invert_xaxis()
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8)
    if not parts:
        return ""
    file = path.with_name(f"{path.stem}-table1.png")
    figure.savefig(file)
    count, own = IMAGES["cpu" if "cpu" in path.stem else "paper"]
    return f"""## Table 1: the linear attack

SNR in dB of {count:,} images normalised by channel (the paper does not say in which units it measures), mean ±
deviation; the Wiener attacker has {own:,} images of the same kind. Plain Mixup for comparison: with the weights
known, nothing is hidden. The paper enlarges images to 224×224 first, here they stay as they are: what counts is
dimensions × τ, so that its attacker has 49 times as much to go by at the same τ as ours on CIFAR-10. Attacks:
`linear-inversion` (Adam, exact), `linear-optimum` (Wiener).

{chr(10).join(parts)}
![Table 1]({file.name})

**Below 0 dB an attack is worse than answering with the mean image**, so the paper's figures for τ ≤ 0.1 on CIFAR-10
show a weak attack, not a strong defence: the linear optimum is above the baseline where the paper has −7 dB. From
τ = 1e-4 on, one release at this size tells it nothing.
"""
