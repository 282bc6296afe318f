"""What hiding costs, against what must be paid: ratios of times that were measured side by side in this run.

    python benchmarks/encode.py [--quick] [--json FILE]

- rows: making 50,000 rows of 3×32×32 floats, masks from the secure source included, against the bytes that must move (k
  reads and one write, at the bandwidth of a copy), and against the plain method in chunks;
- whole call: the same with all draws of partners and weights;
- call: `InstaHide(k).hide(…)` itself, as users call it, against the rows: into memory that it takes fresh and gives
  back (the pages of 50,000 rows are 614 MB), and into a buffer that the caller passes. Turn by turn, with nothing
  between: where a host takes a virtual machine's free memory back, pages that lay idle for two seconds are paid for
  once more. Processor time, of all threads, stands beside the time: a busy machine disturbs it less;
- normals: what share of Singularized Mixup they take, and what one costs beside other ways to have one;
- command: `hideseek hide` from a .npz file to a folder, against writing those bytes with safetensors alone.

Times are medians over rounds in which every contender has its turn; two threads.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from hideseek.chance import secure
from hideseek.cli import main as hideseek
from hideseek.hide import InstaHide, SingularizedMixup
from hideseek.hide.mixing.checked_recipe import checked_recipe
from hideseek.hide.mixing.follow import follow
from hideseek.hide.mixing.recipe import Recipe
from hideseek.records import Samples

SHAPE = (3, 32, 32)
REACH = {"float32": 1.5, "uint8": 2.5, "plain": 8.0, "call": 1.4, "memory": 64.0, "command": 3.0}
CALLS = ("call", "call into a buffer")


def side_by_side(rounds: int, **contenders: Callable[[], object]) -> dict[str, list[float]]:
    """Time every contender once a round, after one round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            if number:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], one: str, other: str) -> float:
    """Compare two contenders round by round, so that a busy moment hits both."""
    return median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))


def turns(rounds: int, contenders: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Compare contenders with the first, in time and in processor time: medians of the ratios of the rounds."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, run in contenders.items():
            start, worked = time.perf_counter(), time.process_time()
            run()  # and give back what it made
            if number:
                taken[name].append((time.perf_counter() - start, time.process_time() - worked))
    first, *others = taken
    return {
        f"{name}{kind} over {first}": median(
            one[place] / two[place] for one, two in zip(taken[name], taken[first], strict=True)
        )
        for name in others
        for place, kind in enumerate(("", " (processor time)"))
    }


def plain(samples: Samples, sources: torch.Tensor, weights: torch.Tensor, out: torch.Tensor) -> None:
    """Mix the plain way, in chunks of 1,000: a gathered temporary for each of k images, a mask of 64-bit integers."""
    for start in range(0, len(sources), 1000):
        rows = slice(start, start + 1000)
        mixed = torch.zeros_like(out[rows])
        for j in range(sources.shape[1]):
            mixed += weights[rows, j, None, None, None] * samples.pixels(sources[rows, j])
        out[rows] = mixed * (torch.randint(0, 2, mixed.shape) * 2 - 1)


def images(count: int, kind: str) -> Samples:
    """Random images in one of two kinds of storage."""
    labels = torch.eye(10)[torch.arange(count) % 10]
    generator = np.random.default_rng(0)
    if kind == "float32":
        return Samples(torch.from_numpy(generator.standard_normal((count, *SHAPE), dtype=np.float32)), labels)
    stored = torch.from_numpy(generator.integers(0, 256, (count, *SHAPE), dtype=np.uint8))
    return Samples(stored, labels, torch.tensor([[0.016, 0.017, 0.015]]), torch.tensor([[-2.0, -1.9, -1.8]]))


def measure_rows(count: int, rounds: int) -> dict[str, Any]:
    """Make rows, against the bytes that must move and the plain method."""
    found: dict[str, Any] = {}
    out, copied = torch.empty(count, *SHAPE), torch.ones(count, *SHAPE)  # zeros would be read from one page
    for kind in ("float32", "uint8"):
        samples = images(count, kind)
        for k in (4, 6):
            encoder = InstaHide(k=k)
            recipe = checked_recipe(encoder, samples, None, secure())

            def rows(samples: Samples = samples, recipe: Recipe = recipe) -> None:
                follow(recipe, samples, None, secure(), out)

            def whole(samples: Samples = samples, encoder: InstaHide = encoder) -> None:
                follow(checked_recipe(encoder, samples, None, secure()), samples, None, secure(), out)

            def call(samples: Samples = samples, encoder: InstaHide = encoder) -> None:
                encoder.hide(samples, None, secure())

            def into(samples: Samples = samples, encoder: InstaHide = encoder) -> None:
                encoder.hide(samples, None, secure(), out=out)

            seconds = side_by_side(rounds, copy=partial(out.copy_, copied), rows=rows, whole=whole)
            calls = turns(3 * rounds, {"rows": rows, "call": call, "call into a buffer": into})
            slow = side_by_side(1, plain=partial(plain, samples, recipe.sources, recipe.weights, out))["plain"][0]
            must_move = (k * samples.images.element_size() + 4) / 8  # in units of one copy: 4 bytes read, 4 written
            found[f"{kind} k={k}"] = {
                "rows over bound": ratio(seconds, "rows", "copy") / must_move,
                "whole call over bound": ratio(seconds, "whole", "copy") / must_move,
                **calls,
                "plain over rows": slow / median(seconds["rows"]),
                "images a second": count / median(seconds["rows"]),
                "copy GB/s": 2 * out.nbytes / median(seconds["copy"]) / 1e9,
            }
    return found


def measure_memory(count: int) -> dict[str, float]:
    """See what two schemes need beyond input and output, in a process that has not needed it before."""
    samples, out = images(count, "float32"), torch.ones(count, *SHAPE)
    found = {}
    for name, encoder in {"InstaHide": InstaHide(), "Singularized Mixup": SingularizedMixup(radius=100.0)}.items():
        few = samples.take(slice(0, 10))
        encoder.hide(few, None, secure())  # compiles
        recipe = checked_recipe(encoder, samples, None, secure())
        found[name] = extra_memory(partial(follow, recipe, samples, None, secure(), out))
    return found


def extra_memory(run: Callable[[], object]) -> float:
    """Watch how much memory of its own the process needs on top while something runs."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")

    def own() -> float:
        return int(status.read_text().split("RssAnon:")[1].split()[0]) / 1024

    before, peak, done = own(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.002):
            peak = max(peak, own())

    watcher = threading.Thread(target=watch)
    watcher.start()
    run()
    done.set()
    watcher.join()
    return peak - before


def box_muller(count: int) -> torch.Tensor:
    """Draw normals the plain way: Box and Muller's, from 64-bit words, in double precision."""
    chance = secure()
    radius = (-2 * (1 - chance.uniforms(count // 2)).log()).sqrt()
    angle = 2 * torch.pi * chance.uniforms(count // 2)
    return torch.cat([radius * angle.cos(), radius * angle.sin()]).float()


def measure_normals(count: int, rounds: int) -> dict[str, float]:
    """See what share of Singularized Mixup its normals take, block by block as it draws them."""
    samples = images(count, "float32")
    recipe = checked_recipe(SingularizedMixup(radius=100.0), samples, None, secure())
    out, block = torch.empty(count, *SHAPE), (341, 3072)  # as many rows as one block has
    size = block[0] * block[1]
    seconds = side_by_side(
        rounds,
        whole=lambda: follow(recipe, samples, None, secure(), out),
        ours=lambda: secure().normals(*block),
        plain=lambda: box_muller(size),
        torch=lambda: torch.empty(block).normal_(),
    )
    threads = torch.get_num_threads()
    nanoseconds = {name: median(times) / size * 1e9 for name, times in seconds.items() if name != "whole"}
    whole = median(seconds["whole"]) / out.numel() * 1e9
    return {
        "share of Singularized Mixup": nanoseconds["ours"] / threads / whole,
        "share with Box-Muller instead": nanoseconds["plain"]
        / (nanoseconds["plain"] + threads * whole - nanoseconds["ours"]),
        "Box-Muller over ours": nanoseconds["plain"] / nanoseconds["ours"],
        "torch's insecure normal_ (one call, its threads) over ours (one thread)": nanoseconds["torch"]
        / nanoseconds["ours"],
        "nanoseconds each, one thread": nanoseconds["ours"],
    }


def measure_command(count: int, rounds: int) -> dict[str, float]:
    """Run `hideseek hide`, files included, against safetensors alone: in one process, and as processes of their own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        samples = images(count, "uint8")
        np.savez(place / "x.npz", x=samples.images.numpy(), y=np.arange(count) % 10)
        tensors = {"images": torch.randn(count, *SHAPE), "labels": samples.labels}
        arguments = ["hide", "instahide-inside", "--data", f"npz:{place / 'x.npz'}", "--out", str(place / "out")]
        alone = (
            "import sys, torch; from safetensors.torch import save_file; n = int(sys.argv[2]);"
            "save_file({'images': torch.ones(n, 3, 32, 32), 'labels': torch.ones(n, 10)}, sys.argv[1])"
        )

        def remove() -> None:
            for path in (*place.glob("out/*"), *place.glob("*.safetensors")):
                path.unlink()
            if (place / "out").exists():
                (place / "out").rmdir()

        def command() -> None:
            with redirect_stdout(StringIO()):
                hideseek(arguments)

        def process(*words: str) -> None:
            subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)

        seconds: dict[str, list[float]] = {}
        for _ in range(rounds + 1):
            contenders: dict[str, Callable[[], None]] = {
                "command": command,
                "alone": partial(save_file, tensors, place / "alone.safetensors"),
                "command process": partial(process, "-m", "hideseek", *arguments),
                "alone process": partial(process, "-c", alone, str(place / "alone.safetensors"), str(count)),
            }
            for name, run in contenders.items():
                remove()
                start = time.perf_counter()
                run()
                seconds.setdefault(name, []).append(time.perf_counter() - start)
        return {
            "command over safetensors alone": ratio(seconds, "command", "alone"),
            "the same as whole processes": ratio(seconds, "command process", "alone process"),
            "seconds": median(seconds["command"]),
            "seconds of a whole process": median(seconds["command process"]),
        }


def report(found: dict[str, Any]) -> str:
    """Say what was found, with what we mean to reach beside it."""
    lines = [f"{found['images']:,} images of 3×32×32, two threads; times as ratios within this run", ""]
    lines.append(
        f"{'rows':14}{'over bound':>11}{'reach':>7}{'whole call':>12}{'plain over':>12}{'reach':>7}{'images/s':>12}"
    )
    for name, row in found["rows"].items():
        bound, whole, slow = row["rows over bound"], row["whole call over bound"], row["plain over rows"]
        reach, rate = REACH[name.split()[0]], row["images a second"]
        lines.append(f"{name:14}{bound:11.2f}{reach:7.1f}{whole:12.2f}{slow:12.1f}{REACH['plain']:7.1f}{rate:12,.0f}")
    lines += ["", f"calls over rows (reach: {REACH['call']:.1f}), and the same in processor time"]
    for name, row in found["rows"].items():
        each = [
            f"{kind} {row[f'{kind} over rows']:.2f} ({row[f'{kind} (processor time) over rows']:.2f})" for kind in CALLS
        ]
        lines.append(f"{name:14}{', '.join(each)}")
    memory = ", ".join(f"{name} {size:.0f} MiB" for name, size in found["memory"].items())
    lines += ["", f"memory beyond input and output: {memory} (reach: {REACH['memory']:.0f})", "", "normals"]
    lines += [f"  {name}: {value:.2f}" for name, value in found["normals"].items()]
    lines += ["", f"hideseek hide, files included (reach: {REACH['command']:.0f})"]
    lines += [f"  {name}: {value:.2f}" for name, value in found["command"].items()]
    return "\n".join(lines)


def main() -> None:
    """Measure, say it, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer images and rounds, under a minute")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    asked = parser.parse_args()
    torch.set_num_threads(2)
    count, rounds = (10_000, 3) if asked.quick else (50_000, 9)
    found = {
        "images": count,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "memory": measure_memory(count),
        "rows": measure_rows(count, rounds),
        "normals": measure_normals(count, rounds),
        "command": measure_command(count, 1 if asked.quick else 3),
    }
    print(report(found))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
