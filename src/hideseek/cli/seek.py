"""`hideseek seek ATTACK`: look for what a release still shows."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import torch
import tyro

from hideseek.chance import Randomness, secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.images import public_images
from hideseek.cli.terminal import say
from hideseek.data.public import PublicKnown, known_public
from hideseek.errors import BadInput, no_such
from hideseek.files import must_be_new, new_file, new_folder, own_folder
from hideseek.hide.files.release_files import read_release, release_digest, with_public
from hideseek.hide.updates.update_files import holds_updates, read_updates
from hideseek.records import Attack, EncodedRelease, Evidence, Reason, Refused, Release, Samples
from hideseek.records.update_release import UpdateRelease
from hideseek.report.evidence_sheet import evidence_sheet
from hideseek.report.sentences import cost, parameter
from hideseek.seek import ATTACKS, VARIANTS, describe, settings
from hideseek.seek import run as attack_release
from hideseek.seek.evidence_files import Found, read_evidence, write_evidence

A = TypeVar("A", bound=Attack[Any])
FAILED, NOT_APPLICABLE = "failed.json", "not-applicable.json"  # why there is no evidence of an attack
GIVE_AWAY = "for a study, hide with --give-away"
ONE = """The attack sees the release and what you put beside it, never the secret: there is no option for one.

Its evidence (claims.safetensors, evidence.json, a picture) is judged by `hideseek score`, which is given the secret."""
SEVERAL = """Run several attacks with their default settings, each into a folder of its own.

What does not apply to the release, or fails, is said, and the others run. What is finished is not run again: a stopped
run goes on."""
FIELDS = {  # how each field of a release is given
    "public": "--public ADDRESS names the public images that were mixed in",
    "own": "--own ADDRESS names images of the attacker's own",
    "candidates": "hideseek audit gives the attacker a gallery, and judges what he makes of it",
    "made_for": f"{GIVE_AWAY} sources",
    "sources": f"{GIVE_AWAY} sources",
    "weights": f"{GIVE_AWAY} weights",
}
HINTS = {  # what to do about a refusal
    Reason.NO_OWN_IMAGES: "--own ADDRESS or --public ADDRESS names some",
    Reason.TOO_FEW_OWN_IMAGES: "--own ADDRESS names others",
    Reason.UNSUITED_OWN_IMAGES: "--size loads them at another size",
    Reason.PUBLIC_IMAGES_OF_OTHER_SIZE: "--size loads them at another size",
    Reason.LARGER_PUBLIC_IMAGES: "--public-known patches gives him these",
    Reason.NO_COMMON_IMAGES: "hide with --rounds 2 or more",
    Reason.TOO_FEW_ROUNDS: "hide with more --rounds",
    Reason.INCOMPLETE_SOURCES: f"{GIVE_AWAY} weights sources",
}


class NotApplicable(BadInput):
    """The attack has nothing in this release to work on, or lacks something."""


@dataclass(frozen=True)
class SeekOptions:
    """What is attacked, what the attacker has besides, and where evidence is written."""

    release: Path
    """The folder that `hideseek hide` wrote, or updates of a model that a federation recorded."""
    out: Path
    """The folder to write the evidence to; of several attacks, a subfolder for each."""
    public: str | None = None
    """The public images that were mixed in, by the address that `hide --public` was given."""
    public_known: PublicKnown = "images"
    """What the attacker has of patches: the larger images that they were cut from, or the very patches."""
    own: str | None = None
    """Images of the attacker's own, like the private ones, for attacks that train a network."""
    size: int | None = None
    """The --size that the images were hidden with."""
    seed: int | None = None
    """Draw the attack's chance from this number, so that it can be repeated."""


@dataclass(frozen=True)
class Seek(Generic[A]):
    """An attack with its settings, and what it is run on."""

    attack: Annotated[A, tyro.conf.arg(name="")]
    common: Annotated[SeekOptions, tyro.conf.OmitArgPrefixes]


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and attack."""
    names, *rest = [*arguments] or ["--help"]
    if names in ("-h", "--help"):
        say(*_attacks().split("\n"))
        return
    known = {**ATTACKS, **VARIANTS}
    chosen = list(ATTACKS) if names == "all" else names.split(",")
    for name in chosen:
        if name not in known:
            raise no_such("attack", name, known)
    if len(chosen) > 1:
        options = parse(SeekOptions, f"hideseek seek {names}", rest, description=SEVERAL)
        seek_several({name: known[name] for name in chosen}, options)
        return
    attack = known[names]
    kind: Any = Seek[type(attack)]  # type: ignore[misc] # its flags are the attack's fields
    asked: Seek[Attack[Any]] = parse(
        kind,
        f"hideseek seek {names}",
        rest,
        description=f"{describe(attack)}.\n\n{ONE}",
        default=Seek(attack, SeekOptions(tyro.MISSING, tyro.MISSING)),
        config=(tyro.conf.AvoidSubcommands,),  # a name chooses the parts of an attack, options their settings
    )
    must_be_new(asked.common.out)
    _seek(names, asked.attack, _seen(asked.common), asked.common.out, asked.common)


def seek_several(attacks: Mapping[str, Attack[Any]], asked: SeekOptions) -> None:
    """Run attacks one after another; one that does not apply, or fails, does not stop the others."""
    own_folder(asked.out, 0o700)
    release, digest = _seen(asked), release_digest(asked.release)
    ran = 0
    for name, attack in attacks.items():
        folder = asked.out / name
        if folder.exists() or folder.is_symlink():
            own_folder(folder)
        if (folder / "evidence.json").is_file():
            there = read_evidence(folder)
            if there.release != digest:
                raise BadInput(f"{folder} is evidence of another release: choose another folder.")
            if there.seed != asked.seed or there.settings != settings(attack):
                raise BadInput(f"{folder} is evidence of other settings or another seed: choose another folder.")
            say(f"{name}: in {folder} already.")
            ran += 1
            continue
        for file in (FAILED, NOT_APPLICABLE):
            (folder / file).unlink(missing_ok=True)  # of a run before, to be tried again
        try:
            must_be_new(folder)
            _seek(name, attack, release, folder, asked)
            ran += 1
        except NotApplicable as refused:
            _note(folder / NOT_APPLICABLE, {"attack": name, "reason": str(refused)})
            say(f"{name}: not applicable: {refused}")
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"stopped in {name}; attacks that are finished are kept in {asked.out}.") from None
        except Exception as error:  # noqa: BLE001 (whatever an attack raises, the others run)
            reason = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
            _note(folder / FAILED, {"attack": name, "error": reason})
            say(f"{name}: failed. {reason}")
    if not ran:
        raise BadInput("no attack could be run.")


def _note(path: Path, said: Mapping[str, str]) -> None:
    """Write beside the evidence of others why there is none of this attack."""
    own_folder(path.parent, 0o700)
    with new_file(path, 0o600) as file:
        file.write(json.dumps(said, ensure_ascii=False).encode())


def _seen(asked: SeekOptions) -> EncodedRelease | UpdateRelease:
    """Read a release of either kind, and put beside it what the attacker has."""
    if holds_updates(asked.release):
        return _updates_seen(asked)
    release = read_release(asked.release)
    if asked.public is not None:
        public = public_images(asked.public, release.encoded, size=asked.size, features=None)
        release = with_public(release, asked.release, public)
        release = dataclasses.replace(release, public=known_public(public, asked.public_known))
    if asked.own is not None:
        own = public_images(asked.own, release.encoded, size=asked.size or release.encoded.shape[1:], features=None)
        release = dataclasses.replace(release, own=own)
    return release


def _updates_seen(asked: SeekOptions) -> UpdateRelease:
    """Read updates of a model; nothing public is mixed into them by name."""
    release = read_updates(asked.release)
    if asked.public is not None:
        raise BadInput(
            f"{asked.release} holds updates of a model, and public images are not looked for: leave them out."
        )
    if asked.own is None:
        return release
    like = Samples(torch.zeros(1, *release.shape), torch.zeros(1, 0), normalisation=release.normalisation)
    own = public_images(asked.own, like, size=asked.size or release.shape[1:], features=None)
    return dataclasses.replace(release, own=own)


def _seek(name: str, attack: Attack[Any], release: Release, folder: Path, asked: SeekOptions) -> None:
    """Run one attack and write its evidence; say what it took."""
    digest = release_digest(asked.release)
    evidence = evidence_of(attack, release, attack_chance(asked.seed))
    found = Found(evidence, name, digest, settings(attack), asked.seed)
    with new_folder(folder, 0o700) as partial:  # what was found is private, if the attack worked
        write_evidence(found, partial)
        picture = evidence_sheet(name, release, evidence)
        if picture is not None:
            with new_file(partial / "evidence.png", 0o600) as file:
                picture.save(file, "PNG")
    say(f"{name}: evidence in {folder} ({cost(evidence.seconds, evidence.memory)}).")
    for remark, value in evidence.remarks.items():
        if isinstance(value, int | float):
            say(f"  {remark}: {parameter(value)}")
    if isinstance(release, EncodedRelease):
        say(f"Judge it:  hideseek score {folder} --secret FILE")


def evidence_of(attack: Attack[Any], release: Release, chance: Randomness) -> Evidence:
    """Run an attack; where it refuses, say by which option that can be helped."""
    try:
        return attack_release(attack, release, chance)
    except Refused as error:
        reason = error.refusal.reason
        if reason is Reason.MISSING_FIELDS:
            hints = [
                FIELDS.get(field, field.replace("_", " ")) for field in attack.needs if getattr(release, field) is None
            ]
        else:
            hints = [HINTS[reason]] if reason in HINTS else []
        hint = f" ({'; '.join(dict.fromkeys(hints))})" if hints else ""
        raise NotApplicable(f"{str(error).rstrip('.')}{hint}.") from None


def attack_chance(seed: int | None) -> Randomness:
    """Give a stream that is not the hider's, even where both name the same seed."""
    if seed is None:
        return secure()
    return seeded(int.from_bytes(hashlib.sha256(f"seek {seed}".encode()).digest(), "little"))


def _attacks() -> str:
    width = max(map(len, {**ATTACKS, **VARIANTS}))

    def lines(attacks: Mapping[str, Attack[Any]]) -> str:
        return "\n".join(f"  {name:{width}}  {describe(attack)}" for name, attack in attacks.items())

    return f"""usage: hideseek seek ATTACK --release DIR --out DIR [--public ADDRESS] [--help] …

{lines(ATTACKS)}

Other ways of some of them, which are run only where they are named:
{lines(VARIANTS)}

`hideseek seek ATTACK --help` explains an attack's settings. Several attacks: their names with commas between, or all.

Try:  hideseek hide mixup --data faces --rounds 20 --out hidden --keep-secret secret
      hideseek seek mixup-pairs --release hidden --out found
      hideseek score found --secret secret"""
