"""What the server could reconstruct: attacks on what it kept of a federation, judged by the ground truth of a party.

The server's copy is attacked, the party's own tells what is true; both must be the same bytes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from federation.running import Federation

from hideseek.chance import seeded
from hideseek.errors import BadInput
from hideseek.federate.encodings import POOL
from hideseek.federate.recording import RECORDED
from hideseek.federate.recordings import joined_encodings, joined_updates
from hideseek.hide.files.release_files import release_digest
from hideseek.hide.updates import together
from hideseek.hide.updates.update_files import read_updates
from hideseek.records import Attack, EncodedRelease, Evidence, Reconstruction, Samples
from hideseek.records.mixing_secret import MixingSecret
from hideseek.records.update_release import UpdateRelease
from hideseek.records.update_secret import UpdateSecret
from hideseek.score.judge import judge
from hideseek.seek import refusal, run

METRICS = ("recovered", "re-identified", "correlation")
KNOWN = {"sources", "weights"}  # what those know who know what is mixed


def pool_of(out: Path, round_: int = 0) -> list[Path]:
    """Give the folders of a server's pool, one for each party."""
    return sorted((out / POOL / f"{round_:05d}").glob("*/"))


def delivered(federation: Federation, out: Path, party: int) -> tuple[EncodedRelease, MixingSecret]:
    """Give what the server pooled of a party in all rounds, and the ground truth that the party kept."""
    own = sorted(federation.folder(out, party).glob("encodings-*/"))
    kept = {release_digest(folder): folder for round_ in range(len(own)) for folder in pool_of(out, round_)}
    folders = [kept[release_digest(folder)] for folder in own]
    return joined_encodings(folders, [folder.with_suffix(".secret") for folder in own])


def _recorded(folder: Path, name: str) -> Path:
    """Find what was recorded of a round: the last message, where one was asked for again."""
    found = [each for each in folder.glob(f"{name}*") if each.is_dir()]
    return max(found, key=lambda each: each.stat().st_mtime_ns, default=folder / name)


def received(
    federation: Federation, out: Path, party: int, rounds: Sequence[int]
) -> tuple[UpdateRelease, UpdateSecret]:
    """Give what the server kept of a party's updates of some rounds, and the ground truth that the party kept."""
    names = [f"round-{round_:05d}" for round_ in rounds]
    own = [_recorded(federation.folder(out, party) / RECORDED, name) for name in names]
    theirs, secret = joined_updates(own, [folder.with_suffix(".secret") for folder in own])
    kept = [read_updates(_recorded(out / RECORDED / f"party-{party}", name)) for name in names]
    release = together(kept) if len(kept) > 1 else kept[0]
    for first, second in zip(release.updates, theirs.updates, strict=True):
        if not all(torch.equal(tensor, second[name]) for name, tensor in first.items()):
            raise BadInput("the server has another update than the party sent.")
    return release, secret


def attacked(
    release: EncodedRelease | UpdateRelease, secret: MixingSecret | UpdateSecret, attack: Attack[Any], others: Samples
) -> dict[str, Any]:
    """Run one attack, with attacker-side images of the same kind, and judge its guesses in a gallery with other ones.

    `others` are neither private nor public: the first half is the attacker's own, the second is in the gallery.
    """
    half = len(others) // 2
    own, rest = others.take(slice(0, half)), others.take(slice(half, 2 * half))
    needed = [need for need in attack.needs if need in release.withheld]
    seen: Any = replace(secret.reveal(release, needed), own=own)
    if (reason := refusal(attack, seen)) is not None:
        return {"refused": reason.reason.name.lower()}
    evidence = run(attack, seen, seeded(10))
    claims = tuple(claim for claim in evidence.claims if isinstance(claim, Reconstruction))
    gallery = replace(secret, others=rest.take(slice(0, len(secret.private))))
    scores = judge(Evidence(claims[:1]), gallery, seeded(20), METRICS).scores
    found: dict[str, Any] = {"knows": needed, "seconds": round(evidence.seconds, 1)}
    for score in scores:
        found[score.metric] = round(float(score.values.nanmean()), 4)
        found[f"{score.metric}, baseline"] = round(
            max((each.mean for each in score.baselines.values()), default=0.0), 4
        )
        found["judged"] = int((~score.values.isnan()).sum())
    return found


@dataclass(frozen=True)
class Leak:
    """The attack that gets the most beyond its best baseline, and how much that is."""

    attack: str
    share: float
    """(share − baseline) / (1 − baseline) of guesses that point to their image; 0 where the baseline is not beaten."""


def worst(found: dict[str, Any]) -> Leak:
    """Choose among all attacks of a trial by what each gets beyond its own baseline.

    Shares alone cannot be compared: an update of mixtures holds nearly all images of a party, so that two guesses in
    five point to one of them by chance. Guesses in no order point to no image; those that are recovered count.
    """
    tried = {name: each for name, each in found["attacks"].items() if "refused" not in each}
    return max((Leak(_named(name, each), _beyond(each)) for name, each in tried.items()), key=lambda leak: leak.share)


def _named(name: str, each: dict[str, Any]) -> str:
    """Mark attackers who know what is mixed in every row."""
    return f"{name}*" if KNOWN & {*each["knows"]} else name


def _beyond(each: dict[str, Any]) -> float:
    metric = "re-identified" if "re-identified" in each else "recovered"
    share, floor = (float(each.get(key, 0.0)) for key in (metric, f"{metric}, baseline"))
    return max(0.0, (share - floor) / (1 - floor))


def leaks(found: dict[str, Any]) -> str:
    """Say what every attack got: the shares re-identified and recovered, in brackets those of its best baselines."""
    said = []
    for name, each in found["attacks"].items():
        if "refused" in each:
            said.append(f"{name}: does not apply")
            continue
        shares = [
            f"{100 * each[metric]:.0f} ({100 * each[f'{metric}, baseline']:.0f})"
            for metric in ("re-identified", "recovered")
            if metric in each
        ]
        alone = "" if "re-identified" in each else "recovered "
        said.append(f"{_named(name, each)}: {alone}{' / '.join(shares)}")
    return "; ".join(said)
