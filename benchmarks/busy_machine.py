"""The same audit alone and beside two busy processes: a busy machine makes it longer, not weaker.

    python benchmarks/busy_machine.py [--quick] [--json FILE]

Four schemes on the embedded faces, seeded, each time in a process of its own. What must be equal are the verdicts; what
may differ is the time. The seconds of work are what `--budget` is about.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SCHEMES = "mixup,instahide-inside:k=4,instahide-cross:k=4,singularized-mixup:tau=1e-4"
WHOLE = ["--public", "patches:photos", "--rounds", "5", "--budget", "4m"]
FEW = [
    "--rounds",
    "3",
    "--sample",
    "20",
    "--budget",
    "5s",
    "--attacks",
    "average-known,linear-inversion",
    "--no-learn",
]
BUSY = "while True: pass"


def audited(options: list[str], others: int) -> dict[str, Any]:
    """Audit beside so many busy processes; give verdicts, and what it took."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(others)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "audit"
            command = [sys.executable, "-m", "hideseek", "audit", *options, "--data", "faces", "--seed", "1", "--out"]
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            subprocess.run([*command, str(out)], check=True, stdout=subprocess.DEVNULL)
            wall, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            result = json.loads((out / "result.json").read_text("utf-8"))
    finally:
        for process in busy:
            process.kill()
            process.wait()
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "verdicts": {
            scheme["name"]: {verdict["threat"]: verdict["outcome"] for verdict in scheme["verdicts"]}
            for scheme in result["schemes"]
        },
        "attacks": {
            scheme["name"]: {each["attack"]: f"{each['outcome']}, {each['harm']}" for each in scheme["attacks"]}
            for scheme in result["schemes"]
        },
        "accuracies": {
            scheme["name"]: scheme["accuracy"] and scheme["accuracy"]["accuracy"]["mean"]
            for scheme in result["schemes"]
        },
        "wall seconds": round(wall, 1),
        "processor seconds": round(spent, 1),
        "seconds of work": round(result["provenance"]["seconds"], 1),
        "budget": result["provenance"]["budget"],
        "stopped after": result["provenance"]["wall_limit"],
    }


def main() -> None:
    """Audit twice, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two schemes, few images: under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    options = ["mixup,singularized-mixup:tau=1e-4", *FEW] if asked.quick else [SCHEMES, *WHOLE]
    found = {"alone": audited(options, 0), "beside two busy processes": audited(options, 2)}
    alone, beside = found.values()
    for place, told in found.items():
        print(f"{place}: {told['wall seconds']} s, of them {told['seconds of work']} s of work")
        for scheme, verdicts in told["verdicts"].items():
            print(f"  {scheme}: " + ", ".join(f"{threat} {outcome}" for threat, outcome in verdicts.items()))
    equal = alone["verdicts"] == beside["verdicts"]
    print("The verdicts are equal." if equal else "The verdicts differ.")
    if asked.json:
        told = {"cores": os.cpu_count(), "command": options, "equal verdicts": equal, **found}
        asked.json.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
