"""The verbs as commands: `hideseek VERB …`. One file a verb; what a verb needs is imported when it is called."""

import importlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version

from hideseek.cli.notes import notes_on_stderr
from hideseek.errors import BadInput, no_such

COMMANDS = {
    "audit": "hide, learn, attack and judge: one page on what leaks, and what it costs",
    "report": "make the page of an audit again",
    "compare": "set two audits side by side",
    "hide": "encode images so that they can be shared, and write the release",
    "learn": "train on a release, or on images that are hidden anew for every epoch",
    "predict": "ask a trained model about images, plainly or hidden",
    "score": "judge what an attack found against the ground truth",
    "seek": "run attacks on a release, and write what they found",
    "show": "draw what a release looks like",
    "data": "list the image sets that can be named",
    "demo": "audit four schemes on the embedded faces, in a few minutes",
}


def _overview() -> str:
    verbs = "\n".join(f"  {name:7} {summary}" for name, summary in COMMANDS.items())
    return f"""hideseek {version("hideseek")}: know what leaks before you share it

usage: hideseek VERB [--help] …

{verbs}

Try:  hideseek demo
      hideseek audit mixup,instahide-inside --data faces --rounds 10 --out audit
      hideseek hide instahide-inside --data faces --out hidden
      hideseek show hidden
      hideseek learn --release hidden --out trained
      hideseek seek mixup-pairs --release hidden --out found
"""


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
    """Run a command; a mistake that the user can repair is one sentence and a non-zero exit."""
    verb, *rest = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if verb in ("-h", "--help"):
        print(_overview(), end="")
        return 0
    if verb in ("-V", "--version"):
        print(version("hideseek"))
        return 0
    if verb not in COMMANDS:
        print(f"hideseek: {no_such('verb', verb, COMMANDS)}", file=sys.stderr)
        return 2
    try:
        with ended_in_order(), notes_on_stderr():
            importlib.import_module(f"hideseek.cli.{verb}").run(rest)
    except BadInput as mistake:
        print(f"hideseek: {mistake}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        print(f"hideseek: {str(stop) or 'stopped.'}", file=sys.stderr)
        return 130
    except MemoryError:
        print("hideseek: there is not enough memory for this: use fewer or smaller images (--size).", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        sys.stderr.close()
        return 1
    except OSError as error:
        print(f"hideseek: {error.filename or 'a file'} cannot be used: {error.strerror or error}.", file=sys.stderr)
        return 1
    return 0
