"""How long a step of training takes beside other work: threads that soon sleep while they wait, or torch's default.

    python benchmarks/waiting.py [--quick] [--json FILE]

Each step is timed in a process of its own, since threads learn how to wait when torch is loaded: on the machine as it
is, and beside two processes that keep the processor busy. The ratio of the two settings is what counts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SETTINGS = {"torch's default": "", "hideseek's": "10000"}  # GOMP_SPINCOUNT
STEP = """
import sys, time
if not sys.argv[1]:
    import torch  # before hideseek, which would set how threads wait
from hideseek.train.speed import _training
from hideseek.device import device
step = _training("small-resnet", (3, 32, 32), 10, 64, device())
step()
times = []
while sum(times) < float(sys.argv[2]):
    started = time.perf_counter()
    step()
    times.append(time.perf_counter() - started)
print(sorted(times)[len(times) // 2])
"""
BUSY = "while True: pass"


def median_step(spin: str, seconds: float) -> float:
    """Time steps of the small network in a process of its own."""
    environment = {key: value for key, value in os.environ.items() if key != "GOMP_SPINCOUNT"}
    if spin:
        environment["GOMP_SPINCOUNT"] = spin
    command = [sys.executable, "-c", STEP, spin, str(seconds)]
    return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer steps, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    for place, others in (("alone", 0), ("beside two others", 2)):
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(others)]
        try:
            time.sleep(0.5)
            steps = {name: median_step(spin, 2.0 if asked.quick else 8.0) for name, spin in SETTINGS.items()}
        finally:
            for process in busy:
                process.kill()
                process.wait()
        ratio = steps["torch's default"] / steps["hideseek's"]
        found[place] = {**{name: round(each, 5) for name, each in steps.items()}, "ratio": round(ratio, 2)}
        print(f"{place}: " + ", ".join(f"{name} {each:.4f} s" for name, each in steps.items()) + f", ratio {ratio:.2f}")
    if asked.json:
        asked.json.write_text(json.dumps({"cores": os.cpu_count(), **found}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
