"""One attack on one release: believed only after its proofs, stopped when its time is over, judged by the truth."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hideseek.audit.findings.curves import curves
from hideseek.audit.findings.exhibits import exhibits
from hideseek.audit.findings.figures import broke, conclusive, figures, harm
from hideseek.audit.planning.clock import OutOfTime, at_most
from hideseek.audit.threats import knew, seen_by, threat_of
from hideseek.audit.words import reason_of, sentence
from hideseek.chance import Randomness
from hideseek.records import Attack, EncodedRelease
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.result import AttackResult, Proof
from hideseek.score.judge import judge
from hideseek.seek import describe, run, settings


@dataclasses.dataclass(frozen=True)
class PlannedAttack:
    """An attack by its name, the seconds after which it is stopped, and how many attacks there are on its scheme."""

    name: str
    attack: Attack[Any]
    allowed: float
    attacks: int

    def blank(self, release: EncodedRelease) -> AttackResult:
        """Give what is known before it is run."""
        threat = threat_of(self.attack)
        return AttackResult(
            attack=self.name,
            summary=describe(self.attack),
            source=self.attack.source,
            threat=threat.name,
            knew=knew(threat, release),
            outcome="failed",
            sentence="",
            harm=0,
            settings=settings(self.attack),
            allowed=self.allowed,
            seconds=0.0,
            memory=0,
        )


def run_attack(
    asked: PlannedAttack,
    release: EncodedRelease,
    secret: MixingSecret,
    proofs: tuple[Proof, ...],
    chance: Randomness,
    pictures: Path | None = None,
    name: str = "",
) -> AttackResult:
    """Run an attack, and say what came of it; whatever it raises, that it failed is a result too.

    Where `pictures` names a folder, what was found is drawn there, in files that begin with `name`.
    """
    given = seen_by(threat_of(asked.attack), release, secret)
    blank = dataclasses.replace(asked.blank(given), proofs=proofs)
    doubts = [proof.sentence for proof in proofs if not proof.passed]
    if doubts:
        return dataclasses.replace(blank, outcome="withheld", sentence=" ".join(doubts))
    try:
        with at_most(asked.allowed):
            evidence = run(asked.attack, given, chance)
        found = figures(judge(evidence, secret, chance), asked.attacks)
        drawn = () if pictures is None else exhibits(evidence, given, secret, pictures, name)
        lines = curves(evidence, secret)
    except OutOfTime:
        said = f"It was stopped after {asked.allowed:,.0f} s, all that the budget gave it: give a larger --budget."
        return dataclasses.replace(blank, sentence=said, seconds=asked.allowed)
    except OSError:  # a full disk is no fault of the attack
        raise
    except Exception as error:
        if isinstance(error.__cause__, OSError):
            raise
        return dataclasses.replace(blank, sentence=reason_of(error))
    said = sentence(found, len(secret.private))
    if not conclusive(found):
        few = "Too few images could be judged for it to beat a baseline, whatever it found: hide more images."
        said = few if found else said
    return dataclasses.replace(
        blank,
        outcome="broken" if broke(found) else "resisted" if conclusive(found) else "failed",
        sentence=said,
        harm=harm(found),
        seconds=evidence.seconds,
        memory=evidence.memory,
        figures=found,
        curves=lines,
        exhibits=drawn,
        remarks=_plain(evidence.remarks),
    )


def _plain(remarks: Mapping[str, Any]) -> dict[str, Any]:
    """Give remarks as JSON can hold them: what is not a finite number becomes none."""
    told: dict[str, Any] = json.loads(json.dumps(dict(remarks), default=str), parse_constant=lambda _: None)
    return told
