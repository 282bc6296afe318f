"""`hideseek challenge make|attack|score`: the InstaHide challenge, in its authors' format."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from hideseek.chance import secure, seeded
from hideseek.cli.arguments import parse
from hideseek.cli.challenge_options import Attack, Make, Score
from hideseek.cli.images import public_images, training_images
from hideseek.cli.mistakes import BadArguments
from hideseek.cli.seek import attack_chance, evidence_of
from hideseek.cli.terminal import Column, say, table
from hideseek.data import normalise
from hideseek.data.public import known_public
from hideseek.errors import BadInput, no_such
from hideseek.files import must_be_new
from hideseek.hide.named import schemes
from hideseek.records import EncodedRelease
from hideseek.report.sentences import counted, duration
from hideseek.seek import ATTACKS, VARIANTS

USAGE = """usage: hideseek challenge make|attack|score [--help] …

  make    hide some images as the authors of InstaHide did for their challenge, and keep the secret
  attack  run an attack on a challenge, also the authors' own, and write decryption.npy
  score   say how good a decryption.npy is, by the authors' measures, and put it on a leaderboard

Try:  hideseek challenge make --data cifar10 --public patches:tinyimagenet --out challenge --secret secret
      hideseek challenge attack challenge --out decryption.npy
      hideseek challenge score decryption.npy --challenge challenge --secret secret --board leaderboard.json"""


def run(arguments: Sequence[str]) -> None:
    """Find the verb, parse its options, and do it."""
    verb, *rest = [*arguments] or ["--help"]
    verbs: dict[str, tuple[type[Any], Callable[[Any], None]]] = {
        "make": (Make, make),
        "attack": (Attack, attack),
        "score": (Score, score),
    }
    if verb in ("-h", "--help"):
        say(*USAGE.split("\n"))
        return
    if verb not in verbs:
        raise BadArguments(str(no_such("verb of challenge", verb, verbs)))
    kind, do = verbs[verb]
    do(parse(kind, f"hideseek challenge {verb}", rest))


def make(asked: Make) -> None:
    """Draw images, hide them, write the challenge."""
    from hideseek.challenge import write_challenge

    must_be_new(asked.out)
    must_be_new(asked.secret)
    scheme = _scheme(asked.scheme)
    if scheme.mixes_public and asked.public is None:
        raise BadInput(f"{asked.scheme} mixes public images into every row: name a set with --public.")
    chance = secure() if asked.seed is None else seeded(asked.seed)
    whole = training_images(asked.data, "none", size=asked.size, channels=asked.channels, features=None)
    if not 2 <= asked.images <= len(whole):
        raise BadInput(f"--images must be between 2 and the {len(whole):,} images that there are.")
    private = normalise(whole.take(chance.permutation(len(whole))[: asked.images].sort().values), "channel")
    public = None
    if scheme.mixes_public and asked.public is not None:
        public = public_images(asked.public, private, size=asked.size, features=None)
    release, secret = scheme.hide(private, public, chance, asked.rounds)
    write_challenge(asked.out, release, secret, asked.secret)
    rows = counted(len(release.encoded), "row")
    say(f"{rows} of {counted(asked.images, 'image')} are in {asked.out}.")
    say(f"The secret is in {asked.secret}: never share it.")
    if asked.seed is not None:
        say(f"Its keys come from the seed {asked.seed}: it is for studies, and anyone can undo it.")
    say(f"Take it up:  hideseek challenge attack {asked.out} --out decryption.npy")


def attack(asked: Attack) -> None:
    """Attack, and write an image for every row."""
    from hideseek.challenge import chosen_attack, decryption, read_challenge, write_decryption

    known = {**ATTACKS, **VARIANTS}
    if asked.attack is not None and asked.attack not in known:
        raise no_such("attack", asked.attack, known)
    scheme = None if asked.scheme is None else _scheme(asked.scheme)
    release = _seen(asked, read_challenge(asked.challenge, scheme, asked.images).release)
    name, chosen = (asked.attack, known[asked.attack]) if asked.attack else chosen_attack(release)
    rows = len(release.encoded)
    say(f"{name} on {counted(rows, 'row')} of {counted(rows // release.rounds, 'image')}.")
    evidence = evidence_of(chosen, release, attack_chance(asked.seed))
    write_decryption(asked.out, decryption(evidence, release))
    took = duration(evidence.seconds)
    say(f"{asked.out} has an image for every row ({took}).")
    say(f"Score it:  hideseek challenge score {asked.out} --challenge {asked.challenge} --secret FILE --name {name}")


def score(asked: Score) -> None:
    """Score a submission, and put it on a leaderboard."""
    from hideseek.challenge import Entry, read_board, read_challenge, read_decryption, sealed_secret, write_board
    from hideseek.challenge import score as measured

    challenge = read_challenge(asked.challenge)
    release = challenge.release
    entries = [] if asked.board is None else read_board(asked.board)
    images = read_decryption(asked.decryption, len(release.encoded), release.encoded.shape)
    found = measured(images, sealed_secret(asked.secret, challenge))
    rows, k = len(release.encoded), sum(release.scheme.images_per_row)
    where = f"{asked.challenge.name}, {rows // release.rounds:,} images, {rows:,} rows, k = {k}"
    table(
        [
            Column("Max SSIM", right=True),
            Column("Mean SSIM", right=True),
            Column("Min L2", right=True),
            Column("Mean L2", right=True),
        ],
        [[f"{value:.3f}" for value in dataclasses.astuple(found)]],
    )
    if asked.board is not None:
        entry = Entry(asked.name, where, **dataclasses.asdict(found), time=asked.time)
        others = [each for each in entries if (each.attack, each.challenge) != (entry.attack, entry.challenge)]
        say(f"The leaderboard is in {asked.board} and {write_board(asked.board, [*others, entry])}.")


def _scheme(text: str) -> Any:
    """Read one scheme with its parameters."""
    found = schemes(text)
    if len(found) != 1:
        raise BadInput(f"a challenge has one scheme, not {len(found)}.")
    return next(iter(found.values()))


def _seen(asked: Attack, release: EncodedRelease) -> EncodedRelease:
    """Put beside a challenge what the attacker has."""
    if asked.public is not None:
        public = public_images(asked.public, release.encoded, size=release.encoded.shape[1:], features=None)
        release = dataclasses.replace(release, public=known_public(public, asked.public_known))
    if asked.own is not None:
        own = public_images(asked.own, release.encoded, size=release.encoded.shape[1:], features=None)
        release = dataclasses.replace(release, own=own)
    return release
