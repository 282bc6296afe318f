"""How `hideseek hide` grows with the set: from ten thousand images to a million, from a folder and from an .npz file.

    python benchmarks/growth.py [--quick] [--only folder|npz] [--files N] [--json FILE] [--plot FILE]

Every size is hidden by a fresh process (instahide-inside, grey images of 16×16). Time is the processor's, of all
threads, start-up included; linear means that no measurement lies far from one straight line, as a share of itself.
Memory is the peak of what the process has of its own; beside it is what was resident, maps of files included, which the
system takes back where it needs room. A folder is hidden twice: the first time every file is opened to see whether it
is grey; after that an index in the user's cache says so (here: a cache of this run alone).

It writes to the folder for temporary files, 1.4 GB and a million names at most, and removes all of it. The names are
hard links to 256 small PNG files.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

SIZES, QUICK = (10_000, 30_000, 100_000, 300_000, 1_000_000), (1_000, 3_000, 10_000)
SIDE, DISTINCT, TOGETHER = 16, 256, 5_000
AIM = {"deviation": 0.1, "memory": 1.1}
Run = dict[str, float]


def images(count: int) -> np.ndarray:
    """Draw grey images that are smooth enough to be worth a PNG."""
    rough = np.random.default_rng(0).integers(0, 256, (count, SIDE // 4, SIDE // 4), dtype=np.uint8)
    return rough.repeat(4, 1).repeat(4, 2)


def make_folder(place: Path, count: int) -> str:
    """Make a folder of two classes, in subfolders of some thousand files, all of them links to a few."""
    distinct = place / ".distinct"
    distinct.mkdir(parents=True)
    for number, image in enumerate(images(DISTINCT)):
        Image.fromarray(image).save(distinct / f"{number}.png")
    for number in range(count):
        within = place / "ab"[number % 2] / f"{number // (2 * TOGETHER):03d}"
        if number % (2 * TOGETHER) < 2:
            within.mkdir(parents=True)
        os.link(distinct / f"{number % DISTINCT}.png", within / f"{number:07d}.png")
    time.sleep(3)  # files of the last two seconds are not indexed
    return f"folder:{place}"


def make_npz(place: Path, count: int) -> str:
    """Write an uncompressed .npz file."""
    place.mkdir(parents=True)
    pixels = images(DISTINCT)[np.arange(count) % DISTINCT]
    np.savez(place / "set.npz", x=pixels, y=np.arange(count) % 2)
    return f"npz:{place / 'set.npz'}"


def hide(data: str, out: Path, cache: Path) -> Run:
    """Hide in a fresh process, and see what it takes."""
    command = [sys.executable, "-m", "hideseek", "hide", "instahide-inside", "--data", data, "--out", str(out)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    start, own = time.perf_counter(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    status = Path(f"/proc/{process.pid}/status")
    while True:
        ended, code, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        if status.exists() and "RssAnon:" in (text := status.read_text()):
            own = max(own, int(text.split("RssAnon:")[1].split()[0]) / 1024)
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    shutil.rmtree(out)
    resident = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    worked = used.ru_utime + used.ru_stime
    return {
        "processor seconds": worked,
        "seconds": time.perf_counter() - start,
        "own MiB": own,
        "resident MiB": resident,
    }


def measure(source: str, sizes: tuple[int, ...]) -> Iterator[tuple[str, int, Run]]:
    """Hide sets of every size, from one source."""
    for count in sizes:
        with tempfile.TemporaryDirectory(prefix="growth-") as folder:
            place = Path(folder)
            data = (make_npz if source == "npz" else make_folder)(place / "set", count)
            for name in ("npz",) if source == "npz" else ("folder, first", "folder, indexed"):
                found = hide(data, place / "out", place / "cache")
                print(
                    f"{name:16}{count:>10,}" + "".join(f"{key}: {each:,.1f}  " for key, each in found.items()).rjust(90)
                )
                yield name, count, found


def line(runs: dict[int, Run]) -> Run:
    """Fit time = start-up + each · images, by least relative squares, and say how far the measurements lie from it."""
    sizes, times = np.array(list(runs)), np.array([run["processor seconds"] for run in runs.values()])
    design = np.stack([np.ones(len(sizes)), sizes], 1) / times[:, None]
    start, each = np.linalg.lstsq(design, np.ones(len(sizes)), rcond=None)[0]
    memory = [run["own MiB"] for run in runs.values()]
    return {
        "start-up in seconds": float(start),
        "microseconds an image": float(each) * 1e6,
        "largest deviation": float(np.abs((start + each * sizes) / times - 1).max()),
        "memory, largest over smallest set": memory[-1] / memory[0],
        "bytes of memory an image": (memory[-1] - memory[0]) * 2**20 / float(sizes[-1] - sizes[0]),
    }


def plot(found: dict[str, Any], path: Path) -> None:
    """Draw time and memory over the number of images."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, runs in found["runs"].items():
        sizes = [int(size) for size in runs]
        (drawn,) = left.loglog(sizes, [run["processor seconds"] for run in runs.values()], "o", label=name)
        fit, fine = found["lines"][name], np.geomspace(sizes[0], sizes[-1], 100)
        straight = fit["start-up in seconds"] + fit["microseconds an image"] / 1e6 * fine
        left.loglog(fine, straight, color=drawn.get_color(), linewidth=1)
        right.semilogx(sizes, [run["own MiB"] for run in runs.values()], "o-", label=name)
    left.set(xlabel="images", ylabel="processor seconds", title="time, and straight lines through it")
    right.set(xlabel="images", ylabel="MiB", title="peak of own memory", ylim=(0, None))
    left.legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Measure, say it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a thousand to ten thousand images, under a minute")
    parser.add_argument("--only", choices=("folder", "npz"), help="one source alone")
    parser.add_argument("--files", type=int, default=SIZES[-1], help="the largest folder to make")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--plot", type=Path, help="draw them into this file (needs matplotlib)")
    asked = parser.parse_args()
    runs: dict[str, dict[int, Run]] = {}
    sizes = QUICK if asked.quick else SIZES
    list(measure("npz", QUICK[:1]))  # numba compiles, once
    for source in (asked.only,) if asked.only else ("npz", "folder"):
        few = tuple(size for size in sizes if source == "npz" or size <= asked.files)
        for name, count, run in measure(source, few):
            runs.setdefault(name, {})[count] = run
    found: dict[str, Any] = {"side": SIDE, "runs": runs, "lines": {name: line(each) for name, each in runs.items()}}
    for name, fit in found["lines"].items():
        print(name, *(f"  {key}: {value:.3g}" for key, value in fit.items()), sep="\n")
    print(f"aims: deviation at most {AIM['deviation']}, memory at most {AIM['memory']}")
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    if asked.plot:
        plot(found, asked.plot)


if __name__ == "__main__":
    main()
