"""Four schemes as audits describe them: broken by all, one that leaks, one that is open, broken with a gallery."""

from dataclasses import replace
from pathlib import Path

from hideseek.audit.findings.verdicts import verdicts
from hideseek.audit.threats import threats_to
from hideseek.records import Bound, Change, ChangeKind, Effective, EncodedRelease, Known, Reason, Refusal
from hideseek.records.result import (
    Accuracy,
    Advice,
    Failure,
    FailureKind,
    Harm,
    Note,
    NoteKind,
    Outcome,
    Proof,
    Range,
    SchemeResult,
    WeakCase,
)
from report.pieces import NASTY, attacked, curve, exhibits, figure

LONG = "instahide-cross-with-a-name-that-somebody-made-far-too-long-for-any-table"
FAILED = attacked(
    "average-search",
    outcome=Outcome.FAILED,
    failure=Failure(FailureKind.ERROR, f"ValueError: {NASTY}"),
    figures=(),
    proofs=(),
    seconds=0.0,
)
UNTRIED = attacked(
    "mixup-pairs",
    outcome=Outcome.NOT_TRIED,
    failure=Failure(FailureKind.NO_TIME, seconds=150.0),
    figures=(),
    proofs=(),
    seconds=0.0,
)
THREATS = threats_to(EncodedRelease)
GIVEN = {threat.name: threat.gives for threat in THREATS}


def trained(mean: float) -> Accuracy:
    """Give an accuracy, with an interval of ± 0.03."""
    return Accuracy(Range(mean, mean - 0.03, mean + 0.03, 1000), "small-resnet", 20, 4000, 93.0, 0.5)


def mixup(folder: Path) -> SchemeResult:
    """Broken by those who see only what is shared, with pictures, curves and advice."""
    pairs = attacked(
        "mixup-pairs",
        outcome=Outcome.BROKEN,
        harm=Harm.RECOVERED,
        figures=(
            figure(
                "re-identified",
                0.96,
                0.00625,
                unit="share",
                meaning="guesses that are most like their ground truth",
                finding="{value} of its guesses point to their image among {images} ({baseline} for {name})",
                harm=Harm.REIDENTIFIED,
                given=("candidates",),
            ),
            figure(),
            figure(
                "recovered",
                0.95,
                0.0,
                unit="share",
                meaning="guesses that are the private image",
                finding="{value} of its guesses are the private image (correlation of 0.9 or more)",
                harm=Harm.RECOVERED,
                notes=(Note(NoteKind.NO_GROUND_TRUTH, 3, 160),),
            ),
            figure("psnr", 24.1, 11.2, unit="dB", harm=Harm.NOTHING, advantage=None, p_value=None),
            figure(
                "l2", 12.5, 40.0, higher_is_better=False, harm=Harm.NOTHING, baselines={}, best_baseline="", beats=True
            ),
        ),
        exhibits=exhibits(folder, "mixup-mixup-pairs"),
        curves=(curve(), curve(log_x=False)),
        remarks={"rows that were linked": 154, "rounds": [1, 2], "said": NASTY},
    )
    told = figure(
        "accuracy",
        0.5,
        0.00625,
        claim="attribution",
        unit="share",
        meaning="rows whose image is named first",
        finding="it names the image that a row was made for in {value} of rows ({baseline} for {name})",
        harm=Harm.TOLD_APART,
    )
    links = attacked(
        "distinguish",
        outcome=Outcome.LEAKS,
        harm=Harm.TOLD_APART,
        threat="linked",
        given=GIVEN["linked"],
        figures=(told,),
        seconds=3.2,
    )
    none, masks = (
        attacked(name, outcome=Outcome.NOT_APPLICABLE, refusal=Refusal(reason), figures=(), proofs=())
        for name, reason in (("mixup-public", Reason.NO_PUBLIC_IMAGES), ("demask", Reason.NOT_MASKED))
    )
    return SchemeResult(
        name="mixup",
        summary="Weighted sums of four private images.",
        mechanism="Mixup",
        parameters={"k": 4, "upper": 0.65, "weights": "uniform", "note": NASTY},
        rounds=20,
        items=3200,
        accuracy=trained(0.612),
        lost=0.121,
        verdicts=verdicts((none, links, pairs, masks), THREATS),
        attacks=(none, links, pairs, masks),
        known=(Known("Inner products of rows tell which share an image.", "Huang et al. 2020, §2.1"),),
        advice=(
            Advice(
                Change(ChangeKind.FEWER_ROUNDS, "rounds", 20, 1),
                "mixup-pairs",
                False,
                metric="re-identified",
                unit="share",
                before=Range(0.96, 0.93, 0.98, 160),
                after=Range(0.41, 0.36, 0.46, 160),
                baseline=0.00625,
            ),
            Advice(
                Change(ChangeKind.OTHER_SCHEME, "tau", None, 1e-4, "singularized-mixup", "It costs accuracy."),
                "mixup-pairs",
                None,
                failure=Failure(FailureKind.TIME_LIMIT, seconds=30.0),
            ),
        ),
        effective=(Effective("k", 4, 2.6, "images that carry half the weight of a row, on average"),),
    )


def cross() -> SchemeResult:
    """It leaks public images; an attack failed, another is not believed; its name is long."""
    weak = Proof("weak case", False, WeakCase("InstaHide", 48, 10), (figure(mean=0.3),))
    withheld = attacked("demask", outcome=Outcome.WITHHELD, figures=(), proofs=(weak,))
    hit = figure(
        "hit@1",
        0.31,
        0.0025,
        claim="public-images",
        unit="share",
        meaning="rows whose first answer is right",
        finding="its first guess is a public image of the row in {value} of rows ({baseline} for {name})",
        harm=Harm.PARTS,
    )
    search = attacked(
        "public-search",
        outcome=Outcome.LEAKS,
        harm=Harm.PARTS,
        figures=(hit,),
        curves=(curve(),),
        seconds=75.0,
        memory=3 * 2**30,
    )
    about, parameters = "Six images, four of them public, under a mask of signs.", {"k": 6, "k_private": 2}
    attacks = (search, withheld, FAILED)
    says = verdicts(attacks, THREATS)
    return SchemeResult(LONG, about, "InstaHide", parameters, 1, 160, trained(0.437), 0.296, says, attacks)


def noise() -> SchemeResult:
    """Open: no outsider's attack was tried to its end; its name is full of signs that mean something to a browser."""
    attacks = (attacked("average-known", threat="informed", given=GIVEN["informed"]), FAILED, UNTRIED)
    says = verdicts(attacks, THREATS)
    return SchemeResult(NASTY, "Noise alone.", "Laplace", {"scale": 1.25}, 1, 160, trained(0.608), 0.125, says, attacks)


def singularized() -> SchemeResult:
    """Broken by those who have candidate images, and those who know the mix; not by an outsider, by his own attacks."""
    picked = figure(
        "re-identified",
        0.12,
        0.00625,
        unit="share",
        finding="{value} of its guesses point to their image among {images} ({baseline} for {name})",
        harm=Harm.REIDENTIFIED,
        given=("candidates",),
    )
    inversion, search = (
        attacked(
            name,
            outcome=Outcome.BROKEN,
            harm=Harm.REIDENTIFIED,
            threat=threat,
            given=GIVEN[threat],
            figures=(picked, figure(mean=0.3)),
            seconds=640.0,
        )
        for name, threat in (("linear-inversion", "informed"), ("average-search", "outsider"))
    )
    auc = figure("auc", 0.52, 0.5, claim="links", harm=Harm.LINKED, best_baseline="chance", baselines={"chance": 0.5})
    pairs = attacked("mixup-pairs", figures=(replace(auc, beats=False, smallest=0.56), figure(mean=0.3, smallest=0.35)))
    about, attacks = "Two images, the second under noise of fixed length.", (pairs, inversion, search)
    says = verdicts(attacks, THREATS)
    bound = Bound("Theorem 4.2", "the signal-to-noise ratio of one row", 0.0217, "it says nothing of several rows")
    return SchemeResult(
        "singularized-mixup",
        about,
        "SingularizedMixup",
        {"tau": 0.01},
        1,
        160,
        None,
        None,
        says,
        attacks,
        bounds=(bound,),
    )
