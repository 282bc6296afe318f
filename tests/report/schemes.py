"""Four schemes as audits describe them: broken, broken in parts, hardly judged, and broken by those who know more."""

from pathlib import Path
from typing import Literal

from hideseek.records.result import Accuracy, Advice, Effective, Known, Proof, Range, SchemeResult, Threat, Verdict
from report.pieces import NASTY, curve, exhibits, figure, tried

LONG = "instahide-cross-with-a-name-that-somebody-made-far-too-long-for-any-table"
FOUND = "96 % of its guesses are the private image (correlation of 0.9 or more), SSIM 0.84 against 0.31 without a clue."
FAILED = tried(
    "average-search", outcome="failed", sentence=f"It failed (ValueError: {NASTY}).", figures=(), proofs=(), seconds=0.0
)
THREATS = (
    Threat("outsider", "sees only what is shared", "the encodings, their mixed labels, the scheme and its parameters"),
    Threat("linked", "also knows which rows are of one image", "besides, for which private image each row was made"),
    Threat("informed", "also knows the mix", "besides, which images met in each row, and with what weights"),
)


def verdicts(*outcomes: Literal["broken", "resisted", "failed"], by: str = "mixup-pairs") -> tuple[Verdict, ...]:
    """Say something of each attacker, and name a bound for the strongest."""
    says = {
        "broken": f"{by}: {FOUND} 1 other attack also beats chance.",
        "resisted": "It resisted mixup-pairs and demask, 84 s in all; another attack, or more time, may do better.",
        "failed": "Nothing is known: demask did not run, or could not be believed.",
    }
    bounds = ("", "", "Theorem 4.2: the attacker's best guess has an error of at least 0.2")
    return tuple(
        Verdict(threat.name, outcome, says[outcome], "" if outcome == "failed" else by, bound)
        for threat, outcome, bound in zip(THREATS, outcomes, bounds, strict=True)
    )


def trained(mean: float) -> Accuracy:
    """Give an accuracy, with an interval of ± 0.03."""
    return Accuracy(Range(mean, mean - 0.03, mean + 0.03, 1000), "small-resnet", 20, 4000, 93.0)


def mixup(folder: Path) -> SchemeResult:
    """Broken by those who see only what is shared, with pictures, curves and advice."""
    pairs = tried(
        "mixup-pairs",
        outcome="broken",
        harm=6,
        sentence=FOUND,
        figures=(
            figure("re-identified", 0.96, 0.00625, unit="share", meaning="guesses that are most like their truth"),
            figure(),
            figure("recovered", 0.95, 0.0, unit="share", decisive=False, notes=("Judged up to sign.",)),
            figure("psnr", 24.1, 11.2, unit="dB", decisive=False, advantage=None, p_value=None),
            figure(
                "l2", 12.5, 40.0, higher_is_better=False, decisive=False, baselines={}, best_baseline="", beats=True
            ),
        ),
        exhibits=exhibits(folder, "mixup-mixup-pairs"),
        curves=(curve(), curve(log_x=False)),
        remarks={"rows that were linked": 154, "rounds": [1, 2], "said": NASTY},
    )
    links = tried(
        "distinguish",
        outcome="broken",
        harm=4,
        threat="linked",
        sentence="it says whose encoding a row is",
        seconds=3.2,
    )
    none = tried(
        "mixup-public", outcome="not applicable", sentence="There are no public images in it.", figures=(), proofs=()
    )
    masks = tried("demask", outcome="not applicable", sentence="There is no mask.", figures=(), proofs=())
    return SchemeResult(
        name="mixup",
        summary="Weighted sums of four private images.",
        mechanism="Mixup",
        parameters={"k": 4, "upper": 0.65, "weights": "uniform", "note": NASTY},
        rounds=20,
        rows=3200,
        accuracy=trained(0.612),
        lost=0.121,
        verdicts=verdicts("broken", "broken", "broken"),
        attacks=(none, links, pairs, masks),
        known=(Known("Inner products of rows tell which share an image.", "Huang et al. 2020, §2.1"),),
        advice=(
            Advice(
                "one round",
                "Share every image once.",
                False,
                "mixup-pairs",
                "re-identified",
                Range(0.96, 0.93, 0.98, 160),
                Range(0.41, 0.36, 0.46, 160),
                0.00625,
            ),
            Advice("do not share", "Train where the images are.", None),
        ),
        effective=(Effective("k", 4, 2.6, "images that carry half the weight of a row, on average"),),
    )


def cross() -> SchemeResult:
    """Broken in parts alone; an attack failed, another is not believed; its name is long."""
    weak = "It does not even break a weak case."
    withheld = tried("demask", outcome="withheld", sentence=weak, proofs=(Proof("planted", False, weak),))
    hit = figure(
        "hit@1", 0.31, 0.0025, kind="PublicImagesFound", unit="share", meaning="rows whose first answer is right"
    )
    search = tried(
        "public-search",
        outcome="broken",
        harm=1,
        sentence="its first guess is a public image of the row in 31 % of rows",
        figures=(hit,),
        curves=(curve(),),
        seconds=75.0,
        memory=3 * 2**30,
    )
    says = verdicts("broken", "broken", "broken", by="public-search")
    about, parameters = "Six images, four of them public, under a mask of signs.", {"k": 6, "k_private": 2}
    return SchemeResult(
        LONG, about, "InstaHide", parameters, 1, 160, trained(0.437), 0.296, says, (search, withheld, FAILED)
    )


def noise() -> SchemeResult:
    """Not judged against those who know little; its name is full of signs that mean something to a browser."""
    says = verdicts("failed", "failed", "resisted", by="average-known")
    attacks = (tried("average-known", threat="informed"), FAILED)
    return SchemeResult(NASTY, "Noise alone.", "Laplace", {"scale": 1.25}, 1, 160, trained(0.608), 0.125, says, attacks)


def singularized() -> SchemeResult:
    """Broken by those who know the mix; its accuracy was not measured."""
    inversion = tried(
        "linear-inversion",
        outcome="broken",
        harm=5,
        threat="informed",
        sentence="12 % of its guesses point to their image among 160",
        seconds=640.0,
    )
    says = verdicts("resisted", "resisted", "broken", by="linear-inversion")
    about, attacks = "Two images, the second under noise of fixed length.", (tried("mixup-pairs"), inversion)
    return SchemeResult(
        "singularized-mixup", about, "SingularizedMixup", {"tau": 0.01}, 1, 160, None, None, says, attacks
    )
