"""The verbs as commands: `hideseek VERB …`. One file a verb; what a verb needs is imported when it is called."""

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version

from hideseek.cli import terminal
from hideseek.cli.mistakes import CODES, BadArguments, check_memory, explained
from hideseek.cli.notes import notes_on_stderr
from hideseek.errors import no_such

COMMANDS = {
    "audit": "hide, learn, attack and judge: one page on what leaks, and what it costs",
    "report": "make the page of an audit again",
    "compare": "set two audits side by side",
    "hide": "encode images so that they can be shared, and write the release",
    "learn": "train on a release, or on images that are hidden anew for every epoch",
    "choose": "compare ways to learn from private images at the same ε, and say which to take",
    "predict": "ask a trained model about images, plainly or hidden",
    "score": "judge what an attack found against the ground truth",
    "seek": "run attacks on a release, and write what they found",
    "show": "draw what a release looks like",
    "ledger": "how often every image was released, under which proof, and what may still be",
    "federate": "several parties, one model: run a federation, and check what its settings promise",
    "bench": "the fixed benchmark: measure a way of sharing, and write the leaderboard",
    "challenge": "set the InstaHide challenge, take it up, and score who did",
    "data": "list the image sets that can be named",
    "demo": "audit four schemes on the embedded faces, in a few minutes",
}
DEBUG = "--debug"  # an option of every verb, for reports of errors
CONFIG = "--config"
GATES = ("--fail-on", CONFIG)  # options by which an audit may be a gate: the second may name the first


def _overview() -> str:
    verbs = "\n".join(f"  {name:9} {summary}" for name, summary in COMMANDS.items())
    codes = "\n".join(f"  {code:<4} {meaning}" for code, meaning in CODES.items())
    return f"""hideseek {version("hideseek")}: know what leaks before you share it

usage: hideseek VERB [--help] …

{verbs}

Try:  hideseek demo
      hideseek audit mixup,instahide-inside --data faces --rounds 10 --out audit
      hideseek hide instahide-inside --data faces --out hidden
      hideseek show hidden
      hideseek learn --release hidden --out trained
      hideseek seek mixup-pairs --release hidden --out found

Exit codes:
{codes}

{DEBUG}, anywhere on the line, shows the traceback of an error."""


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Treat a request to end like Ctrl-C, so that what is half written, a secret perhaps, is removed."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        names = []
    before = {name: signal.signal(getattr(signal, name), signal.default_int_handler) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; whatever keeps it from its end is one sentence and a non-zero exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG in given
    verb, *rest = [each for each in given if each != DEBUG] or ["--help"]
    terminal.prepare()
    try:
        with ended_in_order(), notes_on_stderr():
            _run(verb, rest)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        _drop_output()
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (the last resort: nobody reads a traceback)
        if debug:
            terminal.complain(*"".join(traceback.format_exception(error)).rstrip().split("\n"))
        said = explained(error, gated=any(each.startswith(GATES) for each in rest))
        terminal.complain(f"hideseek: {said.sentence}")
        return _flushed(said.code)
    return _flushed(0)


def _flushed(code: int) -> int:
    """Print what is left; where the output is full, that was said, and the rest goes nowhere."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
        return code or 1
    return code


def _run(verb: str, rest: Sequence[str]) -> None:
    if verb in ("-h", "--help"):
        terminal.say(*_overview().split("\n"))
    elif verb in ("-V", "--version"):
        terminal.say(version("hideseek"))
    elif verb not in COMMANDS:
        raise BadArguments(str(no_such("verb", verb, COMMANDS)))
    else:
        check_memory()
        if verb != "audit" and any(each.partition("=")[0] == CONFIG for each in rest):
            raise BadArguments(
                f"{CONFIG} is an option of `hideseek audit` alone: give the options of {verb} themselves."
            )
        importlib.import_module(f"hideseek.cli.{verb}").run(rest)


def _drop_output() -> None:
    """Let what is left in buffers go nowhere: the interpreter would complain of it at its end."""
    output = sys.__stdout__
    if output is not None and sys.stdout is output:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
