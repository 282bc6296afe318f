"""Did a change of structure change a finding? Two audits with fixed seeds, beside what they gave before.

    python studies/same_figures.py [--only demo|xray] [--json FILE]
    python studies/same_figures.py --from demo=FOLDER --from xray=FOLDER     # audits that were run already

`studies/results/same-figures-before.json` has the decisive figures of both audits at commit 8ee510a, before the
restructuring: no attack is shortened (a budget of 1,000 hours), nothing is trained. Every figure must be the same to
1e-6, except for those that a repaired defect changes, for which `repaired` says why.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hideseek.cli import main as hideseek

BEFORE = Path(__file__).parent / "results" / "same-figures-before.json"
TOLERANCE = 1e-6
SEEDED = ["--seed", "7", "--no-learn", "--budget", "1000h"]
AUDITS = {
    "demo": [
        "mixup,instahide-inside,instahide-cross,singularized-mixup",
        *("--data", "faces", "--public", "patches:photos?each=1", "--own", "faces?split=test", "--rounds", "10"),
    ],
    "xray": [
        "mixup-cross,instahide-cross:k=6,laplace",
        *("--data", "pneumoniamnist", "--sample", "300", "--public", "tinyimagenet", "--size", "28", "--rounds", "2"),
    ],
}
NEW_NAMES = {"area": "auc"}  # of metrics
MASKED = ("instahide",)  # what the names of schemes with a mask begin with
REPAIRED = "images are compared by |corr(x, x̂)| where nothing is masked, not by their absolute values"
Figures = dict[str, float]


def decisive(folder: Path) -> Figures:
    """Give the mean of every decisive figure of an audit, by scheme, attack, claim and metric; of format 1 or 2."""
    result: dict[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
    found: Figures = {}
    for scheme in result["schemes"]:
        for attack in scheme["attacks"]:
            for figure in attack["figures"]:
                number = figure["number"] if "number" in figure else figure["claim"]
                metric = NEW_NAMES.get(figure["metric"], figure["metric"])
                if figure.get("decisive") or figure.get("harm", "nothing found") != "nothing found":
                    found[f"{scheme['name']} | {attack['attack']} | {number} | {metric}"] = figure["found"]["mean"]
    return found


def compare(before: Figures, after: Figures) -> list[str]:
    """Give a line for every figure that is not the same, with the reason where it is known."""
    lines = []
    for key in sorted({**before, **after}):
        if key not in before or key not in after:
            lines.append(f"{key}: only {'before' if key in before else 'after'}")
        elif abs(before[key] - after[key]) > TOLERANCE:
            reason = REPAIRED if repaired(key) else "NOT EXPECTED"
            lines.append(f"{key}: {before[key]:.6f} before, {after[key]:.6f} after: {reason}")
    return lines


def repaired(key: str) -> bool:
    """Tell whether a figure is one of those that the repaired comparison of images changes.

    Without a mask, these are the share of images that are re-identified, and all figures of guesses without an order,
    which are matched to the images that they are most like: those of mixup-pairs.
    """
    scheme, attack, _, metric = key.split(" | ")
    matched = attack == "mixup-pairs" and metric != "auc"
    return not scheme.startswith(MASKED) and (metric == "re-identified" or matched)


def main() -> int:
    """Run the audits or read them, compare, and say what differs; the exit is 1 if that was not expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=["cpu", "paper"], default="cpu", help="there is one scale")
    parser.add_argument("--only", choices=list(AUDITS), help="one of the audits")
    parser.add_argument("--from", dest="folders", action="append", default=[], metavar="AUDIT=FOLDER")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    given = dict(each.split("=", 1) for each in asked.folders)
    before: dict[str, Figures] = json.loads(BEFORE.read_text("utf-8")) if BEFORE.is_file() else {}
    after, unexpected = {}, 0
    with tempfile.TemporaryDirectory() as place:
        for name in [asked.only] if asked.only else given or AUDITS:
            folder = Path(given.get(name, Path(place) / name))
            if name not in given and hideseek(["audit", *AUDITS[name], *SEEDED, "--out", str(folder)]):
                return 1
            after[name] = decisive(folder)
            lines = compare(before.get(name, {}), after[name])
            unexpected += sum(not line.endswith(REPAIRED) for line in lines)
            print(f"{name}: {len(after[name])} decisive figures, {len(lines)} differ by more than {TOLERANCE:g}.")
            print("".join(f"  {line}\n" for line in lines), end="")
    if asked.json:
        asked.json.write_text(json.dumps(after, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
