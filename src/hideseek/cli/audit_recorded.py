"""`hideseek audit --recorded DIR`: what leaked from what was really sent in a federation."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import tyro
from tyro.conf import arg

from hideseek.audit import Question
from hideseek.cli.arguments import parse
from hideseek.cli.audit_options import UNDESCRIBED, Audit, Images, Output, Several
from hideseek.cli.audit_question import attacks_named, seconds
from hideseek.cli.audit_release import question
from hideseek.cli.config import ConfigFile
from hideseek.cli.gate import Gate
from hideseek.cli.images import public_images
from hideseek.cli.release_options import AuditRelease
from hideseek.cli.terminal import say
from hideseek.cli.update_options import UpdateAttacking
from hideseek.data.non_members import non_members
from hideseek.errors import BadInput
from hideseek.federate.recorded import RecordedEncodings, RecordedUpdates
from hideseek.federate.recordings import Recording, joined_releases, recordings
from hideseek.files import own_folder
from hideseek.records import EncodedRelease, Encoder, Samples
from hideseek.records.result import NoAccuracy, NoAccuracyKind
from hideseek.records.update_release import UpdateRelease
from hideseek.report.result_files import read_result

BUDGET = "10m"


@dataclass(frozen=True)
class AuditRecorded:
    """Attack what parties of a federation really sent, and write one page on what leaked.

    DIR is the folder of a party that recorded (--record), where the ground truth lies beside every message, so that
    each attack is judged; of a simulation, whose parties are all audited; or of a server, which has no ground truth:
    encodings of each party are audited as with --release there; of updates, what attacks found is written down.

    Try:  hideseek federate simulate --data faces --parties 4 --rounds 3 --record --out federated
          hideseek audit --recorded federated --out audit
    """

    recorded: Annotated[Path, arg(metavar="DIR")]
    """What was recorded."""
    output: Annotated[Output, UNDESCRIBED]
    own: Annotated[str | None, arg(metavar="ADDRESS", help_behavior_hint="")] = None
    """Images that the attacker has; by default photographs. Like ones make him stronger."""
    parties: Annotated[int | None, arg(metavar="N", help_behavior_hint="")] = None
    """Audit the first parties alone; each has a page of its own, and an equal part of the budget."""
    attacks: Annotated[str, arg(metavar="NAMES")] = "all"
    """The attacks to run, with commas between, or all."""
    budget: Annotated[str | None, arg(metavar="TIME", help_behavior_hint=f"(default: {BUDGET})")] = None
    """How long the audit may work, about: 90s, 10m, 2h."""
    gate: Annotated[Gate, UNDESCRIBED] = field(default_factory=Gate)

    def seconds(self) -> float:
        """Give the budget in seconds."""
        return seconds(self.budget or BUDGET)


def run(arguments: Sequence[str], file: ConfigFile | None = None) -> None:
    """Parse the arguments and audit."""
    asked = parse(
        AuditRecorded,
        "hideseek audit",
        arguments,
        file,
        description=inspect.cleandoc(AuditRecorded.__doc__ or ""),
        config=(tyro.conf.OmitArgPrefixes,),
    )
    if asked.parties is not None and asked.parties < 1:
        raise BadInput(f"--parties must be 1 or more, not {asked.parties}.")
    found = recordings(asked.recorded)[: asked.parties]
    if len({each.of_updates for each in found}) > 1:
        raise BadInput("updates and encodings were recorded here: name the folder of one federation.")
    if not all(each.judged or not each.of_updates for each in found):
        _unjudged(asked, found)
        return
    if len(found) == 1:
        _audit(asked, found[0], asked.output, asked.gate)
        return
    asked.gate.check()
    names = ", ".join(each.name for each in found[:4]) + (", …" if len(found) > 4 else "")
    say(f"{len(found)} parties recorded ({names}); each has images of its own, and is audited by itself.")
    if asked.output.dry_run:
        asked.gate.refuse("--dry-run judges nothing")
    else:
        own_folder(asked.output.out, 0o700)
    part = replace(asked, budget=f"{max(1, round(asked.seconds() / len(found)))}s")
    places = [asked.output.out / recording.name for recording in found]
    for recording, out in zip(found, places, strict=True):
        if not (asked.output.resume and (out / "result.json").is_file()):
            _audit(part, recording, replace(asked.output, out=out), Gate())
    if asked.gate.asked:
        asked.gate.finish([read_result(out) for out in places])


def _audit(asked: AuditRecorded, recording: Recording, output: Output, gate: Gate) -> None:
    """Audit what one party sent."""
    from hideseek.cli.audit import perform

    attacking = UpdateAttacking(attacks=asked.attacks, budget=asked.budget or BUDGET).attacking()
    usual: Audit[Any] = Audit(Several(), Images(str(asked.recorded)), output, attacking, gate=gate)
    perform(usual, lambda: _question(asked, recording))


def _question(asked: AuditRecorded, recording: Recording) -> Question:
    """Give the question about one party; encodings without their truth are a release like any other."""
    if not recording.judged:
        place = asked.recorded / recording.name
        about = AuditRelease(place, asked.output, own=asked.own, attacks=asked.attacks, budget=asked.budget or BUDGET)
        return question(about, joined_releases(recording.folders), stated=True)
    scheme: Encoder
    private: Samples
    scheme, private = (RecordedUpdates if recording.of_updates else RecordedEncodings).of(recording)
    own_address = asked.own or "photos"
    own = public_images(own_address, private, size=private.shape[1:], features=None)
    others, of_which = non_members(private, {})
    return Question(
        private,
        {recording.name: scheme},
        None,
        own,
        len(recording.folders),
        attacks_named(asked.attacks, UpdateRelease if recording.of_updates else EncodedRelease),
        asked.seconds(),
        None,
        NoAccuracy(NoAccuracyKind.NOT_ASKED),
        {
            "private": "recorded",
            "own": own_address,
            "others": ", ".join(f"{n} of {name}" for name, n in of_which.items()),
        },
        others,
    )


def _unjudged(asked: AuditRecorded, found: Sequence[Recording]) -> None:
    """Attack updates that a server recorded: what attacks find is written down, and nobody here can judge it.

    What is finished is not attacked again, so that --resume, which is allowed, changes nothing.
    """
    from hideseek.cli.seek import SeekOptions, seek_several

    output = asked.output
    refused = {"--budget": asked.budget is not None, "--keep": output.keep, "--show-private": output.show_private}
    if given := [name for name, is_given in refused.items() if is_given]:
        raise BadInput(f"{asked.recorded} has no ground truth, and what is found is not judged: leave {given[0]} out.")
    asked.gate.refuse(f"{asked.recorded} has no ground truth, and what is found is not judged")
    attacks = attacks_named(asked.attacks, UpdateRelease)
    if output.dry_run:
        say(f"On each of these releases, attacks are run ({', '.join(attacks)}), and what they find is not judged:")
        say(*(f"  {each.name}, {folder.name}" for each in found for folder in each.folders))
        return
    for recording in found:
        for folder in recording.folders:
            say(f"{recording.name}, {folder.name}:")
            out = output.out / recording.name / folder.name
            seek_several(attacks, SeekOptions(folder, out, own=asked.own))
    say("Nothing was judged: the ground truth is with the parties, who can audit what they recorded themselves.")
