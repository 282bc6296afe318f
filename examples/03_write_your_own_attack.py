"""Write your own attack: one dataclass that gets a release and returns evidence. The audit does the rest.

This one only looks at what was shared. Does that already tell whose image it is?
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import torch

from hideseek.audit import Question, audit
from hideseek.chance import Randomness
from hideseek.data import load, normalise
from hideseek.hide import InstaHide, Mixup, SingularizedMixup
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction
from hideseek.report import sentences


@dataclass(frozen=True)
class LookAtIt(Attack[EncodedRelease]):
    """Claim that every row is its private image, as it stands, or in absolute values where signs were flipped."""

    sees: ClassVar = EncodedRelease
    source: ClassVar = "examples/03"

    sharpen: float = 0.5
    """How much of the mean row to subtract: mixtures are alike in what all images have in common."""

    def seek(self, release: EncodedRelease, chance: Randomness) -> Evidence:
        """Take the rows for images."""
        rows = release.encoded.pixels()
        rows = rows.abs() if release.scheme.masked else rows
        guesses = rows - self.sharpen * rows.mean(0)
        return Evidence((Reconstruction(guesses, torch.arange(len(rows)), "items"),))


private = normalise(load("faces").take(slice(0, 128, 2)), "channel")
schemes = {"mixup": Mixup(k=2), "instahide": InstaHide(k=4), "singularized": SingularizedMixup(tau=1e-3)}
with TemporaryDirectory() as folder:
    question = Question(private, schemes, rounds=2, attacks={"look-at-it": LookAtIt()}, budget=600)
    result = audit(question, Path(folder) / "audit")

for scheme in result.schemes:
    attacked = scheme.attacks[0]
    print(f"{scheme.name}: {attacked.outcome}. {sentences.attack(attacked, len(private))}")
    for proof in attacked.proofs:  # an attack that cannot break plain Mixup, or sees things in noise, is not believed
        print(f"   {sentences.proof(proof)}")
assert result.schemes[0].attacks[0].outcome == "broken"
assert result.schemes[2].attacks[0].outcome == "resisted"
