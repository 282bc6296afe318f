"""`hideseek seek ATTACK`: look for what a release still shows."""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import tyro

from hideseek.chance import Randomness, secure, seeded
from hideseek.cli.images import public_images
from hideseek.errors import BadInput, no_such
from hideseek.files import must_be_new, new_file, new_folder
from hideseek.hide.files.release_files import read_release, release_digest, with_public
from hideseek.records import Attack, EncodedRelease
from hideseek.report.evidence_sheet import evidence_sheet
from hideseek.seek import ATTACKS, describe, settings
from hideseek.seek import run as attack_release
from hideseek.seek.evidence_files import Found, read_evidence, write_evidence

A = TypeVar("A", bound=Attack[Any])


@dataclass(frozen=True)
class Given:
    """Run several attacks with their default settings, each into a folder of its own.

    An attack that fails is reported, and the others run. What is finished is not run again: a stopped run goes on.
    """

    release: Path
    """The folder that `hideseek hide` wrote."""
    out: Path
    """The folder to write the evidence to; of several attacks, a subfolder for each."""
    public: str | None = None
    """The public images that were mixed in, by the address that `hide --public` was given."""
    own: str | None = None
    """Images of the attacker's own, like the private ones, for attacks that train a network."""
    size: int | None = None
    """The --size that the images were hidden with."""
    seed: int | None = None
    """Draw the attack's chance from this number, so that it can be repeated."""


@dataclass(frozen=True)
class Seek(Generic[A]):
    """Run an attack on exactly what would be shared, and write what it found.

    The attack sees the release and what you put beside it, never the secret: there is no option for one. Its evidence
    (claims.safetensors, evidence.json, a picture) is judged by `hideseek score`, which is given the secret.
    """

    attack: A
    given: Given


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and attack."""
    names, *rest = [*arguments] or ["--help"]
    if names in ("-h", "--help"):
        print(_attacks())
        return
    chosen = list(ATTACKS) if names == "all" else names.split(",")
    for name in chosen:
        if name not in ATTACKS:
            raise no_such("attack", name, ATTACKS)
    if len(chosen) > 1:
        seek_several(chosen, tyro.cli(Given, prog=f"hideseek seek {names}", args=rest))
        return
    attack = ATTACKS[names]
    kind: Any = Seek[type(attack)]  # type: ignore[misc] # its flags are the attack's fields
    asked: Seek[Attack[Any]] = tyro.cli(
        kind,
        prog=f"hideseek seek {names}",
        default=Seek(attack, Given(tyro.MISSING, tyro.MISSING)),
        args=rest,
        config=(tyro.conf.OmitArgPrefixes,),
    )
    must_be_new(asked.given.out)
    _seek(names, asked.attack, _seen(asked.given), asked.given.out, asked.given)


def seek_several(names: Sequence[str], asked: Given) -> None:
    """Run attacks one after another; one that fails does not stop the others."""
    release, digest = _seen(asked), release_digest(asked.release)
    failed = []
    for name in names:
        folder = asked.out / name
        if (folder / "evidence.json").is_file():
            there = read_evidence(folder)
            if there.release != digest:
                raise BadInput(f"{folder} is evidence of another release: choose another folder.")
            if there.seed != asked.seed or there.settings != settings(ATTACKS[name]):
                raise BadInput(f"{folder} is evidence of other settings or another seed: choose another folder.")
            print(f"{name}: in {folder} already.")
            continue
        (folder / "failed.json").unlink(missing_ok=True)  # of a run before, to be tried again
        try:
            must_be_new(folder)
            _seek(name, ATTACKS[name], release, folder, asked)
        except Exception as error:  # noqa: BLE001 (whatever an attack raises, the others run)
            reason = str(error) if isinstance(error, BadInput) else f"{type(error).__name__}: {error}"
            failed.append(name)
            with new_file(folder / "failed.json") as file:
                file.write(json.dumps({"attack": name, "error": reason}, ensure_ascii=False).encode())
            print(f"{name}: failed. {reason}")
    if len(failed) == len(names):
        raise BadInput("no attack could be run.")


def _seen(asked: Given) -> EncodedRelease:
    """Read a release, and put beside it what the attacker has."""
    release = read_release(asked.release)
    if asked.public is not None:
        public = public_images(asked.public, release.encoded, size=asked.size, features=None)
        release = with_public(release, asked.release, public)
    if asked.own is not None:
        own = public_images(asked.own, release.encoded, size=asked.size or release.encoded.shape[1:], features=None)
        release = dataclasses.replace(release, own=own)
    return release


def _seek(name: str, attack: Attack[Any], release: EncodedRelease, folder: Path, asked: Given) -> None:
    """Run one attack and write its evidence; say what it took."""
    digest = release_digest(asked.release)
    evidence = attack_release(attack, release, _chance(asked.seed))
    found = Found(evidence, name, digest, settings(attack), asked.seed)
    with new_folder(folder) as partial:
        write_evidence(found, partial)
        picture = evidence_sheet(name, release, evidence)
        if picture is not None:
            with new_file(partial / "evidence.png") as file:
                picture.save(file, "PNG")
    print(f"{name}: evidence in {folder} ({evidence.seconds:,.1f} s, {evidence.memory / 2**20:,.0f} MiB).")
    for remark, value in evidence.remarks.items():
        if isinstance(value, int | float):
            print(f"  {remark}: {value:.4g}")
    print(f"Judge it:  hideseek score {folder} --secret FILE")


def _chance(seed: int | None) -> Randomness:
    """Give a stream that is not the hider's, even where both name the same seed."""
    if seed is None:
        return secure()
    return seeded(int.from_bytes(hashlib.sha256(f"seek {seed}".encode()).digest(), "little"))


def _attacks() -> str:
    width = max(map(len, ATTACKS))
    lines = (f"  {name:{width}}  {describe(attack)}" for name, attack in ATTACKS.items())
    return (
        "usage: hideseek seek ATTACK --release DIR --out DIR [--public ADDRESS] [--help] …\n\n"
        + "\n".join(lines)
        + """

`hideseek seek ATTACK --help` explains an attack's settings. Several attacks: their names with commas between, or all.

Try:  hideseek hide mixup --data faces --rounds 20 --out hidden --keep-secret truth
      hideseek seek mixup-pairs --release hidden --out found
      hideseek score found --secret truth"""
    )
