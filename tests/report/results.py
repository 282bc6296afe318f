"""A result like those that audits write, with everything in it that a page must show; any test may import it."""

from pathlib import Path

from hideseek.audit.threats import THREATS
from hideseek.records.result import (
    FORMAT,
    DatasetSummary,
    Flag,
    FlagKind,
    Provenance,
    Result,
    Stage,
    StepKey,
    StepKind,
)
from report.pieces import NASTY, SIDE
from report.schemes import LONG, cross, mixup, noise, singularized, trained


def sample(folder: Path) -> Result:
    """Give a result of four schemes and all outcomes, and write its pictures into a folder."""
    return Result(
        format=FORMAT,
        private=DatasetSummary("faces", 160, (3, SIDE, SIDE), 40, "channel"),
        public=DatasetSummary("photos", 400, (3, SIDE, SIDE), 0, "channel", 2),
        own=None,
        trained_on=DatasetSummary("the private images", 128, (3, SIDE, SIDE), 40, "channel"),
        why_no_accuracy=None,
        tested_on=1000,
        vanilla=trained(0.733),
        threats=THREATS,
        schemes=(mixup(folder), cross(), noise(), singularized()),
        plan=(
            Stage(StepKey(StepKind.ACCURACY), 200, 180.5),
            Stage(StepKey(StepKind.ATTACK, "mixup", "mixup-pairs"), 60, 42.5),
            Stage(StepKey(StepKind.ADVICE, "mixup"), 30, None, left_out=True),
        ),
        flags=(
            Flag(FlagKind.REPRODUCIBLE, facts={"seed": 7}),
            Flag(FlagKind.FAILED, LONG, "average-search"),
            Flag(FlagKind.FAILED, LONG, "demask"),
            Flag(FlagKind.FAILED, NASTY, "average-search"),
            Flag(FlagKind.WITHHELD, LONG, "demask"),
            Flag(FlagKind.NOT_TRIED, NASTY, "mixup-pairs"),
            Flag(FlagKind.FEW_IMAGES, "no-such-scheme", "no-such-attack", {"images": 6}),
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
