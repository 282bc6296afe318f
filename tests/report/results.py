"""A result like those that audits write, with everything in it that a page must show; any test may import it."""

from pathlib import Path

from hideseek.records.result import DatasetSummary, Flag, Provenance, Result, Stage
from report.pieces import NASTY, SIDE
from report.schemes import LONG, THREATS, cross, mixup, noise, singularized, trained


def sample(folder: Path) -> Result:
    """Give a result of four schemes and all outcomes, and write its pictures into a folder."""
    return Result(
        format=1,
        private=DatasetSummary("faces", 160, (3, SIDE, SIDE), 40, "channel"),
        public=DatasetSummary("photos", 400, (3, SIDE, SIDE), 0, "channel", 2),
        own=None,
        trained_on=DatasetSummary("the private images", 128, (3, SIDE, SIDE), 40, "channel"),
        why_no_accuracy="",
        tested_on=1000,
        vanilla=trained(0.733),
        threats=THREATS,
        schemes=(mixup(folder), cross(), noise(), singularized()),
        plan=(
            Stage("train", 200, 180.5),
            Stage("mixup: mixup-pairs", 60, 42.5),
            Stage("advice", 30, None, "left out: no time was left"),
        ),
        flags=(
            Flag("few images", "", "160 images are few: intervals are wide."),
            Flag("out of time", f"{LONG}/average-search", f"It failed, so nothing is known: {NASTY}"),
            Flag("withheld", "mixup", "An attack did not pass its proofs."),
            Flag("unknown subject", "no-such-scheme", "A subject that the page does not have is text."),
        ),
        provenance=Provenance(
            "2026-11-16 13:24:14 UTC",
            583.0,
            "hideseek audit --data faces --schemes mixup laplace --out audit",
            {"hideseek": "0.1.0", "torch": "2.13.0"},
            "52789f0",
            "x86_64, Linux 6.1",
            2,
            8 * 2**30,
            "cpu",
            7,
            600.0,
            {"rounds": 20, "nasty": NASTY},
        ),
    )
