"""`hideseek score EVIDENCE --secret FILE`: judge what an attack found by the ground truth."""

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from hideseek.chance import seeded
from hideseek.cli.arguments import parse
from hideseek.cli.score_table import show, show_failed
from hideseek.cli.terminal import say
from hideseek.errors import BadInput, no_such
from hideseek.files import new_file, read_record
from hideseek.hide.files.secret_files import read_secret
from hideseek.records import Reconstruction
from hideseek.records.secret import Secret
from hideseek.report import Row, contact_sheet
from hideseek.score.claims import CLAIMS
from hideseek.score.gallery import gallery
from hideseek.score.judge import judge, to_json
from hideseek.score.metrics import METRICS
from hideseek.seek.evidence_files import Found, read_evidence

FORMAT = 2
WITHOUT = {"failed.json": ("error", "failed"), "not-applicable.json": ("reason", "not applicable")}
"""The files that say why there is no evidence of an attack: where in it that stands, and what is said."""


@dataclass(frozen=True)
class Score:
    """Judge what an attack found by the ground truth, and say whether it is more than nothing.

    Beside every score stand baselines that ignore the release: the mean image, another image of the class, chance. An
    attack leaks if it beats the best of them, image by image, with 95 % confidence. If it does not, that proves
    little: another attack may.

    Try:  hideseek hide mixup --data faces --rounds 20 --out hidden --keep-secret secret
          hideseek seek mixup-pairs --release hidden --out found
          hideseek score found --secret secret --picture found.png
    """

    evidence: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVIDENCE")]
    """The folder that `hideseek seek` wrote, of one attack or of several."""
    secret: Path
    """The secret that was kept with the release (hideseek hide --keep-secret FILE)."""
    metrics: tuple[str, ...] = ()
    """Judge by these metrics alone. By default: all that fit, but none that takes long or must be fetched."""
    picture: Path | None = None
    """Draw the best, the median and the worst reconstructions. The picture shows private images."""
    json: Path | None = None
    """Write all figures to this file. By default: score.json beside the evidence."""
    seed: int = 0
    """Baselines and intervals are drawn from this number."""


@dataclass
class _Outcome:
    """What became of the attacks, by their names."""

    described: dict[str, dict[str, Any]] = field(default_factory=dict)
    sheet: list[Row] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and judge."""
    kinds = "\n".join(f"  {name}: {', '.join(rules.metrics)}" for name, rules in CLAIMS.items())
    explained = (
        f"{inspect.cleandoc(Score.__doc__ or '')}\n\nMetrics of each kind of claim (score.json explains them):\n{kinds}"
    )
    score(parse(Score, "hideseek score", arguments, description=explained))


def score(asked: Score) -> None:
    """Judge one attack, or all that are in a folder; one that cannot be judged does not keep the others from it."""
    for name in asked.metrics:
        if name not in METRICS:
            raise no_such("metric", name, METRICS)
    folders = _folders(asked.evidence)
    secrets: dict[str, Secret] = {}
    outcome = _Outcome()
    for folder in folders:
        try:
            _one(folder, asked, secrets, outcome)
        except BadInput as mistake:
            if folders == [asked.evidence]:
                raise
            show_failed(folder.name, str(mistake), "could not be judged")
            outcome.refused.append(folder.name)
    if asked.json is not None and outcome.described:
        several = {"format": FORMAT, "attacks": outcome.described}
        _write(asked.json, several if folders != [asked.evidence] else next(iter(outcome.described.values())))
    if asked.picture is not None:
        _draw(outcome.sheet, asked.picture)
    if outcome.refused:
        raise BadInput(f"{len(outcome.refused)} of {len(folders)} attacks could not be judged; the reasons are above.")


def _folders(place: Path) -> list[Path]:
    """Give the folder of one attack's evidence, or those of several in it."""
    results = ("evidence.json", *WITHOUT)
    if not place.is_dir() or any((place / name).is_file() for name in results):
        return [place]
    inside = [each for each in sorted(place.iterdir()) if any((each / name).is_file() for name in results)]
    return inside or [place]


def _one(folder: Path, asked: Score, secrets: dict[str, Secret], outcome: _Outcome) -> None:
    """Judge one attack, show what came out and keep it."""
    for file, (key, what) in WITHOUT.items():
        if not (folder / "evidence.json").is_file() and (folder / file).is_file():
            attack, why = _why_none(folder / file, key)
            show_failed(attack, why, what)
            outcome.described[folder.name] = {"format": FORMAT, "attack": attack, what: why}
            return
    found = read_evidence(folder)
    if found.release not in secrets:
        secrets[found.release] = read_secret(asked.secret, found.release)
    secret = secrets[found.release]
    judgement = judge(found.evidence, secret, seeded(asked.seed), asked.metrics or None)
    show(found.attack, found.evidence, judgement)
    described = {**_header(found), "judged_with_seed": asked.seed, **to_json(judgement)}
    outcome.described[folder.name] = described
    if asked.json is None:
        _write(folder / "score.json", described)
    if asked.picture is not None:
        for claim in found.evidence.claims:
            if isinstance(claim, Reconstruction) and len(claim.images):
                outcome.sheet += _rows(found.attack, claim, secret)


def _why_none(path: Path, key: str) -> tuple[str, str]:
    """Read why there is no evidence of an attack."""
    try:
        told = read_record(path)
        if set(told) != {"attack", key}:
            raise ValueError
        return str(told["attack"]), str(told[key])
    except (OSError, ValueError, TypeError):
        raise BadInput(f"{path} is damaged: run the attack again.") from None


def _header(found: Found) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "attack": found.attack,
        "settings": dict(found.settings),
        "release": found.release,
        "seed": found.seed,
        "seconds": found.evidence.seconds,
        "memory": found.evidence.memory,
    }


def _write(path: Path, described: dict[str, Any]) -> None:
    text = json.dumps(described, indent=1, ensure_ascii=False, allow_nan=False)
    with new_file(path) as file:
        file.write(text.encode())
    say(f"All figures are in {path}.")


def _rows(attack: str, claim: Reconstruction, secret: Secret) -> list[Row]:
    """Put the original above the guess, for the best, the median and the worst."""
    rows = []
    for kind, examples in gallery(claim, secret).items():
        metric = "|corr|" if secret.masked else "corr"
        captions = [f"image {each.image}\n{metric} {each.likeness:.2f}" for each in examples]
        rows.append(Row(f"{attack}, {kind}: original", [each.truth for each in examples]))
        rows.append(Row("guess, fitted", [each.guess for each in examples], captions))
    return [row for row in rows if row.tiles]


def _draw(rows: list[Row], path: Path) -> None:
    """Write the picture, readable by its owner alone."""
    if not rows:
        raise BadInput(
            "no attack claims to have reconstructed an image, so there is nothing to draw: leave --picture out."
        )
    foot = "Guesses have the brightness and contrast that fit best. Private images: do not share."
    sheet = contact_sheet("What was found", (), rows, foot)
    with new_file(path, mode=0o600) as file:
        sheet.save(file, "PNG")
    say(f"The picture is in {path}. It shows private images: do not share it.")
